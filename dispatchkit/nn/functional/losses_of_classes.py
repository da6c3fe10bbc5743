"""Losses for classes: `cross_entropy`, of scores, and `nll_loss`, of logarithms of probabilities."""

from __future__ import annotations

import math
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from dispatchkit.accelerator import rows
from dispatchkit.backends.arrays import is_complex, is_inexact
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.wrapping import holds
from dispatchkit.marks import override
from dispatchkit.nn.functional.losses import Reduction, check_reduction, first_wrong
from dispatchkit.nn.functional.shared import called, expect, function, real_floats, result_of
from dispatchkit.ops.reductions.softmaxes import log_softmax, softmax
from dispatchkit.ops.shared import Named, floating, integer, shape_of
from dispatchkit.protocol.kinds import kinds
from dispatchkit.tensor import Tensor

__all__ = ["cross_entropy", "nll_loss"]


class Probabilities:
    """A target with a probability for each class.

    In the methods `x` are scores, or logarithms of probabilities, of shape (N, C, ...), `weight` is that of each class
    or None, `smoothing` the part of the target that equal probabilities replace, and `reduction` how losses are put
    together.

    Parameters
    ----------
    xp : namespace that computes on it
    target : of the shape of `x`
    axis : of the classes
    """

    def __init__(self, xp: Any, target: Any, axis: int) -> None:
        self.xp, self.target, self.axis = xp, target, axis

    def loss(self, x: Any, weight: Any, smoothing: float, reduction: str) -> Any:
        """Return the losses of logarithms of probabilities, reduced."""
        loss = -self.xp.sum(self.weighted(x, weight, smoothing) * x, axis=self.axis)
        return self.reduced(loss, x, weight, reduction)

    def shares(self, x: Any, smoothing: float) -> Any:
        """Return the share of each class, of the shape of `x`."""
        if smoothing:
            return self.target * (1.0 - smoothing) + smoothing / x.shape[self.axis]
        return self.target

    def weighted(self, x: Any, weight: Any, smoothing: float) -> Any:
        """Return what the logarithm of each class is multiplied with, of the shape of `x`."""
        shares = self.shares(x, smoothing)
        if weight is None:
            return shares
        return shares * self.along(x, weight)

    def centred(self, x: Any, weight: Any, smoothing: float) -> Any:
        """Return the derivative of the loss of each place by its scores, of the shape of `x`."""
        shares = self.weighted(x, weight, smoothing)
        return called(self.xp, softmax, x, axis=self.axis) * self.xp.sum(shares, axis=self.axis, keepdims=True) - shares

    def slope_of_weight(self, x: Any, y: Any, smoothing: float, reduction: str) -> Any:
        """Return the derivative of the loss of each place by the weights, of the shape of `x`; `y` is the loss."""
        return -self.shares(x, smoothing) * called(self.xp, log_softmax, x, axis=self.axis)

    def spread(self, g: Any, x: Any, weight: Any, reduction: str) -> Any:
        """Return the cotangent of the loss of each place, which broadcasts with `x`."""
        if reduction == "none":
            return self.xp.expand_dims(g, axis=self.axis)
        if reduction == "sum":
            return g
        return self.divided(g, x, weight)

    def reduced(self, loss: Any, x: Any, weight: Any, reduction: str) -> Any:
        """Return a number of each place put together."""
        if reduction == "none":
            return loss
        total = self.xp.sum(loss)
        if reduction == "sum":
            return total
        return self.divided(total, x, weight)

    def divided(self, total: Any, x: Any, weight: Any) -> Any:
        """Return a sum divided by the number of places; NaN where there are none."""
        return total / (prod(x.shape[: self.axis] + x.shape[self.axis + 1 :]) or math.nan)

    def along(self, x: Any, weight: Any) -> Any:
        """Return the weights of classes so that they broadcast with `x`."""
        return self.xp.reshape(weight, (-1,) + (1,) * (x.ndim - 1 - self.axis))


