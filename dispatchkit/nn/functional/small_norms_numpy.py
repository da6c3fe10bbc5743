"""Norms of small NumPy arrays, for both passes: the calls are what takes time, so none of them broadcasts operands.

A function of NumPy that broadcasts takes several times as long as to write numbers into an array of the shape first,
and a look at the largest numbers spares the context in which NumPy warns of nothing.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from dispatchkit.nn.functional.rows import FAR

__all__ = ["FEW", "SmallNorm", "are_within", "equal_shares", "number_of", "of_channels", "of_groups", "of_rows"]

# Bytes of an array up to which it is small; what its elements are within, and the least that is added to variances, so
# that single precision holds the squares of means divided by standard deviations.
FEW, MOST, LEAST = 1 << 16, 1e12, 1e-12


def are_within(x: Any, most: float) -> bool:
    """Return whether all numbers lie between two; a NaN does not."""
    flat = x.reshape(-1)
    return bool(-most < flat.item(flat.argmin()) and flat.item(flat.argmax()) < most)


@lru_cache(maxsize=64)
def number_of(value: float, dtype: Any) -> Any:
    """Return a number as an array of shape (), which takes less to compute with; it is not to be changed."""
    return np.array(value, dtype)


@lru_cache(maxsize=64)
def equal_shares(count: int, dtype: Any) -> Any:
    """Return what gives the mean of so many numbers, as a product; it is not to be changed."""
    return np.full(count, 1 / count, dtype)


@lru_cache(maxsize=64)
def _ones(count: int, dtype: Any) -> Any:
    return np.ones(count, dtype)


class SmallNorm:
    """How a small array is sets of elements that have one mean, and which of them its parameters belong to.

    Parameters
    ----------
    images, sets, length : as which the array is taken; a set has its elements in all images, along the last axis
    shape : as which it is taken to scale it, along whose middle axis parameters have a number, or along the last one
        where it has no other
    dtype : of the array

    Notes
    -----
    With z the standardized elements and h the cotangent times the weight, the cotangent of the array is
    ``factor * (h - mean(h) - z * mean(h * z))``.
    """

    __slots__ = ("last", "of_images", "of_lengths", "rows", "shape", "sums_of_lead", "sums_of_tail", "whole")

    def __init__(self, images: int, sets: int, length: int, shape: tuple[int, ...], dtype: Any) -> None:
        self.rows, self.shape = (images * sets, length), shape
        self.whole: tuple[int, ...] = self.rows
        if images > 1:
            self.whole = (images, sets, length)
        self.last = len(shape) == 2
        self.of_lengths, self.of_images = equal_shares(length, dtype), equal_shares(images, dtype)
        self.sums_of_lead = _ones(shape[0], dtype)
        self.sums_of_tail = _ones(prod(shape[2:]), dtype)

    def means(self, x: Any) -> Any:
        """Return the mean of each set."""
        if self.whole is self.rows:
            return x.reshape(self.rows).dot(self.of_lengths)
        if self.rows[1] > 1:
            x = x.reshape(self.rows).dot(self.of_lengths)
        return self.of_images.dot(x.reshape(self.whole[:2]))

    def columns(self, parameter: Any) -> Any:
        """Return a parameter so that it broadcasts with arrays of the shape."""
        if self.last:
            return parameter
        return parameter[:, None]

    def sums(self, x: Any) -> Any:
        """Return the sum of the elements that a number of the parameters belongs to, for each of them."""
        if not self.last:
            x = x.reshape(-1, self.shape[2])
            if self.shape[2] > 1:
                x = x.dot(self.sums_of_tail)
        return self.sums_of_lead.dot(x.reshape(self.shape[:2]))

    def standardized(self, x: Any, eps: Any) -> tuple[Any, Any, Any]:
        """Return standardized elements, an array to write to, and one divided by the standard deviation of each set.

        Parameters
        ----------
        x : array, whose elements are within `MOST`
        eps : added to variances, array of shape ()
        """
        y, scratch, mean = np.empty(self.whole, x.dtype), np.empty(self.whole, x.dtype), self.means(x)
        scratch[...] = mean[:, None]
        np.subtract(x.reshape(self.whole), scratch, y)
        factor = self._factors(y, scratch, eps)
        mean *= factor
        mean *= mean
        if mean[mean.argmax()] > FAR:
            # Of numbers far from 0 the mean is not precise, that of what it was subtracted from is.
            scratch[...] = self.means(y)[:, None]
            y -= scratch
            factor = self._factors(y, scratch, eps)
        scratch[...] = factor[:, None]
        y *= scratch
        return y, scratch, factor

    def _factors(self, y: Any, scratch: Any, eps: Any) -> Any:
        """Return one divided by the standard deviation of each set of elements less their mean."""
        factor = self.means(np.multiply(y, y, scratch))
        factor += eps
        return np.reciprocal(np.sqrt(factor, factor), factor)

    def scaled(self, y: Any, scratch: Any, weight: Any, bias: Any) -> Any:
        """Scale and move standardized elements in place; `scratch`, of their shape, is written to."""
        if self.whole != self.shape:
            y, scratch = y.reshape(self.shape), scratch.reshape(self.shape)
        if weight is not None:
            scratch[...] = self.columns(weight)
            y *= scratch
        if bias is not None:
            scratch[...] = self.columns(bias)
            y += scratch
        return y

    def norm(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        """Return standardized elements, scaled and moved; NotImplemented for numbers that others are for.

        Parameters
        ----------
        x : array
        weight, bias : arrays with a number for each channel or each element of a row, or None
        eps : added to variances
        """
        if not (eps >= LEAST and are_within(x, MOST)):
            return NotImplemented
        y, scratch, _ = self.standardized(x, number_of(eps, x.dtype))
        return self.scaled(y, scratch, weight, bias).reshape(x.shape)

    def flow(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        """Return the same, and what takes its cotangent back to all three."""
        if not (eps >= LEAST and are_within(x, MOST)):
            return NotImplemented
        z, scratch, factor = self.standardized(x, number_of(eps, x.dtype))
        y = self.scaled(z.copy(), scratch, weight, bias).reshape(x.shape)

        def pull(g: Any, wanted: Any) -> tuple[Any, Any, Any]:
            of_weight = of_bias = None
            h = g[0].reshape(self.whole)
            products, of_x = np.multiply(h, z), np.empty(self.whole, x.dtype)
            if bias is not None:
                of_bias = self.sums(h)
            if weight is not None:
                of_weight = self.sums(products)
                of_x.reshape(self.shape)[...] = self.columns(weight)
                products *= of_x
                h = h * of_x
            of_x[...] = self.means(products)[:, None]
            of_x *= z
            products[...] = self.means(h)[:, None]
            of_x += products
            np.subtract(h, of_x, of_x)
            products[...] = factor[:, None]
            of_x *= products
            return of_x.reshape(x.shape), of_weight, of_bias

        return y, pull


@lru_cache(maxsize=256)
def of_rows(count: int, length: int, dtype: Any) -> SmallNorm:
    """Return the layout of rows with one mean each, and parameters for each element of a row."""
    return SmallNorm(1, count, length, (count, length), dtype)


@lru_cache(maxsize=256)
def of_groups(shape: tuple[int, ...], groups: int, dtype: Any) -> SmallNorm:
    """Return the layout of images (N, C, ...) whose channels have one mean for each of some groups of an image."""
    length = prod(shape[2:])
    return SmallNorm(1, shape[0] * groups, shape[1] // groups * length, (*shape[:2], length), dtype)


@lru_cache(maxsize=256)
def of_channels(shape: tuple[int, ...], dtype: Any) -> SmallNorm:
    """Return the layout of images (N, C, ...) whose channels have one mean for all images."""
    length = prod(shape[2:])
    return SmallNorm(shape[0], shape[1], length, (*shape[:2], length), dtype)
