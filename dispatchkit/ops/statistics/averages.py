"""Averages and correlations: `average`, `cov`, `corrcoef`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.backends.arrays import holds_complex, is_inexact
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.shared.arrays import adjoint, floating, shape_of
from dispatchkit.ops.shared.axes import Axis, count, normal_axes
from dispatchkit.protocol.kinds import kinds

__all__ = ["average", "corrcoef", "cov"]


@operation(
    kind=kinds.reduction,
    namespace="dispatchkit",
    samples=[
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
        return (y, xp.full_like(y, count(x.shape, axis))) if returned else y
    weights = fit_weights(xp, weights, x.shape, axis)
    total = xp.sum(weights, axis=axis, keepdims=keepdims)
    if not holds(total != 0, traced=True):
        raise ZeroDivisionError(f"{average.__name__}: weights sum to 0")
    y = xp.sum(x * weights, axis=axis, keepdims=keepdims) / total
    return (y, xp.astype(xp.broadcast_to(total, y.shape), y.dtype, copy=False)) if returned else y


def fit_weights(xp: Namespace, weights: Any, shape: tuple[int, ...], axis: Axis) -> Any:
    """Return weights of the axes averaged along with axes of length 1 for the others."""
    if shape_of(weights) == shape:
        return weights
    axes = normal_axes(axis, len(shape), average.__name__)
    wanted = tuple(shape[i] for i in axes)
    if shape_of(weights) != wanted:
        own = "" if wanted == shape else f" or, for axis {axis}, {wanted}"
        raise ValueError(f"{average.__name__}: weights must have shape {shape}{own}, found {shape_of(weights)}")
    weights = xp.permute_dims(weights, tuple(axes.index(i) for i in sorted(axes)))
    return xp.reshape(weights, tuple(n if i in axes else 1 for i, n in enumerate(shape)))


@operation(
    kind=kinds.function,
    namespace="dispatchkit",
    methods=("cov",),
    samples=[
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
    namespace="dispatchkit",
    methods=("corrcoef",),
    samples=[sample(draw(2, 4)), sample(draw(4, 3), rowvar=False), sample(draw(4), differentiable=False)],
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
    return scale_covariances(xp, c, xp.linalg.diagonal(c) if c.ndim else c)


def scale_covariances(xp: Namespace, c: Any, variances: Any) -> Any:
    """Return covariances divided by both standard deviations, of the variances on their diagonal."""
    if not c.ndim:
        return c / c
    deviations = xp.sqrt(xp.real(variances) if holds_complex(c) else variances)
    y = c / deviations[:, None] / deviations[None, :]
    return y if holds_complex(y) else xp.clip(y, -1, 1)


def _covariance(xp: Namespace, name: str, x: Any, rowvar: bool, correction: float, fweights: Any, aweights: Any) -> Any:
    if x.ndim > 2:
        raise ValueError(f"{name}: x must have one or two axes, found shape {x.shape}")
    x = xp.reshape(x, (1, -1)) if x.ndim < 2 else x if rowvar else xp.matrix_transpose(x)
    x = floating(xp, x)
    fweights, aweights = _weights(xp, name, "fweights", fweights, x), _weights(xp, name, "aweights", aweights, x)
    given = [weights for weights in (fweights, aweights) if weights is not None]
    if not given:
        deviations = x - xp.mean(x, axis=1, keepdims=True)
        c = deviations @ adjoint(xp, deviations) / max(x.shape[1] - correction, 0)
    else:
        both = given[0] if len(given) == 1 else given[0] * given[1]
        total = xp.sum(both)
        deviations = x - xp.sum(x * both, axis=1, keepdims=True) / total
        lost = correction if aweights is None else correction * xp.sum(both * aweights) / total
        divisor = xp.where(total > lost, total - lost, 0)
        c = (deviations * both) @ adjoint(xp, deviations) / divisor
    return xp.reshape(c, ()) if c.shape == (1, 1) else c


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
    return weights if is_inexact(weights.dtype) else xp.astype(weights, xp.finfo(x.dtype).dtype)
