"""Creation functions: arrays made of a shape, of a range, or in the likeness of another."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import namespace_of, numpy_dtype
from dispatchkit.backends.tracing import is_traced
from dispatchkit.declare.decorators import body_on_numpy, creation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, DType, Namespace, Shape
from dispatchkit.declare.wrapping import holds, values_of_batch
from dispatchkit.errors import TransformError
from dispatchkit.graph.storage import Storage
from dispatchkit.ops.creation.dtypes import default_dtype_of, dtype_of_scalar
from dispatchkit.ops.shared import floating, integer
from dispatchkit.protocol.instance import tensor_protocol

# What has no array.
NUMBERS = (int, float, complex)
INT, REAL = {int}, {int, float}


def shape_of(name: str, shape: Shape) -> tuple[int, ...]:
    """Return a shape as a tuple of ints.

    Parameters
    ----------
    name : of who asks, for messages
    shape : an int, or a tuple or list of ints

    Raises
    ------
    TypeError : if it is neither
    ValueError : if a length is negative
    """
    if type(shape) is tuple and {*map(type, shape)} == INT and min(shape) >= 0:
        return shape
    if isinstance(shape, (tuple, list)):
        lengths = shape
    else:
        lengths = (shape,)
    try:
        checked = tuple(map(operator.index, lengths))
    except TypeError:
        raise TypeError(f"{name}: a shape is an int or a tuple of ints, found {shape!r}") from None
    if checked and min(checked) < 0:
        raise ValueError(f"{name}: lengths in a shape are not negative, found {shape!r}")
    return checked


def _making(operation: Any, make: Callable[[Any, Any], Any]) -> None:
    """Make arrays of a shape by a function that takes shape and dtype."""
    body = body_on_numpy(operation)

    def fast(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
        if type(shape) in (tuple, int) and (device is None or device == "cpu"):
            try:
                return make(shape, dtype or default_dtype_of("f"))
            except (TypeError, ValueError, OverflowError):  # the body says what is wrong
                pass
        return body(shape, dtype=dtype, device=device)

    operation.def_kernel("numpy", fast)


@creation(samples=lambda: [sample((2, 3)), sample(3, dtype="int64"), sample(())])
def zeros(xp: Namespace, shape: Shape, *, dtype: DType = None, device: Any = None) -> Array:
    """Return an array of zeros.

    Parameters
    ----------
    shape : of the result, an int or a tuple of ints
    dtype : of the result, the default floating one if None

    Raises
    ------
    ValueError : if a length is negative

    Examples
    --------
    >>> dk.zeros((2, 3))
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    return xp.zeros(shape_of(zeros.__name__, shape), dtype=dtype or default_dtype_of("f"), device=device)


_making(zeros, np.zeros)


@creation(samples=lambda: [sample((2, 3)), sample(3, dtype="int64"), sample(())])
def ones(xp: Namespace, shape: Shape, *, dtype: DType = None, device: Any = None) -> Array:
    """Return an array of ones.

    Parameters
    ----------
    shape : of the result, an int or a tuple of ints
    dtype : of the result, the default floating one if None

    Raises
    ------
    ValueError : if a length is negative

    Examples
    --------
    >>> dk.ones(3)
    tensor([1., 1., 1.])
    """
    return xp.ones(shape_of(ones.__name__, shape), dtype=dtype or default_dtype_of("f"), device=device)


def _filled(shape: Any, dtype: Any) -> Any:
    """Return ones as `numpy.ones` does, in half of the time."""
    y = np.empty(shape, dtype)
    y.fill(1)
    return y


_making(ones, _filled)


@creation(samples=lambda: [sample((2, 3)), sample(3, dtype="int64"), sample(())])
def empty(xp: Namespace, shape: Shape, *, dtype: DType = None, device: Any = None) -> Array:
    """Return an array whose elements are whatever the memory held.

    Parameters
    ----------
    shape : of the result, an int or a tuple of ints
    dtype : of the result, the default floating one if None

    Raises
    ------
    ValueError : if a length is negative

    Examples
    --------
    >>> dk.empty((2, 3)).shape
    (2, 3)
    """
    return xp.empty(shape_of(empty.__name__, shape), dtype=dtype or default_dtype_of("f"), device=device)


_making(empty, np.empty)


