"""Losses that reduce what they compute of each element: of numbers, of probabilities, and of two classes."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from math import prod
from typing import Any, Literal

import numpy as np

from dispatchkit.backends.arrays import is_inexact, project, same_dtype
from dispatchkit.backends.numpy_sums import HALF
from dispatchkit.declare.call_errors import BACKEND_ERRORS
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.wrapping import holds
from dispatchkit.nn.functional.shared import broadcasts, expect, function, real_floats, real_numbers
from dispatchkit.ops.elementwise.exponential import logistic
from dispatchkit.ops.shared import Named, shape_of
from dispatchkit.protocol.kinds import kinds
from dispatchkit.tensor import Tensor

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "smooth_l1_loss",
]

Reduction = Literal["none", "mean", "sum"]
REDUCTIONS = ("none", "mean", "sum")
LEAST_MAX = 65504.0  # all dtypes of floating-point numbers hold it, float16 the last


def check_reduction(name: str, reduction: str, accepted: tuple[str, ...] = REDUCTIONS) -> None:
    """Raise if the loss of a name is to be reduced in a way there is not.

    Raises
    ------
    ValueError : naming the loss, what was found, and what is accepted
    """
    if reduction not in accepted:
        *others, last = map(repr, accepted)
        raise ValueError(f"{name}: reduction must be {', '.join(others)} or {last}, found {reduction!r}")


def alike(
    xp: Any, op: Named, x: Any, target: Any, reduction: str, accepted: tuple[str, ...] = REDUCTIONS
) -> tuple[Any, Any]:
    """Return input and target of a loss as real numbers that can be subtracted, of one shape.

    Raises
    ------
    TypeError : for complex numbers
    ValueError : if the shapes differ: broadcasting would sum over pairs that do not belong together
    """
    check_reduction(op.__name__, reduction, accepted)
    real_numbers(op, "x", x)
    real_numbers(op, "target", target)
    shape, of_target = shape_of(x), shape_of(target)
    expect(op, "target", of_target, of_target == shape, f"{shape}, that of x")
    if not (is_inexact(x.dtype) or is_inexact(target.dtype)):
        # Differences of unsigned integers and of booleans are none.
        return real_floats(xp, op, x), real_floats(xp, op, target)
    return x, target


def check_weight(op: Named, parameter: str, weight: Any, x: Any) -> None:
    """Raise if weights do not broadcast to the shape of a loss's input.

    Raises
    ------
    TypeError : for complex numbers
    ValueError : naming the loss, the argument and both shapes
    """
    real_numbers(op, parameter, weight)
    shape, of_weight = shape_of(x), shape_of(weight)
    fits = broadcasts(of_weight, shape)
    expect(op, parameter, of_weight, fits, f"one that broadcasts to {shape}, that of x")


def first_wrong(x: Any, wrong: Callable[[Any], bool]) -> str:
    """Return the first element that is wrong as the end of a message; nothing where elements cannot be read."""
    try:
        elements = np.asarray(getattr(x, "array", x)).ravel().tolist()
    except BACKEND_ERRORS:
        return ""
    return next((f"; found {element}" for element in elements if wrong(element)), "")


def reduced(xp: Any, loss: Any, reduction: str) -> Any:
    """Return the losses as they are, their sum or their mean; the mean of none is NaN."""
    if reduction == "none":
        return loss
    if reduction == "mean" and same_dtype(loss.dtype, HALF):
        return xp.mean(loss)  # which half precision holds, where it may not hold the sum
    total = xp.sum(loss)
    if reduction == "sum":
        return total
    if prod(loss.shape):
        return total / prod(loss.shape)
    return total * math.nan


def spread(g: Any, x: Any, reduction: str) -> Any:
    """Return the cotangent of each loss, from that of what they are reduced to."""
    if reduction == "mean":
        return g / max(prod(x.shape), 1)
    return g


def declare_slopes(op: Any, **slopes: Callable[..., Any]) -> None:
    """Declare the rules of a loss that reduces what it computes of each element.

    Parameters
    ----------
    op : the loss, with parameters `x` and `reduction`
    slopes : by the names of arguments, the derivatives by them of what is reduced; they name what they read, as rules
    """
    for argument, slope in slopes.items():
        op.def_vjp(argument)(_rule(op, argument, slope, "g"))
        op.def_jvp(argument)(_rule(op, argument, slope, "t"))


def _rule(op: Any, argument: str, slope: Callable[..., Any], flowing: Literal["g", "t"]) -> Callable[..., Any]:
    """Return the rule for one argument of a loss, for cotangents or for tangents."""
    read = tuple(inspect.signature(slope).parameters)
    # Weights broadcast, so that their cotangents are sums.
    broadcasts: tuple[str, ...] = ()
    if flowing == "g" and argument not in ("x", "target"):
        broadcasts = (argument,)
    names = tuple(dict.fromkeys(("xp", flowing, "x", "reduction", *read, *broadcasts)))

    def rule(*values: Any) -> Any:
        named = dict(zip(names, values, strict=True))
        xp, reduction, part = named["xp"], named["reduction"], slope(*[named[name] for name in read])
        if flowing == "t":
            return reduced(xp, named["t"] * part, reduction)
        part = spread(named["g"], named["x"], reduction) * part
        if broadcasts:
            return project(xp, part, named[argument].shape, named[argument].dtype)
        return part

    if flowing == "g":
        mode = "vjp"
    else:
        mode = "jvp"
    rule.__name__ = f"{op.__name__}_{mode}_{argument}"
    places = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    rule.__signature__ = inspect.Signature(places)  # type: ignore[attr-defined]  # which says what it reads
    return rule


SAMPLES = [
    sample(draw(2, 3), draw(2, 3)),
    sample(draw(2, 3), draw(2, 3), reduction="sum"),
    sample(draw(4), draw(4), reduction="none"),
    sample(draw(), draw(), reduction="mean"),
]


@function(kind=kinds.loss, samples=SAMPLES, real=True)
def mse_loss(xp: Any, x: Tensor, target: Tensor, /, *, reduction: Reduction = "mean") -> Tensor:
    """Square the differences between input and target.

    Parameters
    ----------
    x : array of real numbers, of any shape
    target : array of real numbers, of the shape of `x`

    Returns
    -------
    0-D array, or one of the shape of `x` without a reduction; floating-point also for integers

    Raises
    ------
    ValueError : if the shapes differ; for another reduction

    Notes
    -----
    ``(x - target)**2``. Source: PyTorch, `torch.nn.functional.mse_loss`, which warns of shapes that differ, and
    broadcasts.

    Examples
    --------
    >>> dk.nn.functional.mse_loss(dk.asarray([1.0, 2.0]), dk.asarray([1.0, 4.0]))
    tensor(2.)
    """
    x, target = alike(xp, mse_loss, x, target, reduction)
    d = x - target
    return reduced(xp, d * d, reduction)


@function(kind=kinds.loss, samples=SAMPLES, real=True)
def l1_loss(xp: Any, x: Tensor, target: Tensor, /, *, reduction: Reduction = "mean") -> Tensor:
    """Take the distances between input and target.

    Parameters
    ----------
    x : array of real numbers, of any shape
    target : array of real numbers, of the shape of `x`

    Returns
    -------
    0-D array, or one of the shape of `x` without a reduction; floating-point also for integers

    Raises
    ------
    ValueError : if the shapes differ; for another reduction

    Notes
    -----
    ``abs(x - target)``, with derivative 0 where they are equal. Source: PyTorch, `torch.nn.functional.l1_loss`, which
    warns of shapes that differ, and broadcasts.

    Examples
    --------
    >>> dk.nn.functional.l1_loss(dk.asarray([1.0, 2.0]), dk.asarray([1.0, 4.0]))
    tensor(1.)
    """
    x, target = alike(xp, l1_loss, x, target, reduction)
    return reduced(xp, xp.abs(x - target), reduction)


@function(kind=kinds.loss, samples=lambda: [*SAMPLES, sample(draw(2, 3), draw(2, 3), delta=0.5)], real=True)
def huber_loss(xp: Any, x: Tensor, target: Tensor, /, *, reduction: Reduction = "mean", delta: float = 1.0) -> Tensor:
    """Square small differences between input and target, and let the loss grow linearly with large ones.

    Parameters
    ----------
    x : array of real numbers, of any shape
    target : array of real numbers, of the shape of `x`
    delta : the difference, greater than 0, from which on the loss is linear

    Returns
    -------
    0-D array, or one of the shape of `x` without a reduction; floating-point also for integers

    Raises
    ------
    ValueError : if the shapes differ; for another reduction; if `delta` is not greater than 0

    Notes
    -----
    ``d**2 / 2`` up to a difference of `delta`, ``delta * (abs(d) - delta / 2)`` beyond. Source: PyTorch,
    `torch.nn.functional.huber_loss`, which warns of shapes that differ, and broadcasts.

    Examples
    --------
    >>> dk.nn.functional.huber_loss(dk.asarray([1.0, 2.0]), dk.asarray([2.0, 12.0]), reduction="none")
    tensor([0.5000, 9.5000])
    """
    if not delta > 0:
        raise ValueError(f"{huber_loss.__name__}: delta must be greater than 0, found {delta}")
    return reduced(xp, _bounded_square(xp, *alike(xp, huber_loss, x, target, reduction), delta), reduction)


def _bound(xp: Any, x: Any, target: Any, delta: float) -> Any:
    """Return the differences within a bound: the derivatives of `_bounded_square`, whose own at the bound is 0."""
    d = x - target
    if _is_beyond(xp, delta, d.dtype):
        return d
    return xp.where(xp.abs(d) < delta, d, xp.sign(d) * delta)


declare_slopes(huber_loss, x=_bound, target=lambda xp, x, target, delta: -_bound(xp, x, target, delta))


def _is_beyond(xp: Any, bound: float, dtype: Any) -> bool:
    """Return whether a bound is greater than all numbers of a dtype."""
    return bound > LEAST_MAX and bound > float(xp.finfo(dtype).max)


def _divided(xp: Any, x: Any, bound: float) -> Any:
    """Return numbers divided by a bound, of which they are no parts if it is greater than all of their dtype."""
    if _is_beyond(xp, bound, x.dtype):
        return x * (1 / bound)
    return x / bound


def _bounded_square(xp: Any, x: Any, target: Any, bound: float) -> Any:
    """Return half the squared differences, growing linearly from a bound on; right at infinities, too."""
    d = x - target
    if _is_beyond(xp, bound, d.dtype):
        return 0.5 * d * d
    inner = xp.clip(d, -bound, bound)
    # The terms are apart because tangents multiply: 0, that of what is bounded, meets no infinite difference.
    return 0.5 * inner * inner + bound * xp.abs(d - inner)


@function(
    kind=kinds.loss,
    samples=lambda: [*SAMPLES, sample(draw(2, 3), draw(2, 3), beta=0.5), sample(draw(3), draw(3), beta=0.0)],
    real=True,
)
def smooth_l1_loss(
    xp: Any, x: Tensor, target: Tensor, /, *, reduction: Reduction = "mean", beta: float = 1.0
) -> Tensor:
    """Take the distances between input and target, smoothed around 0.

    Parameters
    ----------
    x : array of real numbers, of any shape
    target : array of real numbers, of the shape of `x`
    beta : the difference, 0 or greater, from which on the loss is linear

    Returns
    -------
    0-D array, or one of the shape of `x` without a reduction; floating-point also for integers

    Raises
    ------
    ValueError : if the shapes differ; for another reduction; if `beta` is negative

    Notes
    -----
    ``d**2 / (2 * beta)`` up to a difference of `beta`, ``abs(d) - beta / 2`` beyond: `huber_loss` divided by its
    `delta`; with 0 it is `l1_loss`. Source: PyTorch, `torch.nn.functional.smooth_l1_loss`, which warns of shapes that
    differ, and broadcasts.

    Examples
    --------
    >>> dk.nn.functional.smooth_l1_loss(dk.asarray([1.0, 2.0]), dk.asarray([2.0, 12.0]), reduction="none")
    tensor([0.5000, 9.5000])
    """
    if not beta >= 0:
        raise ValueError(f"{smooth_l1_loss.__name__}: beta must not be negative, found {beta}")
    x, target = alike(xp, smooth_l1_loss, x, target, reduction)
    if beta:
        loss = _divided(xp, _bounded_square(xp, x, target, beta), beta)
    else:
        loss = xp.abs(x - target)
    return reduced(xp, loss, reduction)


def _smooth_slope(xp: Any, x: Any, target: Any, beta: float) -> Any:
    if beta:
        return _divided(xp, _bound(xp, x, target, beta), beta)
    return xp.sign(x - target)


declare_slopes(smooth_l1_loss, x=_smooth_slope, target=lambda xp, x, target, beta: -_smooth_slope(xp, x, target, beta))


@function(
    kind=kinds.loss,
    samples=lambda: [
        sample(draw(2, 3, high=0.0), draw(2, 3, low=0.1, high=1.0)),
        sample(draw(2, 3, high=0.0), draw(2, 3, low=0.1, high=1.0), reduction="batchmean"),
        sample(draw(2, 3, high=0.0), draw(2, 3, high=0.0), reduction="sum", log_target=True),
        sample(draw(3, high=0.0), draw(3, low=0.1, high=1.0), reduction="none"),
    ],
    real=True,
)
def kl_div(
    xp: Any,
    x: Tensor,
    target: Tensor,
    /,
    *,
    reduction: Literal["none", "mean", "sum", "batchmean"] = "mean",
    log_target: bool = False,
) -> Tensor:
    """Compare probabilities given by their logarithms with those of a target: Kullback-Leibler divergence.

    Parameters
    ----------
    x : logarithms of probabilities, array of real numbers of any shape
    target : probabilities, array of real numbers of the shape of `x`
    reduction : ``"batchmean"``, the sum divided by the length of the first axis, which is the divergence; ``"mean"``
        or ``"sum"`` of all terms, or ``"none"``
    log_target : whether `target` is of logarithms, too

    Returns
    -------
    0-D array, or one of the shape of `x` without a reduction; floating-point also for integers

    Raises
    ------
    ValueError : if the shapes differ; for another reduction

    Notes
    -----
    ``target * (log(target) - x)``, 0 where the target is. Source: PyTorch, `torch.nn.functional.kl_div`.

    Examples
    --------
    >>> x = dk.log(dk.asarray([[0.5, 0.5]]))
    >>> dk.nn.functional.kl_div(x, dk.asarray([[1.0, 0.0]]), reduction="batchmean")
    tensor(0.6931)
    """
    x, target = alike(xp, kl_div, x, target, reduction, ("none", "mean", "sum", "batchmean"))
    if log_target:
        loss = xp.exp(target) * (target - x)
    else:
        zero = target == 0
        # Zeros are taken out of the factor, too: what would multiply their cotangents may be infinite.
        loss = target * xp.where(zero, 0.0, xp.log(xp.where(zero, 1.0, target)) - x)
    if reduction != "batchmean":
        return reduced(xp, loss, reduction)
    count = 1
    if x.ndim:
        count = x.shape[0]
    return xp.sum(loss) / count


SHARE = draw(2, 3, low=0.1, high=0.9)
WEIGHTS = draw(3, low=0.5, high=1.5)


@function(
    kind=kinds.loss,
    samples=lambda: [
        sample(SHARE, SHARE),
        sample(SHARE, SHARE, WEIGHTS),
        sample(SHARE, SHARE, draw(2, 1, low=0.5, high=1.5), reduction="none"),
        sample(draw(low=0.1, high=0.9), draw(low=0.1, high=0.9), reduction="sum"),
    ],
    real=True,
)
def binary_cross_entropy(
    xp: Any, x: Tensor, target: Tensor, /, weight: Tensor | None = None, *, reduction: Reduction = "mean"
) -> Tensor:
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
    x, target = alike(xp, binary_cross_entropy, x, target, reduction)
    if not holds((x >= 0) & (x <= 1), traced=True):
        first = first_wrong(x, lambda share: not 0 <= share <= 1)
        raise ValueError(f"{binary_cross_entropy.__name__}: argument 'x' must be of probabilities, from 0 to 1{first}")
    if weight is not None:
        check_weight(binary_cross_entropy, "weight", weight, x)
    return reduced(xp, _weigh(_cross_entropies(xp, x, target), weight), reduction)


def _logarithm(xp: Any, x: Any) -> Any:
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


def _cross_entropies(xp: Any, x: Any, target: Any) -> Any:
    """Return the loss of each probability, without weights."""
    return -(target * _logarithm(xp, x) + (1.0 - target) * _logarithm(xp, 1.0 - x))


def _weigh(losses: Any, weight: Any) -> Any:
    if weight is None:
        return losses
    return losses * weight


declare_slopes(
    binary_cross_entropy,
    x=lambda xp, x, target, weight: _weigh((x - target) / xp.maximum(x * (1.0 - x), 1e-12), weight),
    target=lambda xp, x, weight: _weigh(_logarithm(xp, 1.0 - x) - _logarithm(xp, x), weight),
    weight=_cross_entropies,
)


@function(
    kind=kinds.loss,
    samples=lambda: [
        sample(draw(2, 3), SHARE),
        sample(draw(2, 3), SHARE, WEIGHTS, pos_weight=draw(3, low=0.5, high=2.0)),
        sample(draw(2, 3), SHARE, draw(2, 1, low=0.5, high=1.5), reduction="none"),
        sample(draw(), draw(low=0.1, high=0.9), pos_weight=draw(low=0.5, high=2.0), reduction="sum"),
    ],
    real=True,
)
def binary_cross_entropy_with_logits(
    xp: Any,
    x: Tensor,
    target: Tensor,
    /,
    weight: Tensor | None = None,
    *,
    reduction: Reduction = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
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
    x, target = alike(xp, op, x, target, reduction)
    for parameter, value in (("weight", weight), ("pos_weight", pos_weight)):
        if value is not None:
            check_weight(op, parameter, value, x)
    return reduced(xp, _weigh(_loss_of_scores(xp, x, target, pos_weight), weight), reduction)


def _loss_of_scores(xp: Any, x: Any, target: Any, pos_weight: Any) -> Any:
    """Return each loss, and its derivative where it is followed, without differences of nearly equal numbers."""
    opposite = -x
    right = target
    if pos_weight is not None:
        right = pos_weight * target
    loss = (1.0 - target) * xp.maximum(x, 0.0) + right * xp.maximum(opposite, 0.0)
    rest = xp.log1p(xp.exp(xp.minimum(x, opposite)))
    if pos_weight is not None:
        rest = (1.0 + (pos_weight - 1.0) * target) * rest
    return loss + rest


def _slope_of_scores(xp: Any, x: Any, target: Any, weight: Any, pos_weight: Any) -> Any:
    right = target
    if pos_weight is not None:
        right = pos_weight * target
    return _weigh((1.0 - target) * logistic(xp, x) - right * logistic(xp, -x), weight)


def _slope_of_target(xp: Any, x: Any, weight: Any, pos_weight: Any) -> Any:
    if pos_weight is None:
        slope = -x
    else:
        slope = pos_weight * xp.logaddexp(-x, 0.0) - xp.logaddexp(x, 0.0)
    return _weigh(slope, weight)


declare_slopes(
    binary_cross_entropy_with_logits,
    x=_slope_of_scores,
    target=_slope_of_target,
    weight=_loss_of_scores,
    pos_weight=lambda xp, x, target, weight: _weigh(target * xp.logaddexp(-x, 0.0), weight),
)
