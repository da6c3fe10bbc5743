"""What parameters of NumPy's functions mean that the operations of their names do not have, made of operations."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from string import ascii_letters
from typing import Any, Literal

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.typing import Array
from dispatchkit.graph.storage import Storage
from dispatchkit.ops.shared import normal_axis
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor.numpy_arguments import NUMBERS, as_array, compose
from dispatchkit.tensor.numpy_shapes import at_least, composition, extension, extensions, in_dtype

# Reductions of a part of the elements, and with an initial value.


def _by_universal(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reduction that is that of a universal function."""

    def reduction(
        a: Array,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        initial: Array | float | None = None,
        where: Array | None = None,
    ) -> Any:
        options = {"dtype": dtype, "initial": initial, "where": where}
        further = {name: value for name, value in options.items() if value is not None}
        return reduce(a, axis=axis, keepdims=keepdims, **further)

    return reduction


for _names, _universal in (
    (("sum",), np.add),
    (("prod",), np.multiply),
    (("max", "amax"), np.maximum),
    (("min", "amin"), np.minimum),
    (("all",), np.logical_and),
    (("any",), np.logical_or),
):
    extensions |= dict.fromkeys(_names, _by_universal(_universal.reduce))


def element_of(dtype: Any, value: Any) -> Any:
    """Return an initial value as an element of a dtype, as NumPy casts it; numbers stay numbers."""
    if type(value) in NUMBERS or isinstance(value, np.generic):
        return np.asarray(value).astype(dtype).item()
    return as_array(value, dtype)


def check_mask(where: Any, x: Any) -> None:
    """Raise unless a mask broadcasts to the shape of the array that is reduced; array types align it themselves."""
    if any(tensor_protocol.types.participates(type(value)) and not isinstance(value, Storage) for value in (where, x)):
        return
    shape, mask = tuple(x.shape), tuple(np.shape(where))
    fits = len(mask) <= len(shape) and all(n in (1, m) for n, m in zip(mask[::-1], shape[::-1], strict=False))
    if not fits:
        raise ValueError(f"where must broadcast to the shape of the array, {shape}, found shape {mask}")


def of_no_elements(x: Any, initial: Any, given: Mapping[str, Any]) -> Any:
    """Return a reduction of an array without elements, which is the initial value wherever it is anything.

    Parameters
    ----------
    x : array
    initial : the value, in the dtype of the array
    given : keywords of the reduction
    """
    zeros = xp.astype(xp.sum(x, **given), x.dtype)
    return xp.where(xp.isfinite(zeros), initial, zeros)