def full_array(xp: Namespace, shape: tuple[int, ...], value: Any, dtype: DType, device: Any) -> Any:
    """Return one value in every element, also that of an array, which the standard's `full` does not take."""
    if isinstance(value, (int, float, complex)):
        return xp.full(shape, value, dtype=dtype, device=device)
    return xp.asarray(xp.broadcast_to(xp.astype(value, dtype), shape), device=device, copy=True)


@creation(samples=[sample((2, 3), 2.5), sample((2, 3), draw()), sample(2, 7, dtype="float64"), sample((), True)])
def full(
    xp: Namespace,
    shape: Shape,
    fill_value: complex | Array,
    *,
    dtype: DType = None,
    device: Any = None,
) -> Array:
    """Return an array with one value in every element.

    Parameters
    ----------
    shape : of the result, an int or a tuple of ints
    fill_value : a scalar, or an array of shape ``()``
    dtype : of the result; by default that of an array, else the default one of the scalar's kind

    Raises
    ------
    ValueError : if a length is negative

    Notes
    -----
    The cotangent of an array `fill_value` is the sum of that of the result.

    Examples
    --------
    >>> dk.full((2, 2), 7.0)
    tensor([[7., 7.],
            [7., 7.]])
    """
    return full_array(xp, shape_of(full.__name__, shape), fill_value, dtype or dtype_of_scalar(fill_value), device)


full.def_transpose("fill_value")(lambda g: g)


@full.def_kernel("numpy")
def full_numpy(shape, fill_value, *, dtype=None, device=None):
    if type(fill_value) in REAL and type(shape) in (tuple, int) and (device is None or device == "cpu"):
        try:
            y = np.empty(shape, dtype or dtype_of_scalar(fill_value))
            if y.dtype.kind == "f" or (type(fill_value) is int and y.dtype.kind in "iuc"):
                y.fill(fill_value)
                return y
        except (TypeError, ValueError, OverflowError):  # the body says what is wrong
            pass
    return body_on_numpy(full)(shape, fill_value, dtype=dtype, device=device)


@creation(
    samples=lambda: [
        sample(5),
        sample(1, 9, 3),
        sample(0.0, 1.0, 0.25),
        sample(3, dtype="float64"),
        sample(draw(low=0.1, high=0.4), 2.5, draw(low=0.8, high=0.9)),
        sample(draw(low=2.1, high=2.4), step=draw(low=0.8, high=0.9)),
    ],
    real=True,
)
def arange(
    xp: Namespace,
    start: float | Array,
    /,
    stop: float | Array | None = None,
    step: float | Array = 1,
    *,
    dtype: DType = None,
    device: Any = None,
) -> Array:
    """Return evenly spaced values of a half-open interval.

    Parameters
    ----------
    start : first value; with `stop` left out this is `stop`, and the first value is 0
    stop : where it ends; not among the values
    step : from value to value
    dtype : of the result; int64 where all three are ints, that of floating-point arrays, else the default floating one

    Returns
    -------
    array of shape ``(ceil((stop - start) / step),)``

    Raises
    ------
    ValueError : if `step` is 0, an array among the three is not of shape ``()``, or the number of values differs
        within a batch
    TransformError : if the number of values depends on what JAX traces

    Notes
    -----
    Gradients flow to arrays `start` and `step`; that by `stop` is 0.

    Examples
    --------
    >>> dk.arange(1, 7, 2)
    tensor([1, 3, 5])
    """
    if stop is None:
        start, stop = 0, start
    values = (start, stop, step)
    between = _dtype_between("i", *values)
    if between.kind == "c":
        raise TypeError(f"{arange.__name__}: start, stop and step must be real numbers, found {between}")
    if all(isinstance(value, NUMBERS) for value in values):
        if step == 0:
            raise ValueError(f"{arange.__name__}: step is not 0")
        return xp.arange(start, stop, step, dtype=dtype or between, device=device)
    for name, value in zip(("start", "stop", "step"), values, strict=True):
        if shape := getattr(value, "shape", ()):
            raise ValueError(f"{arange.__name__}: {name} must be a number, found an array of shape {tuple(shape)}")
    start, stop, step = (value if isinstance(value, NUMBERS) else xp.astype(value, between) for value in values)
    with np.errstate(divide="ignore", invalid="ignore"):
        count = _count((stop - start) / step)
    steps = xp.arange(count, dtype=between, device=device or _device_of(*values))
    return xp.astype(start + step * steps, dtype or between, copy=False)


_arange: Callable[..., Any] = np.arange


