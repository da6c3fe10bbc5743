"""Interpolation, convolution, differences."""

from __future__ import annotations

from math import isfinite
from typing import Any, Literal, TypeAlias

import numpy as np

from dispatchkit.backends.arrays import holds_complex, is_inexact
from dispatchkit.backends.numpy_sums import DOUBLE
from dispatchkit.declare.decorators import body_on_numpy, operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.shared import conjugate, floating, shape_of
from dispatchkit.protocol.kinds import kinds

ConvolveMode: TypeAlias = Literal["full", "same", "valid"]
MODES = ("full", "same", "valid")
# What NumPy's function takes for the values outside of the points.
ENDS = (type(None), float, int)


@operation(
    kind=kinds.function,
    samples=lambda: [
        sample(draw(4), draw(3)),
        sample(draw(3), draw(4), mode="same"),
        sample(draw(6), draw(2), mode="same"),
        sample(draw(5), draw(3), mode="valid"),
        sample(draw(2), draw(4), mode="valid"),
        sample(draw(1), draw(1)),
    ],
)
def convolve(xp: Namespace, x1: Array, x2: Array, /, *, mode: ConvolveMode = "full") -> Array:
    """Convolve two vectors: multiply the polynomials that they are coefficients of.

    Parameters
    ----------
    x1, x2 : arrays of shape (m,) and (n,)
    mode : which elements: all m + n - 1 of them (``"full"``), the middle max(m, n) (``"same"``), or the
        max(m, n) - min(m, n) + 1 that no end cuts off (``"valid"``)

    Returns
    -------
    array of the elements ``y[k] = sum(x1[i] * x2[k - i])``

    Raises
    ------
    ValueError : if an argument is no vector or has no elements, or the mode is not known

    Notes
    -----
    Linear in each argument; the cotangent is convolved with the other one, reversed and conjugated. Computed as
    products of matrices. A NaN or an infinity reaches the elements that it has a part in. Source: NumPy,
    `numpy.convolve`.

    Examples
    --------
    >>> dk.convolve(dk.asarray([1.0, 2.0, 3.0]), dk.asarray([1.0, 1.0]))
    tensor([1., 3., 5., 3.])
    >>> dk.convolve(dk.asarray([1.0, 2.0, 3.0]), dk.asarray([1.0, 1.0]), mode="valid")
    tensor([3., 5.])
    """
    for name, x in (("x1", x1), ("x2", x2)):
        if len(shape_of(x)) != 1 or not x.shape[0]:
            raise ValueError(f"{convolve.__name__}: {name} must be a vector with elements, found shape {shape_of(x)}")
    return _convolve(xp, x1, x2, *_extent(x1.shape[0], x2.shape[0], mode))


def _size(x: Any) -> float:
    """Return the sum of the squares of complex numbers, which is finite where they are; 0 of real ones."""
    if x.dtype.kind == "c":
        return float(np.vdot(x, x).real)
    return 0.0


@convolve.def_kernel("numpy")
def convolve_numpy(x1: Any, x2: Any, /, *, mode: ConvolveMode = "full") -> Any:
    """Convolve by NumPy's function; products of complex infinities are those of the body."""
    arrays = type(x1) is np.ndarray and type(x2) is np.ndarray
    if arrays and x1.ndim == x2.ndim == 1 and x1.size and x2.size and mode in MODES:
        if x1.size >= x2.size:
            longer, shorter = x1, x2
        else:
            longer, shorter = x2, x1
        if isfinite(_size(longer) * _size(shorter)):
            return np.correlate(longer, shorter[::-1].conj(), mode)  # what NumPy's function comes to
    return body_on_numpy(convolve)(x1, x2, mode=mode)


convolve.def_transpose("x1")(lambda xp, g, x1, x2, mode: _correlate(xp, g, x2, x1.shape[0], mode))
convolve.def_transpose("x2")(lambda xp, g, x1, x2, mode: _correlate(xp, g, x1, x2.shape[0], mode))


def _extent(m: int, n: int, mode: str) -> tuple[int, int]:
    """Return where in the full convolution a mode begins and ends."""
    longer, shorter = max(m, n), min(m, n)
    if mode == "full":
        return 0, m + n - 1
    if mode == "same":
        return (shorter - 1) // 2, (shorter - 1) // 2 + longer
    if mode == "valid":
        return shorter - 1, longer
    raise ValueError(f"{convolve.__name__}: mode must be 'full', 'same' or 'valid', found {mode!r}")


