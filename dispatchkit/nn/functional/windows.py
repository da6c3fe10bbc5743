"""Windows over images: where they lie along an axis, and what convolution of NumPy arrays makes of them.

It copies windows side by side for products of matrices, or sums images that are shifted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

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

    def elements(self, x: Any, axis: int) -> list[Any]:
        """Return for each element of a window the part of an array that has it, along an axis counted from the end."""
        behind = (slice(None),) * (-1 - axis)
        return [x[..., self.element(i), *behind] for i in range(self.kernel)]


def places(rows: Windows, columns: Windows) -> Iterator[tuple[Any, slice, slice]]:
    """Yield for each element of a window the index that selects it in every window of images."""
    for i in range(rows.kernel):
        for j in range(columns.kernel):
            yield Ellipsis, rows.element(i), columns.element(j)


def padded(xp: Any, x: Any, rows: Windows, columns: Windows, value: Any = 0) -> Any:
    """Return images of shape (..., H, W) with a value around them; as they are where nothing is added."""
    if not (rows.before or rows.after or columns.before or columns.after):
        return x
    if xp is numpy_namespace:
        y = np.full((*x.shape[:-2], rows.total, columns.total), value, x.dtype)
        cropped(y, rows, columns)[...] = x
        return y
    for axis, windows in ((x.ndim - 1, columns), (x.ndim - 2, rows)):
        ends = [
            xp.full((*x.shape[:axis], n, *x.shape[axis + 1 :]), value, dtype=x.dtype)
            for n in (windows.before, windows.after)
        ]
        x = xp.concat([ends[0], x, ends[1]], axis=axis)
    return x


def cropped(x: Any, rows: Windows, columns: Windows) -> Any:
    """Return the images inside longer ones, a view."""
    if not (rows.before or rows.after or columns.before or columns.after):
        return x
    return x[..., rows.before : rows.before + rows.length, columns.before : columns.before + columns.length]


def summed_windows(xp: Any, parts: Any, shape: tuple[int, ...], dtype: Any, rows: Windows, columns: Windows) -> Any:
    """Return images whose elements are sums of what the windows around them have in their place.

    Parameters
    ----------
    xp : namespace to compute with
    parts : for each place in a window, in the order of `places`, an array of shape (..., rows, columns) of windows
    shape, dtype : of the images
    rows, columns : the windows
    """
    lengths = (*shape[:-2], rows.total, columns.total)
    total = np.zeros(lengths, dtype) if xp is numpy_namespace else xp.zeros(lengths, dtype=dtype)
    for place, part in zip(places(rows, columns), parts, strict=True):
        if xp is numpy_namespace:
            total[place] += part
        else:
            total = xp.index_put(total, place, part, accumulate=True)
    return cropped(total, rows, columns)


# Elements of a channel of a block, and the most products of a channel and a filter in a group.
SHIFTED_BLOCK, MOST = 1 << 16, 4


def is_depthwise(weight_shape: tuple[int, ...], groups: int, rows: Windows, columns: Windows) -> bool:
    """Return whether there are several groups with few filters of few channels, and windows are adjacent."""
    few = weight_shape[0] // groups * weight_shape[1] <= MOST
    return few and groups > 1 and rows.stride == columns.stride == 1


def _shifted_blocks(x: Any, groups: int, rows: Windows, columns: Windows) -> Iterator[tuple[slice, slice, Any]]:
    """Yield which images are taken at a time, which groups of their channels, and these with what is added to them."""
    images_of_groups, area = _split_groups(x, groups), rows.total * columns.total
    images = max(1, min(len(x), SHIFTED_BLOCK // area))
    step = max(1, SHIFTED_BLOCK // (images * area))
    for image in range(0, len(x), images):
        for group in range(0, groups, step):
            at, part = slice(image, image + images), slice(group, group + step)
            block = padded(numpy_namespace, images_of_groups[part, :, at], rows, columns)
            yield at, part, np.ascontiguousarray(block)


def _split_groups(x: Any, groups: int) -> Any:
    """Return a view (groups, C / groups, N, H, W) of images (N, C, H, W)."""
    return np.moveaxis(x.reshape(len(x), groups, x.shape[1] // groups, *x.shape[2:]), 0, 2)


def _pieces(block: Any, rows: Windows, columns: Windows) -> Iterator[tuple[tuple[int, int], Any]]:
    """Yield each channel's number and that of an element of a window, and this element of all windows.

    Parameters
    ----------
    block : images of shape (groups, C / groups, N, H, W), with what is added to them
    rows, columns : the windows
    """
    flat = block.reshape(*block.shape[:2], -1)
    length = _length(flat, rows, columns)
    for channel in range(block.shape[1]):
        for index in range(rows.kernel * columns.kernel):
            i, j = divmod(index, columns.kernel)
            start = i * rows.dilation * columns.total + j * columns.dilation
            yield (channel, index), flat[:, channel, None, start : start + length]


def _length(flat: Any, rows: Windows, columns: Windows) -> int:
    """Return how many elements lie from the first window of the first image to the last one of the last."""
    reach = (rows.kernel - 1) * rows.dilation * columns.total + (columns.kernel - 1) * columns.dilation
    return int(flat.shape[-1] - reach)


def convolved_by_shifts(x: Any, weight: Any, bias: Any, rows: Windows, columns: Windows, groups: int) -> Any:
    """Return the convolution of images (N, C, H, W) with a weight (O, C / groups, kh, kw)."""
    filters = weight.shape[0] // groups
    dtype = np.result_type(x, weight) if bias is None else np.result_type(x, weight, bias)
    factors = weight.reshape(groups, filters, weight.shape[1], -1)
    y = np.empty((len(x), weight.shape[0], rows.count, columns.count), dtype)
    results_of_groups = _split_groups(y, groups)
    for images, part, block in _shifted_blocks(x, groups, rows, columns):
        wide = np.empty((len(block), filters, *block.shape[2:]), dtype)
        flat = wide.reshape(len(block), filters, -1)
        sums = flat[..., : _length(flat, rows, columns)]
        product = np.empty(sums.shape, dtype)
        for (channel, index), piece in _pieces(block, rows, columns):
            first = channel == index == 0
            np.multiply(piece, factors[part, :, channel, index, None], out=sums if first else product)
            if not first:
                np.add(sums, product, out=sums)
        if bias is not None:
            sums += bias.reshape(groups, -1, 1)[part]
        results_of_groups[part, :, images] = wide[..., : rows.count, : columns.count]
    return y


def gradient_of_weight_by_shifts(
    g: Any, x: Any, shape: tuple[int, ...], rows: Windows, columns: Windows, groups: int
) -> Any:
    """Return the cotangent of a weight of this shape; `x` is conjugated already."""
    total = np.zeros((groups, shape[0] // groups, shape[1], shape[2] * shape[3]), np.result_type(g, x))
    of_g = _split_groups(g.conj(), groups)
    for images, part, block in _shifted_blocks(x, groups, rows, columns):
        wide = np.zeros((len(block), of_g.shape[1], *block.shape[2:]), g.dtype)
        wide[..., : rows.count, : columns.count] = of_g[part, :, images]
        flat = wide.reshape(*wide.shape[:2], -1)
        flat = flat[..., : _length(flat, rows, columns)]
        for (channel, index), piece in _pieces(block, rows, columns):
            total[part, :, channel, index] += np.vecdot(flat, piece)
    return total.reshape(shape)


# Elements of a block: 1.5 MB in double precision.
BLOCK = 3 << 16


def convolved(x: Any, weight: Any, bias: Any, rows: Windows, columns: Windows, groups: int) -> Any:
    """Return the convolution of images (N, C, H, W) with a weight (O, C / groups, kh, kw)."""
    if is_depthwise(weight.shape, groups, rows, columns):
        return convolved_by_shifts(x, weight, bias, rows, columns, groups)
    matrix = _matrix(weight, groups)
    n, o = x.shape[0], weight.shape[0]
    dtype = np.result_type(x, weight) if bias is None else np.result_type(x, weight, bias)
    y = np.empty((n, groups, o // groups, rows.count * columns.count), dtype)
    added = None if bias is None else bias.reshape(groups, -1, 1)
    for part, place, windows in _blocks(x, rows, columns, groups):
        block = y[part, :, :, place]
        np.matmul(matrix, windows, out=block)
        if added is not None:
            block += added
    return y.reshape(n, o, rows.count, columns.count)


def gradient_of_weight(g: Any, x: Any, shape: tuple[int, ...], rows: Windows, columns: Windows, groups: int) -> Any:
    """Return the cotangent of a weight of this shape."""
    if is_depthwise(shape, groups, rows, columns):
        return gradient_of_weight_by_shifts(g, x, shape, rows, columns, groups)
    n, o = g.shape[:2]
    g = g.reshape(n, groups, o // groups, rows.count * columns.count).swapaxes(-1, -2)
    total = np.zeros((groups, shape[1] * shape[2] * shape[3], o // groups), np.result_type(g, x))
    for part, place, windows in _blocks(x, rows, columns, groups):
        # The other order, transposed, takes half as long again.
        total += np.matmul(windows, g[part, :, place]).sum(axis=0)
    return np.ascontiguousarray(total.swapaxes(-1, -2)).reshape(shape)


def gradient_of_images(
    g: Any, weight: Any, shape: tuple[int, ...], rows: Windows, columns: Windows, groups: int
) -> Any:
    """Return the cotangent of images of this shape."""
    n, o = g.shape[:2]
    if rows.reversible and columns.reversible:
        turned = weight.reshape(groups, o // groups, *weight.shape[1:])[..., ::-1, ::-1].swapaxes(1, 2)
        turned = turned.reshape(shape[1], o // groups, *weight.shape[2:])
        return convolved(g, turned, None, rows.reversed(), columns.reversed(), groups)
    matrix = np.ascontiguousarray(_matrix(weight, groups).swapaxes(-1, -2))
    longer = (n, shape[1], rows.total, columns.total)
    step = max(1, BLOCK // max(1, matrix.size // (o // groups) * rows.count * columns.total))
    total = np.zeros(longer, np.result_type(g, weight))
    for start in range(0, n, step):
        part = slice(start, start + step)
        _spread(g[part], matrix, total[part], rows, columns)
    return cropped(total, rows, columns)


def _spread(g: Any, matrix: Any, total: Any, rows: Windows, columns: Windows) -> None:
    """Add what each output gives back to the elements of its window."""
    n, groups = g.shape[0], matrix.shape[0]
    windows = np.matmul(matrix, g.reshape(n, groups, matrix.shape[-1], -1))
    windows = windows.reshape(n, total.shape[1], rows.kernel * columns.kernel, rows.count, columns.count)
    for index, place in enumerate(places(rows, columns)):
        total[place] += windows[:, :, index]


def _matrix(weight: Any, groups: int) -> Any:
    return weight.reshape(groups, weight.shape[0] // groups, -1)


def _pointwise(rows: Windows, columns: Windows) -> bool:
    """Return whether every pixel is a window."""
    return rows.kernel == columns.kernel == 1 and rows.dense and columns.dense


def _blocks(x: Any, rows: Windows, columns: Windows, groups: int) -> Iterator[tuple[slice, slice, Any]]:
    """Yield windows as matrices (N, groups, C / groups * kh * kw, windows).

    Before the matrices come the slice of the images that they are of, and that of the windows of each image.
    """
    x = padded(numpy_namespace, x, rows, columns)
    n, c = x.shape[:2]
    if _pointwise(rows, columns):
        yield slice(0, n), slice(None), x.reshape(n, groups, c // groups, rows.count * columns.count)
        return
    shape = (c, rows.kernel, columns.kernel, rows.count, columns.count)
    down, right = x.strides[2:]
    strides = (down * rows.dilation, right * columns.dilation, down * rows.stride, right * columns.stride)
    windows = as_strided(x, (n, *shape), (*x.strides[:2], *strides), writeable=False)
    line = c * rows.kernel * columns.kernel * columns.count
    # Blocks of several images, else of about as many lines each.
    step = min(max(1, BLOCK // (line * rows.count)), max(n, 1))
    lines = -(-rows.count // -(-line * rows.count // BLOCK))
    copy = np.empty(step * line * lines, x.dtype)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        for first in range(0, rows.count, lines):
            lines_of_windows = windows[part, ..., first : first + lines, :]
            block = copy[: lines_of_windows.size].reshape(lines_of_windows.shape)
            block[...] = lines_of_windows
            place = slice(first * columns.count, (first + lines_of_windows.shape[-2]) * columns.count)
            yield part, place, block.reshape(len(block), groups, -1, lines_of_windows.shape[-2] * columns.count)
