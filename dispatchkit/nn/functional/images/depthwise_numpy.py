"""Convolution of NumPy arrays whose groups are of few channels and filters, by sums of shifted images.

The rows of windows are taken as long as those of the images: an element of all windows then lies in one piece of
memory, at a distance of where the element lies in a window. As many images and groups are taken at a time as stay in
the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.nn.functional.images.windows import Windows, padded

__all__ = ["convolved", "gradient_of_weight", "is_depthwise"]

# Elements of a channel of a block, and the most products of a channel and a filter in a group.
BLOCK, MOST = 1 << 16, 4


def is_depthwise(weight_shape: tuple[int, ...], groups: int, rows: Windows, columns: Windows) -> bool:
    """Return whether there are several groups with few filters of few channels, and windows are adjacent."""
    few = weight_shape[0] // groups * weight_shape[1] <= MOST
    return few and groups > 1 and rows.stride == columns.stride == 1


def _blocks(n: int, groups: int, rows: Windows, columns: Windows) -> Iterator[tuple[slice, slice]]:
    """Yield which images, and which groups of their channels, are taken at a time."""
    area = rows.total * columns.total
    images = max(1, min(n, BLOCK // area))
    step = max(1, BLOCK // (images * area))
    for image in range(0, n, images):
        for group in range(0, groups, step):
            yield slice(image, image + images), slice(group, group + step)


def _grouped(x: Any, groups: int) -> Any:
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


def convolved(x: Any, weight: Any, bias: Any, rows: Windows, columns: Windows, groups: int) -> Any:
    """Return the convolution of images (N, C, H, W) with a weight (O, C / groups, kh, kw)."""
    filters = weight.shape[0] // groups
    dtype = np.result_type(x, weight) if bias is None else np.result_type(x, weight, bias)
    factors = weight.reshape(groups, filters, weight.shape[1], -1)
    y = np.empty((len(x), weight.shape[0], rows.count, columns.count), dtype)
    given, found = _grouped(x, groups), _grouped(y, groups)
    for images, part in _blocks(len(x), groups, rows, columns):
        block = np.ascontiguousarray(padded(numpy_namespace, given[part, :, images], rows, columns))
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
        found[part, :, images] = wide[..., : rows.count, : columns.count]
    return y


def gradient_of_weight(g: Any, x: Any, shape: tuple[int, ...], rows: Windows, columns: Windows, groups: int) -> Any:
    """Return the cotangent of a weight of this shape; `x` is conjugated already."""
    total = np.zeros((groups, shape[0] // groups, shape[1], shape[2] * shape[3]), np.result_type(g, x))
    given, of_g = _grouped(x, groups), _grouped(g.conj(), groups)
    for images, part in _blocks(len(x), groups, rows, columns):
        block = np.ascontiguousarray(padded(numpy_namespace, given[part, :, images], rows, columns))
        wide = np.zeros((len(block), of_g.shape[1], *block.shape[2:]), g.dtype)
        wide[..., : rows.count, : columns.count] = of_g[part, :, images]
        flat = wide.reshape(*wide.shape[:2], -1)
        flat = flat[..., : _length(flat, rows, columns)]
        for (channel, index), piece in _pieces(block, rows, columns):
            total[part, :, channel, index] += np.vecdot(flat, piece)
    return total.reshape(shape)
