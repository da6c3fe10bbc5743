"""Reductions that leave out NaN: sums, products, extremes, mean and spread of the other elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import is_inexact
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.numpy_sums import SINGLE
from dispatchkit.declare.decorators import body_on_numpy, operation, reduction
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, DType, Namespace
from dispatchkit.ops.shared import Axis, count, floating
from dispatchkit.protocol.kinds import kinds

HOLED = np.asarray([[0.5, np.nan, -1.0], [1.5, 2.0, np.nan]])
FULL = sample(draw(2, 3, content="distinct"))
SAMPLES = [FULL, sample(HOLED), sample(HOLED, axis=1), sample(HOLED, axis=(-1, 0), keepdims=True)]
# Differences of numbers of seven digits say nothing of a gradient.
SUM_SAMPLES = [*SAMPLES, sample(HOLED, axis=0, dtype=SINGLE, differentiable=False)]
SPREAD_SAMPLES = [FULL, sample(HOLED, axis=1), sample(HOLED, correction=1, keepdims=True), sample(HOLED, ddof=0.5)]


@reduction(samples=SUM_SAMPLES)
def nansum(xp: Namespace, x: Array, /, *, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Array:
    """Sum the elements that are not NaN.

    Parameters
    ----------
    dtype : of the result; small integers are summed in the default integer

    Returns
    -------
    array without the axes summed along; 0 where there are no elements but NaN

    Notes
    -----
    The derivative by a NaN is 0. Source: NumPy, `numpy.nansum`.

    Examples
    --------
    >>> dk.nansum(dk.asarray([1.0, dk.nan, 3.0]))
    tensor(4.)
    """
    return xp.sum(_replace_nan(xp, x, 0), axis=axis, dtype=dtype, keepdims=keepdims)


@operation(kind=kinds.reduction, samples=SUM_SAMPLES)
def nanprod(xp: Namespace, x: Array, /, *, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Array:
    """Multiply the elements that are not NaN.

    Parameters
    ----------
    dtype : of the result; small integers are multiplied in the default integer

    Returns
    -------
    array without the axes multiplied along; 1 where there are no elements but NaN

    Notes
    -----
    The derivative by a NaN is 0. Source: NumPy, `numpy.nanprod`.

    Examples
    --------
    >>> dk.nanprod(dk.asarray([2.0, dk.nan, 3.0]))
    tensor(6.)
    """
    return xp.prod(_replace_nan(xp, x, 1), axis=axis, dtype=dtype, keepdims=keepdims)


@operation(kind=kinds.reduction, samples=SAMPLES, takes="real numbers")
def nanmax(xp: Namespace, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Find the largest of the elements that are not NaN.

    Returns
    -------
    array without the axes looked along; NaN where there are no elements but NaN

    Raises
    ------
    ValueError : if there are no elements

    Notes
    -----
    Elements that tie for the largest share the cotangent evenly, as in `max`; that of a NaN is 0. Source: NumPy,
    `numpy.nanmax`.

    Examples
    --------
    >>> dk.nanmax(dk.asarray([[1.0, dk.nan], [3.0, 2.0]]), axis=1)
    tensor([1., 3.])
    """
    y = xp.max(_replace_nan(xp, x, -math.inf), axis=axis, keepdims=keepdims)
    return _unless_all_nan(xp, y, x, axis, keepdims)