class Classes(Probabilities):
    """A target with the number of the right class.

    Parameters
    ----------
    xp : namespace that computes on it
    target : integers, of the shape of `x` without the classes
    axis : of the classes in `x`
    ignore_index : number that does not count

    Attributes
    ----------
    numbers : of classes, 0 where a place does not count
    counts : which places count; None where all do
    """

    def __init__(self, xp: Any, target: Any, axis: int, ignore_index: int) -> None:
        super().__init__(xp, target, axis)
        self.numbers = xp.astype(target, xp.int64, copy=False)
        self.counts = self.numbers != ignore_index
        if holds(self.counts):
            self.counts = None
        else:
            self.numbers = xp.where(self.counts, self.numbers, 0)

    @override
    def loss(self, x: Any, weight: Any, smoothing: float, reduction: str) -> Any:
        xp, axis = self.xp, self.axis
        of_target = xp.take_along_axis(x, xp.expand_dims(self.numbers, axis=axis), axis=axis)
        # What is ignored may be infinite, and shall not make the loss NaN.
        loss = self.counted(-xp.squeeze(of_target, axis=axis))
        if weight is not None:
            loss = loss * self.of_places(weight)
        if smoothing:
            weighted = x
            if weight is not None:
                weighted = x * self.along(x, weight)
            of_all = -xp.sum(weighted, axis=axis)
            loss = (1.0 - smoothing) * loss + (smoothing / x.shape[axis]) * self.counted(of_all)
        return self.reduced(loss, x, weight, reduction)

    def counted(self, values: Any) -> Any:
        """Return numbers of places, 0 where a place does not count."""
        if self.counts is None:
            return values
        return self.xp.where(self.counts, values, 0.0)

    def of_places(self, weight: Any) -> Any:
        """Return the weight of the class of each place, 0 where that does not count."""
        chosen = self.xp.take(weight, self.xp.reshape(self.numbers, (-1,)), axis=0)
        return self.counted(self.xp.reshape(chosen, self.numbers.shape))

    def right(self, x: Any) -> Any:
        """Return 1 for the right class of each place that counts, else 0, of the shape of `x`."""
        xp, axis = self.xp, self.axis
        if self.counts is None:
            numbers = self.numbers
        else:
            numbers = xp.where(self.counts, self.numbers, -1)
        all_numbers = self.along(x, xp.arange(x.shape[axis], dtype=xp.int64))
        return xp.astype(xp.expand_dims(numbers, axis=axis) == all_numbers, x.dtype)

    @override
    def shares(self, x: Any, smoothing: float) -> Any:
        right = self.right(x)
        if not smoothing:
            return right
        equal = self.xp.expand_dims(self.counted(self.xp.ones_like(self.numbers, dtype=x.dtype)), axis=self.axis)
        return (1.0 - smoothing) * right + (smoothing / x.shape[self.axis]) * equal

    @override
    def centred(self, x: Any, weight: Any, smoothing: float) -> Any:
        if self.counts is None and weight is None:
            # The shares sum to 1.
            return called(self.xp, softmax, x, axis=self.axis) - self.shares(x, smoothing)
        return super().centred(x, weight, smoothing)

    @override
    def slope_of_weight(self, x: Any, y: Any, smoothing: float, reduction: str) -> Any:
        xp, shares = self.xp, self.shares(x, smoothing)
        logarithms = called(xp, log_softmax, x, axis=self.axis)
        slope = -shares * xp.where(shares == 0, 0.0, logarithms)
        if reduction == "mean":
            return slope - y * self.right(x)
        return slope

    @override
    def divided(self, total: Any, x: Any, weight: Any) -> Any:
        """Return a sum divided by that of the weights; NaN where this is 0."""
        xp = self.xp
        if weight is not None:
            whole = xp.sum(self.of_places(weight))
        elif self.counts is None:
            return super().divided(total, x, weight)
        else:
            whole = xp.sum(xp.astype(self.counts, x.dtype))
        return total / xp.where(whole == 0, math.nan, whole)


