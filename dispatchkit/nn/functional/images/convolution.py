"""Convolution of images: `conv2d`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.nn.functional.images import convolution_numpy
from dispatchkit.nn.functional.images.windows import Windows, padded, places, summed_windows
from dispatchkit.nn.functional.shapes import FUNCTIONAL, Padding, Pair, expect, pair
from dispatchkit.ops.shared.arguments import Named, integer
from dispatchkit.ops.shared.arrays import conjugate, shape_of
from dispatchkit.protocol.kinds import kinds

__all__ = ["conv2d"]


@operation(
    kind=kinds.function,
    namespace=FUNCTIONAL,
    samples=[
        sample(draw(2, 1, 3, 3), draw(2, 1, 2, 2), draw(2)),
        sample(draw(1, 2, 4, 3), draw(1, 2, 2, 3), stride=2, padding=1),
        sample(draw(1, 2, 3, 4), draw(2, 1, 1, 2), draw(2), dilation=(1, 2), groups=2),
        sample(draw(2, 3, 3), draw(1, 2, 2, 2), padding="same"),
        sample(draw(2, 2, 2, 2), draw(3, 2, 1, 1), draw(3), padding="valid"),
        sample(draw(1, 1, 5, 5), draw(1, 1, 2, 2), stride=(2, 1), padding=(1, 0), dilation=2),
        sample(draw(0, 1, 3, 3), draw(2, 1, 2, 2)),
    ],
)
def conv2d(
    xp: Namespace,
    x: Array,
    weight: Array,
    /,
    bias: Array | None = None,
    *,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Array:
    """Convolve images with filters: sum the products of each window and a weight.

    Parameters
    ----------
    x : images, array of shape (N, in_channels, H, W), or (in_channels, H, W) for one
    weight : array of shape (out_channels, in_channels / groups, kh, kw)
    bias : array of shape (out_channels,); none is added if None
    stride : from a window to the next, a number for both axes or a pair
    padding : zeros added at both ends of the axes; ``"valid"`` for none, ``"same"`` for as many as keep the size,
        where the odd one of an axis comes behind
    dilation : from an element of a window to the next
    groups : of channels, each with filters of its own

    Returns
    -------
    array of shape (N, out_channels, H', W'), without N for one image, with
    ``H' = (H + 2 * padding - dilation * (kh - 1) - 1) // stride + 1``

    Raises
    ------
    TypeError : if a parameter is no int
    ValueError : if shapes and parameters do not fit each other

    Notes
    -----
    What deep learning calls convolution is a correlation: the weight is not reversed. Linear in images and weight.
    NumPy arrays are convolved by products of matrices over copies of the windows. Source: PyTorch,
    `torch.nn.functional.conv2d`.

    Examples
    --------
    >>> x = dk.asarray([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])
    >>> dk.nn.functional.conv2d(x, dk.ones((1, 1, 2, 2)), dk.asarray([0.5]))
    tensor([[[12.5000, 16.5000]]])
    """
    return _convolved(xp, x, weight, bias, stride, padding, dilation, groups)


def _convolved(
    xp: Namespace, x: Any, weight: Any, bias: Any, stride: Pair, padding: Padding, dilation: Pair, groups: int
) -> Any:
    rows, columns = _windows(x, weight, bias, stride, padding, dilation, groups)
    images = _images(x)
    if xp is numpy_namespace:
        y = convolution_numpy.convolved(images, weight, bias, rows, columns, groups)
    else:
        o, k = weight.shape[0], weight.shape[1] * rows.kernel * columns.kernel
        matrices = xp.reshape(weight, (groups, o // groups, k))
        y = xp.matmul(matrices, _side_by_side(xp, images, rows, columns, groups))
        y = xp.reshape(y, (images.shape[0], o, rows.count, columns.count))
        if bias is not None:
            y = xp.add(y, xp.reshape(bias, (o, 1, 1)))
    return y if x.ndim == 4 else y[0, ...]


def _images(x: Any) -> Any:
    """Return images of shape (N, C, H, W), of a single one as well."""
    return x if x.ndim == 4 else x[None, ...]


def _side_by_side(xp: Namespace, images: Any, rows: Windows, columns: Windows, groups: int) -> Any:
    """Return windows as matrices (N, groups, channels / groups * kh * kw, windows)."""
    images = padded(xp, images, rows, columns)
    n, c = images.shape[:2]
    elements = xp.stack([images[place] for place in places(rows, columns)], axis=2)
    k = c // groups * rows.kernel * columns.kernel
    return xp.reshape(elements, (n, groups, k, rows.count * columns.count))


def _windows(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> tuple[Windows, Windows]:
    """Return the windows along both axes of the images.

    Raises
    ------
    TypeError, ValueError : as documented for the operation
    """
    steps, gaps = pair(conv2d, "stride", stride), pair(conv2d, "dilation", dilation)
    around = padding if isinstance(padding, str) else pair(conv2d, "padding", padding, least=0)
    count = integer(conv2d, "groups", groups, least=1)
    of_bias = None if bias is None else shape_of(bias)
    return _planned(shape_of(x), shape_of(weight), of_bias, steps, around, gaps, count)


@lru_cache(maxsize=256)
def _planned(
    of_x: tuple[int, ...],
    of_weight: tuple[int, ...],
    of_bias: tuple[int, ...] | None,
    stride: tuple[int, int],
    padding: Padding,
    dilation: tuple[int, int],
    groups: int,
) -> tuple[Windows, Windows]:
    expect(conv2d, "x", of_x, len(of_x) in (3, 4), "(N, in_channels, H, W) or (in_channels, H, W)")
    channels = of_x[-3]
    if channels % groups:
        raise ValueError(f"{conv2d.__name__}: groups={groups} do not divide the {channels} channels of x, shape {of_x}")
    right = len(of_weight) == 4 and of_weight[1] == channels // groups and min(of_weight) > 0
    divided = f"{channels}/{groups}" if groups > 1 else f"{channels}"
    expect(conv2d, "weight", of_weight, right, f"(out_channels, {divided}, kh, kw) for x of shape {of_x}")
    if of_weight[0] % groups:
        raise ValueError(f"{conv2d.__name__}: groups={groups} do not divide the out_channels of a weight {of_weight}")
    if of_bias is not None:
        expect(conv2d, "bias", of_bias, of_bias == of_weight[:1], f"{of_weight[:1]} for a weight of shape {of_weight}")
    ends = padding_of(conv2d, padding, stride, dilation, of_weight[2:])
    made = tuple(
        Windows.along(length, kernel, step, gap, *end)
        for length, kernel, step, gap, end in zip(of_x[-2:], of_weight[2:], stride, dilation, ends, strict=True)
    )
    if min(one.count for one in made) < 1:
        wanted = " x ".join(str(one.dilation * (one.kernel - 1) + 1) for one in made)
        found = " x ".join(str(one.total) for one in made)
        raise ValueError(
            f"{conv2d.__name__}: argument 'x' of shape {of_x} has images of {found} with padding, smaller than the "
            f"windows of {wanted} of a weight {of_weight}"
        )
    return made[0], made[1]


def padding_of(
    op: Named, padding: Padding, stride: tuple[int, int], dilation: tuple[int, int], kernel: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """Return how many elements come before and after each axis.

    Raises
    ------
    TypeError, ValueError : naming what asks, and the padding
    """
    if padding == "valid":
        return (0, 0), (0, 0)
    if padding == "same":
        if stride != (1, 1):
            raise ValueError(f"{op.__name__}: padding='same' is for stride 1, found stride={stride}")
        missing = [gap * (length - 1) for gap, length in zip(dilation, kernel, strict=True)]
        return tuple((n // 2, n - n // 2) for n in missing)
    if isinstance(padding, str):
        # Two strings are right, so that the type is.
        raise ValueError(f"{op.__name__}: padding must be an int, a pair, 'valid' or 'same', found {padding!r}")  # noqa: TRY004
    first, second = pair(op, "padding", padding, least=0)
    return (first, first), (second, second)


@conv2d.def_vjp("x")
def conv2d_vjp_x(xp, g, x, weight, stride, padding, dilation, groups):
    rows, columns = _windows(x, weight, None, stride, padding, dilation, groups)
    weight, shape = conjugate(xp, weight), tuple(x.shape)
    given, images = _images(g), shape if len(shape) == 4 else (1, *shape)
    if xp is numpy_namespace:
        found = convolution_numpy.gradient_of_images(given, weight, images, rows, columns, groups)
    else:
        n, o = given.shape[:2]
        matrices = xp.reshape(weight, (groups, o // groups, weight.shape[1] * rows.kernel * columns.kernel))
        matrices = xp.matrix_transpose(matrices)
        windows = xp.matmul(matrices, xp.reshape(given, (n, groups, o // groups, rows.count * columns.count)))
        windows = xp.reshape(windows, (n, images[1], rows.kernel * columns.kernel, rows.count, columns.count))
        parts = [windows[:, :, index, ...] for index in range(windows.shape[2])]
        found = summed_windows(xp, parts, images, windows.dtype, rows, columns)
    return found if len(shape) == 4 else found[0, ...]


@conv2d.def_vjp("weight")
def conv2d_vjp_weight(xp, g, x, weight, stride, padding, dilation, groups):
    rows, columns = _windows(x, weight, None, stride, padding, dilation, groups)
    given, images, shape = _images(g), _images(conjugate(xp, x)), tuple(weight.shape)
    if xp is numpy_namespace:
        return convolution_numpy.gradient_of_weight(given, images, shape, rows, columns, groups)
    n, o = given.shape[:2]
    windows = _side_by_side(xp, images, rows, columns, groups)
    given = xp.reshape(given, (n, groups, o // groups, rows.count * columns.count))
    return xp.reshape(xp.sum(xp.matmul(given, xp.matrix_transpose(windows)), axis=0), shape)


@conv2d.def_vjp("bias")
def conv2d_vjp_bias(xp, g):
    return xp.sum(xp.sum(_images(g), axis=(2, 3)), axis=0)


@conv2d.def_jvp("x")
def conv2d_jvp_x(xp, t, weight, stride, padding, dilation, groups):
    return _convolved(xp, t, weight, None, stride, padding, dilation, groups)


@conv2d.def_jvp("weight")
def conv2d_jvp_weight(xp, t, x, stride, padding, dilation, groups):
    return _convolved(xp, x, t, None, stride, padding, dilation, groups)


@conv2d.def_jvp("bias")
def conv2d_jvp_bias(xp, t, y):
    return xp.broadcast_to(t[:, None, None], y.shape)
