"""Convolution: `conv1d`, `conv2d`, `conv_transpose2d`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.samples import draw, sample
from dispatchkit.nn.functional.shared import Padding, Pair, Single, called, expect, function, pair, single
from dispatchkit.nn.functional.windows import (
    Windows,
    convolved,
    gradient_of_images,
    gradient_of_weight,
    padded,
    places,
    summed_windows,
)
from dispatchkit.ops.shared import Named, conjugate, integer, shape_of
from dispatchkit.tensor import Tensor

__all__ = ["conv1d", "conv2d", "conv_transpose2d"]


@dataclass(frozen=True, slots=True)
class Product:
    """The product of images and a weight over windows, linear in both.

    It is a convolution. Its transpose by images is the gradient of one, and a transposed convolution. Images have shape
    (N, C, H, W) or (C, H, W), what is computed of their windows (N, O, H', W') or (O, H', W'), and the weight
    (O, C / groups, kh, kw).

    Attributes
    ----------
    rows, columns : the windows along both axes of images
    groups : of channels
    """

    rows: Windows
    columns: Windows
    groups: int

    def convolve(self, xp: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        """Return the product of images and a weight, and a bias of shape (O,) added."""
        rows, columns, groups, images = self.rows, self.columns, self.groups, as_images(x)
        if xp is numpy_namespace:
            return like(x, convolved(images, weight, bias, rows, columns, groups))
        o = weight.shape[0]
        k = weight.shape[1] * rows.kernel * columns.kernel
        matrices = xp.reshape(weight, (groups, o // groups, k))
        y = xp.matmul(matrices, self._side_by_side(xp, images))
        y = xp.reshape(y, (images.shape[0], o, rows.count, columns.count))
        return like(x, y if bias is None else xp.add(y, xp.reshape(bias, (o, 1, 1))))

    def spread(self, xp: Any, g: Any, weight: Any, bias: Any = None) -> Any:
        """Return images: the sum, over the windows, of the weight times what `g` has there, and a bias (C,) added."""
        rows, columns, groups, cotangents = self.rows, self.columns, self.groups, as_images(g)
        n, o = cotangents.shape[:2]
        shape = (n, weight.shape[1] * groups, rows.length, columns.length)
        if xp is numpy_namespace:
            y = gradient_of_images(cotangents, weight, shape, rows, columns, groups)
        else:
            k = weight.shape[1] * rows.kernel * columns.kernel
            matrices = xp.matrix_transpose(xp.reshape(weight, (groups, o // groups, k)))
            windows = xp.matmul(matrices, xp.reshape(cotangents, (n, groups, o // groups, rows.count * columns.count)))
            windows = xp.reshape(windows, (n, shape[1], rows.kernel * columns.kernel, rows.count, columns.count))
            parts = [windows[:, :, index, ...] for index in range(windows.shape[2])]
            y = summed_windows(xp, parts, shape, windows.dtype, rows, columns)
        return like(g, y if bias is None else xp.add(y, xp.reshape(bias, (shape[1], 1, 1))))

    def gradient_of_weight(self, xp: Any, g: Any, x: Any) -> Any:
        """Return a weight: the sum, over the windows of images, of each times what `g` has there."""
        rows, columns, groups, cotangents, images = self.rows, self.columns, self.groups, as_images(g), as_images(x)
        n, o = cotangents.shape[:2]
        shape = (o, images.shape[1] // groups, rows.kernel, columns.kernel)
        if xp is numpy_namespace:
            return gradient_of_weight(cotangents, images, shape, rows, columns, groups)
        windows = self._side_by_side(xp, images)
        cotangents = xp.reshape(cotangents, (n, groups, o // groups, rows.count * columns.count))
        return xp.reshape(xp.sum(xp.matmul(cotangents, xp.matrix_transpose(windows)), axis=0), shape)

    def _side_by_side(self, xp: Any, images: Any) -> Any:
        """Return windows as matrices (N, groups, C / groups * kh * kw, windows)."""
        rows, columns = self.rows, self.columns
        images = padded(xp, images, rows, columns)
        n, c = images.shape[:2]
        elements = xp.stack([images[place] for place in places(rows, columns)], axis=2)
        k = c // self.groups * rows.kernel * columns.kernel
        return xp.reshape(elements, (n, self.groups, k, rows.count * columns.count))


def as_images(x: Any) -> Any:
    """Return images of shape (N, C, H, W), of a single one as well."""
    return x if x.ndim == 4 else x[None, ...]


def like(x: Any, y: Any) -> Any:
    """Return images (N, C, H, W) as a single one where `x` is one."""
    return y if x.ndim == 4 else y[0, ...]


@function(
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
    xp: Any,
    x: Tensor,
    weight: Tensor,
    /,
    bias: Tensor | None = None,
    *,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
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
    return product_of(x, weight, bias, stride, padding, dilation, groups).convolve(xp, x, weight, bias)


def product_of(x: Any, weight: Any, bias: Any, stride: Pair, padding: Padding, dilation: Pair, groups: int) -> Product:
    """Return the product that a call computes, once its arguments fit.

    Raises
    ------
    TypeError, ValueError : as documented for the operation
    """
    steps, gaps = pair(conv2d, "stride", stride), pair(conv2d, "dilation", dilation)
    around = padding if isinstance(padding, str) else pair(conv2d, "padding", padding, least=0)
    count = integer(conv2d, "groups", groups, least=1)
    rows, columns = _planned(shape_of(x), shape_of(weight), _shape_of(bias), steps, around, gaps, count)
    return Product(rows, columns, count)


def _shape_of(bias: Any) -> tuple[int, ...] | None:
    return None if bias is None else shape_of(bias)


@lru_cache(maxsize=256)
def _planned(
    of_x: tuple[int, ...],
    of_weight: tuple[int, ...],
    of_bias: tuple[int, ...] | None,
    stride: tuple[int, ...],
    padding: str | tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> tuple[Windows, ...]:
    """Return the windows along each axis of what is convolved, as many axes as `stride` has numbers."""
    op, axes, kernel = (conv1d, "L", "k") if len(stride) == 1 else (conv2d, "H, W", "kh, kw")
    right = len(of_x) - len(stride) in (1, 2)
    expect(op, "x", of_x, right, f"(N, in_channels, {axes}) or (in_channels, {axes})")
    channels, lengths = of_x[-1 - len(stride)], of_x[-len(stride) :]
    if channels % groups:
        raise ValueError(f"{op.__name__}: groups={groups} do not divide the {channels} channels of x, shape {of_x}")
    right = len(of_weight) == 2 + len(stride) and of_weight[1] == channels // groups and min(of_weight) > 0
    divided = f"{channels}/{groups}" if groups > 1 else f"{channels}"
    expect(op, "weight", of_weight, right, f"(out_channels, {divided}, {kernel}) for x of shape {of_x}")
    if of_weight[0] % groups:
        raise ValueError(f"{op.__name__}: groups={groups} do not divide the out_channels of a weight {of_weight}")
    if of_bias is not None:
        expect(op, "bias", of_bias, of_bias == of_weight[:1], f"{of_weight[:1]} for a weight of shape {of_weight}")
    ends = padding_of(op, padding, stride, dilation, of_weight[2:])
    windows = tuple(
        Windows.along(length, kernel, step, gap, *end)
        for length, kernel, step, gap, end in zip(lengths, of_weight[2:], stride, dilation, ends, strict=True)
    )
    if min(along.count for along in windows) < 1:
        wanted = " x ".join(str(along.reach) for along in windows)
        present = " x ".join(str(along.total) for along in windows)
        what = "sequences" if op is conv1d else "images"
        raise ValueError(
            f"{op.__name__}: argument 'x' of shape {of_x} has {what} of {present} with padding, smaller than the "
            f"windows of {wanted} of a weight {of_weight}"
        )
    return windows


def padding_of(
    op: Named,
    padding: str | tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    kernel: Sequence[int],
) -> tuple[tuple[int, int], ...]:
    """Return how many elements come before and after each axis.

    Raises
    ------
    ValueError : for another text than "valid" or "same", or "same" with a stride, naming what asks
    """
    if not isinstance(padding, str):
        return tuple((n, n) for n in padding)
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding != "same":
        several = "an int, " if len(kernel) == 1 else "an int, a pair, "
        raise ValueError(f"{op.__name__}: padding must be {several}'valid' or 'same', found {padding!r}")
    if max(stride) != 1:
        raise ValueError(f"{op.__name__}: padding='same' is for stride 1, found stride={stride}")
    missing = [gap * (length - 1) for gap, length in zip(dilation, kernel, strict=True)]
    return tuple((n // 2, n - n // 2) for n in missing)


@conv2d.def_vjp("x")
def conv2d_vjp_x(xp, g, x, weight, stride, padding, dilation, groups):
    product = product_of(x, weight, None, stride, padding, dilation, groups)
    return product.spread(xp, g, conjugate(xp, weight))


@conv2d.def_vjp("weight")
def conv2d_vjp_weight(xp, g, x, weight, stride, padding, dilation, groups):
    product = product_of(x, weight, None, stride, padding, dilation, groups)
    return product.gradient_of_weight(xp, g, conjugate(xp, x))


@conv2d.def_jvp("x")
def conv2d_jvp_x(xp, t, weight, stride, padding, dilation, groups):
    return product_of(t, weight, None, stride, padding, dilation, groups).convolve(xp, t, weight)


@conv2d.def_jvp("weight")
def conv2d_jvp_weight(xp, t, x, stride, padding, dilation, groups):
    return product_of(x, t, None, stride, padding, dilation, groups).convolve(xp, x, t)


@function(
    samples=[
        sample(draw(2, 1, 4), draw(2, 1, 2), draw(2)),
        sample(draw(2, 5), draw(4, 1, 2), stride=2, padding=1, dilation=2, groups=2),
        sample(draw(1, 2, 3), draw(1, 2, 2), padding="same"),
        sample(draw(0, 1, 3), draw(2, 1, 2)),
    ],
)
def conv1d(
    xp: Any,
    x: Tensor,
    weight: Tensor,
    /,
    bias: Tensor | None = None,
    *,
    stride: Single = 1,
    padding: Single | Literal["valid", "same"] = 0,
    dilation: Single = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve sequences with filters: sum the products of each window and a weight.

    Parameters
    ----------
    x : sequences, array of shape (N, in_channels, L), or (in_channels, L) for one
    weight : array of shape (out_channels, in_channels / groups, k)
    bias : array of shape (out_channels,); none is added if None
    stride : from a window to the next
    padding : zeros added at both ends; ``"valid"`` for none, ``"same"`` for as many as keep the length, where an odd
        one comes behind
    dilation : from an element of a window to the next
    groups : of channels, each with filters of its own

    Returns
    -------
    array of shape (N, out_channels, L'), without N for one sequence, with
    ``L' = (L + 2 * padding - dilation * (k - 1) - 1) // stride + 1``

    Raises
    ------
    TypeError : if a parameter is no int
    ValueError : if shapes and parameters do not fit each other

    Notes
    -----
    The convolution of images of one row, `conv2d`, which see. Source: PyTorch, `torch.nn.functional.conv1d`.

    Examples
    --------
    >>> x = dk.asarray([[1.0, 2.0, 4.0, 8.0]])
    >>> dk.nn.functional.conv1d(x, dk.asarray([[[-1.0, 1.0]]]))
    tensor([[1., 2., 4.]])
    """
    columns = columns_of(x, weight, bias, stride, padding, dilation, groups)
    y = called(
        xp,
        conv2d,
        x[..., None, :],
        weight[..., None, :],
        bias,
        stride=(1, columns.stride),
        padding=padding if isinstance(padding, str) else (0, columns.before),
        dilation=(1, columns.dilation),
        groups=groups,
    )
    return y[..., 0, :]


