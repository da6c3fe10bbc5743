"""NumPy's functions that take arrays apart and put them together by positions, orders and functions of the caller."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.typing import Array
from dispatchkit.declare.variables import is_array, items_of
from dispatchkit.ops.shared import normal_axis
from dispatchkit.tensor.numpy_arguments import NUMBERS, as_array, operands
from dispatchkit.tensor.numpy_numbers import unique
from dispatchkit.tensor.numpy_parameters import linspace
from dispatchkit.tensor.numpy_shapes import composition, compositions
from dispatchkit.tree import leaves

# Differences and ends.


@composition
def ediff1d(ary: Array, to_end: Array | None = None, to_begin: Array | None = None) -> Any:
    steps = xp.ravel(ary)
    if steps.dtype.kind == "b":
        return NotImplemented
    begin, end = _as_end("to_begin", to_begin, steps.dtype), _as_end("to_end", to_end, steps.dtype)
    return xp.concat([part for part in (begin, steps[1:] - steps[:-1], end) if part is not None])


def _as_end(name: str, end: Any, dtype: Any) -> Any:
    """Return what comes before or after differences as a vector of their dtype, None where there is nothing."""
    if end is None:
        return None
    if not np.can_cast(end.dtype, dtype, "same_kind"):
        raise TypeError(
            f"ediff1d: dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule, found "
            f"{end.dtype} for {dtype}"
        )
    return xp.astype(xp.ravel(end), dtype)


@composition
def trim_zeros(filt: Array, trim: str = "fb", axis: Any = None) -> Any:
    ends = trim.lower()
    if ends not in ("f", "b", "fb", "bf"):
        raise ValueError(
            f"trim_zeros: unexpected character(s) in `trim`: {trim!r}; 'f' is for the front, 'b' for the back, or 'fb'"
        )
    axes = normalize_axis_tuple(range(filt.ndim) if axis is None else axis, filt.ndim, "axis")
    if not axes:
        return filt
    key = [slice(None)] * filt.ndim
    places = [np.asarray(numbers) for numbers in xp.nonzero(filt)]
    for number in axes:
        key[number] = _slice_of_ends(ends, places[number])
    return filt[tuple(key)]


def _slice_of_ends(ends: str, places: Any) -> slice:
    """Return the slice that leaves out the ends that have no places, ``"f"`` the front one and ``"b"`` the back one.

    Without any place it is empty, whichever ends are left out.
    """
    if not places.size:
        return slice(0, 0)
    start, stop = None, None
    if "f" in ends:
        start = int(places.min())
    if "b" in ends:
        stop = int(places.max()) + 1
    return slice(start, stop)


@composition
def array_equiv(a1: Array, a2: Array) -> Any:
    try:
        np.broadcast_shapes(tuple(a1.shape), tuple(a2.shape))
    except ValueError:
        return False
    return bool(xp.all(a1 == a2))


# Sets and orders.


@composition
def intersect1d(ar1: Array, ar2: Array, assume_unique: bool = False, return_indices: bool = False) -> Any:
    (first, places), (second, others) = (unique(ar, return_index=True) for ar in (ar1, ar2))
    chosen = xp.nonzero(xp.isin(first, second))[0]
    common = xp.take(xp.astype(first, xp.result_type(first, second)), chosen)
    if not return_indices:
        return common
    return common, xp.take(places, chosen), xp.take(others, xp.searchsorted(second, common))


def unique_along(
    ar: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,  # the name that NumPy has
) -> Any:
    if axis is not None:
        axis = normal_axis(axis, ar.ndim, "axis")
    if axis is None or ar.ndim == 1:
        return unique(ar, return_index, return_inverse, return_counts, equal_nan=equal_nan)
    if ar.dtype.kind == "c" or not ar.size:
        return NotImplemented
    rows = xp.reshape(xp.moveaxis(ar, axis, 0), (ar.shape[axis], -1))
    order = lexsort(xp.unstack(xp.flip(rows, axis=1), axis=1))
    ordered = xp.take(rows, order, axis=0)
    new = np.concatenate([[True], np.asarray(xp.any(ordered[1:] != ordered[:-1], axis=1))])
    order = np.asarray(order)
    numbers = np.empty(order.size, np.intp)
    numbers[order] = np.cumsum(new) - 1
    counts = np.diff(np.append(np.flatnonzero(new), order.size))
    wanted = [(return_index, order[new]), (return_inverse, numbers), (return_counts, counts)]
    further = [xp.asarray(array) for asked, array in wanted if asked]
    values = xp.take(ar, xp.asarray(order[new]), axis=axis)
    if further:
        return (values, *further)
    return values


compositions["unique"] = unique_along


@composition
def lexsort(keys: Sequence[Array], axis: int = -1) -> Any:
    if not len(keys):
        raise TypeError("lexsort: keys must hold at least one array, found none")
    first, *rest = keys
    if any(tuple(key.shape) != tuple(first.shape) for key in rest):
        raise ValueError(f"lexsort: keys must have the same shape, found {[tuple(key.shape) for key in keys]}")
    axis = normal_axis(axis, max(first.ndim, 1), "axis")
    if not first.ndim:
        return np.intp(0)
    order = xp.argsort(first, axis=axis, stable=True)
    for key in rest:
        step = xp.argsort(xp.take_along_axis(key, order, axis=axis), axis=axis, stable=True)
        order = xp.take_along_axis(order, step, axis=axis)
    return order


# Choices and functions of the caller.


@composition
def choose(a: Array, choices: Sequence[Array | complex], mode: Literal["raise", "wrap", "clip"] = "raise") -> Any:
    count = len(choices)
    if a.dtype.kind not in "iub" or not count:
        return NotImplemented
    arrays = operands("choose", tuple(choices), weak=False)
    places, *arrays = xp.broadcast_arrays(xp.astype(a, np.int64), *arrays)
    if mode == "raise" and bool(xp.any((places < 0) | (places >= count))):
        raise ValueError("invalid entry in choice array")
    if mode == "wrap":
        places = places % count
    places = xp.clip(places, 0, count - 1)
    return xp.take_along_axis(xp.stack(arrays), xp.expand_dims(places, axis=0), axis=0)[0]


@composition
def piecewise(x: Array, condlist: Any, funclist: Any) -> Any:
    if np.isscalar(condlist) or np.ndim(condlist) == 0 or (x.ndim and np.ndim(condlist[0]) == 0):
        condlist = [condlist]
    conditions = [xp.astype(as_array(condition), np.bool_) for condition in condlist]
    if len(funclist) == len(conditions) + 1:
        conditions.append(~xp.any(xp.stack(conditions), axis=0))
    if len(funclist) != len(conditions):
        return NotImplemented
    if not x.ndim:
        lines = [xp.reshape(condition, (1, *condition.shape)) for condition in conditions]
        return xp.reshape(piecewise(xp.reshape(x, (1,)), lines, funclist), ())
    result: Any = None
    for condition, function in zip(conditions, funclist, strict=True):
        condition = _of_all_axes(condition, x)
        piece = _piece(x, condition, function)
        if piece is not None:
            if result is None:
                result = piece
            else:
                result = xp.where(condition, piece, result)
    if result is None:
        return xp.zeros_like(x)
    return xp.astype(result, x.dtype)


def _of_all_axes(condition: Any, x: Any) -> Any:
    """Return a condition of the first axes of an array as one of all its axes."""
    shape = tuple(condition.shape)
    if shape != tuple(x.shape[: len(shape)]):
        raise IndexError(
            f"piecewise: a condition must have the shape of the first axes of x, {tuple(x.shape)}, found {shape}"
        )
    if len(shape) == x.ndim:
        return condition
    return xp.broadcast_to(xp.reshape(condition, (*shape, *(1,) * (x.ndim - len(shape)))), tuple(x.shape))


def _piece(x: Any, condition: Any, function: Any) -> Any:
    """Return an array with the values of a function, or a number, where a condition holds, and zeros elsewhere."""
    if type(function) in NUMBERS:
        np.zeros((), x.dtype)[...] = function  # NumPy says what does not fit
    places = xp.nonzero(condition)
    if not places[0].size:
        return None
    if callable(function):
        function = function(x[condition])
    values = as_array(function)
    values = xp.broadcast_to(values, (places[0].size,))
    zeros = xp.broadcast_to(xp.zeros_like(values[:1]), (x.size,))
    return xp.index_put(xp.reshape(xp.clone(zeros), tuple(x.shape)), places, values)


@composition
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Array) -> Any:
    axis = normal_axis(axis, arr.ndim, "axis")
    lines = xp.moveaxis(arr, axis, -1)
    lengths = tuple(lines.shape[:-1])
    if 0 in lengths:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [as_array(func1d(lines[index])) for index in np.ndindex(*lengths)]
    inner, dtype = tuple(results[0].shape), results[0].dtype  # of which the others become
    results = [xp.astype(xp.broadcast_to(result, inner), dtype) for result in results]
    whole = xp.reshape(xp.stack(results), (*lengths, *inner))
    return xp.moveaxis(whole, range(len(lengths), whole.ndim), range(axis, axis + len(inner)))


@composition
def apply_over_axes(func: Callable[..., Any], a: Array, axes: Any) -> Any:
    ndim = a.ndim
    for axis in np.ravel(axes).tolist():
        if axis < 0:
            axis += ndim
        result = as_array(func(a, axis))
        if result.ndim != a.ndim:
            result = xp.expand_dims(result, axis=axis)
        if result.ndim != a.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        a = result
    return a


# Sequences of numbers, and what asks of arrays.


def _along(values: Any, axis: int, dtype: Any) -> Any:
    """Return a sequence of numbers or arrays along an axis, in a dtype unless that is None."""
    if axis != 0:
        values = xp.moveaxis(values, 0, axis)
    if dtype is None:
        return values
    return xp.astype(values, dtype)


@composition
def geomspace(start: Array, stop: Array, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    if "c" in (start.dtype.kind, stop.dtype.kind):
        return NotImplemented
    if not bool(xp.all(start != start * 0) & xp.all(stop != stop * 0)):
        raise ValueError("Geometric sequence cannot include zero")
    precise = np.result_type(start.dtype, stop.dtype, np.dtype(dtype), 1.0)
    start, stop = xp.unstack(xp.stack(xp.broadcast_arrays(as_array(start, precise), as_array(stop, precise))))
    steps = xp.linspace(0.0, 1.0, num, endpoint=endpoint)
    factors = xp.pow(stop / start, xp.reshape(steps, (-1, *(1,) * start.ndim)))
    values = start * factors
    if endpoint and num > 1:
        last = xp.where(xp.isnan(start), start, stop)
        values = xp.concat([values[:-1], xp.expand_dims(last, axis=0)])
    return _along(values, axis, dtype)


@composition
def logspace(
    start: Array | complex,
    stop: Array | complex,
    num: Any = 50,
    endpoint: bool = True,
    base: Array | complex = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    if np.ndim(base):  # then its axes stand beside those of the ends
        ndim = max(map(np.ndim, (start, stop, base)))
        start, stop, base = (_with_axes(as_array(part), ndim) for part in (start, stop, base))
        base = xp.expand_dims(base, axis=axis)
    values = xp.pow(base, linspace(start, stop, num, endpoint, axis=axis))
    if dtype is None:
        return values
    return xp.astype(values, dtype)


def _with_axes(x: Any, ndim: int) -> Any:
    """Return an array with at least so many axes; new ones come first."""
    return xp.reshape(x, (*(1,) * (ndim - x.ndim), *x.shape))


@composition
def vander(x: Array, N: int | None = None, increasing: bool = False) -> Any:  # the name that NumPy has
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    x = xp.astype(x, np.promote_types(x.dtype, int))
    if N is None:
        count = x.shape[0]
    else:
        count = N
    if count < 0:
        raise ValueError(f"vander: N must not be negative, found {N}")
    columns = [x**0, x]
    while len(columns) < count:
        columns.append(columns[-1] * x)
    powers = xp.stack(columns, axis=1)[:, :count]
    if increasing:
        return powers
    return xp.flip(powers, axis=1)


@composition
def real_if_close(a: Array, tol: float = 100) -> Any:
    if a.dtype.kind != "c":
        return a
    limit = tol
    if tol > 1:
        limit = tol * float(np.finfo(a.dtype).eps)
    imag = xp.imag(a)
    if bool(xp.all(xp.abs(imag) < xp.ones_like(imag) * limit)):
        return xp.real(a)
    return a


@composition
def linalg_tensorsolve(a: Array, b: Array, axes: Any = None) -> Any:
    if axes is not None:
        numbers = [normal_axis(axis, a.ndim, "axes") for axis in axes]
        a = xp.moveaxis(a, numbers, range(a.ndim - len(numbers), a.ndim))
    shape = tuple(a.shape[b.ndim :])
    if b.size**2 != a.size or math.prod(shape) != b.size:
        return NotImplemented
    solution = xp.linalg.solve(xp.reshape(a, (b.size, b.size)), xp.ravel(b))
    return xp.reshape(solution, shape)


@composition
def linalg_tensorinv(a: Array, ind: int = 2) -> Any:
    rows, columns = tuple(a.shape[:ind]), tuple(a.shape[ind:])
    if ind <= 0 or np.prod(rows, dtype=int) != np.prod(columns, dtype=int):
        return NotImplemented
    return xp.reshape(xp.linalg.inv(xp.reshape(a, (int(np.prod(rows, dtype=int)), -1))), (*columns, *rows))


@composition
def einsum_path(*operands: object, optimize: Any = "greedy") -> Any:
    return np.einsum_path(*map(_of_its_shape, operands), optimize=optimize)


def _of_its_shape(operand: Any) -> Any:
    """Return a plain array of the shape of an operand; text, and lists of labels, as they are."""
    if hasattr(operand, "shape"):
        return np.broadcast_to(0.0, tuple(operand.shape))
    return operand


def _asks_memory(ask: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    """Return a question about the memory of two arrays, which is that of all arrays in the fields of types."""

    def ask_each(a: object, b: object, max_work: Any = None) -> Any:
        memories, others = _memories(a), _memories(b)
        if not all(isinstance(memory, np.ndarray) for memory in (*memories, *others)):
            return NotImplemented
        return any(ask(memory, other) for memory in memories for other in others)

    return ask_each


def _memories(value: Any) -> list[Any]:
    """Return the raw arrays of a tensor or of an array type."""
    return [getattr(leaf, "array", leaf) for leaf in leaves(items_of, value) if is_array(leaf)]


compositions |= {"shares_memory": _asks_memory(np.shares_memory), "may_share_memory": _asks_memory(np.may_share_memory)}
