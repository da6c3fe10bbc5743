"""NumPy's universal functions that are no operation here, made of operations; what they get are arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.typing import Array
from dispatchkit.ops.shared import conjugate, normal_axis
from dispatchkit.tensor.numpy_arguments import as_array

# Compositions by the path of NumPy's function, such as ``"linalg.cond"``.
compositions: dict[str, Callable[..., Any]] = {}
# Of functions that are an operation, for the calls with parameters that it does not have.
extensions: dict[str, Callable[..., Any]] = {}


def composition(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a composition; ``linalg_cond`` is that of ``numpy.linalg.cond``."""
    compositions[_path(function)] = function
    return function


def extension(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter the composition of a function that is an operation, for the parameters that the operation does not have."""
    extensions[_path(function)] = function
    return function


def _path(function: Callable[..., Any]) -> str:
    module, _, name = function.__name__.partition("_")
    if module in ("linalg", "fft") and name:
        return f"{module}.{name}"
    return function.__name__


# Whose code in NumPy is of functions alone that tensors and array types answer.
COMPOSED_BY_NUMPY = """
array_split common_type diag_indices_from dsplit dstack extract flatnonzero hsplit hstack iscomplexobj isneginf isposinf
isrealobj resize rollaxis split tril_indices_from triu_indices_from union1d vsplit vstack
"""


def composed_by_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the code of a function of NumPy, which calls others for its arrays."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return np.ndarray.__array_function__(np.empty(0), function, (np.ndarray,), args, kwargs)

    return call


def in_dtype(x: Any, dtype: Any) -> Any:
    """Return an array in a dtype where one is asked for; what would lose fractions is left to NumPy's error."""
    if dtype is None:
        return x
    if np.can_cast(x.dtype, dtype, "same_kind"):
        return xp.astype(x, dtype)
    return NotImplemented


def at_least(ndim: int, x: Any) -> Any:
    """Return an array with at least so many axes; new ones come first, the third one last."""
    if x.ndim == 0:
        return xp.reshape(x, (1,) * ndim)
    if x.ndim == 1 and ndim > 1:
        x = xp.expand_dims(x, axis=0)
    if x.ndim < ndim:
        return xp.expand_dims(x, axis=2)
    return x


def _at_least(ndim: int) -> Callable[..., Any]:
    """Return what gives the one array, or a tuple of several, with at least so many axes."""

    def with_axes(*arys: Array) -> Any:
        arrays = tuple(at_least(ndim, x) for x in arys)
        if len(arrays) == 1:
            return arrays[0]
        return arrays

    return with_axes


compositions |= {f"atleast_{ndim}d": _at_least(ndim) for ndim in (1, 2, 3)}


@composition
def column_stack(tup: Sequence[Array]) -> Any:
    return xp.concat([xp.reshape(x, (-1, 1)) if x.ndim < 2 else x for x in tup], axis=1)


@composition
def block(arrays: Any) -> Any:
    def assemble(value: Any, axis: int) -> Any:
        if not isinstance(value, list):
            x = as_array(value)
            if x.ndim < ndim:
                return xp.reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape))
            return x
        return xp.concat([assemble(part, axis + 1) for part in value], axis=axis)

    depths = _depths(arrays, 0)
    if len({depth for depth, _ in depths}) != 1:
        return NotImplemented  # NumPy says what is wrong
    deepest = depths[0][0]
    ndim = max(deepest, *(x_ndim for _, x_ndim in depths))
    if deepest:
        return assemble(arrays, -deepest)
    return xp.clone(as_array(arrays))


def _depths(value: Any, depth: int) -> list[tuple[int, int]]:
    """Return for each array in nested lists how deep it lies, and how many axes it has; an empty list has none."""
    if not isinstance(value, list):
        return [(depth, np.ndim(value))]
    if value:
        return [pair for part in value for pair in _depths(part, depth + 1)]
    return [(-1, 0)]


@composition
def rot90(m: Array, k: int = 1, axes: Any = (0, 1)) -> Any:
    first, second = (normal_axis(axis, m.ndim, "axes") for axis in axes)
    if first == second:
        return NotImplemented
    if k % 4 == 0:
        return xp.clone(m)
    for _ in range(k % 4):
        m = xp.swapaxes(xp.flip(m, axis=second), first, second)
    return m


