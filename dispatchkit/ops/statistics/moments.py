"""Spread and soft maximum: `var`, `std`, `logsumexp`."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.declare.decorators import reduction
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared.arrays import conjugate, floating, root
from dispatchkit.ops.shared.axes import Axis, count, normal_axes, restored

__all__ = ["logsumexp", "std", "var"]

SPREAD_SAMPLES = [
    sample(draw(2, 3)),
    sample(draw(4), correction=1),
    sample(draw(2, 3), axis=-1, keepdims=True),
    sample(draw(2, 3, 2), axis=(0, 2), correction=0.5),
]


@reduction(samples=SPREAD_SAMPLES)
def var(xp: Namespace, x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Compute the variance of the elements.

    Parameters
    ----------
    correction : taken from the number of elements that the sum of squares is divided by; 1 is unbiased

    Returns
    -------
    array of real numbers without the axes computed along

    Notes
    -----
    For n elements ``sum(abs(x - mean(x))**2) / (n - correction)``, with derivative
    ``2 * (x - mean(x)) / (n - correction)``. Source: array API standard, `var`.

    Examples
    --------
    >>> dk.var(dk.asarray([1.0, 3.0]))
    tensor(1.)
    """
    d = _deviation(xp, x, axis)
    return xp.sum(_product(xp, d, d), axis=axis, keepdims=keepdims) / _divisor(x, axis, correction)


@var.def_vjp
def var_vjp(xp, g, x, axis, correction, keepdims):
    share, quiet = _share(2, x, axis, correction)
    with quiet:
        return restored(xp, g * share, x.shape, axis, keepdims) * _deviation(xp, x, axis)


@var.def_jvp
def var_jvp(xp, t, x, axis, correction, keepdims):
    total = xp.sum(_product(xp, _deviation(xp, x, axis), t), axis=axis, keepdims=keepdims)
    share, quiet = _share(2, x, axis, correction)
    with quiet:
        return total * share


@reduction(samples=SPREAD_SAMPLES)
def std(xp: Namespace, x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Compute the standard deviation of the elements.

    Parameters
    ----------
    correction : taken from the number of elements that the sum of squares is divided by; 1 is unbiased

    Returns
    -------
    array of real numbers without the axes computed along

    Notes
    -----
    The square root of `var`, with derivative ``(x - mean(x)) / ((n - correction) * y)``; where all elements
    are equal that is 0, as in PyTorch. Source: array API standard, `std`.

    Examples
    --------
    >>> dk.std(dk.asarray([1.0, 3.0]), correction=1)
    tensor(1.4142)
    """
    axes = normal_axes(axis, x.ndim, std.__name__)
    return root(xp, xp.var(x, axis=axes, correction=correction, keepdims=keepdims))


@std.def_vjp
def std_vjp(xp, g, y, x, axis, correction, keepdims):
    share, quiet = _share(1, x, axis, correction)
    with quiet:
        inner = _over(xp, g, y) * share
        return restored(xp, inner, x.shape, axis, keepdims) * _deviation(xp, x, axis)


@std.def_jvp
def std_jvp(xp, t, y, x, axis, correction, keepdims):
    total = xp.sum(_product(xp, _deviation(xp, x, axis), t), axis=axis, keepdims=keepdims)
    share, quiet = _share(1, x, axis, correction)
    with quiet:
        return _over(xp, total, y) * share


def _deviation(xp: Namespace, x: Any, axis: Axis) -> Any:
    return x - xp.mean(x, axis=axis, keepdims=True) if count(x.shape, axis) else x


def _product(xp: Namespace, x1: Any, x2: Any) -> Any:
    """Return the real part of one array, conjugated, times another."""
    if holds_complex(x1):
        return xp.real(xp.conj(x1) * x2)
    return x1 * x2


def _divisor(x: Any, axis: Axis, correction: float) -> float:
    return max(count(x.shape, axis) - correction, 0)


def _share(total: float, x: Any, axis: Axis, correction: float) -> tuple[float, AbstractContextManager[None]]:
    """Return a number over what a sum of squares is divided by, infinite where that is 0, and what keeps NumPy quiet.

    The products with infinity, infinite or NaN, are PyTorch's derivatives; the value has been warned of.
    """
    divisor = _divisor(x, axis, correction)
    return (total / divisor, nullcontext()) if divisor else (math.inf, np.errstate(invalid="ignore"))


def _over(xp: Namespace, g: Any, y: Any) -> Any:
    """Return a cotangent divided by the deviation, and 0 where that is 0."""
    flat = xp.equal(y, 0)
    return xp.where(flat, 0, g / xp.where(flat, 1, y))


@reduction
def logsumexp(xp: Namespace, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute the logarithm of the sum of exponentials, without overflow.

    Returns
    -------
    array without the axes summed along, floating-point also for integers; -inf for sums of nothing

    Notes
    -----
    The derivative is the softmax. Source: PyTorch, `torch.logsumexp`.

    Examples
    --------
    >>> dk.logsumexp(dk.asarray([1000.0, 1000.0]))
    tensor(1000.6931)
    """
    x = floating(xp, x)
    if count(x.shape, axis) == 0:
        return xp.log(xp.sum(x, axis=axis, keepdims=keepdims))
    top = xp.max(x, axis=axis, keepdims=True)
    top = xp.where(xp.isfinite(top), top, 0)
    y = xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=keepdims))
    return y + (top if keepdims else xp.reshape(top, y.shape))


@logsumexp.def_vjp
def logsumexp_vjp(xp, g, y, x, axis, keepdims):
    return restored(xp, g, x.shape, axis, keepdims) * conjugate(xp, _portions(xp, x, y, axis, keepdims))


@logsumexp.def_jvp
def logsumexp_jvp(xp, t, y, x, axis, keepdims):
    return xp.sum(t * _portions(xp, x, y, axis, keepdims), axis=axis, keepdims=keepdims)


def _portions(xp: Namespace, x: Any, y: Any, axis: Axis, keepdims: bool) -> Any:
    """Return the softmax, by way of the logarithm of the sum of exponentials.

    Large logarithms are rounded; the portions are divided by their sum, which is 1 but for that.
    """
    e = xp.exp(x - restored(xp, y, x.shape, axis, keepdims))
    total = xp.sum(e, axis=axis, keepdims=True)
    return e / xp.where(xp.isfinite(total), total, 1)
