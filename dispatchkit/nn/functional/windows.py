"""Windows over images: where they lie along an axis, and what convolution of NumPy arrays makes of them.

It copies windows side by side for products of matrices, or sums images that are shifted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dispatchkit.accelerator import computed_by
from dispatchkit.backends.numpy import numpy_namespace


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows along one axis.

    Attributes
    ----------
    length : of the axis
    kernel : elements of a window
    stride : from a window to the next
    dilation : from an element of a window to the next
    before, after : elements added at the ends of the axis
    count : of windows
    """

    length: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    count: int

    @classmethod
    def along(cls, length: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> Windows:
        """Return as many windows as fit; none or fewer where the axis is too short."""
        count = (length + before + after - dilation * (kernel - 1) - 1) // stride + 1
        return cls(length, kernel, stride, dilation, before, after, count)

    @property
    def total(self) -> int:
        """The length of the axis with what is added."""
        return self.before + self.length + self.after

    @property
    def reach(self) -> int:
        """The number of elements from the first of a window to its last."""
        return self.dilation * (self.kernel - 1) + 1

    @property
    def apart(self) -> bool:
        """Whether no two windows have an element in common."""
        return self.stride >= self.reach

    @property
    def dense(self) -> bool:
        """Whether a window begins at every element where one fits."""
        return self.stride == 1 and self.count == self.total - self.reach + 1

    @property
    def reversible(self) -> bool:
        """Whether each element of the axis lies in adjacent windows, of which some may be missing at the ends."""
        return self.stride == 1 and min(self.reversed().before, self.reversed().after) >= 0

    def reversed(self) -> Windows:
        """Return the windows over windows: for each element of the axis, those that it lies in, the last one first."""
        gap = self.dilation * (self.kernel - 1)
        before, after = gap - self.before, self.length + self.before - self.count
        return Windows(self.count, self.kernel, 1, self.dilation, before, after, self.length)

    def element(self, index: int) -> slice:
        """Return where one element of every window lies on the longer axis."""
        start = index * self.dilation
        return slice(start, start + self.stride * (self.count - 1) + 1, self.stride)

    def each_element(self) -> list[slice]:
        """Return for each element of a window where that of every window lies on the longer axis."""
        return [self.element(i) for i in range(self.kernel)]


class Grid(tuple[Windows, ...]):  # noqa: SLOT001  # it keeps what follows of the windows
    """The windows along several axes, the last ones of an array.

    Attributes
    ----------
    counts, kernels : of windows along each axis, and of elements of one
    lengths, totals : of the axes, and with what is added
    number, size : the products of the first two
    grows : whether anything is added
    inside : the index that leaves out what is added
    tables : what is known of small arrays of these windows, by what it is and for how many images
    """

    def __init__(self, windows: Iterable[Windows]) -> None:
        self.counts = tuple([along.count for along in self])
        self.kernels = tuple([along.kernel for along in self])
        self.totals = tuple([along.total for along in self])
        self.lengths = tuple([along.length for along in self])
        self.number, self.size = prod(self.counts), prod(self.kernels)
        self.grows = any(along.before or along.after for along in self)
        self.inside: Any = (Ellipsis, *(slice(along.before, along.before + along.length) for along in self))
        self.tables: dict[Any, Any] = {}

    @cached_property
    def plan(self) -> Any:
        """What the compiled core knows of the windows; None without it, and along other than one or two axes."""
        return plan_of(
            *[(along.length, along.count, along.kernel, along.stride, along.dilation, along.before) for along in self]
        )

    @cached_property
    def reversed(self) -> Grid | None:
        """The windows over windows, None where `Windows.reversible` says that there are none."""
        if all(along.reversible for along in self):
            return Grid(along.reversed() for along in self)
        return None

    @cached_property
    def elements(self) -> list[list[Any]]:
        """For each axis, and each element of a window along it, the index that selects it in every window."""
        axes = []
        for axis, along in enumerate(self):
            behind = (slice(None),) * (len(self) - 1 - axis)
            axes.append([(Ellipsis, element, *behind) for element in along.each_element()])
        return axes

    @cached_property
    def numbers(self) -> Any:
        """Where the elements of each window lie in the longer image, counted through: array (number, size)."""
        at: Any = np.zeros((1, 1), np.intp)
        for along in self:
            elements = np.arange(along.count)[:, None] * along.stride + np.arange(along.kernel) * along.dilation
            at = at[:, None, :, None] * along.total + elements[:, None]
            at = at.reshape(at.shape[0] * at.shape[1], -1)
        return at

    @cached_property
    def places(self) -> list[Any]:
        """For each element of a window the index that selects it in every window."""
        elements = [along.each_element() for along in self]
        return [(Ellipsis, *index) for index in itertools.product(*elements)]


@computed_by("windows")
def plan_of(*axes: tuple[int, ...]) -> Any:
    """Return what the compiled core keeps of windows, None without it.

    Parameters
    ----------
    axes : for each one its length and how many windows are on it, of adaptive pooling; for other windows behind these
        their kernel, stride and dilation, and how many elements are added before the axis
    """
    return None


def padded(xp: Any, x: Any, windows: Grid, value: Any = 0) -> Any:
    """Return an array with a value around its last axes, which windows lie on; as it is where nothing is added."""
    if not windows.grows:
        return x
    if xp is numpy_namespace:
        y = np.full((*x.shape[: -len(windows)], *windows.totals), value, x.dtype)
        y[windows.inside] = x
        return y
    for axis, along in enumerate(reversed(windows), start=1):
        axis = x.ndim - axis
        ends = [
            xp.full((*x.shape[:axis], n, *x.shape[axis + 1 :]), value, dtype=x.dtype)
            for n in (along.before, along.after)
        ]
        x = xp.concat([ends[0], x, ends[1]], axis=axis)
    return x


def summed_windows(xp: Any, parts: Any, shape: tuple[int, ...], dtype: Any, windows: Grid) -> Any:
    """Return an array whose elements are sums of what the windows around them have in their place.

    Parameters
    ----------
    xp : namespace to compute with
    parts : for each place in a window, in the order of `Grid.places`, an array of shape (..., *counts of windows)
    shape, dtype : of the array
    windows : over its last axes
    """
    lengths = (*shape[: -len(windows)], *windows.totals)
    if xp is numpy_namespace:
        total = np.zeros(lengths, dtype)
    else:
        total = xp.zeros(lengths, dtype=dtype)
    for place, part in zip(windows.places, parts, strict=True):
        if xp is numpy_namespace:
            total[place] += part
        else:
            total = xp.index_put(total, place, part, accumulate=True)
    return total[windows.inside]


# Elements of a channel of a block, and the most products of a channel and a filter in a group.
SHIFTED_BLOCK, MOST = 1 << 16, 4


def is_depthwise(weight_shape: tuple[int, ...], groups: int, windows: Grid) -> bool:
    """Return whether there are several groups with few filters of few channels, and windows are adjacent."""
    few = weight_shape[0] // groups * weight_shape[1] <= MOST
    return few and groups > 1 and all(along.stride == 1 for along in windows)


def _shifted_blocks(x: Any, groups: int, windows: Grid) -> Iterator[tuple[slice, slice, Any]]:
    """Yield which images are taken at a time, which groups of their channels, and these with what is added to them."""
    images_of_groups, area = _split_groups(x, groups), prod(windows.totals)
    images = max(1, min(len(x), SHIFTED_BLOCK // area))
    step = max(1, SHIFTED_BLOCK // (images * area))
    for image in range(0, len(x), images):
        for group in range(0, groups, step):
            at, part = slice(image, image + images), slice(group, group + step)
            block = padded(numpy_namespace, images_of_groups[part, :, at], windows)
            yield at, part, np.ascontiguousarray(block)


def _split_groups(x: Any, groups: int) -> Any:
    """Return a view (groups, C / groups, N, ...) of images (N, C, ...)."""
    return np.moveaxis(x.reshape(len(x), groups, x.shape[1] // groups, *x.shape[2:]), 0, 2)


def _pieces(block: Any, windows: Grid) -> Iterator[tuple[tuple[int, int], Any]]:
    """Yield each channel's number and that of an element of a window, and this element of all windows.

    Parameters
    ----------
    block : images of shape (groups, C / groups, N, ...), with what is added to them
    windows : over the last axes
    """
    flat = block.reshape(*block.shape[:2], -1)
    length = _length(flat, windows)
    starts = [sum(place) for place in itertools.product(*_offsets(windows))]
    for channel in range(block.shape[1]):
        for index, start in enumerate(starts):
            yield (channel, index), flat[:, channel, None, start : start + length]


def _offsets(windows: Grid) -> list[range]:
    """Return for each axis how far the elements of a window lie from its first, in memory without gaps."""
    steps = [prod(windows.totals[axis:]) for axis in range(1, len(windows) + 1)]
    return [
        range(0, along.kernel * along.dilation * step, along.dilation * step)
        for along, step in zip(windows, steps, strict=True)
    ]


def _length(flat: Any, windows: Grid) -> int:
    """Return how many elements lie from the first window of the first image to the last one of the last."""
    return int(flat.shape[-1]) - sum(offsets[-1] for offsets in _offsets(windows))


def convolved_by_shifts(x: Any, weight: Any, bias: Any, windows: Grid, groups: int) -> Any:
    """Return the convolution of images (N, C, ...) with a weight (O, C / groups, ...)."""
    filters, counts = weight.shape[0] // groups, windows.counts
    cut: Any = (..., *map(slice, counts))
    if bias is None:
        dtype = np.result_type(x, weight)
    else:
        dtype = np.result_type(x, weight, bias)
    factors = weight.reshape(groups, filters, weight.shape[1], -1)
    y = np.empty((len(x), weight.shape[0], *counts), dtype)
    results_of_groups = _split_groups(y, groups)
    for images, part, block in _shifted_blocks(x, groups, windows):
        wide = np.empty((len(block), filters, *block.shape[2:]), dtype)
        flat = wide.reshape(len(block), filters, -1)
        sums = flat[..., : _length(flat, windows)]
        product = np.empty(sums.shape, dtype)
        for (channel, index), piece in _pieces(block, windows):
            first = channel == index == 0
            if first:
                out = sums
            else:
                out = product
            np.multiply(piece, factors[part, :, channel, index, None], out=out)
            if not first:
                np.add(sums, product, out=sums)
        if bias is not None:
            sums += bias.reshape(groups, -1, 1)[part]
        results_of_groups[part, :, images] = wide[cut]
    return y


def gradient_of_weight_by_shifts(g: Any, x: Any, shape: tuple[int, ...], windows: Grid, groups: int) -> Any:
    """Return the cotangent of a weight of this shape; `x` is conjugated already."""
    total = np.zeros((groups, shape[0] // groups, shape[1], prod(shape[2:])), np.result_type(g, x))
    of_g = _split_groups(g.conj(), groups)
    cut: Any = (..., *map(slice, windows.counts))
    for images, part, block in _shifted_blocks(x, groups, windows):
        wide = np.zeros((len(block), of_g.shape[1], *block.shape[2:]), g.dtype)
        wide[cut] = of_g[part, :, images]
        flat = wide.reshape(*wide.shape[:2], -1)
        flat = flat[..., : _length(flat, windows)]
        for (channel, index), piece in _pieces(block, windows):
            total[part, :, channel, index] += np.vecdot(flat, piece)
    return total.reshape(shape)


# Elements of all windows up to which they are taken at once from where a table says that they are.
SMALL = 1 << 13


def _elements_of_few(x: Any, windows: Grid, groups: int) -> Any:
    """Return windows over small images as matrices (N, elements of all channels, windows); None for other images."""
    n, channels = x.shape[:2]
    if groups > 1 or not 0 < n * channels * windows.size * windows.number <= SMALL:
        return None
    key = "elements", channels
    if key not in windows.tables:
        windows.tables[key] = _table(channels, windows)
    rows = x.reshape(n, -1)
    if windows.grows:
        rows = np.zeros((n, rows.shape[1] + 1), x.dtype)
        rows[:, :-1] = x.reshape(n, -1)
    return rows.take(windows.tables[key], 1).reshape(n, channels * windows.size, windows.number)


def _table(channels: int, windows: Grid) -> Any:
    """Return where the elements of windows lie in the channels of an image; what is added lies behind its last one."""
    area = prod(windows.lengths)
    inside = np.full(windows.totals, -1, np.intp)
    inside[windows.inside[1:]] = np.arange(area).reshape(windows.lengths)
    table = inside.reshape(-1)[windows.numbers.T]
    of_channels = np.arange(channels)[:, None, None] * area
    return np.where(table < 0, channels * area, table + of_channels).reshape(-1)


def _product_of_few(elements: Any, weight: Any, bias: Any) -> Any:
    """Return the product of a weight (O, C, ...) with the elements of windows, and a bias added."""
    matrix = weight.reshape(len(weight), -1)
    if len(elements) > 1:
        y = np.matmul(matrix, elements)
    else:
        y = matrix.dot(elements[0])[None]
    if bias is not None:
        added = np.empty_like(y)  # what broadcasts takes longer
        added[...] = bias[:, None]
        y += added
    return y


# Elements of a block: 1.5 MB in double precision.
BLOCK = 3 << 16


def convolved(x: Any, weight: Any, bias: Any, windows: Grid, groups: int) -> Any:
    """Return the convolution of images (N, C, ...) with a weight (O, C / groups, ...)."""
    if is_depthwise(weight.shape, groups, windows):
        return convolved_by_shifts(x, weight, bias, windows, groups)
    counts, n, o = windows.counts, x.shape[0], weight.shape[0]
    if x.dtype == weight.dtype and (bias is None or bias.dtype == x.dtype):
        elements = _elements_of_few(x, windows, groups)
        if elements is not None:
            return _product_of_few(elements, weight, bias).reshape(n, o, *counts)
    matrix = _matrix(weight, groups)
    if bias is None:
        dtype = np.result_type(x, weight)
    else:
        dtype = np.result_type(x, weight, bias)
    y = np.empty((n, groups, o // groups, windows.number), dtype)
    added = None
    if bias is not None:
        added = bias.reshape(groups, -1, 1)
    for part, place, elements in _blocks(x, windows, groups):
        block = y[part, :, :, place]
        np.matmul(matrix, elements, out=block)
        if added is not None:
            block += added
    return y.reshape(n, o, *counts)


def gradient_of_weight(g: Any, x: Any, shape: tuple[int, ...], windows: Grid, groups: int) -> Any:
    """Return the cotangent of a weight of this shape."""
    if is_depthwise(shape, groups, windows):
        return gradient_of_weight_by_shifts(g, x, shape, windows, groups)
    n, o = g.shape[:2]
    few = None
    if n == 1:
        few = _elements_of_few(x, windows, groups)
    if few is not None:
        return g.reshape(o, -1).dot(few[0].T).reshape(shape)
    g = g.reshape(n, groups, o // groups, windows.number).swapaxes(-1, -2)
    total = np.zeros((groups, prod(shape[1:]), o // groups), np.result_type(g, x))
    for part, place, elements in _blocks(x, windows, groups):
        # The other order, transposed, takes half as long again.
        total += np.matmul(elements, g[part, :, place]).sum(axis=0)
    return np.ascontiguousarray(total.swapaxes(-1, -2)).reshape(shape)


def gradient_of_images(g: Any, weight: Any, shape: tuple[int, ...], windows: Grid, groups: int) -> Any:
    """Return the cotangent of images of this shape."""
    n, o = g.shape[:2]
    if windows.reversed is not None:
        turned = weight.reshape(groups, o // groups, *weight.shape[1:])
        turned = turned[(..., *[slice(None, None, -1)] * len(windows))].swapaxes(1, 2)
        turned = turned.reshape(shape[1], o // groups, *weight.shape[2:])
        return convolved(g, turned, None, windows.reversed, groups)
    matrix = np.ascontiguousarray(_matrix(weight, groups).swapaxes(-1, -2))
    line = windows[0].count * prod(windows.totals[1:])
    step = max(1, BLOCK // max(1, matrix.size // (o // groups) * line))
    total = np.zeros((n, shape[1], *windows.totals), np.result_type(g, weight))
    for start in range(0, n, step):
        part = slice(start, start + step)
        _spread(g[part], matrix, total[part], windows)
    return total[windows.inside]


def _spread(g: Any, matrix: Any, total: Any, windows: Grid) -> None:
    """Add what each output gives back to the elements of its window."""
    n, groups = g.shape[0], matrix.shape[0]
    elements = np.matmul(matrix, g.reshape(n, groups, matrix.shape[-1], -1))
    elements = elements.reshape(n, total.shape[1], -1, *windows.counts)
    for index, place in enumerate(windows.places):
        total[place] += elements[:, :, index]


def _matrix(weight: Any, groups: int) -> Any:
    return weight.reshape(groups, weight.shape[0] // groups, -1)


def _blocks(x: Any, windows: Grid, groups: int) -> Iterator[tuple[slice, slice, Any]]:
    """Yield windows as matrices (N, groups, elements of a group of channels, windows).

    Before the matrices come the slice of the images that they are of, and that of the windows of each image.
    """
    x, counts = padded(numpy_namespace, x, windows), windows.counts
    n, c = x.shape[:2]
    if windows.size == 1 and all(along.dense for along in windows):
        # Every pixel is a window.
        yield slice(0, n), slice(None), x.reshape(n, groups, c // groups, windows.number)
        return
    steps = tuple(zip(x.strides[2:], windows, strict=True))
    strides = *(step * along.dilation for step, along in steps), *(step * along.stride for step, along in steps)
    everything = as_strided(x, (n, c, *windows.kernels, *counts), (*x.strides[:2], *strides), writeable=False)
    of_line = prod(counts[1:])
    line = c * windows.size * of_line
    # Blocks of several images, else of about as many lines each.
    step = min(max(1, BLOCK // (line * counts[0])), max(n, 1))
    lines = -(-counts[0] // -(-line * counts[0] // BLOCK))
    copy = np.empty(step * line * lines, x.dtype)
    behind = (slice(None),) * (len(windows) - 1)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        for first in range(0, counts[0], lines):
            lines_of_windows: Any = (part, ..., slice(first, first + lines), *behind)
            of_block = everything[lines_of_windows]
            block = copy[: of_block.size].reshape(of_block.shape)
            block[...] = of_block
            place = slice(first * of_line, (first + of_block.shape[-len(windows)]) * of_line)
            yield part, place, block.reshape(len(block), groups, -1, place.stop - place.start)


@dataclass(frozen=True, slots=True)
class Product:
    """The product of images, or sequences or volumes, and a weight over windows, linear in both.

    It is a convolution. Its transpose by images is the gradient of one, and a transposed convolution. Images have shape
    (N, C, ...) or (C, ...), what is computed of their windows (N, O, ...) or (O, ...), and the weight
    (O, C / groups, ...).

    Attributes
    ----------
    windows : along each of the further axes
    groups : of channels
    """

    windows: Grid
    groups: int

    def batch(self, x: Any) -> Any:
        """Return images of shape (N, C, ...), of a single one as well."""
        if x.ndim == 2 + len(self.windows):
            return x
        return x[None, ...]

    def like(self, x: Any, y: Any, xp: Any = None, bias: Any = None) -> Any:
        """Return images (N, C, ...), a bias (C,) added if there is one, as a single one where `x` is one."""
        if bias is not None:
            y = xp.add(y, xp.reshape(bias, (-1,) + (1,) * len(self.windows)))
        if x.ndim == 2 + len(self.windows):
            return y
        return y[0, ...]

    def convolve(self, xp: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        """Return the product of images and a weight, and a bias of shape (O,) added."""
        windows, groups, images = self.windows, self.groups, self.batch(x)
        if xp is numpy_namespace:
            return self.like(x, convolved(images, weight, bias, windows, groups))
        o = weight.shape[0]
        matrices = xp.reshape(weight, (groups, o // groups, prod(weight.shape[1:])))
        y = xp.matmul(matrices, self.side_by_side(xp, images))
        return self.like(x, xp.reshape(y, (images.shape[0], o, *windows.counts)), xp, bias)

    def spread(self, xp: Any, g: Any, weight: Any, bias: Any = None) -> Any:
        """Return images: the sum, over the windows, of the weight times what `g` has there, and a bias (C,) added."""
        windows, groups, cotangents = self.windows, self.groups, self.batch(g)
        n, o = cotangents.shape[:2]
        shape = (n, weight.shape[1] * groups, *windows.lengths)
        if xp is numpy_namespace:
            return self.like(g, gradient_of_images(cotangents, weight, shape, windows, groups), xp, bias)
        matrices = xp.matrix_transpose(xp.reshape(weight, (groups, o // groups, prod(weight.shape[1:]))))
        elements = xp.matmul(matrices, xp.reshape(cotangents, (n, groups, o // groups, windows.number)))
        elements = xp.reshape(elements, (n, shape[1], windows.size, *windows.counts))
        parts = [elements[:, :, index, ...] for index in range(elements.shape[2])]
        return self.like(g, summed_windows(xp, parts, shape, elements.dtype, windows), xp, bias)

    def gradient_of_weight(self, xp: Any, g: Any, x: Any) -> Any:
        """Return a weight: the sum, over the windows of images, of each times what `g` has there."""
        windows, groups, cotangents, images = self.windows, self.groups, self.batch(g), self.batch(x)
        n, o = cotangents.shape[:2]
        shape = (o, images.shape[1] // groups, *windows.kernels)
        if xp is numpy_namespace:
            return gradient_of_weight(cotangents, images, shape, windows, groups)
        elements = self.side_by_side(xp, images)
        cotangents = xp.reshape(cotangents, (n, groups, o // groups, windows.number))
        return xp.reshape(xp.sum(xp.matmul(cotangents, xp.matrix_transpose(elements)), axis=0), shape)

    def side_by_side(self, xp: Any, images: Any) -> Any:
        """Return windows as matrices (N, groups, elements of a group of channels, windows)."""
        images = padded(xp, images, self.windows)
        n, c = images.shape[:2]
        elements = xp.stack([images[place] for place in self.windows.places], axis=2)
        k = c // self.groups * elements.shape[2]
        return xp.reshape(elements, (n, self.groups, k, self.windows.number))
