"""`group_norm`, and `batch_norm` in training, of NumPy arrays: few calls for small arrays, few passes over large ones.

Images of shape (N, C, ...) are arrays of shape (n, groups, each, length) here, with `each` channels in a group. What
has one mean is a set: a group of channels of an image, or a channel of all images, which is a group by itself then.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.backends.arrays import computes_alone
from dispatchkit.backends.numpy_sums import total
from dispatchkit.nn.functional.normalization_numpy import standardize_rows
from dispatchkit.nn.functional.rows import DTYPES, FAR, LONGEST, steps
from dispatchkit.nn.functional.shared import result_of
from dispatchkit.nn.functional.small_norms_numpy import FEW, equal_shares, number_of, of_channels, of_groups

# Elements of a block, which stays in the cache, and the most images that one product sums.
BLOCK, MOST_IMAGES = 1 << 15, 1 << 10
# Of the mean square that a variance has to be; else the square of the mean is more than `FAR` times the variance.
LEAST = 1 / (1 + FAR)
WHOLE = slice(None)


def group_norm_flow(x: Any, num_groups: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """Return standardized groups and what takes cotangents back; NotImplemented for calls that the body is for.

    Parameters
    ----------
    x, num_groups, weight, bias, eps : as `group_norm` takes them
    """
    if type(num_groups) is not int or num_groups < 1 or not _fits(x, weight, bias, eps) or x.shape[1] % num_groups:
        return NotImplemented
    if x.nbytes <= FEW:
        answer = of_groups(x.shape, num_groups, x.dtype).flow(x, weight, bias, eps)
        if answer is not NotImplemented:
            return answer
    sets = Sets(len(x), num_groups, x.shape[1] // num_groups, x.size // (len(x) * x.shape[1]), shared=False)
    return sets.flow(x, weight, bias, eps)


def group_norm_alone(x: Any, num_groups: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """Return standardized groups, of a small array in fewer calls than with what a pass backwards reads.

    NotImplemented for calls that the body is for.

    Parameters
    ----------
    x, num_groups, weight, bias, eps : as `group_norm` takes them
    """
    if type(num_groups) is not int or num_groups < 1 or not _fits(x, weight, bias, eps) or x.shape[1] % num_groups:
        return NotImplemented
    y: Any = NotImplemented
    if x.nbytes <= FEW:
        y = of_groups(x.shape, num_groups, x.dtype).norm(x, weight, bias, eps)
    elif x.size <= BLOCK:
        y = _groups_of_a_block(x, num_groups, weight, bias, eps)
    if y is NotImplemented:
        return result_of(group_norm_flow(x, num_groups, weight, bias, eps))
    return y


@np.errstate(over="ignore", invalid="ignore")
def _groups_of_a_block(x: Any, num_groups: int, weight: Any, bias: Any, eps: float) -> Any:
    """Return standardized groups of an array of a block; NotImplemented for numbers that others are for."""
    rows = x.reshape(len(x) * num_groups, -1)
    y, (mean, factor) = np.empty(rows.shape, x.dtype), np.empty((2, len(rows)), x.dtype)
    share, least = equal_shares(rows.shape[1], x.dtype), number_of(eps, x.dtype)
    # Of numbers whose squares are not finite the body says what their mean is.
    scratch = np.empty(rows.shape, x.dtype)
    if not (standardize_rows(rows, mean, factor, y, scratch, share, None, None, least) and isfinite(mean.dot(mean))):
        return NotImplemented
    y = y.reshape(len(x), x.shape[1], -1)
    scratch = scratch.reshape(y.shape)
    if weight is not None:
        scratch[...] = weight[:, None]
        y *= scratch
    if bias is not None:
        scratch[...] = bias[:, None]
        y += scratch
    return y.reshape(x.shape)


def _fits_batch(x: Any, weight: Any, bias: Any, eps: Any) -> bool:
    """Return whether channels of a batch are standardized here, which have more than one element each."""
    return _fits(x, weight, bias, eps) and x.size > x.shape[1] and len(x) <= MOST_IMAGES


def batch_norm_alone(x: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """Return standardized channels; NotImplemented for calls that the body is for.

    Parameters
    ----------
    x, weight, bias, eps : as `batch_norm` takes them in training
    """
    if not _fits_batch(x, weight, bias, eps):
        return NotImplemented
    if x.nbytes <= FEW:
        y = of_channels(x.shape, x.dtype).norm(x, weight, bias, eps)
        if y is not NotImplemented:
            return y
    return result_of(Sets.of_channels(x).flow(x, weight, bias, eps))


def batch_norm_flow(x: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """Return standardized channels and what takes cotangents back; NotImplemented for calls that the body is for.

    Parameters
    ----------
    x, weight, bias, eps : as `batch_norm` takes them in training
    """
    if not _fits_batch(x, weight, bias, eps):
        return NotImplemented
    answer: Any = NotImplemented
    if x.nbytes <= FEW:
        answer = of_channels(x.shape, x.dtype).flow(x, weight, bias, eps)
    if answer is NotImplemented:
        answer = Sets.of_channels(x).flow(x, weight, bias, eps)
    if answer is NotImplemented:
        return answer
    y, pull = answer

    def pull_all(g: Any, wanted: Any) -> Any:
        of_x, of_weight, of_bias = pull(g, wanted)
        return of_x, None, None, of_weight, of_bias

    return y, pull_all


@np.errstate(over="ignore", invalid="ignore")
def moments_of_channels(x: Any) -> Any:
    """Return means and unbiased variances of the channels of all images; NotImplemented for arrays of other kinds.

    Parameters
    ----------
    x : array of shape (N, C, ...)
    """
    if not _fits(x, None, None, 0.0) or x.size <= x.shape[1] or len(x) > MOST_IMAGES:
        return NotImplemented
    sets = Sets.of_channels(x)
    elements = sets.elements(x)
    moments = sets.moments(elements, np.empty(elements.shape, x.dtype))
    if moments is None:
        return NotImplemented
    _, mean, variance, moved = moments
    count = x.size // x.shape[1]
    variance *= count / (count - 1)
    return (mean + moved).reshape(-1), variance.reshape(-1)


def _fits(x: Any, weight: Any, bias: Any, eps: Any) -> bool:
    if type(x) is not np.ndarray or x.dtype not in DTYPES or x.ndim < 2 or not x.size or not computes_alone("numpy"):
        return False
    for parameter in (weight, bias):
        if parameter is None:
            continue
        if type(parameter) is not np.ndarray or parameter.dtype != x.dtype or parameter.shape != x.shape[1:2]:
            return False
    return x.size <= LONGEST * len(x) * x.shape[1] and type(eps) in (int, float)


class Sets(NamedTuple):
    """How images are sets of elements with one mean.

    Attributes
    ----------
    images, groups, each, length : how many there are, of channels, in a group, and elements in a channel
    shared : whether a channel of all images is a set, else a group of one image is

    Notes
    -----
    Numbers of channels have the shape (images, groups, each), those of sets (images, groups, 1), or (groups, 1) where
    images share them, so that they broadcast with those of channels.
    """

    images: int
    groups: int
    each: int
    length: int
    shared: bool

    @classmethod
    def of_channels(cls, x: Any) -> Sets:
        """Return the sets that the channels of all images of an array are."""
        return cls(len(x), x.shape[1], 1, x.size // (len(x) * x.shape[1]), shared=True)

    def elements(self, x: Any) -> Any:
        """Return an array as images, groups, channels of each and their elements."""
        return x.reshape(self.images, self.groups, self.each, self.length)

    @np.errstate(over="ignore", invalid="ignore")
    def flow(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        """Return standardized sets, their channels scaled and moved, and what takes cotangents back.

        Parameters
        ----------
        x : array of shape (N, C, ...)
        weight, bias : arrays of shape (C,), or None
        """
        elements = self.elements(x)
        y = np.empty(elements.shape, x.dtype)
        moments = self.moments(elements, y)
        if moments is None:
            return NotImplemented
        elements, mean, variance, _ = moments
        variance += eps
        factor = np.reciprocal(np.sqrt(variance, out=variance), out=variance)
        scale = factor
        if weight is not None:
            weight = weight.reshape(self.groups, self.each)
            scale = factor * weight
        offset = -mean * scale
        if bias is not None:
            offset = offset + bias.reshape(self.groups, self.each)
        for block in self._blocks():
            part = np.multiply(elements[block], self._columns(scale, block), out=y[block])
            part += self._columns(offset, block)

        def pull(g: Any, wanted: Any) -> Any:
            of_x, of_weight, of_bias = self._cotangents(g[0].reshape(elements.shape), elements, mean, factor, weight)
            return of_x.reshape(x.shape), of_weight, of_bias

        return y.reshape(x.shape), pull

    def _cotangents(self, g: Any, x: Any, mean: Any, factor: Any, weight: Any) -> tuple[Any, Any, Any]:
        """Return the cotangents of the elements, of weights and of what is added, of that of the result.

        With z the standardized elements and h the cotangent times the weight, that of `x` is
        ``factor * (h - mean(h) - z * mean(h * z))``.
        """
        of_x = np.empty(x.shape, x.dtype)
        moved = self._of_channels(g)
        scaled = self._products(g, x, of_x)
        scaled -= mean * moved
        scaled *= factor
        of_weight, of_bias = (
            total(part, axis=0).reshape(-1) * part.dtype.type(self.length) for part in (scaled, moved)
        )
        scale = factor
        if weight is not None:
            scale, moved, scaled = factor * weight, moved * weight, scaled * weight
        slope = self._of_sets(scaled)
        slope *= factor
        slope *= factor
        offset = slope * mean
        offset -= self._of_sets(moved) * factor
        for block in self._blocks():
            part = np.multiply(x[block], self._columns(slope, block), out=of_x[block])
            np.subtract(self._columns(offset, block), part, out=part)
            part += g[block] * self._columns(scale, block)
        return of_x, of_weight, of_bias

    def moments(self, x: Any, scratch: Any) -> tuple[Any, Any, Any, Any] | None:
        """Return elements, the means and variances of their sets, and what was subtracted from the elements before.

        That is the mean of each set where numbers are far from 0, whose variance is no difference of sums. None for
        numbers whose variance is infinite or none.

        Parameters
        ----------
        x : elements
        scratch : array of their shape, which is written to
        """
        mean, square = self._of_sets(self._of_channels(x)), self._of_sets(self._products(x, x, scratch))
        variance = square - mean * mean
        # NaN where a square is infinite, which a variance of finite numbers may be, too.
        room = variance - square * LEAST
        least = room.item(room.argmin())
        if not isfinite(least):
            return None
        if least >= 0:
            return x, mean, variance, 0
        distances = x - mean[..., None]
        rest, square = (
            self._of_sets(self._of_channels(distances)),
            self._of_sets(self._products(distances, distances, scratch)),
        )
        return distances, rest, np.maximum(square - rest * rest, 0), mean

    def _products(self, x1: Any, x2: Any, scratch: Any) -> Any:
        """Return the means of products of each channel; `scratch`, of the shape of the arrays, is written to."""
        if x1.size <= BLOCK:
            return self._of_channels(np.multiply(x1, x2, out=scratch))
        means = np.empty(x1.shape[:3], x1.dtype)
        for block in self._blocks():
            means[block] = self._of_channels(np.multiply(x1[block], x2[block], out=scratch[block]))
        return means

    def _of_channels(self, x: Any) -> Any:
        """Return the mean of each channel."""
        if self.length == 1:
            return x[..., 0]
        return x.reshape(-1, self.length).dot(equal_shares(self.length, x.dtype)).reshape(x.shape[:3])

    def _of_sets(self, of_channels: Any) -> Any:
        """Return the mean of each set, of those of channels, as an array of its own."""
        if self.shared:
            of_images = of_channels.reshape(self.images, self.groups)
            return equal_shares(self.images, of_images.dtype).dot(of_images)[:, None]
        of_groups = of_channels.reshape(-1, self.each)
        return of_groups.dot(equal_shares(self.each, of_groups.dtype)).reshape(-1, self.groups, 1)

    def _columns(self, numbers: Any, block: slice) -> Any:
        """Return numbers of channels or sets so that they broadcast with the elements of a block of images."""
        if self.shared:
            return numbers[..., None]
        return numbers[block, ..., None]

    def _blocks(self) -> Iterable[slice]:
        """Return the images as many at a time as stay in the cache."""
        of_image = self.groups * self.each * self.length
        if self.images * of_image <= BLOCK:
            return (WHOLE,)
        return steps(self.images, BLOCK // of_image)
