"""Convolution of NumPy arrays whose channels each have filters of their own, by sums of shifted images.

With stride 1 the rows of windows are taken as long as those of the images: an element of all windows of an image then
lies in one piece of memory, at a distance of where the element lies in a window. The elements of a column of a window
are summed by a product of matrices, the columns by additions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.nn.functional.images.windows import Windows, cropped, padded

__all__ = ["convolved", "gradient_of_images", "gradient_of_weight", "is_depthwise"]


def is_depthwise(weight_shape: tuple[int, ...], groups: int, rows: Windows, columns: Windows) -> bool:
    """Return whether there are several channels with filters of their own, and windows are adjacent."""
    return weight_shape[1] == 1 and groups > 1 and rows.dense and columns.dense


def _length(rows: Windows, columns: Windows) -> int:
    """Return how many elements lie from the first window to the last one, in rows as long as those of the images."""
    return (rows.count - 1) * columns.total + columns.count


def _flat(x: Any, rows: Windows, columns: Windows) -> Any:
    """Return images (N, C, H, W) with zeros around them as (N, C, 1, elements)."""
    x = padded(numpy_namespace, x, rows, columns)
    return np.ascontiguousarray(x).reshape(*x.shape[:2], 1, -1)


def _wide(g: Any, groups: int, rows: Windows, columns: Windows, around: int) -> Any:
    """Return one number for each window as (N, groups, filters, elements), zeros where no window begins.

    Parameters
    ----------
    g : of shape (N, O, rows, columns) of windows
    groups : of channels
    rows, columns : the windows
    around : how many rows of zeros stand at both ends
    """
    n, o = g.shape[:2]
    wide = np.zeros((n, groups, o // groups, rows.count + 2 * around, columns.total), g.dtype)
    wide[:, :, :, around : around + rows.count, : columns.count] = g.reshape(
        n, groups, o // groups, rows.count, columns.count
    )
    return wide.reshape(n, groups, o // groups, -1)


def _columns_of(flat: Any, rows: Windows, columns: Windows, length: int) -> Any:
    """Return a view (..., kh, length) of flat images: one row for each element of a column of a window."""
    step = rows.dilation * columns.total * flat.itemsize
    shape = (*flat.shape[:-1], rows.kernel, length)
    return as_strided(flat, shape, (*flat.strides[:-1], step, flat.itemsize), writeable=False)


def convolved(x: Any, weight: Any, bias: Any, rows: Windows, columns: Windows, groups: int) -> Any:
    """Return the convolution of images (N, C, H, W) with a weight (O, 1, kh, kw)."""
    n, o, length = x.shape[0], weight.shape[0], _length(rows, columns)
    dtype = np.result_type(x, weight) if bias is None else np.result_type(x, weight, bias)
    filters = weight.reshape(groups, o // groups, rows.kernel, columns.kernel).swapaxes(-1, -2)
    # The last window needs elements that lie behind those of all windows.
    reach = length + (columns.kernel - 1) * columns.dilation
    y = np.empty((n, groups, o // groups, rows.count * columns.total), dtype)
    y[..., length:] = 0
    for image, found in zip(_flat(x, rows, columns), y[..., :length], strict=True):
        sums = np.matmul(filters, _columns_of(image, rows, columns, reach))
        found[...] = 0 if bias is None else bias.reshape(groups, -1, 1)
        for j in range(columns.kernel):
            start = j * columns.dilation
            found += sums[:, :, j, start : start + length]
    return np.ascontiguousarray(y.reshape(n, o, rows.count, columns.total)[..., : columns.count])


def gradient_of_weight(g: Any, x: Any, shape: tuple[int, ...], rows: Windows, columns: Windows, groups: int) -> Any:
    """Return the cotangent of a weight of this shape; `x` is conjugated already."""
    length = _length(rows, columns)
    wide, flat = _wide(g, groups, rows, columns, 0)[..., :length], _flat(x, rows, columns)
    total = np.zeros((groups, shape[0] // groups, *shape[2:]), np.result_type(g, x))
    for given, image in zip(wide, flat, strict=True):
        for i in range(rows.kernel):
            for j in range(columns.kernel):
                start = i * rows.dilation * columns.total + j * columns.dilation
                piece = image[..., start : start + length, None]
                total[:, :, i, j] += np.matmul(given[..., None, :], piece)[..., 0, 0]
    return total.reshape(shape)


def gradient_of_images(
    g: Any, weight: Any, shape: tuple[int, ...], rows: Windows, columns: Windows, groups: int
) -> Any:
    """Return the cotangent of images of this shape."""
    filters = weight.reshape(groups, weight.shape[0] // groups, rows.kernel, columns.kernel)
    filters = filters[:, :, ::-1].swapaxes(-1, -2)
    around, length = (rows.kernel - 1) * rows.dilation, rows.total * columns.total
    total = np.zeros((*shape[:2], length), np.result_type(g, weight))
    for given, found in zip(_wide(g, groups, rows, columns, around), total, strict=True):
        sums = np.matmul(filters, _columns_of(given, rows, columns, length)).sum(axis=1)
        for j in range(columns.kernel):
            start = j * columns.dilation
            found[:, start:] += sums[:, j, : length - start]
    return cropped(total.reshape(*shape[:2], rows.total, columns.total), rows, columns)