def _correlate(xp: Namespace, g: Any, other: Any, length: int, mode: str) -> Any:
    """Return the cotangent of the argument that is of this length, from the other one."""
    start, _ = _extent(other.shape[0], length, mode)
    begin = other.shape[0] - 1 - start
    return _convolve(xp, g, conjugate(xp, xp.flip(other)), begin, begin + length)


def _convolve(xp: Namespace, x1: Any, x2: Any, start: int, stop: int) -> Any:
    """Return a part of the full convolution of two vectors.

    The longer one is cut into rows of one length, and these are multiplied with the triangular parts of the band
    matrix that the shorter one stands in. With an infinity or a NaN, of which a zero of that matrix would make a NaN,
    it is multiplied with one element of the shorter one at a time.
    """
    if x1.shape[0] >= x2.shape[0]:
        x, taps = x1, x2
    else:
        x, taps = x2, x1
    n, m = x.shape[0], taps.shape[0]
    if not all(holds(xp.isfinite(vector)) for vector in (x, taps) if is_inexact(vector.dtype)):
        return sum(_between_zeros(xp, x * taps[i], i, m - 1 - i) for i in range(m))[start:stop]
    width = min(max(m, 8), 128)
    count, further = -(-(stop - start) // width), -(-(m - 1) // width)
    first = start - (m - 1)
    last = first + (count + further) * width
    before, after = max(-first, 0), max(last - max(n, first), 0)
    rows = xp.reshape(_between_zeros(xp, x[max(first, 0) : min(last, n)], before, after), (count + further, width))
    band = _between_zeros(xp, taps, 2 * width, width)
    y = rows[:count, :] @ _triangles(xp, band[m + width :], width)
    for i in range(1, further + 1):
        begin = m + width - i * width
        y = y + rows[i : i + count, :] @ _triangles(xp, band[begin : begin + 2 * width], width)
    return xp.reshape(y, (-1,))[: stop - start]


def _between_zeros(xp: Namespace, x: Any, before: int, after: int) -> Any:
    front, back = (xp.zeros((n,), dtype=x.dtype) for n in (before, after))
    return xp.concat([front, x, back])


def _triangles(xp: Namespace, x: Any, width: int) -> Any:
    """Return the matrix with elements ``x[width - 1 + column - row]``, of a vector twice its width long."""
    repeated = xp.reshape(xp.broadcast_to(x, (width, 2 * width)), (-1,))
    # Rows that are shorter by one than what is repeated in them begin one element further back each.
    sheared = xp.reshape(repeated[: width * (2 * width - 1)], (width, 2 * width - 1))
    return sheared[:, width - 1 :]


POINTS = np.asarray([-1.0, 0.0, 0.5, 2.0])


@operation(
    kind=kinds.function,
    samples=lambda: [
        sample(draw(3, low=0.6, high=1.9), POINTS, draw(4)),
        sample(np.asarray([[-2.0, -0.3], [1.0, 3.0]]), POINTS, draw(4)),
        sample(draw(low=-3, high=-2), POINTS, draw(4), left=7.0, right=-7.0),
        sample(np.asarray([2.5, 0.3]), POINTS, draw(4), right=1.5),
        sample(np.asarray([0.1, 7.3, -2.6]), np.asarray([2.0, 0.5, 4.2]), draw(3), period=3.0),
        sample(draw(2), draw(1), draw(1)),
    ],
    real=True,
)
def interp(
    xp: Namespace,
    x: Array,
    points: Array,
    values: Array,
    /,
    *,
    left: complex | None = None,
    right: complex | None = None,
    period: float | None = None,
) -> Array:
    """Interpolate linearly between the values of a function at points.

    Parameters
    ----------
    x : where to evaluate it, array of shape (...) of real numbers
    points : array of shape (n,) in ascending order, which is not checked; in any order with a period
    values : of the function at the points, array of shape (n,)
    left : the value below the first point; by default the first value
    right : the value above the last point; by default the last value
    period : of the function; `left` and `right` have no effect then

    Returns
    -------
    floating-point array of the shape of `x`; NaN where `x` is

    Raises
    ------
    TypeError : if `x` or `points` are complex
    ValueError : if points or values are no vectors of one length, there are none, or the period is 0

    Notes
    -----
    The derivative by `x` is the slope of the segment, at a point that of the segment to its right and outside of
    all 0; gradients flow to points and values as well. Source: NumPy, `numpy.interp`, which always computes in
    double precision.

    Examples
    --------
    >>> dk.interp(dk.asarray([0.5, 1.0, 9.0]), dk.asarray([0.0, 1.0, 2.0]), dk.asarray([0.0, 4.0, 6.0]))
    tensor([2., 4., 6.])
    """
    n = _counted_points(points, values)
    for name, array in (("x", x), ("points", points)):
        if holds_complex(array):
            raise TypeError(
                f"{interp.__name__}: {name} must hold real numbers, which have an order, found {array.dtype}"
            )
    points, values = floating(xp, points), floating(xp, values)
    if not hasattr(x, "shape"):
        x = xp.asarray(x)
    shape = x.shape
    x = xp.reshape(x, (-1,))
    if period is not None:
        x, points, values = _one_period(xp, x, points, values, period)
        n, left, right = n + 2, None, None
    low = xp.searchsorted(points, x, side="right") - 1
    low = xp.clip(low, 0, n - 1)
    high = xp.clip(low + 1, 0, n - 1)
    x_low, y_low = xp.take(points, low, axis=0), xp.take(values, low, axis=0)
    x_high, y_high = xp.take(points, high, axis=0), xp.take(values, high, axis=0)
    width = x_high - x_low
    below = x < points[0]
    # There is no segment outside of the points and to the right of the last one.
    within = xp.where(below | (x >= points[n - 1]), 0, x - x_low)
    slope = (y_high - y_low) / xp.where(width == 0, 1, width)
    y = y_low + within * slope
    if not holds(xp.isfinite(y)):
        y = xp.where(within == 0, y_low + within * xp.where(xp.isfinite(slope), slope, 0), y)
        # Beside an infinity a segment is known from its other end, or has one value.
        y = xp.where(xp.isnan(y), y_high + (x - x_high) * slope, y)
        y = xp.where(xp.isnan(y) & (y_low == y_high) & ~xp.isnan(x), y_low, y)
    if left is not None:
        y = xp.where(below, left, y)
    if right is not None:
        y = xp.where(x > points[n - 1], right, y)
    return xp.reshape(y, shape)


@interp.def_kernel("numpy")
def interp_numpy(x, points, values, /, *, left=None, right=None, period=None):
    """Interpolate by NumPy's function, in double precision; between complex infinities the body does."""
    arrays = type(x) is np.ndarray and type(points) is np.ndarray and type(values) is np.ndarray
    ends = period is None and type(left) in ENDS and type(right) in ENDS
    if arrays and ends and points.ndim == 1 and points.size > 1 and points.shape == values.shape:
        if x.dtype is DOUBLE and points.dtype is DOUBLE and values.dtype is DOUBLE:
            return np.interp(x, points, values, left, right)
        if x.dtype.kind != "c" != points.dtype.kind and isfinite(_size(values)):
            inexact = [array.dtype if is_inexact(array.dtype) else DOUBLE for array in (points, values)]
            return np.interp(x, points, values, left, right).astype(np.result_type(x.dtype, *inexact))
    return body_on_numpy(interp)(x, points, values, left=left, right=right, period=period)


def _counted_points(points: Any, values: Any) -> int:
    shape = shape_of(points)
    if len(shape) != 1 or shape_of(values) != shape:
        raise ValueError(
            f"{interp.__name__}: points and values must be vectors of one length, found shapes {shape} and "
            f"{shape_of(values)}"
        )
    if not shape[0]:
        raise ValueError(f"{interp.__name__}: points has no elements")
    return shape[0]


def _one_period(xp: Namespace, x: Any, points: Any, values: Any, period: float) -> tuple[Any, Any, Any]:
    """Return what to interpolate in one period of a function, with a point more at either end."""
    if not period:
        raise ValueError(f"{interp.__name__}: period must not be 0")
    period = abs(period)
    points = points % period
    order = xp.argsort(points)
    points, values = xp.take(points, order, axis=0), xp.take(values, order, axis=0)
    points = xp.concat([points[-1:] - period, points, points[:1] + period])
    return x % period, points, xp.concat([values[-1:], values, values[:1]])
