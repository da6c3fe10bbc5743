"""Losses for two classes: `binary_cross_entropy`, of probabilities, and the same of scores."""

from __future__ import annotations

from typing import Any

from dispatchkit.backends.arrays import project
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.declare.wrapping import holds
from dispatchkit.nn.functional.losses.distances import (
    Reduction,
    alike,
    check_reduction,
    check_weight,
    first_wrong,
    reduced,
    spread,
)
from dispatchkit.nn.functional.shared import function
from dispatchkit.ops.elementwise.exponential import logistic

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits"]

SHARE = draw(2, 3, low=0.1, high=0.9)
WEIGHTS = draw(3, low=0.5, high=1.5)


@function(
    samples=[
        sample(SHARE, SHARE),
        sample(SHARE, SHARE, WEIGHTS),
        sample(SHARE, SHARE, draw(2, 1, low=0.5, high=1.5), reduction="none"),
        sample(draw(low=0.1, high=0.9), draw(low=0.1, high=0.9), reduction="sum"),
    ],
    real=True,
)
def binary_cross_entropy(
    xp: Namespace, x: Array, target: Array, /, weight: Array | None = None, *, reduction: Reduction = "mean"
) -> Array:
    """Compare probabilities with whether, or how probably, something is so.

    Parameters
    ----------
    x : probabilities, array of real numbers from 0 to 1, of any shape
    target : probabilities, mostly 0 or 1, array of the shape of `x`
    weight : factors for the losses, array that broadcasts to the shape of `x`

    Returns
    -------
    0-D array, or one of the shape of `x` without a reduction; floating-point also for integers

    Raises
    ------
    ValueError : if elements of `x` are not from 0 to 1; if shapes do not fit; for another reduction

    Notes
    -----
    ``-target * log(x) - (1 - target) * log(1 - x)`` with logarithms of -100 at least, so that the loss stays finite;
    derivative ``(x - target) / (x * (1 - x))`` with a denominator of 1e-12 at least. `binary_cross_entropy_with_logits`
    is more accurate. Source: PyTorch, `torch.nn.functional.binary_cross_entropy`.

    Examples
    --------
    >>> dk.nn.functional.binary_cross_entropy(dk.asarray([0.5, 0.9]), dk.asarray([0.0, 1.0]), reduction="none")
    tensor([0.6931, 0.1054])
    """
    check_reduction(binary_cross_entropy.__name__, reduction)
    x, target = alike(xp, binary_cross_entropy, x, target)
    if not holds((x >= 0) & (x <= 1), traced=True):
        first = first_wrong(x, lambda share: not 0 <= share <= 1)
        raise ValueError(f"{binary_cross_entropy.__name__}: argument 'x' must be of probabilities, from 0 to 1{first}")
    if weight is not None:
        check_weight(binary_cross_entropy, "weight", weight, x)
    loss = -(target * _logarithm(xp, x) + (1.0 - target) * _logarithm(xp, 1.0 - x))
    return _weighed(xp, loss, weight, reduction)


def _logarithm(xp: Namespace, x: Any) -> Any:
    """Return the logarithms of probabilities, -100 at least.

    Where they may be differentiated, their derivatives at 0 and 1 are those that `_slope` is made of, 1e12 and 0: a
    type that is decomposed gets the gradient of a tensor.
    """
    zero = x <= 0
    if xp is not tensor_namespace:
        return xp.where(zero, -100.0, xp.maximum(xp.log(xp.where(zero, 1.0, x)), -100.0))
    certain = x >= 1
    logarithm = xp.maximum(xp.log(xp.where(zero | certain, 0.5, x)), -100.0)
    # Not by 1e12 at once, which half precision does not hold.
    return xp.where(zero, x * 1e4 * 1e4 * 1e4 - 100.0, xp.where(certain, 0.0, logarithm))


def _weighed(xp: Namespace, loss: Any, weight: Any, reduction: str) -> Any:
    return reduced(xp, loss if weight is None else loss * weight, reduction)


