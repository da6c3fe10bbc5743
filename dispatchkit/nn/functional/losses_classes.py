"""Losses for classes: `cross_entropy`, of scores, and `nll_loss`, of logarithms of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.graph.arrays import is_complex, is_inexact
from dispatchkit.nn.functional.bodies import called, real_floats
from dispatchkit.nn.functional.losses_reduction import Reduction, check_reduction, first_wrong, reduced, weighted_mean
from dispatchkit.nn.functional.shapes import FUNCTIONAL, expect
from dispatchkit.ops.arguments import Named, integer
from dispatchkit.ops.declare import operation
from dispatchkit.ops.extras_softmax import log_softmax
from dispatchkit.ops.matrices import shape_of
from dispatchkit.ops.samples import draw, sample
from dispatchkit.ops.typing import Array, Namespace
from dispatchkit.ops.wrapping import holds_everywhere
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
        sample(draw(4, 3), NUMBERS, WEIGHTS, reduction="sum"),
        sample(draw(2, 3, 2, 2), IMAGE, WEIGHTS),
        sample(draw(4, 3), OF_CLASSES, ignore_index=0, label_smoothing=0.2, reduction="none"),
        sample(draw(4, 3), NUMBERS, WEIGHTS, label_smoothing=0.1),
        sample(draw(3), np.asarray(1)),
        sample(draw(2, 3), draw(2, 3, low=0.1, high=1.0)),
        sample(draw(2, 3, 2), draw(2, 3, 2, low=0.1, high=1.0), WEIGHTS, label_smoothing=0.1, reduction="none"),
        sample(draw(3), draw(3, low=0.1, high=1.0), reduction="sum"),
    ],
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
    >>> import dispatchkit as dk
    >>> scores = dk.asarray([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> dk.nn.functional.cross_entropy(scores, dk.asarray([0, 2]), reduction="none")
    tensor([0.2395, 1.0986])
    """
    check_reduction(cross_entropy.__name__, reduction)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{cross_entropy.__name__}: label_smoothing must be from 0 to 1, found {label_smoothing}")
    x, axis = _scores(xp, cross_entropy, x, weight)
    logarithms = called(xp, log_softmax, x, axis=axis)
    if hasattr(target, "dtype") and is_inexact(target.dtype) and not is_complex(target.dtype):
        wanted = f"{shape_of(x)}, that of x, for probabilities"
        expect(cross_entropy, "target", shape_of(target), shape_of(target) == shape_of(x), wanted)
        loss = _of_probabilities(xp, logarithms, target, weight, label_smoothing, axis)
        return reduced(xp, loss, reduction)
    numbers = _Numbers(xp, cross_entropy, logarithms, target, axis, ignore_index)
    return numbers.loss(weight, label_smoothing, reduction)


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
    >>> import dispatchkit as dk
    >>> x = dk.log(dk.asarray([[0.5, 0.5], [0.1, 0.9]]))
    >>> dk.nn.functional.nll_loss(x, dk.asarray([0, 1]), reduction="none")
    tensor([0.6931, 0.1054])
    """
    check_reduction(nll_loss.__name__, reduction)
    x, axis = _scores(xp, nll_loss, x, weight)
    return _Numbers(xp, nll_loss, x, target, axis, ignore_index).loss(weight, 0.0, reduction)


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


def _along(xp: Namespace, weight: Any, ndim: int, axis: int) -> Any:
    """Return the weights of classes so that they broadcast with the scores."""
    return xp.reshape(weight, (-1,) + (1,) * (ndim - 1 - axis))


def _of_probabilities(xp: Namespace, logarithms: Any, target: Any, weight: Any, smoothing: float, axis: int) -> Any:
    """Return the losses of targets that are probabilities."""
    if smoothing:
        target = target * (1.0 - smoothing) + smoothing / logarithms.shape[axis]
    if weight is not None:
        target = target * _along(xp, weight, logarithms.ndim, axis)
    return -xp.sum(target * logarithms, axis=axis)


class _Numbers:
    """Targets that are numbers of classes.

    Parameters
    ----------
    xp : namespace that computes on them
    op : the loss, for messages
    logarithms : of probabilities
    target : the numbers
    axis : of the classes
    ignore_index : number that does not count

    Raises
    ------
    TypeError : if they are no integers
    ValueError : if they have another shape
    IndexError : if there is no class of a number
    """

    def __init__(self, xp: Namespace, op: Named, logarithms: Any, target: Any, axis: int, ignore_index: int) -> None:
        self.xp, self.logarithms, self.axis = xp, logarithms, axis
        ignore_index = integer(op, "ignore_index", ignore_index)
        shape = shape_of(logarithms)
        if not hasattr(target, "dtype") or not xp.isdtype(target.dtype, "integral"):
            dtype = getattr(target, "dtype", type(target).__name__)
            others = ", or probabilities (floating-point numbers)" if op is cross_entropy else ""
            raise TypeError(
                f"{op.__name__}: argument 'target' must be numbers of classes (integers){others}, found {dtype}"
            )
        wanted = (*shape[:axis], *shape[axis + 1 :])
        given = shape_of(target)
        expect(op, "target", given, given == wanted, f"{wanted}, that of x without its {shape[axis]} classes")
        target = xp.astype(target, xp.int64, copy=False)
        self.counts = target != ignore_index
        self.numbers = xp.where(self.counts, target, xp.zeros_like(target))
        if not holds_everywhere((self.numbers >= 0) & (self.numbers < shape[axis])):
            first = first_wrong(self.numbers, lambda number: not 0 <= number < shape[axis])
            raise IndexError(
                f"{op.__name__}: argument 'target' must be numbers of the {shape[axis]} classes, from 0 to "
                f"{shape[axis] - 1}, or ignore_index {ignore_index}{first}"
            )

    def loss(self, weight: Any, smoothing: float, reduction: str) -> Any:
        """Return the losses, reduced."""
        xp, axis = self.xp, self.axis
        weights = xp.astype(self.counts, self.logarithms.dtype)
        if weight is not None:
            chosen = xp.take(weight, xp.reshape(self.numbers, (-1,)), axis=0)
            weights = xp.where(self.counts, xp.reshape(chosen, self.numbers.shape), 0.0)
        own = xp.take_along_axis(self.logarithms, xp.expand_dims(self.numbers, axis=axis), axis=axis)
        # What is ignored may be infinite, and shall not make the loss NaN.
        own = xp.where(self.counts, xp.squeeze(own, axis=axis), 0.0)
        loss = -weights * own
        if smoothing:
            of_all = _of_probabilities(xp, self.logarithms, xp.ones_like(self.logarithms), weight, 0.0, axis)
            equal = xp.where(self.counts, of_all, 0.0) / self.logarithms.shape[axis]
            loss = (1.0 - smoothing) * loss + smoothing * equal
        if reduction != "mean":
            return reduced(xp, loss, reduction)
        return weighted_mean(xp, xp.sum(loss), xp.sum(weights))