@arange.def_kernel("numpy")
def arange_numpy(start, /, stop=None, step=1, *, dtype=None, device=None):
    if type(start) is int and type(step) is int and step and device is None:
        if stop is None:
            return _arange(0, start, step, dtype or default_dtype_of("i"))
        if type(stop) is int:
            return _arange(start, stop, step, dtype or default_dtype_of("i"))
    return body_on_numpy(arange)(start, stop, step, dtype=dtype, device=device)


def _dtype_between(kind: str, *values: Any) -> DType:
    """Return the dtype of values between others: of floating-point arrays among them, else a default one.

    Parameters
    ----------
    kind : of the default one, ``"i"`` or ``"f"``, where all values are integers
    *values : numbers and arrays
    """
    types = {*map(type, values)}
    if types <= REAL:
        if float in types:
            kind = "f"
        return default_dtype_of(kind)
    dtypes = [numpy_dtype(dtype_of_scalar(value)) for value in values]
    widest = max(kind, *(dtype.kind for dtype in dtypes if dtype.kind in "fc"), key="ifc".index)
    of_arrays = [
        dtype
        for value, dtype in zip(values, dtypes, strict=True)
        if dtype.kind in "fc" and not isinstance(value, NUMBERS)
    ]
    if not of_arrays:
        return default_dtype_of(widest)
    if widest == "c":
        return np.result_type(*of_arrays, np.complex64)
    return np.result_type(*of_arrays)


def _device_of(*values: Any) -> Any:
    """Return the device of the first array among values that has one."""
    return next((value.device for value in values if getattr(value, "device", None) is not None), None)


def _count(quotient: Any) -> int:
    """Return how many steps fit into an interval, which is the same in a whole batch."""
    values = values_of_batch(quotient)
    if is_traced(values):
        raise TransformError(
            f"{arange.__name__}: the number of values, ceil((stop - start) / step), depends on an array whose elements "
            f"are not known while JAX traces; use linspace, whose num is an int"
        )
    if 0 in values.shape:
        return 0
    library = namespace_of(values)
    least, most = float(library.min(values)), float(library.max(values))
    if not math.isfinite(least) or not math.isfinite(most):
        raise ValueError(f"{arange.__name__}: step is not 0, and all three are finite; found {most} steps")
    if math.ceil(least) != math.ceil(most):
        raise ValueError(
            f"{arange.__name__}: the number of values, ceil((stop - start) / step), must be the same in a whole batch, "
            f"found {math.ceil(least)} and {math.ceil(most)}; use linspace, whose num is an int"
        )
    return max(math.ceil(most), 0)


@creation(
    samples=lambda: [
        sample(0.0, 1.0, 5),
        sample(0, 1, 4, endpoint=False),
        sample(0.0, 1.0, 1, dtype="float64"),
        sample(draw(), draw(), 4),
        sample(draw(2, 1), draw(3), 3, endpoint=False),
    ]
)
def linspace(
    xp: Namespace,
    start: complex | Array,
    stop: complex | Array,
    /,
    num: int,
    *,
    dtype: DType = None,
    device: Any = None,
    endpoint: bool = True,
) -> Array:
    """Return a number of evenly spaced values of an interval.

    Parameters
    ----------
    start, stop : its ends, numbers or arrays
    num : how many values
    dtype : of the result; by default that of ends that are floating-point arrays, else the default floating one, or
        the complex one where an end is complex
    endpoint : whether `stop` is among the values

    Returns
    -------
    array of shape ``(num,)``, followed by the shape that arrays `start` and `stop` have together

    Raises
    ------
    ValueError : if `num` is negative
    TypeError : if `num` is not an int

    Notes
    -----
    The values are ``start + step * n``, and `stop` itself where it is among them: rounded as NumPy rounds them.
    Gradients flow to both ends.

    Examples
    --------
    >>> dk.linspace(0.0, 1.0, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    num = integer(linspace, "num", num)
    if num < 0:
        raise ValueError(f"{linspace.__name__}: num must not be negative, found {num}")
    dtype = dtype or _dtype_between("f", start, stop)
    if isinstance(start, NUMBERS) and isinstance(stop, NUMBERS):
        return xp.linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint)
    start, stop = floating(xp, start), floating(xp, stop)
    device = device or _device_of(start, stop)
    kind = numpy_dtype(dtype).kind
    if kind in "fc":
        real = np.finfo(numpy_dtype(dtype)).dtype
    else:
        real = np.dtype(np.float64)
    ndim = max(len(getattr(end, "shape", ())) for end in (start, stop))
    numbers = xp.reshape(xp.arange(num, dtype=real, device=device), (num, *(1,) * ndim))
    parts = num - 1 if endpoint else num
    difference = stop - start
    step = difference
    if parts > 1:
        step = difference / parts
    # A comparison of a structured type would be dense.
    plain = isinstance(step, Storage) or not tensor_protocol.types.participates(type(step))
    if plain and not holds((step != 0) | (difference == 0), traced=True):
        values = start + difference * (numbers / parts)  # of a step that is too small for a number
    else:
        values = start + step * numbers
    if endpoint and num > 1:  # rounded as the others are, the last would not be the end
        values = xp.where(numbers == parts, stop, values)
    if kind in "iu":
        values = xp.floor(values)
    return xp.astype(values, dtype, copy=False)


@creation(samples=lambda: [sample(3), sample(2, 4, k=1), sample(3, 2, k=-1, dtype="int64")])
def eye(
    xp: Namespace,
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType = None,
    device: Any = None,
) -> Array:
    """Return a matrix with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    n_rows, n_cols : its shape; `n_cols` is `n_rows` by default
    k : which diagonal: above the main one if positive, below it if negative
    dtype : of the result, the default floating one if None

    Raises
    ------
    ValueError : if a length is negative

    Examples
    --------
    >>> dk.eye(2, 3, k=1)
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    if n_cols is None:
        n_cols = n_rows
    rows, columns = shape_of(eye.__name__, (n_rows, n_cols))
    return xp.eye(rows, columns, k=k, dtype=dtype or default_dtype_of("f"), device=device)