def _slope(xp: Namespace, x: Any, target: Any) -> Any:
    """Return the derivative of each loss by its probability."""
    return (x - target) / xp.maximum(x * (1.0 - x), 1e-12)


@binary_cross_entropy.def_vjp("x")
def binary_cross_entropy_vjp_x(xp, g, x, target, weight, reduction):
    slope = _slope(xp, x, target)
    return spread(g, x, reduction) * (slope if weight is None else slope * weight)


@binary_cross_entropy.def_jvp("x")
def binary_cross_entropy_jvp_x(xp, t, x, target, weight, reduction):
    return _weighed(xp, t * _slope(xp, x, target), weight, reduction)


@binary_cross_entropy.def_vjp("target")
def binary_cross_entropy_vjp_target(xp, g, x, weight, reduction):
    odds = _logarithm(xp, 1.0 - x) - _logarithm(xp, x)
    return spread(g, x, reduction) * (odds if weight is None else odds * weight)


@binary_cross_entropy.def_jvp("target")
def binary_cross_entropy_jvp_target(xp, t, x, weight, reduction):
    return _weighed(xp, t * (_logarithm(xp, 1.0 - x) - _logarithm(xp, x)), weight, reduction)


@binary_cross_entropy.def_vjp("weight")
def binary_cross_entropy_vjp_weight(xp, g, x, target, weight, reduction):
    loss = -(target * _logarithm(xp, x) + (1.0 - target) * _logarithm(xp, 1.0 - x))
    return project(xp, spread(g, x, reduction) * loss, weight.shape, weight.dtype)


@binary_cross_entropy.def_jvp("weight")
def binary_cross_entropy_jvp_weight(xp, t, x, target, reduction):
    loss = -(target * _logarithm(xp, x) + (1.0 - target) * _logarithm(xp, 1.0 - x))
    return reduced(xp, loss * t, reduction)


@function(
    samples=[
        sample(draw(2, 3), SHARE),
        sample(draw(2, 3), SHARE, WEIGHTS, pos_weight=draw(3, low=0.5, high=2.0)),
        sample(draw(2, 3), SHARE, draw(2, 1, low=0.5, high=1.5), reduction="none"),
        sample(draw(), draw(low=0.1, high=0.9), pos_weight=draw(low=0.5, high=2.0), reduction="sum"),
    ],
    real=True,
)
def binary_cross_entropy_with_logits(
    xp: Namespace,
    x: Array,
    target: Array,
    /,
    weight: Array | None = None,
    *,
    reduction: Reduction = "mean",
    pos_weight: Array | None = None,
) -> Array:
    """Compare scores with whether, or how probably, something is so.

    Parameters
    ----------
    x : scores (logits), array of real numbers of any shape; their logistic function is the probability
    target : probabilities, mostly 0 or 1, array of the shape of `x`
    weight : factors for the losses, array that broadcasts to the shape of `x`
    pos_weight : factors for the part of the target that is 1, array that broadcasts to the shape of `x`

    Returns
    -------
    0-D array, or one of the shape of `x` without a reduction; floating-point also for integers

    Raises
    ------
    ValueError : if shapes do not fit; for another reduction

    Notes
    -----
    ``-pos_weight * target * logsigmoid(x) - (1 - target) * logsigmoid(-x)``, with derivative ``sigmoid(x) - target``
    where all weights are 1. Source: PyTorch, `torch.nn.functional.binary_cross_entropy_with_logits`.

    Examples
    --------
    >>> scores, target = dk.asarray([0.0, 50.0]), dk.asarray([1.0, 0.0])
    >>> dk.nn.functional.binary_cross_entropy_with_logits(scores, target, reduction="none")
    tensor([ 0.6931, 50.0000])
    """
    op = binary_cross_entropy_with_logits
    check_reduction(op.__name__, reduction)
    x, target = alike(xp, op, x, target)
    for parameter, value in (("weight", weight), ("pos_weight", pos_weight)):
        if value is not None:
            check_weight(op, parameter, value, x)
    return _weighed(xp, _loss_of_scores(xp, x, target, pos_weight), weight, reduction)


