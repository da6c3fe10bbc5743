"""What losses for classes are compared with: a probability for each class, or numbers of classes."""

from __future__ import annotations

import math
from math import prod
from typing import Any

from typing_extensions import override

from dispatchkit.declare.typing import Namespace
from dispatchkit.declare.wrapping import holds
from dispatchkit.nn.functional.bodies import called
from dispatchkit.ops.reductions.softmaxes import log_softmax, softmax

__all__ = ["Classes", "Probabilities"]


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

    def __init__(self, xp: Namespace, target: Any, axis: int) -> None:
        self.xp, self.target, self.axis = xp, target, axis

    def loss(self, x: Any, weight: Any, smoothing: float, reduction: str) -> Any:
        """Return the losses of logarithms of probabilities, reduced."""
        loss = -self.xp.sum(self.weighted(x, weight, smoothing) * x, axis=self.axis)
        return self.reduced(loss, x, weight, reduction)

    def shares(self, x: Any, smoothing: float) -> Any:
        """Return the share of each class, of the shape of `x`."""
        return self.target * (1.0 - smoothing) + smoothing / x.shape[self.axis] if smoothing else self.target

    def weighted(self, x: Any, weight: Any, smoothing: float) -> Any:
        """Return what the logarithm of each class is multiplied with, of the shape of `x`."""
        shares = self.shares(x, smoothing)
        return shares if weight is None else shares * self.along(x, weight)

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
        return g if reduction == "sum" else self.divided(g, x, weight)

    def reduced(self, loss: Any, x: Any, weight: Any, reduction: str) -> Any:
        """Return a number of each place put together."""
        if reduction == "none":
            return loss
        total = self.xp.sum(loss)
        return total if reduction == "sum" else self.divided(total, x, weight)

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

    def __init__(self, xp: Namespace, target: Any, axis: int, ignore_index: int) -> None:
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
        own = xp.take_along_axis(x, xp.expand_dims(self.numbers, axis=axis), axis=axis)
        # What is ignored may be infinite, and shall not make the loss NaN.
        loss = self.counted(-xp.squeeze(own, axis=axis))
        if weight is not None:
            loss = loss * self.of_places(weight)
        if smoothing:
            of_all = -xp.sum(x if weight is None else x * self.along(x, weight), axis=axis)
            loss = (1.0 - smoothing) * loss + (smoothing / x.shape[axis]) * self.counted(of_all)
        return self.reduced(loss, x, weight, reduction)

    def counted(self, values: Any) -> Any:
        """Return numbers of places, 0 where a place does not count."""
        return values if self.counts is None else self.xp.where(self.counts, values, 0.0)

    def of_places(self, weight: Any) -> Any:
        """Return the weight of the class of each place, 0 where that does not count."""
        chosen = self.xp.take(weight, self.xp.reshape(self.numbers, (-1,)), axis=0)
        return self.counted(self.xp.reshape(chosen, self.numbers.shape))

    def right(self, x: Any) -> Any:
        """Return 1 for the right class of each place that counts, else 0, of the shape of `x`."""
        xp, axis = self.xp, self.axis
        numbers = self.numbers if self.counts is None else xp.where(self.counts, self.numbers, -1)
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
        return slope - y * self.right(x) if reduction == "mean" else slope

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