@creation(differentiable=False, samples=lambda: [sample(draw(2, 3)), sample(draw(), dtype="int64")])
def zeros_like(xp: Namespace, x: Array, /, *, dtype: DType = None, device: Any = None) -> Array:
    """Return zeros in the shape of an array.

    Parameters
    ----------
    x : array of any shape
    dtype, device : of the result, those of `x` if None

    Examples
    --------
    >>> dk.zeros_like(dk.tensor([[1, 2]]))
    tensor([[0, 0]])
    """
    return xp.zeros(x.shape, dtype=dtype or x.dtype, device=device or getattr(x, "device", None))


@creation(differentiable=False, samples=lambda: [sample(draw(2, 3)), sample(draw(), dtype="int64")])
def ones_like(xp: Namespace, x: Array, /, *, dtype: DType = None, device: Any = None) -> Array:
    """Return ones in the shape of an array.

    Parameters
    ----------
    x : array of any shape
    dtype, device : of the result, those of `x` if None

    Examples
    --------
    >>> dk.ones_like(dk.tensor([[3, 4]]))
    tensor([[1, 1]])
    """
    return xp.ones(x.shape, dtype=dtype or x.dtype, device=device or getattr(x, "device", None))


@creation(differentiable=False, samples=lambda: [sample(draw(2, 3)), sample(draw(), dtype="int64")])
def empty_like(xp: Namespace, x: Array, /, *, dtype: DType = None, device: Any = None) -> Array:
    """Return an array in the shape of another, with whatever the memory held.

    Parameters
    ----------
    x : array of any shape
    dtype, device : of the result, those of `x` if None

    Examples
    --------
    >>> dk.empty_like(dk.ones((2, 3))).shape
    (2, 3)
    """
    return xp.empty(x.shape, dtype=dtype or x.dtype, device=device or getattr(x, "device", None))


@creation(
    samples=lambda: [
        sample(draw(2, 3), 2.5),
        sample(draw(2, 3), draw()),
        sample(draw(), 7, dtype="int64", differentiable=False),
    ]
)
def full_like(
    xp: Namespace, x: Array, /, fill_value: complex | Array, *, dtype: DType = None, device: Any = None
) -> Array:
    """Return one value in the shape of an array.

    Parameters
    ----------
    x : array of any shape
    fill_value : a scalar, or an array of shape ``()``
    dtype, device : of the result, those of `x` if None

    Notes
    -----
    The cotangent of an array `fill_value` is the sum of that of the result; none flows to `x`.

    Examples
    --------
    >>> dk.full_like(dk.zeros((2, 2)), 7)
    tensor([[7., 7.],
            [7., 7.]])
    """
    return full_array(xp, x.shape, fill_value, dtype or x.dtype, device or getattr(x, "device", None))