@composition
def delete(arr: Array, obj: Any, axis: Any = None) -> Any:
    if axis is None:
        x, axis = xp.ravel(arr), 0
    else:
        x, axis = arr, normal_axis(axis, arr.ndim, "axis")
    places = obj
    if not isinstance(obj, (slice, list, tuple)):
        places = np.asarray(obj)
    return xp.take(x, np.delete(np.arange(x.shape[axis]), places), axis=axis)


def _matrices(x: Any, axis1: int, axis2: int) -> Any:
    """Return an array with two of its axes last."""
    ndim = x.ndim
    if ndim < 2:
        raise ValueError(f"diag requires an array of at least two dimensions, found {ndim}")
    if (normal_axis(axis1, ndim, "axis1"), normal_axis(axis2, ndim, "axis2")) == (ndim - 2, ndim - 1):
        return x
    return xp.moveaxis(x, (axis1, axis2), (-2, -1))


@composition
def compress(condition: Array, a: Array, axis: Any = None) -> Any:
    if condition.ndim != 1:
        raise ValueError(f"condition must be a 1-d array, found shape {tuple(condition.shape)}")
    places = xp.nonzero(condition)[0]
    return xp.take(xp.ravel(a) if axis is None else a, places, axis=axis or 0)


@composition
def insert(arr: Array, obj: Any, values: Array | float, axis: Any = None) -> Any:
    if not arr.size:
        return NotImplemented
    new = -1 - np.arange(np.size(values)).reshape(tuple(np.shape(values)))  # numbers of the values, below 0
    if not isinstance(obj, (slice, list, tuple)):
        obj = np.asarray(obj)
    numbers = np.insert(np.arange(arr.size).reshape(tuple(arr.shape)), obj, new, axis)
    elements = xp.reshape(xp.take(xp.ravel(arr), np.maximum(numbers, 0).ravel(), axis=0), numbers.shape)
    places = np.nonzero(numbers < 0)
    if np.ndim(values):
        values = xp.take(xp.ravel(values), -1 - numbers[places], axis=0)
    return xp.index_put(elements, places, values)


@composition
def select(condlist: Sequence[Array], choicelist: Sequence[Array | complex], default: Array | float = 0) -> Any:
    if len(condlist) != len(choicelist) or not len(condlist) or any(c.dtype.kind != "b" for c in condlist):
        return NotImplemented
    selected = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        selected = xp.where(condition, choice, selected)
    return xp.astype(selected, np.result_type(*(getattr(x, "dtype", x) for x in (*choicelist, default))))


def sliding_window_view(x: Array, window_shape: Any, axis: Any = None) -> Any:
    numbers = np.arange(x.size).reshape(tuple(x.shape))
    windows = np.lib.stride_tricks.sliding_window_view(numbers, window_shape, axis)
    return xp.reshape(xp.take(xp.ravel(x), windows.ravel(), axis=0), windows.shape)


compositions["lib.stride_tricks.sliding_window_view"] = sliding_window_view
# Those that are one call of an operation; what they take by place are arrays.
compositions |= {
    "append": lambda arr, values, /, axis=None: xp.concat([arr, values], axis=axis),
    "diag": lambda v, /, k=0: xp.diag(v, offset=k),
    "diagonal": lambda a, /, offset=0, axis1=0, axis2=1: xp.linalg.diagonal(_matrices(a, axis1, axis2), offset=offset),
    "diagflat": lambda v, /, k=0: xp.diag(xp.ravel(v), offset=k),
    "fliplr": lambda m, /: xp.flip(m, axis=1),
    "flipud": lambda m, /: xp.flip(m, axis=0),
    "linalg.diagonal": lambda x, /, *, offset=0: xp.linalg.diagonal(x, offset=offset),
    "linalg.trace": lambda x, /, *, offset=0, dtype=None: xp.linalg.trace(x, offset=offset, dtype=dtype),
    "trace": lambda a, /, offset=0, axis1=0, axis2=1, dtype=None: xp.linalg.trace(
        _matrices(a, axis1, axis2), offset=offset, dtype=dtype
    ),
}


LOG_OF_2 = math.log(2)


def _of_real_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Leave complex numbers, for which NumPy's function is not defined, to NumPy's error."""

    @functools.wraps(function)
    def of_real_numbers(*args: Any) -> Any:
        if any(x.dtype.kind == "c" for x in args):
            return NotImplemented
        return function(*args)

    return of_real_numbers


def _floating(x: Any) -> Any:
    """Return an array as one of floating-point numbers, small integers in the dtype that NumPy gives them."""
    if x.dtype.kind in "fc":
        return x
    return xp.astype(x, np.result_type(x.dtype, np.float16))


def _in_common_dtype(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Return two arrays in the dtype that both have together."""
    dtype = xp.result_type(x1, x2)
    return as_array(x1, dtype), as_array(x2, dtype)


