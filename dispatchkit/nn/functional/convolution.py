"""Convolution: `conv1d`, `conv2d`, `conv_transpose2d`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.samples import draw, sample
from dispatchkit.nn.functional.shared import Padding, Pair, Single, called, expect, function, sizes
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
    samples=lambda: [
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
    """Return the product that a call of `conv2d` computes, once its arguments fit."""
    rows, columns = _windows(conv2d, x, weight, bias, stride, padding, dilation, groups)
    return Product(rows, columns, int(groups))


def _windows(
    op: Named, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, more: Any = None
) -> tuple[Windows, ...]:
    """Return the windows along each axis of what is convolved, or of what a transpose gives.

    Parameters
    ----------
    op : `conv1d`, `conv2d` or `conv_transpose2d`
    x, weight, bias, stride, padding, dilation, groups : its arguments
    more : the argument `output_padding` of a transpose, None otherwise

    Raises
    ------
    TypeError, ValueError : as documented for the operation
    """
    axes = 1 if op is conv1d else 2
    text = isinstance(padding, str) and more is None
    return _plan(
        op,
        shape_of(x),
        shape_of(weight),
        None if bias is None else shape_of(bias),
        sizes(op, "stride", stride, axes),
        padding if text else sizes(op, "padding", padding, axes, least=0),
        sizes(op, "dilation", dilation, axes),
        integer(op, "groups", groups, least=1),
        None if more is None else sizes(op, "output_padding", more, axes, least=0),
    )


@lru_cache(maxsize=256)
def _plan(
    op: Named,
    of_x: tuple[int, ...],
    of_weight: tuple[int, ...],
    of_bias: tuple[int, ...] | None,
    stride: tuple[int, ...],
    padding: Any,
    dilation: tuple[int, ...],
    groups: int,
    more: tuple[int, ...] | None,
) -> tuple[Windows, ...]:
    n, transposed, name = len(stride), more is not None, op.__name__
    axes, kernel = ("L", "k") if n == 1 else ("H, W", "kh, kw")
    right = len(of_x) - n in (1, 2) and not (transposed and 0 in of_x[-n:])
    expect(
        op,
        "x",
        of_x,
        right,
        f"(N, in_channels, {axes}) or (in_channels, {axes}){', no image empty' if transposed else ''}",
    )
    channels, lengths = of_x[-1 - n], of_x[-n:]
    if channels % groups:
        raise ValueError(f"{name}: groups={groups} do not divide the {channels} channels of x, shape {of_x}")
    part = f"/{groups}" if groups > 1 else ""
    of_filters = f"({channels}, out_channels{part}" if transposed else f"(out_channels, {channels}{part}"
    right = of_weight[:1] == (channels,) if transposed else of_weight[1:2] == (channels // groups,)
    right = right and len(of_weight) == 2 + n and min(of_weight) > 0
    expect(op, "weight", of_weight, right, f"{of_filters}, {kernel}) for x of shape {of_x}")
    filters = of_weight[1] * groups if transposed else of_weight[0]
    if filters % groups:
        raise ValueError(f"{name}: groups={groups} do not divide the out_channels of a weight {of_weight}")
    if of_bias is not None:
        wanted = f"({filters},) for a weight of shape {of_weight}" + (f" and groups={groups}" if transposed else "")
        expect(op, "bias", of_bias, of_bias == (filters,), wanted)
    if more is not None:
        return _windows_of_result(op, of_x, of_weight, stride, padding, dilation, more)
    ends = padding_of(op, padding, stride, dilation, of_weight[2:])
    windows = tuple(map(Windows.along, lengths, of_weight[2:], stride, dilation, *zip(*ends, strict=True)))
    if min(along.count for along in windows) < 1:
        wanted = " x ".join(str(along.reach) for along in windows)
        present = " x ".join(str(along.total) for along in windows)
        raise ValueError(
            f"{name}: argument 'x' of shape {of_x} has {'sequences' if n == 1 else 'images'} of {present} with "
            f"padding, smaller than the windows of {wanted} of a weight {of_weight}"
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
    samples=lambda: [
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
    """Return the windows of a call of `conv1d`, once its arguments fit."""
    return _windows(conv1d, x, weight, bias, stride, padding, dilation, groups)[0]


@function(
    samples=lambda: [
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
    """Return the product whose transpose a call of `conv_transpose2d` computes, once its arguments fit."""
    rows, columns = _windows(conv_transpose2d, x, weight, bias, stride, padding, dilation, groups, output_padding)
    return Product(rows, columns, int(groups))


def _windows_of_result(
    op: Named,
    of_x: tuple[int, ...],
    of_weight: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    more: tuple[int, ...],
) -> tuple[Windows, ...]:
    """Return as many windows along each axis of a result as `x` has elements there.

    Raises
    ------
    ValueError : if more is added behind an axis than lies between windows, or nothing is left of one
    """
    windows = []
    for count, kernel, step, gap, ends, behind in zip(
        of_x[-2:], of_weight[2:], stride, dilation, padding, more, strict=True
    ):
        if behind >= max(step, gap):
            raise ValueError(
                f"{op.__name__}: output_padding={more} must be less than stride={stride} or dilation={dilation}"
            )
        length = (count - 1) * step + gap * (kernel - 1) + 1 + behind - 2 * ends
        windows.append(Windows(length, kernel, step, gap, ends, ends, count))
    if min(along.length for along in windows) < 1:
        raise ValueError(
            f"{op.__name__}: argument 'x' of shape {of_x} and a weight {of_weight} give images of "
            f"{' x '.join(str(along.length) for along in windows)} with padding={padding}"
        )
    return tuple(windows)


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
