"""Losses for classes: `cross_entropy`, of scores, and `nll_loss`, of logarithms of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.backends.arrays import is_complex, is_inexact
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.declare.wrapping import holds
from dispatchkit.nn.functional.bodies import called, real_floats
from dispatchkit.nn.functional.losses import numpy_paths as losses_numpy
from dispatchkit.nn.functional.losses.reduction import Reduction, check_reduction, first_wrong
from dispatchkit.nn.functional.losses.targets import Classes, Probabilities
from dispatchkit.nn.functional.shapes import FUNCTIONAL, expect
from dispatchkit.ops.reductions.softmaxes import log_softmax
from dispatchkit.ops.shared.arguments import Named, integer
from dispatchkit.ops.shared.arrays import floating, shape_of
from dispatchkit.protocol.kinds import kinds

__all__ = ["cross_entropy", "nll_loss"]

NUMBERS = np.asarray([2, 0, -100, 1])
OF_CLASSES = np.asarray([2, 0, 1, 0])
IMAGE = np.asarray([[[0, 2], [1, -100]], [[1, 1], [0, 2]]])
WEIGHTS = draw(3, low=0.5, high=1.5)


@operation(
    kind=kinds.function,
    namespace=FUNCTIONAL,
    samples=[
        sample(draw(4, 3), NUMBERS),
        sample(draw(4, 3), OF_CLASSES),
        sample(draw(4, 3), OF_CLASSES, reduction="sum"),
        sample(draw(4, 3), NUMBERS, WEIGHTS, reduction="sum"),
        sample(draw(2, 3, 2, 2), IMAGE, WEIGHTS),
        sample(draw(4, 3), OF_CLASSES, ignore_index=0, label_smoothing=0.2, reduction="none"),
        sample(draw(4, 3), NUMBERS, WEIGHTS, label_smoothing=0.1),
        sample(draw(3), np.asarray(1)),
        sample(draw(2, 3), draw(2, 3, low=0.1, high=1.0)),
        sample(draw(2, 3, 2), draw(2, 3, 2, low=0.1, high=1.0), WEIGHTS, label_smoothing=0.1, reduction="none"),
        sample(draw(3), draw(3, low=0.1, high=1.0), reduction="sum"),
    ],
    real=True,
)
def cross_entropy(
    xp: Namespace,
    x: Array,
    target: Array,
    /,
    weight: Array | None = None,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
) -> Array:
    """Compare scores of classes with the right class, or with the probability of each.

    Parameters
    ----------
    x : scores (logits), array of real numbers of shape (C,), (N, C) or (N, C, d1, ..., dK)
    target : numbers of classes, integers from 0 to C - 1, of the shape of `x` without C; or probabilities,
        floating-point numbers of the shape of `x`
    weight : of each class, array of shape (C,)
    ignore_index : number in `target` whose places do not count; for numbers of classes only
    label_smoothing : what part of the target, from 0 to 1, is replaced by equal probabilities
    reduction : ``"mean"``, with weights the weighted one, or ``"sum"`` of all losses, or ``"none"``

    Returns
    -------
    0-D array, or one of the shape of `x` without C if not reduced; floating-point also for integers. The mean is NaN
    where every place is ignored.

    Raises
    ------
    TypeError : for complex numbers; if `target` is of booleans
    ValueError : if shapes do not fit; for another reduction; if `label_smoothing` is not from 0 to 1
    IndexError : if there is no class of a number

    Notes
    -----
    ``-weight[target] * log_softmax(x)[target]``, whose cotangent is softmax minus target. The mean divides by the sum
    of ``weight[target]``, with probabilities by the number of losses. Source: PyTorch,
    `torch.nn.functional.cross_entropy`.

    Examples
    --------
    >>> scores = dk.asarray([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> dk.nn.functional.cross_entropy(scores, dk.asarray([0, 2]), reduction="none")
    tensor([0.2395, 1.0986])
    """
    check_reduction(cross_entropy.__name__, reduction)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{cross_entropy.__name__}: label_smoothing must be from 0 to 1, found {label_smoothing}")
    if _is_plain(xp, weight, label_smoothing, reduction):
        y = losses_numpy.loss(x, target, integer(cross_entropy, "ignore_index", ignore_index), reduction)
        if y is not None:
            return y
    x, axis = _scores(xp, cross_entropy, x, weight)
    found = _target(xp, cross_entropy, x, target, axis, ignore_index)
    return found.loss(called(xp, log_softmax, x, axis=axis), weight, label_smoothing, reduction)


@operation(
    kind=kinds.function,
    namespace=FUNCTIONAL,
    samples=[
        sample(draw(4, 3, high=0.0), NUMBERS),
        sample(draw(4, 3, high=0.0), NUMBERS, WEIGHTS, reduction="sum"),
        sample(draw(2, 3, 2, 2, high=0.0), IMAGE, WEIGHTS),
        sample(draw(4, 3, high=0.0), OF_CLASSES, WEIGHTS, ignore_index=0, reduction="none"),
        sample(draw(3, high=0.0), np.asarray(1)),
    ],
    real=True,
)
def nll_loss(
    xp: Namespace,
    x: Array,
    target: Array,
    /,
    weight: Array | None = None,
    *,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
) -> Array:
    """Take the logarithm of the probability of the right class, with a minus sign.

    Parameters
    ----------
    x : logarithms of probabilities, array of real numbers of shape (C,), (N, C) or (N, C, d1, ..., dK)
    target : numbers of classes, integers from 0 to C - 1, of the shape of `x` without C
    weight : of each class, array of shape (C,)
    ignore_index : number in `target` whose places do not count
    reduction : ``"mean"``, with weights the weighted one, or ``"sum"`` of all losses, or ``"none"``

    Returns
    -------
    0-D array, or one of the shape of `x` without C if not reduced; floating-point also for integers. The mean is NaN
    where every place is ignored.

    Raises
    ------
    TypeError : for complex numbers; if `target` is not of integers
    ValueError : if shapes do not fit; for another reduction
    IndexError : if there is no class of a number

    Notes
    -----
    ``-weight[target] * x[target]``; the mean divides by the sum of ``weight[target]``. Source: PyTorch,
    `torch.nn.functional.nll_loss`.

    Examples
    --------
    >>> x = dk.log(dk.asarray([[0.5, 0.5], [0.1, 0.9]]))
    >>> dk.nn.functional.nll_loss(x, dk.asarray([0, 1]), reduction="none")
    tensor([0.6931, 0.1054])
    """
    check_reduction(nll_loss.__name__, reduction)
    x, axis = _scores(xp, nll_loss, x, weight)
    return _target(xp, nll_loss, x, target, axis, ignore_index).loss(x, weight, 0.0, reduction)


def _is_plain(xp: Namespace, weight: Any, label_smoothing: float, reduction: str) -> bool:
    """Return whether a call may be one that there is a fast path for."""
    return xp is numpy_namespace and weight is None and not label_smoothing and reduction != "none"


def _scores(xp: Namespace, op: Named, x: Any, weight: Any) -> tuple[Any, int]:
    """Return the input of a loss for classes, and its axis of classes.

    Raises
    ------
    TypeError : for complex numbers
    ValueError : if it has no such axis, or the weight another length
    """
    x = real_floats(xp, op, x)
    expect(op, "x", shape_of(x), x.ndim > 0, "(C,), (N, C) or (N, C, d1, ..., dK)")
    axis = min(1, x.ndim - 1)
    if weight is not None:
        count = x.shape[axis]
        real_floats(xp, op, weight, "weight")
        expect(op, "weight", shape_of(weight), shape_of(weight) == (count,), f"({count},), a number for each class")
    return x, axis


def _target(xp: Namespace, op: Named, x: Any, target: Any, axis: int, ignore_index: int) -> Classes | Probabilities:
    """Return the target of a loss, numbers of classes or probabilities.

    Parameters
    ----------
    xp : namespace that computes on them
    op : the loss, for messages
    x : its input
    target : as it was given
    axis : of the classes
    ignore_index : number that does not count

    Raises
    ------
    TypeError : if the target is neither, or its elements are complex
    ValueError : if it has another shape
    IndexError : if there is no class of a number
    """
    shape, given = shape_of(x), shape_of(target)
    dtype = getattr(target, "dtype", None)
    if op is cross_entropy and dtype is not None and is_inexact(dtype) and not is_complex(dtype):
        expect(op, "target", given, given == shape, f"{shape}, that of x, for probabilities")
        return Probabilities(xp, target, axis)
    ignore_index = integer(op, "ignore_index", ignore_index)
    if dtype is None or not xp.isdtype(dtype, "integral"):
        others = ", or probabilities (floating-point numbers)" if op is cross_entropy else ""
        raise TypeError(
            f"{op.__name__}: argument 'target' must be numbers of classes (integers){others}, found "
            f"{type(target).__name__ if dtype is None else dtype}"
        )
    count = shape[axis]
    wanted = (*shape[:axis], *shape[axis + 1 :])
    expect(op, "target", given, given == wanted, f"{wanted}, that of x without its {count} classes")
    found = Classes(xp, target, axis, ignore_index)
    if not holds((found.numbers >= 0) & (found.numbers < count), traced=True):
        first = first_wrong(found.numbers, lambda number: not 0 <= number < count)
        raise IndexError(
            f"{op.__name__}: argument 'target' must be numbers of the {count} classes, from 0 to {count - 1}, or "
            f"ignore_index {ignore_index}{first}"
        )
    return found


# The derivatives of `cross_entropy`. With p the softmax of x and T what the logarithms are multiplied with, the loss of
# a place is -sum(T * log(p)), and its derivative by x is p * sum(T) - T.


def _checked(xp: Namespace, x: Any, target: Any, ignore_index: int) -> tuple[Any, Any]:
    """Return the parts of a call that was checked before: input and target."""
    x, axis = floating(xp, x), min(1, x.ndim - 1)
    if is_inexact(target.dtype):
        return x, Probabilities(xp, target, axis)
    return x, Classes(xp, target, axis, ignore_index)


@cross_entropy.def_vjp("x")
def cross_entropy_vjp_x(xp, g, x, target, weight, ignore_index, label_smoothing, reduction):
    if _is_plain(xp, weight, label_smoothing, reduction):
        short = losses_numpy.gradient(g, x, target, ignore_index, reduction)
        if short is not None:
            return short
    x, found = _checked(xp, x, target, ignore_index)
    centred = found.centred(x, weight, label_smoothing)
    return found.spread(g, x, weight, reduction) * centred


@cross_entropy.def_jvp("x")
def cross_entropy_jvp_x(xp, t, x, target, weight, ignore_index, label_smoothing, reduction):
    x, found = _checked(xp, x, target, ignore_index)
    centred = found.centred(x, weight, label_smoothing)
    return found.reduced(xp.sum(centred * t, axis=found.axis), x, weight, reduction)


@cross_entropy.def_vjp("target")
def cross_entropy_vjp_target(xp, g, x, target, weight, ignore_index, label_smoothing, reduction):
    x, found = _checked(xp, x, target, ignore_index)
    slope = called(xp, log_softmax, x, axis=found.axis) * (label_smoothing - 1.0)
    slope = slope if weight is None else slope * found.along(x, weight)
    return found.spread(g, x, weight, reduction) * slope


@cross_entropy.def_jvp("target")
def cross_entropy_jvp_target(xp, t, x, target, weight, ignore_index, label_smoothing, reduction):
    x, found = _checked(xp, x, target, ignore_index)
    slope = called(xp, log_softmax, x, axis=found.axis) * (label_smoothing - 1.0)
    slope = slope if weight is None else slope * found.along(x, weight)
    return found.reduced(xp.sum(slope * t, axis=found.axis), x, weight, reduction)


@cross_entropy.def_vjp("weight")
def cross_entropy_vjp_weight(xp, g, y, x, target, weight, ignore_index, label_smoothing, reduction):
    x, found = _checked(xp, x, target, ignore_index)
    slope = found.slope_of_weight(x, y, label_smoothing, reduction)
    others = tuple(i for i in range(x.ndim) if i != found.axis)
    return xp.sum(found.spread(g, x, weight, reduction) * slope, axis=others)


@cross_entropy.def_jvp("weight")
def cross_entropy_jvp_weight(xp, t, y, x, target, weight, ignore_index, label_smoothing, reduction):
    x, found = _checked(xp, x, target, ignore_index)
    slope = found.slope_of_weight(x, y, label_smoothing, reduction) * found.along(x, t)
    return found.reduced(xp.sum(slope, axis=found.axis), x, weight, reduction)