def exp2(x: Any) -> Any:
    return xp.pow(2.0, _floating(x))


@_of_real_numbers
def logaddexp2(x1: Any, x2: Any) -> Any:
    x1, x2 = _in_common_dtype(_floating(x1), _floating(x2))
    return xp.logaddexp(x1 * LOG_OF_2, x2 * LOG_OF_2) / LOG_OF_2


def _but_nan(x1: Any, x2: Any, choose: Callable[..., Any]) -> Any:
    """Return what is chosen of two arrays, of which NaN is never one unless both are."""
    return xp.where(xp.isnan(x1), x2, xp.where(xp.isnan(x2), x1, choose(x1, x2)))


def float_power(x1: Any, x2: Any) -> Any:
    def double(x: Any) -> Any:
        if isinstance(x, (int, float)):
            return float(x)
        if isinstance(x, complex):
            return x
        if x.dtype.kind == "c":
            return as_array(x, np.complex128)
        return as_array(x, np.float64)

    return xp.pow(double(x1), double(x2))


@_of_real_numbers
def fmod(x1: Any, x2: Any) -> Any:
    x1, x2 = _in_common_dtype(x1, x2)
    if x1.dtype.kind != "f":  # the smallest integer has no absolute value
        rest = xp.remainder(x1, x2)
        return xp.where((rest != 0) & ((rest < 0) != (x1 < 0)), rest - x2, rest)
    # By the sign bit, so that zero keeps its sign, and has the derivative of its side, which abs has not.
    negative = xp.signbit(x1)
    rest = xp.remainder(_without_sign(x1, negative), _without_sign(x2, xp.signbit(x2)))
    return xp.where(negative, -rest, rest)


def _without_sign(x: Any, negative: Any) -> Any:
    """Return the absolute value, whose derivative at zero is that of the side that its sign bit says."""
    return xp.where(negative, -x, x)


@_of_real_numbers
def heaviside(x1: Any, x2: Any) -> Any:
    x1 = _floating(x1)
    return xp.where(x1 != 0, xp.maximum(xp.sign(x1), 0.0), x2)


@_of_real_numbers
def modf(x: Any) -> Any:
    x = _floating(x)
    negative = xp.signbit(x)
    size = _without_sign(x, negative)
    with np.errstate(invalid="ignore"):  # infinity has no part behind the point
        rest = size - xp.trunc(size)
    rest = xp.where(xp.isinf(x), xp.zeros_like(x), rest)
    return xp.where(negative, -rest, rest), xp.trunc(x)


def ldexp(x1: Any, x2: Any) -> Any:
    x1, x2 = as_array(x1), as_array(x2)
    if x2.dtype.kind not in "iub":
        return NotImplemented
    x1 = _floating(x1)
    half = xp.astype(x2, np.int64) // 2
    # In two steps, since not every power of 2 is finite that a product with it is.
    first, second = (xp.pow(2.0, xp.astype(part, x1.dtype)) for part in (half, x2 - half))
    return x1 * first * second


@_of_real_numbers
def spacing(x: Any) -> Any:
    x = _floating(x)
    with np.errstate(invalid="ignore"):  # from infinity to itself
        return xp.copysign(xp.nextafter(xp.abs(x), math.inf) - xp.abs(x), x)


universal: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (exp2, logaddexp2, float_power, fmod, heaviside, ldexp, modf, spacing)
} | {
    **dict.fromkeys(("degrees", "rad2deg"), _of_real_numbers(lambda x: xp.rad2deg(_floating(x)))),
    **dict.fromkeys(("radians", "deg2rad"), _of_real_numbers(lambda x: xp.deg2rad(_floating(x)))),
    "divmod": lambda x1, x2: (xp.floor_divide(x1, x2), xp.remainder(x1, x2)),
    "fabs": _of_real_numbers(lambda x: xp.abs(_floating(x))),
    "fmax": lambda x1, x2: _but_nan(x1, x2, xp.maximum),
    "fmin": lambda x1, x2: _but_nan(x1, x2, xp.minimum),
    "matvec": lambda x1, x2: xp.matmul(x1, xp.expand_dims(x2, axis=-1))[..., 0],
    "rint": lambda x: xp.round(_floating(x)),
    "vecmat": lambda x1, x2: xp.matmul(xp.expand_dims(conjugate(xp, x1), axis=-2), x2)[..., 0, :],
}
