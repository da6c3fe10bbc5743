"""Convolution of NumPy arrays: windows copied side by side, and products of matrices over them.

Images, or some lines of one, are taken a block at a time, so that the copies stay in the cache and need not be kept: a
backward sweep copies them again, which costs less than the memory of all windows would.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.replaceable import replaceable
from dispatchkit.nn.functional.images import depthwise_numpy
from dispatchkit.nn.functional.images.windows import Windows, cropped, padded, places

__all__ = ["convolved", "gradient_of_images", "gradient_of_weight"]

# Elements of a block: 1.5 MB in double precision.
BLOCK = 3 << 16


@replaceable
def convolved(x: Any, weight: Any, bias: Any, rows: Windows, columns: Windows, groups: int) -> Any:
    """Return the convolution of images (N, C, H, W) with a weight (O, C / groups, kh, kw)."""
    if depthwise_numpy.is_depthwise(weight.shape, groups, rows, columns):
        return depthwise_numpy.convolved(x, weight, bias, rows, columns, groups)
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


@replaceable
def gradient_of_weight(g: Any, x: Any, shape: tuple[int, ...], rows: Windows, columns: Windows, groups: int) -> Any:
    """Return the cotangent of a weight of this shape."""
    if depthwise_numpy.is_depthwise(shape, groups, rows, columns):
        return depthwise_numpy.gradient_of_weight(g, x, shape, rows, columns, groups)
    n, o = g.shape[:2]
    g = g.reshape(n, groups, o // groups, rows.count * columns.count).swapaxes(-1, -2)
    total = np.zeros((groups, shape[1] * shape[2] * shape[3], o // groups), np.result_type(g, x))
    for part, place, windows in _blocks(x, rows, columns, groups):
        # The other order, transposed, takes half as long again.
        total += np.matmul(windows, g[part, :, place]).sum(axis=0)
    return np.ascontiguousarray(total.swapaxes(-1, -2)).reshape(shape)


@replaceable
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
            given = windows[part, ..., first : first + lines, :]
            block = copy[: given.size].reshape(given.shape)
            block[...] = given
            place = slice(first * columns.count, (first + given.shape[-2]) * columns.count)
            yield part, place, block.reshape(len(block), groups, -1, given.shape[-2] * columns.count)
