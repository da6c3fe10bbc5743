"""Losses for numbers: `mse_loss`, `l1_loss`, `huber_loss`, `smooth_l1_loss`; for distributions: `kl_div`."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any, Literal

import numpy as np

from dispatchkit.backends.arrays import is_inexact
from dispatchkit.declare.call_errors import BACKEND_ERRORS
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.nn.functional.shared import expect, function, real_floats, real_numbers
from dispatchkit.ops.shared import Named, shape_of

__all__ = ["huber_loss", "kl_div", "l1_loss", "mse_loss", "smooth_l1_loss"]

Reduction = Literal["none", "mean", "sum"]
REDUCTIONS = ("none", "mean", "sum")


def check_reduction(name: str, reduction: str, accepted: tuple[str, ...] = REDUCTIONS) -> None:
    """Raise if the loss of a name is to be reduced in a way there is not.

    Raises
    ------
    ValueError : naming the loss, what was found, and what is accepted
    """
    if reduction not in accepted:
        *others, last = map(repr, accepted)
        raise ValueError(f"{name}: reduction must be {', '.join(others)} or {last}, found {reduction!r}")


def alike(xp: Namespace, op: Named, x: Any, target: Any) -> tuple[Any, Any]:
    """Return input and target of a loss as real numbers that can be subtracted, of one shape.

    Raises
    ------
    TypeError : for complex numbers
    ValueError : if the shapes differ: broadcasting would sum over pairs that do not belong together
    """
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
    try:
        fits = np.broadcast_shapes(of_weight, shape) == shape
    except ValueError:
        fits = False
    expect(op, parameter, of_weight, fits, f"one that broadcasts to {shape}, that of x")


def first_wrong(x: Any, wrong: Callable[[Any], bool]) -> str:
    """Return the first element that is wrong as the end of a message; nothing where elements cannot be read."""
    try:
        elements = np.asarray(getattr(x, "array", x)).ravel().tolist()
    except BACKEND_ERRORS:
        return ""
    return next((f"; found {element}" for element in elements if wrong(element)), "")


def reduced(xp: Namespace, loss: Any, reduction: str) -> Any:
    """Return the losses as they are, their sum or their mean; the mean of none is NaN."""
    if reduction == "none":
        return loss
    total = xp.sum(loss)
    return total if reduction == "sum" else total / prod(loss.shape) if prod(loss.shape) else total * math.nan


def spread(g: Any, x: Any, reduction: str) -> Any:
    """Return the cotangent of each loss, from that of what they are reduced to."""
    return g / max(prod(x.shape), 1) if reduction == "mean" else g


SAMPLES = [
    sample(draw(2, 3), draw(2, 3)),
    sample(draw(2, 3), draw(2, 3), reduction="sum"),
    sample(draw(4), draw(4), reduction="none"),
    sample(draw(), draw(), reduction="mean"),
]


@function(samples=SAMPLES, real=True)
def mse_loss(xp: Namespace, x: Array, target: Array, /, *, reduction: Reduction = "mean") -> Array:
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
    check_reduction(mse_loss.__name__, reduction)
    x, target = alike(xp, mse_loss, x, target)
    d = x - target
    return reduced(xp, d * d, reduction)


@function(samples=SAMPLES, real=True)
def l1_loss(xp: Namespace, x: Array, target: Array, /, *, reduction: Reduction = "mean") -> Array:
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
    check_reduction(l1_loss.__name__, reduction)
    x, target = alike(xp, l1_loss, x, target)
    return reduced(xp, xp.abs(x - target), reduction)


@function(samples=[*SAMPLES, sample(draw(2, 3), draw(2, 3), delta=0.5)], real=True)
def huber_loss(
    xp: Namespace, x: Array, target: Array, /, *, reduction: Reduction = "mean", delta: float = 1.0
) -> Array:
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
    check_reduction(huber_loss.__name__, reduction)
    if not delta > 0:
        raise ValueError(f"{huber_loss.__name__}: delta must be greater than 0, found {delta}")
    return reduced(xp, _bounded_square(xp, *alike(xp, huber_loss, x, target), delta), reduction)


def _bounded(xp: Namespace, x: Any, target: Any, bound: float) -> Any:
    """Return the differences within a bound: the derivatives of `_bounded_square`."""
    return xp.clip(x - target, -bound, bound)


@huber_loss.def_vjp("x")
def huber_loss_vjp_x(xp, g, x, target, reduction, delta):
    return spread(g, x, reduction) * _bounded(xp, x, target, delta)


@huber_loss.def_jvp("x")
def huber_loss_jvp_x(xp, t, x, target, reduction, delta):
    return reduced(xp, t * _bounded(xp, x, target, delta), reduction)


@huber_loss.def_vjp("target")
def huber_loss_vjp_target(xp, g, x, target, reduction, delta):
    return spread(g, x, reduction) * -_bounded(xp, x, target, delta)


@huber_loss.def_jvp("target")
def huber_loss_jvp_target(xp, t, x, target, reduction, delta):
    return reduced(xp, t * -_bounded(xp, x, target, delta), reduction)


def _bounded_square(xp: Namespace, x: Any, target: Any, bound: float) -> Any:
    """Return half the squared differences, growing linearly from a bound on; right at infinities, too."""
    d = x - target
    inner = xp.clip(d, -bound, bound)
    # The terms are apart because tangents multiply: 0, that of what is bounded, meets no infinite difference.
    return 0.5 * inner * inner + bound * xp.abs(d - inner)


@function(
    samples=[*SAMPLES, sample(draw(2, 3), draw(2, 3), beta=0.5), sample(draw(3), draw(3), beta=0.0)],
    real=True,
)
def smooth_l1_loss(
    xp: Namespace, x: Array, target: Array, /, *, reduction: Reduction = "mean", beta: float = 1.0
) -> Array:
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
    check_reduction(smooth_l1_loss.__name__, reduction)
    if not beta >= 0:
        raise ValueError(f"{smooth_l1_loss.__name__}: beta must not be negative, found {beta}")
    x, target = alike(xp, smooth_l1_loss, x, target)
    loss = _bounded_square(xp, x, target, beta) / beta if beta else xp.abs(x - target)
    return reduced(xp, loss, reduction)


def _smooth_slope(xp: Namespace, x: Any, target: Any, beta: float) -> Any:
    return _bounded(xp, x, target, beta) / beta if beta else xp.sign(x - target)


@smooth_l1_loss.def_vjp("x")
def smooth_l1_loss_vjp_x(xp, g, x, target, reduction, beta):
    return spread(g, x, reduction) * _smooth_slope(xp, x, target, beta)


@smooth_l1_loss.def_jvp("x")
def smooth_l1_loss_jvp_x(xp, t, x, target, reduction, beta):
    return reduced(xp, t * _smooth_slope(xp, x, target, beta), reduction)


@smooth_l1_loss.def_vjp("target")
def smooth_l1_loss_vjp_target(xp, g, x, target, reduction, beta):
    return spread(g, x, reduction) * -_smooth_slope(xp, x, target, beta)


@smooth_l1_loss.def_jvp("target")
def smooth_l1_loss_jvp_target(xp, t, x, target, reduction, beta):
    return reduced(xp, t * -_smooth_slope(xp, x, target, beta), reduction)


@function(
    samples=[
        sample(draw(2, 3, high=0.0), draw(2, 3, low=0.1, high=1.0)),
        sample(draw(2, 3, high=0.0), draw(2, 3, low=0.1, high=1.0), reduction="batchmean"),
        sample(draw(2, 3, high=0.0), draw(2, 3, high=0.0), reduction="sum", log_target=True),
        sample(draw(3, high=0.0), draw(3, low=0.1, high=1.0), reduction="none"),
    ],
    real=True,
)
def kl_div(
    xp: Namespace,
    x: Array,
    target: Array,
    /,
    *,
    reduction: Literal["none", "mean", "sum", "batchmean"] = "mean",
    log_target: bool = False,
) -> Array:
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
    check_reduction(kl_div.__name__, reduction, ("none", "mean", "sum", "batchmean"))
    x, target = alike(xp, kl_div, x, target)
    if log_target:
        loss = xp.exp(target) * (target - x)
    else:
        zero = target == 0
        # Zeros are taken out of the factor, too: what would multiply their cotangents may be infinite.
        loss = target * xp.where(zero, 0.0, xp.log(xp.where(zero, 1.0, target)) - x)
    if reduction != "batchmean":
        return reduced(xp, loss, reduction)
    return xp.sum(loss) / (x.shape[0] if x.ndim else 1)