def columns_of(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Windows:
    """Return the windows along sequences, once the arguments of a call fit.

    Raises
    ------
    TypeError, ValueError : as documented for the operation
    """
    step, gap = single(conv1d, "stride", stride), single(conv1d, "dilation", dilation)
    ends = padding if isinstance(padding, str) else (single(conv1d, "padding", padding, least=0),)
    count = integer(conv1d, "groups", groups, least=1)
    return _planned(shape_of(x), shape_of(weight), _shape_of(bias), (step,), ends, (gap,), count)[0]


@function(
    samples=[
        sample(draw(2, 1, 2, 2), draw(1, 2, 2, 2), draw(2)),
        sample(draw(1, 2, 2, 3), draw(2, 1, 2, 3), stride=2, padding=1, output_padding=1),
        sample(draw(2, 3, 2), draw(2, 2, 1, 2), draw(4), groups=2, dilation=(1, 2)),
        sample(draw(1, 2, 2, 2), draw(2, 1, 2, 1), groups=2, dilation=2, output_padding=1),
        sample(draw(0, 1, 3, 3), draw(1, 2, 2, 2)),
    ],
)
def conv_transpose2d(
    xp: Any,
    x: Tensor,
    weight: Tensor,
    /,
    bias: Tensor | None = None,
    *,
    stride: Pair = 1,
    padding: Pair = 0,
    output_padding: Pair = 0,
    groups: int = 1,
    dilation: Pair = 1,
) -> Tensor:
    """Spread images by filters: add up, for each element, the weight times it where its window lies.

    Parameters
    ----------
    x : images, array of shape (N, in_channels, H, W), or (in_channels, H, W) for one
    weight : array of shape (in_channels, out_channels / groups, kh, kw)
    bias : array of shape (out_channels,); none is added if None
    stride : from a window to the next, a number for both axes or a pair
    padding : elements of the result that are left out at both ends of the axes
    output_padding : elements that are added behind each axis, less than `stride` or `dilation`
    groups : of channels, each with filters of its own
    dilation : from an element of a window to the next

    Returns
    -------
    array of shape (N, out_channels, H', W'), without N for one image, with
    ``H' = (H - 1) * stride - 2 * padding + dilation * (kh - 1) + output_padding + 1``

    Raises
    ------
    TypeError : if a parameter is no int
    ValueError : if shapes and parameters do not fit each other

    Notes
    -----
    The transpose of `conv2d` with the same weight, stride, padding, dilation and groups: the gradient by its images.
    Linear in images and weight. Source: PyTorch, `torch.nn.functional.conv_transpose2d`.

    Examples
    --------
    >>> x = dk.asarray([[[1.0, 2.0]]])
    >>> dk.nn.functional.conv_transpose2d(x, dk.asarray([[[[1.0, 10.0, 100.0]]]]), stride=(1, 2))
    tensor([[[  1.,  10., 102.,  20., 200.]]])
    """
    product = transposed_product_of(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return product.spread(xp, x, weight, bias)


def transposed_product_of(
    x: Any, weight: Any, bias: Any, stride: Pair, padding: Pair, output_padding: Pair, groups: int, dilation: Pair
) -> Product:
    """Return the product whose transpose a call computes, once its arguments fit.

    Raises
    ------
    TypeError, ValueError : as documented for the operation
    """
    op = conv_transpose2d
    count = integer(op, "groups", groups, least=1)
    rows, columns = _planned_transposed(
        shape_of(x),
        shape_of(weight),
        _shape_of(bias),
        pair(op, "stride", stride),
        pair(op, "padding", padding, least=0),
        pair(op, "output_padding", output_padding, least=0),
        count,
        pair(op, "dilation", dilation),
    )
    return Product(rows, columns, count)


@lru_cache(maxsize=256)
def _planned_transposed(
    of_x: tuple[int, ...],
    of_weight: tuple[int, ...],
    of_bias: tuple[int, ...] | None,
    stride: tuple[int, int],
    padding: tuple[int, int],
    output_padding: tuple[int, int],
    groups: int,
    dilation: tuple[int, int],
) -> tuple[Windows, ...]:
    op = conv_transpose2d
    right = len(of_x) in (3, 4) and min(of_x[-2:]) > 0
    expect(op, "x", of_x, right, "(N, in_channels, H, W) or (in_channels, H, W), no image empty")
    channels = of_x[-3]
    right = len(of_weight) == 4 and of_weight[0] == channels and min(of_weight) > 0
    divided = f"out_channels/{groups}" if groups > 1 else "out_channels"
    expect(op, "weight", of_weight, right, f"({channels}, {divided}, kh, kw) for x of shape {of_x}")
    if channels % groups:
        raise ValueError(f"{op.__name__}: groups={groups} do not divide the {channels} channels of x, shape {of_x}")
    filters = (of_weight[1] * groups,)
    if of_bias is not None:
        expect(op, "bias", of_bias, of_bias == filters, f"{filters} for a weight {of_weight} and groups={groups}")
    if any(more >= max(sizes) for more, *sizes in zip(output_padding, stride, dilation, strict=True)):
        raise ValueError(
            f"{op.__name__}: output_padding={output_padding} must be less than stride={stride} or dilation={dilation}"
        )
    windows = tuple(
        _along(*numbers)
        for numbers in zip(of_x[-2:], of_weight[2:], stride, dilation, padding, output_padding, strict=True)
    )
    if min(along.length for along in windows) < 1:
        sizes_of_images = " x ".join(str(along.length) for along in windows)
        raise ValueError(
            f"{op.__name__}: argument 'x' of shape {of_x} and a weight {of_weight} give images of {sizes_of_images} "
            f"with padding={padding}"
        )
    return windows


def _along(count: int, kernel: int, stride: int, dilation: int, padding: int, more: int) -> Windows:
    """Return as many windows along an axis of the result, which is as long as they and what is added behind them."""
    length = (count - 1) * stride + dilation * (kernel - 1) + 1 + more - 2 * padding
    return Windows(length, kernel, stride, dilation, padding, padding, count)


@conv_transpose2d.def_vjp("x")
def conv_transpose2d_vjp_x(xp, g, x, weight, stride, padding, output_padding, groups, dilation):
    product = transposed_product_of(x, weight, None, stride, padding, output_padding, groups, dilation)
    return product.convolve(xp, g, conjugate(xp, weight))


@conv_transpose2d.def_vjp("weight")
def conv_transpose2d_vjp_weight(xp, g, x, weight, stride, padding, output_padding, groups, dilation):
    product = transposed_product_of(x, weight, None, stride, padding, output_padding, groups, dilation)
    return product.gradient_of_weight(xp, conjugate(xp, x), g)


@conv_transpose2d.def_jvp("x")
def conv_transpose2d_jvp_x(xp, t, weight, stride, padding, output_padding, groups, dilation):
    product = transposed_product_of(t, weight, None, stride, padding, output_padding, groups, dilation)
    return product.spread(xp, t, weight)


@conv_transpose2d.def_jvp("weight")
def conv_transpose2d_jvp_weight(xp, t, x, stride, padding, output_padding, groups, dilation):
    product = transposed_product_of(x, t, None, stride, padding, output_padding, groups, dilation)
    return product.spread(xp, x, t)


@conv_transpose2d.def_vjp("bias")
@conv2d.def_vjp("bias")
def vjp_bias(xp, g):
    return xp.sum(xp.sum(as_images(g), axis=(2, 3)), axis=0)


@conv_transpose2d.def_jvp("bias")
@conv2d.def_jvp("bias")
def jvp_bias(xp, t, y):
    return xp.broadcast_to(t[:, None, None], y.shape)