def _loss_of_scores(xp: Namespace, x: Any, target: Any, pos_weight: Any) -> Any:
    """Return each loss, and its derivative where it is followed, without differences of nearly equal numbers."""
    opposite = -x
    right = target if pos_weight is None else pos_weight * target
    loss = (1.0 - target) * xp.maximum(x, 0.0) + right * xp.maximum(opposite, 0.0)
    rest = xp.log1p(xp.exp(xp.minimum(x, opposite)))
    return loss + (rest if pos_weight is None else (1.0 + (pos_weight - 1.0) * target) * rest)


def _slope_of_scores(xp: Namespace, x: Any, target: Any, pos_weight: Any) -> Any:
    """Return the derivative of each loss by its score."""
    right = target if pos_weight is None else pos_weight * target
    return (1.0 - target) * logistic(xp, x) - right * logistic(xp, -x)


def _slope_of_target(xp: Namespace, x: Any, pos_weight: Any) -> Any:
    """Return the derivative of each loss by its target."""
    return -x if pos_weight is None else pos_weight * xp.logaddexp(-x, 0.0) - xp.logaddexp(x, 0.0)


@binary_cross_entropy_with_logits.def_vjp("x")
def binary_cross_entropy_with_logits_vjp_x(xp, g, x, target, weight, reduction, pos_weight):
    slope = _slope_of_scores(xp, x, target, pos_weight)
    return spread(g, x, reduction) * (slope if weight is None else slope * weight)


@binary_cross_entropy_with_logits.def_jvp("x")
def binary_cross_entropy_with_logits_jvp_x(xp, t, x, target, weight, reduction, pos_weight):
    return _weighed(xp, t * _slope_of_scores(xp, x, target, pos_weight), weight, reduction)


@binary_cross_entropy_with_logits.def_vjp("target")
def binary_cross_entropy_with_logits_vjp_target(xp, g, x, weight, reduction, pos_weight):
    slope = _slope_of_target(xp, x, pos_weight)
    return spread(g, x, reduction) * (slope if weight is None else slope * weight)


@binary_cross_entropy_with_logits.def_jvp("target")
def binary_cross_entropy_with_logits_jvp_target(xp, t, x, weight, reduction, pos_weight):
    return _weighed(xp, t * _slope_of_target(xp, x, pos_weight), weight, reduction)


@binary_cross_entropy_with_logits.def_vjp("weight")
def binary_cross_entropy_with_logits_vjp_weight(xp, g, x, target, weight, reduction, pos_weight):
    part = spread(g, x, reduction) * _loss_of_scores(xp, x, target, pos_weight)
    return project(xp, part, weight.shape, weight.dtype)


@binary_cross_entropy_with_logits.def_jvp("weight")
def binary_cross_entropy_with_logits_jvp_weight(xp, t, x, target, reduction, pos_weight):
    return reduced(xp, t * _loss_of_scores(xp, x, target, pos_weight), reduction)


@binary_cross_entropy_with_logits.def_vjp("pos_weight")
def binary_cross_entropy_with_logits_vjp_pos_weight(xp, g, x, target, weight, reduction, pos_weight):
    slope = target * xp.logaddexp(-x, 0.0)
    part = spread(g, x, reduction) * (slope if weight is None else slope * weight)
    return project(xp, part, pos_weight.shape, pos_weight.dtype)


@binary_cross_entropy_with_logits.def_jvp("pos_weight")
def binary_cross_entropy_with_logits_jvp_pos_weight(xp, t, x, target, weight, reduction):
    return _weighed(xp, t * target * xp.logaddexp(-x, 0.0), weight, reduction)
