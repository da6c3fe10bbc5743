"""Spread, averages and correlations: `var`, `std`, `logsumexp`, `average`, `cov`, `corrcoef`."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import holds_complex, is_inexact, same_dtype
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.numpy_sums import HALF, SINGLE
from dispatchkit.declare.decorators import operation, reduction
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.shared import Axis, adjoint, conjugate, count, floating, normal_axes, restore_axes, root, shape_of
from dispatchkit.protocol.kinds import kinds

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
    ``2 * (x - mean(x)) / (n - correction)``.

    Examples
    --------
    >>> dk.var(dk.asarray([1.0, 3.0]))
    tensor(1.)
    """
    if xp is numpy_namespace and x.size:
        return numpy_namespace.var(x, axis=axis, correction=correction, keepdims=keepdims)
    d = _deviation(xp, x, axis)
    return xp.sum(_product(xp, d, d), axis=axis, keepdims=keepdims) / _divisor(x, axis, correction)


@var.def_vjp
def var_vjp(xp, g, x, axis, correction, keepdims):
    share, quiet = _share(x, axis, correction)
    with quiet:
        return restore_axes(xp, g * share, x.shape, axis, keepdims) * _deviation(xp, x, axis)


@var.def_jvp
def var_jvp(xp, t, x, axis, correction, keepdims):
    total = xp.sum(_product(xp, _deviation(xp, x, axis), t), axis=axis, keepdims=keepdims)
    share, quiet = _share(x, axis, correction)
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
    are equal that is 0, as in PyTorch.

    Examples
    --------
    >>> dk.std(dk.asarray([1.0, 3.0]), correction=1)
    tensor(1.4142)
    """
    axes = normal_axes(axis, x.ndim, std.__name__)
    if same_dtype(x.dtype, HALF):  # which may not hold the variance
        wide = xp.std(xp.astype(x, SINGLE), axis=axes, correction=correction, keepdims=keepdims)
        return xp.astype(wide, HALF)
    return root(xp, xp.var(x, axis=axes, correction=correction, keepdims=keepdims))


@std.def_vjp
def std_vjp(xp, g, y, x, axis, correction, keepdims):
    return var_vjp(xp, _over(xp, g, 2 * y), x, axis, correction, keepdims)


@std.def_jvp
def std_jvp(xp, t, y, x, axis, correction, keepdims):
    return _over(xp, var_jvp(xp, t, x, axis, correction, keepdims), 2 * y)


def _deviation(xp: Namespace, x: Any, axis: Axis) -> Any:
    if count(x.shape, axis):
        return x - xp.mean(x, axis=axis, keepdims=True)
    return x


def _product(xp: Namespace, x1: Any, x2: Any) -> Any:
    """Return the real part of one array, conjugated, times another."""
    if holds_complex(x1):
        return xp.real(xp.conj(x1) * x2)
    return x1 * x2


def _divisor(x: Any, axis: Axis, correction: float) -> float:
    return max(count(x.shape, axis) - correction, 0)


def _share(x: Any, axis: Axis, correction: float) -> tuple[float, AbstractContextManager[None]]:
    """Return 2 over what a sum of squares is divided by, infinite where that is 0, and what keeps NumPy quiet.

    The products with infinity, infinite or NaN, are PyTorch's derivatives; the value has been warned of.
    """
    divisor = _divisor(x, axis, correction)
    if divisor:
        return 2 / divisor, nullcontext()
    return math.inf, np.errstate(invalid="ignore")


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
    # Of complex numbers the real parts say how large exponentials are.
    magnitudes = x
    if xp.isdtype(x.dtype, "complex floating"):
        magnitudes = xp.real(x)
    top = xp.max(magnitudes, axis=axis, keepdims=True)
    top = xp.where(xp.isfinite(top), top, 0)
    y = xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=keepdims))
    if not keepdims:
        top = xp.reshape(top, y.shape)
    return y + top


@logsumexp.def_vjp
def logsumexp_vjp(xp, g, y, x, axis, keepdims):
    return restore_axes(xp, g, x.shape, axis, keepdims) * conjugate(xp, _portions(xp, x, y, axis, keepdims))


@logsumexp.def_jvp
def logsumexp_jvp(xp, t, y, x, axis, keepdims):
    return xp.sum(t * _portions(xp, x, y, axis, keepdims), axis=axis, keepdims=keepdims)


def _portions(xp: Namespace, x: Any, y: Any, axis: Axis, keepdims: bool) -> Any:
    """Return the softmax, by way of the logarithm of the sum of exponentials.

    Large logarithms are rounded; the portions are divided by their sum, which is 1 but for that.
    """
    e = xp.exp(x - restore_axes(xp, y, x.shape, axis, keepdims))
    total = xp.sum(e, axis=axis, keepdims=True)
    return e / xp.where(xp.isfinite(total), total, 1)


@operation(
    kind=kinds.reduction,
    samples=lambda: [
        sample(draw(2, 3), axis=0),
        sample(draw(2, 3), weights=draw(2, 3, low=0.5)),
        sample(draw(2, 3), axis=1, weights=draw(3, low=0.5), keepdims=True),
        sample(draw(2, 3, 2), axis=(2, 0), weights=draw(2, 2, low=0.5), returned=True),
        sample(draw(2, 3), axis=0, returned=True),
    ],
)
def average(
    xp: Namespace,
    x: Array,
    /,
    *,
    axis: Axis = None,
    weights: Array | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """Average the elements, each with its weight.

    Parameters
    ----------
    weights : array of the shape of `x`, or of its axes averaged along; all equal by default
    returned : whether the sums of the weights are to be returned, too

    Returns
    -------
    array without the axes averaged along; with `returned` a tuple of it and the sums of the weights, of its shape
    and dtype

    Raises
    ------
    ValueError : if the weights have another shape
    ZeroDivisionError : if weights sum to 0

    Notes
    -----
    ``sum(weights * x) / sum(weights)``; gradients flow to the weights, too. Source: NumPy, `numpy.average`.

    Examples
    --------
    >>> dk.average(dk.asarray([1.0, 2.0]), weights=dk.asarray([3.0, 1.0]))
    tensor(1.2500)
    """
    if weights is None:
        y = xp.mean(x, axis=axis, keepdims=keepdims)
        if returned:
            return y, xp.full_like(y, count(x.shape, axis))
        return y
    weights = fit_weights(xp, weights, x.shape, axis)
    if not is_inexact(x.dtype) and not is_inexact(weights.dtype):
        weights = weights * 1.0  # small integers would wrap around in the products
    total = xp.sum(weights, axis=axis, keepdims=keepdims)
    if not holds(total != 0, traced=True):
        raise ZeroDivisionError(f"{average.__name__}: weights sum to 0")
    y = xp.sum(x * weights, axis=axis, keepdims=keepdims) / total
    if returned:
        return y, xp.astype(xp.broadcast_to(total, y.shape), y.dtype, copy=False)
    return y


def fit_weights(xp: Namespace, weights: Any, shape: tuple[int, ...], axis: Axis) -> Any:
    """Return weights of the axes averaged along with axes of length 1 for the others."""
    if shape_of(weights) == shape:
        return weights
    axes = normal_axes(axis, len(shape), average.__name__)
    wanted = tuple(shape[i] for i in axes)
    if shape_of(weights) != wanted:
        further = ""
        if wanted != shape:
            further = f" or, for axis {axis}, {wanted}"
        raise ValueError(f"{average.__name__}: weights must have shape {shape}{further}, found {shape_of(weights)}")
    weights = xp.permute_dims(weights, tuple(axes.index(i) for i in sorted(axes)))
    return xp.reshape(weights, tuple(n if i in axes else 1 for i, n in enumerate(shape)))


@operation(
    kind=kinds.function,
    methods=("cov",),
    samples=lambda: [
        sample(draw(2, 3)),
        sample(draw(3, 2), rowvar=False, correction=0),
        sample(draw(4)),
        sample(draw(2, 4), fweights=np.asarray([1, 2, 0, 1]), aweights=draw(4, low=0.5)),
        sample(draw(2, 4), correction=0.5, aweights=draw(4, low=0.5)),
    ],
)
def cov(
    xp: Namespace,
    x: Array,
    /,
    *,
    rowvar: bool = True,
    correction: float = 1,
    fweights: Array | None = None,
    aweights: Array | None = None,
) -> Array:
    """Estimate the covariance matrix of variables.

    Parameters
    ----------
    x : array of shape (k, n), n observations of k variables; or (n,), of one
    rowvar : whether a row is a variable, rather than an observation
    correction : taken from the number of observations that sums of products are divided by; 0 is that of NumPy's
        ``bias=True``
    fweights : how often each observation counts, array of integers of shape (n,)
    aweights : weight of each observation, array of shape (n,)

    Returns
    -------
    array of shape (k, k); of one variable 0-D

    Raises
    ------
    TypeError : if `fweights` are no integers, or `aweights` complex
    ValueError : if `x` has more than two axes, or weights are negative or not as many as observations

    Notes
    -----
    Sums of ``(x - mean(x)) * conj(x - mean(x))``. Gradients flow to `aweights`, too. Source: NumPy, `numpy.cov`, and
    PyTorch, `torch.cov`.

    Examples
    --------
    >>> dk.cov(dk.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    return _covariance(xp, cov.__name__, x, rowvar, correction, fweights, aweights)


@operation(
    kind=kinds.function,
    methods=("corrcoef",),
    samples=lambda: [sample(draw(2, 4)), sample(draw(4, 3), rowvar=False), sample(draw(4), differentiable=False)],
)
def corrcoef(xp: Namespace, x: Array, /, *, rowvar: bool = True) -> Array:
    """Compute the correlation coefficients of variables.

    Parameters
    ----------
    x : array of shape (k, n), n observations of k variables; or (n,), of one
    rowvar : whether a row is a variable, rather than an observation

    Returns
    -------
    array of shape (k, k); of one variable 0-D

    Raises
    ------
    ValueError : if `x` has more than two axes

    Notes
    -----
    The covariances, divided by both standard deviations. Source: NumPy, `numpy.corrcoef`, and PyTorch,
    `torch.corrcoef`.

    Examples
    --------
    >>> dk.corrcoef(dk.asarray([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    c = _covariance(xp, corrcoef.__name__, x, rowvar, 1, None, None)
    variances = c
    if c.ndim:
        variances = xp.linalg.diagonal(c)
    return scale_covariances(xp, c, variances)


def scale_covariances(xp: Namespace, c: Any, variances: Any) -> Any:
    """Return covariances divided by both standard deviations, of the variances on their diagonal."""
    if not c.ndim:
        return c / c
    if holds_complex(c):
        variances = xp.real(variances)
    deviations = xp.sqrt(variances)
    y = c / deviations[:, None] / deviations[None, :]
    if holds_complex(y):
        return y
    return xp.clip(y, -1, 1)


def _covariance(xp: Namespace, name: str, x: Any, rowvar: bool, correction: float, fweights: Any, aweights: Any) -> Any:
    if x.ndim > 2:
        raise ValueError(f"{name}: x must have one or two axes, found shape {x.shape}")
    if x.ndim < 2:
        x = xp.reshape(x, (1, -1))
    elif not rowvar:
        x = xp.matrix_transpose(x)
    x = floating(xp, x)
    fweights, aweights = _weights(xp, name, "fweights", fweights, x), _weights(xp, name, "aweights", aweights, x)
    every = [weights for weights in (fweights, aweights) if weights is not None]
    if not every:
        deviations = x - xp.mean(x, axis=1, keepdims=True)
        c = deviations @ adjoint(xp, deviations) / max(x.shape[1] - correction, 0)
    else:
        if len(every) == 1:
            both = every[0]
        else:
            both = every[0] * every[1]
        total = xp.sum(both)
        # Shares first: that of one observation is 1, and its deviation 0.
        deviations = x - xp.sum(x * (both / total), axis=1, keepdims=True)
        lost = correction
        if aweights is not None:
            lost = correction * xp.sum(both * aweights) / total
        divisor = xp.where(total > lost, total - lost, 0)
        c = (deviations * both) @ adjoint(xp, deviations) / divisor
    if c.shape == (1, 1):
        return xp.reshape(c, ())
    return c


def _weights(xp: Namespace, name: str, parameter: str, weights: Any, x: Any) -> Any:
    """Return the weights of the observations in `x` as floating-point numbers, None where there are none."""
    if weights is None:
        return None
    if shape_of(weights) != x.shape[1:]:
        raise ValueError(f"{name}: {parameter} must have shape {x.shape[1:]}, found {shape_of(weights)}")
    if parameter == "fweights" and is_inexact(weights.dtype):
        raise TypeError(f"{name}: fweights must be integers, found {weights.dtype}")
    if holds_complex(weights):
        raise TypeError(f"{name}: {parameter} must be real, found {weights.dtype}")
    if not holds(weights >= 0, traced=True):
        raise ValueError(f"{name}: {parameter} must not be negative")
    if is_inexact(weights.dtype):
        return weights
    return xp.astype(weights, xp.finfo(x.dtype).dtype)
