"""The product of images and a weight over windows, and its transposes, on the arrays of any library.

The product is a convolution. The transpose by images is the gradient of one, and a transposed convolution.
"""

from __future__ import annotations

from typing import Any

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.typing import Namespace
from dispatchkit.nn.functional import convolution_numpy
from dispatchkit.nn.functional.windows import Windows, padded, places, summed_windows


def as_images(x: Any) -> Any:
    """Return images of shape (N, C, H, W), of a single one as well."""
    return x if x.ndim == 4 else x[None, ...]


def like_given(y: Any, x: Any) -> Any:
    """Return images (N, C, H, W) as a single one where that was given."""
    return y if x.ndim == 4 else y[0, ...]


def convolved(xp: Namespace, images: Any, weight: Any, bias: Any, rows: Windows, columns: Windows, groups: int) -> Any:
    """Return the convolution of images (N, C, H, W) with a weight (O, C / groups, kh, kw) and a bias (O,) or None."""
    if xp is numpy_namespace:
        return convolution_numpy.convolved(images, weight, bias, rows, columns, groups)
    o, k = weight.shape[0], weight.shape[1] * rows.kernel * columns.kernel
    matrices = xp.reshape(weight, (groups, o // groups, k))
    y = xp.matmul(matrices, _side_by_side(xp, images, rows, columns, groups))
    y = xp.reshape(y, (images.shape[0], o, rows.count, columns.count))
    return y if bias is None else xp.add(y, xp.reshape(bias, (o, 1, 1)))


def gradient_of_images(
    xp: Namespace, g: Any, weight: Any, shape: tuple[int, ...], rows: Windows, columns: Windows, groups: int
) -> Any:
    """Return images of this shape: the sum, over the windows, of the weight times what `g` (N, O, H', W') has there."""
    if xp is numpy_namespace:
        return convolution_numpy.gradient_of_images(g, weight, shape, rows, columns, groups)
    n, o = g.shape[:2]
    matrices = xp.reshape(weight, (groups, o // groups, weight.shape[1] * rows.kernel * columns.kernel))
    matrices = xp.matrix_transpose(matrices)
    windows = xp.matmul(matrices, xp.reshape(g, (n, groups, o // groups, rows.count * columns.count)))
    windows = xp.reshape(windows, (n, shape[1], rows.kernel * columns.kernel, rows.count, columns.count))
    parts = [windows[:, :, index, ...] for index in range(windows.shape[2])]
    return summed_windows(xp, parts, shape, windows.dtype, rows, columns)


def gradient_of_weight(
    xp: Namespace, g: Any, images: Any, shape: tuple[int, ...], rows: Windows, columns: Windows, groups: int
) -> Any:
    """Return a weight of this shape: the sum, over the windows of the images, of each times what `g` has there."""
    if xp is numpy_namespace:
        return convolution_numpy.gradient_of_weight(g, images, shape, rows, columns, groups)
    n, o = g.shape[:2]
    windows = _side_by_side(xp, images, rows, columns, groups)
    g = xp.reshape(g, (n, groups, o // groups, rows.count * columns.count))
    return xp.reshape(xp.sum(xp.matmul(g, xp.matrix_transpose(windows)), axis=0), shape)


def _side_by_side(xp: Namespace, images: Any, rows: Windows, columns: Windows, groups: int) -> Any:
    """Return windows as matrices (N, groups, channels / groups * kh * kw, windows)."""
    images = padded(xp, images, rows, columns)
    n, c = images.shape[:2]
    elements = xp.stack([images[place] for place in places(rows, columns)], axis=2)
    k = c // groups * rows.kernel * columns.kernel
    return xp.reshape(elements, (n, groups, k, rows.count * columns.count))