def cross_entropy_numpy_flow(x, target, /, weight=None, *, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    options = _options(ignore_index, label_smoothing, reduction)
    answer = _flow_of_numbers(x, target, weight, **options)
    if answer is NotImplemented:
        return _flow_by_rules(x, target, weight, options)
    return answer


def _flow_of_numbers(
    x: Any, target: Any, weight: Any, ignore_index: int, label_smoothing: float, reduction: Reduction
) -> Any:
    # Of numbers of classes that all count, without weights, put together.
    if weight is not None or label_smoothing != 0 or reduction not in ("mean", "sum"):
        return NotImplemented
    if rows is not None:
        answer = _flow_by_core(x, target, ignore_index, reduction == "mean")
        if answer is not None:
            return answer
    largest = _largest(x, target, ignore_index)
    if largest is None:
        return NotImplemented
    shares = np.subtract(x, largest, order="C")
    # By one number for each element, which takes a fifth of two.
    places = _starts_of_rows(*x.shape) + target.astype(np.intp, copy=False)
    of_target = shares.take(places)
    np.exp(shares, out=shares)
    sums = np.add.reduce(shares, 1)
    factor = x.dtype.type(1)
    if reduction == "mean":
        factor /= x.dtype.type(len(target))

    def pull(g, wanted):
        g = g[0] * factor
        of_x = shares * (g / sums)[:, None]
        of_x.reshape(-1)[places] -= g
        return of_x, None, None

    return np.asarray(np.add.reduce(np.log(sums) - of_target) * factor), pull


def _flow_by_core(x: Any, target: Any, ignore_index: int, mean: bool) -> Any:
    """Return the loss and what takes its cotangent back by the compiled core; None for what it leaves to NumPy."""
    if type(ignore_index) is not int or ignore_index >= 0:
        return None
    answer = rows.cross_entropy(x, target, mean)
    if answer is None:
        return None
    y, exponentials, sums, classes = answer

    def pull(g, wanted):
        of_x = rows.cross_entropy_back(g[0], mean, exponentials, sums, classes)
        if of_x is None:  # NumPy says what is to be warned of
            each = g[0]
            if mean:
                each = each / x.dtype.type(len(sums))
            of_x = exponentials * (each / sums)[:, None]
            of_x[np.arange(len(sums)), classes] -= each
        return of_x, None, None

    return y, pull


def _options(ignore_index, label_smoothing, reduction):
    return {"ignore_index": ignore_index, "label_smoothing": label_smoothing, "reduction": reduction}


def _flow_by_rules(x: Any, target: Any, weight: Any, options: dict[str, Any]) -> Any:
    """Return the loss, and what takes its cotangent back by the rules, for which the scores are kept in a copy."""
    numbers = [each for each in (x, target, weight) if each is not None and is_inexact(each.dtype)]
    if any(type(each) is not np.ndarray or each.dtype != x.dtype for each in numbers):
        return NotImplemented
    y, kept = np.asarray(_loss(numpy_namespace, x, target, weight, **options)), x.copy()
    rules = (cross_entropy_vjp_x, cross_entropy_vjp_target, cross_entropy_vjp_weight)

    def pull(g, wanted):
        args = (numpy_namespace, g[0], kept, target, weight)
        return [rule(*args, **options) if asked else None for rule, asked in zip(rules, wanted, strict=True)]

    return y, pull


def _largest(x: Any, target: Any, ignore_index: int) -> Any:
    """Return the largest score of each place, kept as a column; None where the case is another one."""
    if not _count_all(x, target, ignore_index):
        return None
    largest = np.maximum.reduce(x, axis=1, keepdims=True)
    if math.isfinite(largest.item(largest.argmax())) and math.isfinite(largest.item(largest.argmin())):
        return largest
    return None


def _count_all(x: Any, target: Any, ignore_index: int) -> bool:
    """Return whether an array of classes, and of their numbers of which all count, are put together."""
    if type(x) is not np.ndarray or type(target) is not np.ndarray or x.ndim != 2 or target.shape != x.shape[:1]:
        return False
    if type(ignore_index) is not int:
        return False
    count = x.shape[1]
    if x.dtype.kind != "f" or x.dtype.itemsize < 4 or target.dtype.kind not in "iu" or x.size == 0:
        return False
    # To find the place of the least or largest takes less than to reduce to it.
    return not (target[target.argmin()] < 0 or target[target.argmax()] >= count or 0 <= ignore_index < count)


@lru_cache(maxsize=64)
def _starts_of_rows(rows: int, count: int) -> Any:
    """Return the number of the first element of each row, counted along the rows; they are not to be changed."""
    return np.arange(0, rows * count, count)


NUMBERS = np.asarray([2, 0, -100, 1])
OF_CLASSES = np.asarray([2, 0, 1, 0])
IMAGE = np.asarray([[[0, 2], [1, -100]], [[1, 1], [0, 2]]])
WEIGHTS = draw(3, low=0.5, high=1.5)


@function(
    kind=kinds.loss,
    samples=lambda: [
        sample(draw(4, 3), OF_CLASSES),
        sample(draw(4, 3), NUMBERS),
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
    xp: Any,
    x: Tensor,
    target: Tensor,
    /,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
) -> Tensor:
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
    options = _options(ignore_index, label_smoothing, reduction)
    return _loss(xp, x, target, weight, **options)


def _loss(
    xp: Any, x: Any, target: Any, weight: Any, ignore_index: int, label_smoothing: float, reduction: Reduction
) -> Any:
    check_reduction(cross_entropy.__name__, reduction)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{cross_entropy.__name__}: label_smoothing must be from 0 to 1, found {label_smoothing}")
    x, axis = _scores(xp, cross_entropy, x, weight)
    classes = _target(xp, cross_entropy, x, target, axis, ignore_index)
    return classes.loss(called(xp, log_softmax, x, axis=axis), weight, label_smoothing, reduction)


@cross_entropy.def_kernel("numpy", flow=cross_entropy_numpy_flow, reads=("target", "weight"))
def cross_entropy_numpy(x, target, /, weight=None, *, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    options = _options(ignore_index, label_smoothing, reduction)
    return result_of(_flow_of_numbers(x, target, weight, **options))


@function(
    kind=kinds.loss,
    samples=lambda: [
        sample(draw(4, 3, high=0.0), OF_CLASSES),
        sample(draw(4, 3, high=0.0), NUMBERS),
        sample(draw(4, 3, high=0.0), NUMBERS, WEIGHTS, reduction="sum"),
        sample(draw(2, 3, 2, 2, high=0.0), IMAGE, WEIGHTS),
        sample(draw(4, 3, high=0.0), OF_CLASSES, WEIGHTS, ignore_index=0, reduction="none"),
        sample(draw(3, high=0.0), np.asarray(1)),
    ],
    real=True,
)
def nll_loss(
    xp: Any,
    x: Tensor,
    target: Tensor,
    /,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
) -> Tensor:
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


def nll_loss_numpy_flow(x, target, /, weight=None, *, ignore_index=-100, reduction="mean"):
    if weight is not None or reduction not in ("mean", "sum") or not _count_all(x, target, ignore_index):
        return NotImplemented
    places = _starts_of_rows(*x.shape) + target.astype(np.intp, copy=False)
    divisor = x.dtype.type(-1)
    if reduction == "mean":
        divisor *= x.dtype.type(len(target))

    def pull(g, wanted):
        of_x = np.zeros(x.shape, x.dtype)
        of_x.reshape(-1)[places] = g[0] / divisor
        return of_x, None, None

    return np.asarray(np.add.reduce(x.take(places)) / divisor), pull


@nll_loss.def_kernel("numpy", flow=nll_loss_numpy_flow, reads=("target",))
def nll_loss_numpy(x, target, /, weight=None, *, ignore_index=-100, reduction="mean"):
    return result_of(nll_loss_numpy_flow(x, target, weight, ignore_index=ignore_index, reduction=reduction))


def _scores(xp: Any, op: Named, x: Any, weight: Any) -> tuple[Any, int]:
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


def _target(xp: Any, op: Named, x: Any, target: Any, axis: int, ignore_index: int) -> Classes | Probabilities:
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
    shape, of_target = shape_of(x), shape_of(target)
    dtype = getattr(target, "dtype", None)
    if op is cross_entropy and dtype is not None and is_inexact(dtype) and not is_complex(dtype):
        expect(op, "target", of_target, of_target == shape, f"{shape}, that of x, for probabilities")
        return Probabilities(xp, target, axis)
    ignore_index = integer(op, "ignore_index", ignore_index)
    if dtype is None or not xp.isdtype(dtype, "integral"):
        others = ""
        if op is cross_entropy:
            others = ", or probabilities (floating-point numbers)"
        what = dtype
        if dtype is None:
            what = type(target).__name__
        raise TypeError(f"{op.__name__}: argument 'target' must be numbers of classes (integers){others}, found {what}")
    count = shape[axis]
    wanted = (*shape[:axis], *shape[axis + 1 :])
    expect(op, "target", of_target, of_target == wanted, f"{wanted}, that of x without its {count} classes")
    classes = Classes(xp, target, axis, ignore_index)
    if not holds((classes.numbers >= 0) & (classes.numbers < count), traced=True):
        first = first_wrong(classes.numbers, lambda number: not 0 <= number < count)
        raise IndexError(
            f"{op.__name__}: argument 'target' must be numbers of the {count} classes, from 0 to {count - 1}, or "
            f"ignore_index {ignore_index}{first}"
        )
    return classes


# The derivatives of `cross_entropy`. With p the softmax of x and T what the logarithms are multiplied with, the loss of
# a place is -sum(T * log(p)), and its derivative by x is p * sum(T) - T.


def _parts_of_call(xp: Any, x: Any, target: Any, ignore_index: int) -> tuple[Any, Any]:
    """Return the parts of a call that was checked before: input and target."""
    x, axis = floating(xp, x), min(1, x.ndim - 1)
    if is_inexact(target.dtype):
        return x, Probabilities(xp, target, axis)
    return x, Classes(xp, target, axis, ignore_index)


@cross_entropy.def_vjp("x")
def cross_entropy_vjp_x(xp, g, x, target, weight, ignore_index, label_smoothing, reduction):
    x, classes = _parts_of_call(xp, x, target, ignore_index)
    centred = classes.centred(x, weight, label_smoothing)
    return classes.spread(g, x, weight, reduction) * centred


@cross_entropy.def_jvp("x")
def cross_entropy_jvp_x(xp, t, x, target, weight, ignore_index, label_smoothing, reduction):
    x, classes = _parts_of_call(xp, x, target, ignore_index)
    centred = classes.centred(x, weight, label_smoothing)
    return classes.reduced(xp.sum(centred * t, axis=classes.axis), x, weight, reduction)


@cross_entropy.def_vjp("target")
def cross_entropy_vjp_target(xp, g, x, target, weight, ignore_index, label_smoothing, reduction):
    x, classes = _parts_of_call(xp, x, target, ignore_index)
    slope = called(xp, log_softmax, x, axis=classes.axis) * (label_smoothing - 1.0)
    if weight is not None:
        slope = slope * classes.along(x, weight)
    return classes.spread(g, x, weight, reduction) * slope


@cross_entropy.def_jvp("target")
def cross_entropy_jvp_target(xp, t, x, target, weight, ignore_index, label_smoothing, reduction):
    x, classes = _parts_of_call(xp, x, target, ignore_index)
    slope = called(xp, log_softmax, x, axis=classes.axis) * (label_smoothing - 1.0)
    if weight is not None:
        slope = slope * classes.along(x, weight)
    return classes.reduced(xp.sum(slope * t, axis=classes.axis), x, weight, reduction)


@cross_entropy.def_vjp("weight")
def cross_entropy_vjp_weight(xp, g, x, target, weight, ignore_index, label_smoothing, reduction):
    # A rule that read the loss would keep it from being changed, as in `loss += other`, also without weights.
    y = called(xp, cross_entropy, x, target, weight, **_options(ignore_index, label_smoothing, reduction))
    x, classes = _parts_of_call(xp, x, target, ignore_index)
    slope = classes.slope_of_weight(x, y, label_smoothing, reduction)
    others = tuple(i for i in range(x.ndim) if i != classes.axis)
    return xp.sum(classes.spread(g, x, weight, reduction) * slope, axis=others)


@cross_entropy.def_jvp("weight")
def cross_entropy_jvp_weight(xp, t, x, target, weight, ignore_index, label_smoothing, reduction):
    y = called(xp, cross_entropy, x, target, weight, **_options(ignore_index, label_smoothing, reduction))
    x, classes = _parts_of_call(xp, x, target, ignore_index)
    slope = classes.slope_of_weight(x, y, label_smoothing, reduction) * classes.along(x, t)
    return classes.reduced(xp.sum(slope, axis=classes.axis), x, weight, reduction)