@operation(kind=kinds.reduction, samples=SAMPLES, takes="real numbers")
def nanmin(xp: Namespace, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Find the smallest of the elements that are not NaN.

    Returns
    -------
    array without the axes looked along; NaN where there are no elements but NaN

    Raises
    ------
    ValueError : if there are no elements

    Notes
    -----
    Elements that tie for the smallest share the cotangent evenly, as in `min`; that of a NaN is 0. Source: NumPy,
    `numpy.nanmin`.

    Examples
    --------
    >>> dk.nanmin(dk.asarray([[1.0, dk.nan], [3.0, 2.0]]), axis=1)
    tensor([1., 2.])
    """
    y = xp.min(_replace_nan(xp, x, math.inf), axis=axis, keepdims=keepdims)
    return _unless_all_nan(xp, y, x, axis, keepdims)


@reduction(samples=SUM_SAMPLES)
def nanmean(xp: Namespace, x: Array, /, *, axis: Axis = None, dtype: DType = None, keepdims: bool = False) -> Array:
    """Average the elements that are not NaN.

    Parameters
    ----------
    dtype : to compute in, and of the result; by default that of `x` where it is a floating-point one

    Returns
    -------
    array without the axes averaged along; NaN where there are no elements but NaN

    Notes
    -----
    Each of n elements receives the cotangent of its mean, divided by n, a NaN receives 0. Source: NumPy,
    `numpy.nanmean`.

    Examples
    --------
    >>> dk.nanmean(dk.asarray([[1.0, dk.nan], [3.0, 5.0]]), axis=1)
    tensor([1., 4.])
    """
    return _mean(xp, _computed_in(xp, x, dtype), axis, keepdims)


@operation(kind=kinds.reduction, samples=SPREAD_SAMPLES)
def nanvar(
    xp: Namespace,
    x: Array,
    /,
    *,
    axis: Axis = None,
    dtype: DType = None,
    correction: float = 0.0,
    ddof: float | None = None,
    keepdims: bool = False,
) -> Array:
    """Compute the variance of the elements that are not NaN.

    Parameters
    ----------
    dtype : to compute in; by default that of `x` where it is a floating-point one
    correction : taken from the number of elements that the sum of squares is divided by; 1 is unbiased
    ddof : the same by its older name

    Returns
    -------
    array of real numbers without the axes computed along; NaN where no more elements than `correction` are left

    Raises
    ------
    ValueError : if both `correction` and `ddof` are given

    Notes
    -----
    The derivative by a NaN is 0. Source: NumPy, `numpy.nanvar`.

    Examples
    --------
    >>> dk.nanvar(dk.asarray([1.0, dk.nan, 3.0]), correction=1)
    tensor(2.)
    """
    correction = one_correction(nanvar.__name__, correction, ddof)
    x = _computed_in(xp, x, dtype)
    factor = _per_element(xp, count(x.shape, axis), x, axis, correction, keepdims)
    return xp.var(_replace_nan_by_mean(xp, x, axis), axis=axis, keepdims=keepdims) * factor


@operation(kind=kinds.reduction, samples=SPREAD_SAMPLES)
def nanstd(
    xp: Namespace,
    x: Array,
    /,
    *,
    axis: Axis = None,
    dtype: DType = None,
    correction: float = 0.0,
    ddof: float | None = None,
    keepdims: bool = False,
) -> Array:
    """Compute the standard deviation of the elements that are not NaN.

    Parameters
    ----------
    dtype : to compute in; by default that of `x` where it is a floating-point one
    correction : taken from the number of elements that the sum of squares is divided by; 1 is unbiased
    ddof : the same by its older name

    Returns
    -------
    array of real numbers without the axes computed along; NaN where no more elements than `correction` are left

    Raises
    ------
    ValueError : if both `correction` and `ddof` are given

    Notes
    -----
    The square root of `nanvar`; where the elements left are equal the derivative is 0, as in `std`. Source: NumPy,
    `numpy.nanstd`.

    Examples
    --------
    >>> dk.nanstd(dk.asarray([1.0, dk.nan, 3.0]), correction=1)
    tensor(1.4142)
    """
    correction = one_correction(nanstd.__name__, correction, ddof)
    x = _computed_in(xp, x, dtype)
    factor = _per_element(xp, count(x.shape, axis), x, axis, correction, keepdims)
    return xp.std(_replace_nan_by_mean(xp, x, axis), axis=axis, keepdims=keepdims) * xp.sqrt(factor)


def _replace_nan(xp: Namespace, x: Any, value: Any) -> Any:
    """Return an array with another value for each NaN."""
    if is_inexact(x.dtype):
        return xp.where(xp.isnan(x), value, x)
    return x


def _unless_all_nan(xp: Namespace, y: Any, x: Any, axis: Axis, keepdims: bool) -> Any:
    """Return a result, NaN where all elements that it is of are."""
    if is_inexact(x.dtype):
        return xp.where(xp.all(xp.isnan(x), axis=axis, keepdims=keepdims), math.nan, y)
    return y


def _computed_in(xp: Namespace, x: Any, dtype: DType) -> Any:
    """Return an array in the dtype to compute a mean in."""
    if dtype is None:
        return floating(xp, x)
    return xp.astype(x, dtype, copy=False)


def _per_element(xp: Namespace, total: Any, x: Any, axis: Axis, correction: float, keepdims: bool) -> Any:
    """Return a total divided by the number of elements that are not NaN, less a correction; NaN where none is left."""
    count_left = xp.sum(xp.astype(~xp.isnan(x), xp.int64), axis=axis, keepdims=keepdims)
    left = xp.astype(count_left, xp.finfo(x.dtype).dtype) - correction
    return xp.where(left > 0, total / xp.where(left > 0, left, 1), math.nan)


def _mean(xp: Namespace, x: Any, axis: Axis, keepdims: bool) -> Any:
    return _per_element(xp, xp.sum(_replace_nan(xp, x, 0), axis=axis, keepdims=keepdims), x, axis, 0, keepdims)


def _replace_nan_by_mean(xp: Namespace, x: Any, axis: Axis) -> Any:
    """Return an array with the mean of the others for each NaN, which has no part in the spread then."""
    return _replace_nan(xp, x, _mean(xp, x, axis, keepdims=True))


def one_correction(name: str, correction: float, ddof: float | None) -> float:
    """Return the correction, which comes by one of two names."""
    if ddof is None:
        return correction
    if correction:
        raise ValueError(f"{name}: correction and ddof are the same; found both, {correction} and {ddof}")
    return ddof


# The reductions of NumPy's functions of pairs leave out NaN in one pass.
nanmax.def_kernel("numpy", lambda x, /, *, axis=None, keepdims=False: np.fmax.reduce(x, axis, keepdims=keepdims))
nanmin.def_kernel("numpy", lambda x, /, *, axis=None, keepdims=False: np.fmin.reduce(x, axis, keepdims=keepdims))


def _declare_spread(operation: Any, of_variance: Callable[[Any], Any]) -> None:
    """Declare the fast path of a spread, which a function gives of the variance."""

    @operation.def_kernel("numpy")
    def spread(x, /, *, axis=None, dtype=None, correction=0.0, ddof=None, keepdims=False):
        variance = _variance_of_vector(operation.__name__, x, axis, dtype, correction, ddof, keepdims)
        if variance is None:
            options = {"axis": axis, "dtype": dtype, "correction": correction, "ddof": ddof, "keepdims": keepdims}
            return body_on_numpy(operation)(x, **options)
        return of_variance(variance)


_declare_spread(nanvar, np.asarray)
_declare_spread(nanstd, np.sqrt)


def _variance_of_vector(
    name: str, x: Any, axis: Axis, dtype: DType, correction: float, ddof: float | None, keepdims: bool
) -> Any:
    """Return the variance of all elements of an array of NumPy that are not NaN, of which a vector is made.

    None where it is of rows or columns, where it is computed in another dtype, and where too few elements are left.
    """
    along_all = axis is None or (x.ndim == 1 and axis in (0, -1))
    if dtype is not None or x.dtype.char not in "fd" or not along_all:
        return None
    correction = one_correction(name, correction, ddof)
    missing = np.isnan(x)
    left = x
    if missing.any():
        left = x[~missing]
    if left.size <= correction or not left.size:
        return None
    y = np.asarray(numpy_namespace.var(left, correction=correction))
    if keepdims:
        return y.reshape((1,) * x.ndim)
    return y