def _but_nan(function: Callable[..., Any], combine: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reduction that leaves NaN out, and so the elements that `where` does."""

    def reduction(
        a: Array,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        initial: Array | float | None = None,
        where: Array | None = None,
        ddof: float = 0,
    ) -> Any:
        if where is not None and a.dtype.kind not in "fc":
            return NotImplemented
        if initial is not None and not a.size and combine in (np.fmax, np.fmin):
            return of_no_elements(a, element_of(a.dtype, initial), {"axis": axis, "keepdims": keepdims})
        options = {"dtype": dtype, "ddof": ddof}
        if where is not None:
            check_mask(where, a)
            a = xp.where(where, a, math.nan)
        result = function(
            a,
            axis=axis,
            keepdims=keepdims,
            **{name: value for name, value in options.items() if value},
        )
        if initial is None:
            return result
        return combine(result, element_of(result.dtype, initial))

    return reduction


_combined: tuple[tuple[Any, Any], ...] = (
    (np.nansum, np.add),
    (np.nanprod, np.multiply),
    (np.nanmax, np.fmax),
    (np.nanmin, np.fmin),
    *((function, None) for function in (np.nanmean, np.nanvar, np.nanstd)),  # which have no initial value
)
for _function, _combine in _combined:
    extensions[_function.__name__] = _but_nan(_function, _combine)


@extension
def mean(a: Array, axis: Any = None, dtype: Any = None, keepdims: bool = False, where: Array | None = None) -> Any:
    a = _inexact(a, dtype)
    return np.sum(a, axis=axis, keepdims=keepdims, where=where is None or where) / _count(a, axis, keepdims, where)


@extension
def var(
    a: Array,
    axis: Any = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Array | None = None,
    mean: Array | None = None,
    correction: float | None = None,
) -> Any:
    a = _inexact(a, dtype)
    center = mean
    if mean is None:
        center = extensions["mean"](a, axis=axis, keepdims=True, where=where)
    squares = np.sum(xp.abs(a - center) ** 2, axis=axis, keepdims=keepdims, where=where is None or where)
    if correction is None:
        correction = ddof
    count = _count(a, axis, keepdims, where) - correction
    return squares / xp.maximum(xp.astype(count, squares.dtype), 0)


@functools.wraps(var)
def _root_of_var(*args: Any, **kwargs: Any) -> Any:
    return xp.sqrt(var(*args, **kwargs))


extensions["std"] = _root_of_var


def _inexact(a: Any, dtype: Any) -> Any:
    """Return an array in a dtype; by default integers and booleans as floating-point numbers."""
    if dtype is None:
        if a.dtype.kind in "fc":
            dtype = a.dtype
        else:
            dtype = np.float64
    if a.dtype == dtype:
        return a
    return xp.astype(a, dtype)


def _count(a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """Return how many elements are reduced to one, of those that the type of the array counts."""
    counted = xp.logical_or(xp.isnan(a), True)
    if where is not None:
        counted = xp.logical_and(counted, where)
    return xp.astype(xp.count_nonzero(counted, axis=axis, keepdims=keepdims), np.finfo(a.dtype).dtype)


# Statistics of two arrays.


@extension
def cov(
    m: Array,
    y: Array | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: Array | None = None,
    aweights: Array | None = None,
    *,
    dtype: Any = None,
) -> Any:
    variables = _variables(m, y, rowvar, dtype)
    correction = ddof
    if ddof is None:
        correction = 0 if bias else 1
    weights = {"fweights": fweights, "aweights": aweights}
    return xp.cov(variables, correction=correction, **{name: x for name, x in weights.items() if x is not None})


@extension
def corrcoef(x: Array, y: Array | None = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    return xp.corrcoef(_variables(x, y, rowvar, dtype))


def _variables(x: Any, y: Any, rowvar: bool, dtype: Any) -> Any:
    """Return the variables of one or two arrays, each in a row."""
    rows = [part if rowvar or part.ndim < 2 else part.T for part in (x, y) if part is not None]
    if len(rows) == 1:
        variables = rows[0]
    else:
        variables = xp.concat([at_least(2, row) for row in rows])
    if dtype is None:
        return variables
    return xp.astype(variables, dtype)


# Orders, joints and ends.


def _reverse_axes(x: Any) -> Any:
    """Return an array with its axes in the reverse order."""
    return xp.permute_dims(x, tuple(range(x.ndim))[::-1])


@extension
def ravel(a: Array, order: Literal["C", "F"] = "C") -> Any:
    if order != "C":
        a = _reverse_axes(a)
    return xp.ravel(a)


@extension
def reshape(a: Array, shape: Any, order: Literal["C", "F"] = "C") -> Any:
    if order == "C":
        return xp.reshape(a, shape)
    if np.ndim(shape) == 0:
        shape = (shape,)
    else:
        shape = tuple(shape)
    return _reverse_axes(xp.reshape(_reverse_axes(a), shape[::-1]))


@extension
def concatenate(arrays: Sequence[Array], axis: int | None = 0, *, dtype: Any = None) -> Any:
    return in_dtype(xp.concat(arrays, axis=axis), dtype)


@extension
def stack(arrays: Sequence[Array], axis: int = 0, *, dtype: Any = None) -> Any:
    return in_dtype(xp.stack(arrays, axis=axis), dtype)


@composition
def diff(a: Array, n: int = 1, axis: int = -1, prepend: Array | None = None, append: Array | None = None) -> Any:
    def end(x: Any) -> Any:
        """Return a number as a piece of length 1."""
        if x is None or x.ndim:
            return x
        shape = list(a.shape)
        shape[normal_axis(axis, a.ndim, "axis")] = 1
        return xp.broadcast_to(x, tuple(shape))

    if a.dtype.kind == "b":  # which are not subtracted
        return NotImplemented
    ends = {"prepend": end(prepend), "append": end(append)}
    return xp.diff(a, n, axis=axis, **{name: x for name, x in ends.items() if x is not None})


@composition
def where(condition: Array, x: Array | complex | None = None, y: Array | complex | None = None) -> Any:
    if condition.dtype.kind != "b":
        condition = condition != 0
    if x is None and y is None:
        return xp.nonzero(condition)
    if x is None or y is None:
        return NotImplemented
    return compose(xp.where, condition, x, y, fitting=False)


@extension
def broadcast_arrays(*args: Array, subok: bool) -> Any:  # which keeps classes in any case
    return xp.broadcast_arrays(*args)


extensions["broadcast_to"] = lambda array, shape, subok=False: xp.broadcast_to(array, shape)


def _ordering(order: Callable[..., Any]) -> Callable[..., Any]:
    """Return an order, which is stable, for all kinds of sorting that NumPy knows."""

    def in_order(a: Array, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Any:
        if kind is not None and kind[:1].lower() not in "qhms":
            return NotImplemented
        return order(a, axis=axis)

    return in_order


extensions |= {"sort": _ordering(np.sort), "argsort": _ordering(np.argsort)}


@composition
def linspace(
    start: Array | complex,
    stop: Array | complex,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    inexact = np.result_type(*(getattr(x, "dtype", x) for x in (start, stop)), 1.0)
    start, stop = (as_array(x, inexact) if hasattr(x, "dtype") else x for x in (start, stop))
    values = xp.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    if axis != 0:
        values = xp.moveaxis(values, 0, axis)
    if not retstep:
        return values
    count = num
    if endpoint:
        count = num - 1
    difference: Any = stop - start
    if count > 0:
        return values, difference / count
    return NotImplemented


# Linear algebra.


@composition
def einsum(*operands: object, optimize: Any = False) -> Any:
    subscripts, arrays = _subscripts(operands)
    return xp.einsum(subscripts, *map(as_array, arrays), optimize=optimize is not False)


def _subscripts(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return the subscripts and the arrays of a call in either of NumPy's two forms, text or lists of integers."""
    if isinstance(operands[0], str):
        return operands[0], list(operands[1:])

    def text(places: Any) -> str:
        return "".join("..." if place is Ellipsis else ascii_letters[place] for place in places)

    arrays, places = list(operands[::2]), [text(labels) for labels in operands[1::2]]
    if len(arrays) == len(places):
        return ",".join(places), arrays
    return f"{','.join(places)}->{text(arrays[-1])}", arrays[:-1]


@composition
def outer(a: Array, b: Array) -> Any:
    return xp.linalg.outer(xp.ravel(a), xp.ravel(b))


@extension
def linalg_svd(a: Array, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    if compute_uv:
        return xp.linalg.svd(a, full_matrices=full_matrices)
    return xp.linalg.svdvals(a)


def _of_triangle(of_lower: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of Hermitian matrices, of which either triangle counts, from that of the lower one."""

    def of_triangle(a: Array, UPLO: Literal["L", "U", "l", "u"] = "L") -> Any:
        if UPLO not in "Ll":
            a = xp.conj(xp.matrix_transpose(a))
        return of_lower(a)

    return of_triangle


extensions |= {f"linalg.{_name}": _of_triangle(getattr(xp.linalg, _name)) for _name in ("eigh", "eigvalsh")}


@extension
def linalg_qr(a: Array, mode: Literal["reduced", "complete", "r"] = "reduced") -> Any:
    if mode == "r":
        return xp.linalg.qr(a).R
    return xp.linalg.qr(a, mode=mode)


@composition
def linalg_matrix_rank(A: Array, tol: Array | float | None = None, *, rtol: Array | float | None = None) -> Any:
    if A.ndim < 2:
        return int(xp.any(A != 0))
    if tol is None:
        if rtol is None:
            return xp.linalg.matrix_rank(A)
        return xp.linalg.matrix_rank(A, rtol=rtol)
    if np.ndim(tol) != 0:
        tol = xp.expand_dims(tol, axis=-1)
    return xp.count_nonzero(xp.linalg.svdvals(A) > tol, axis=-1)
