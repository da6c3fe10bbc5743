"""Convolution of sequences, images and volumes: `conv1d`, `conv_transpose2d`, ..."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from dispatchkit.declare.samples import draw, sample
from dispatchkit.nn.functional.shared import (
    AXES,
    KINDS,
    SEVERAL,
    Padding,
    Pair,
    Single,
    Triple,
    expect,
    function,
    sizes,
)
from dispatchkit.nn.functional.windows import Grid, Product, Windows
from dispatchkit.ops.shared import Named, conjugate, integer, shape_of
from dispatchkit.tensor import Tensor

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


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
    return product_of(conv2d, x, weight, bias, stride, padding, dilation, groups).convolve(xp, x, weight, bias)


def product_of(
    op: Named,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    output_padding: Any = None,
) -> Product:
    """Return the product that a convolution computes, or whose transpose it computes, once its arguments fit.

    Parameters
    ----------
    op : the convolution
    x, weight, bias, stride, padding, dilation, groups : its arguments
    output_padding : of a transpose, None otherwise

    Raises
    ------
    TypeError, ValueError : as documented for the operation
    """
    of_bias = None
    if bias is not None:
        of_bias = shape_of(bias)
    if type(stride) is type(padding) is type(dilation) is type(groups) is int and output_padding is None:
        return _product_of_numbers(op, shape_of(x), shape_of(weight), of_bias, stride, padding, dilation, groups)
    return _product_of_sizes(
        op, shape_of(x), shape_of(weight), of_bias, stride, padding, dilation, groups, output_padding
    )


@lru_cache(maxsize=256)
def _product_of_numbers(op: Named, *shapes_and_numbers: Any) -> Product:
    """Return the product of windows that are alike along all axes, of which a second look takes a third of the time."""
    return _product_of_sizes(op, *shapes_and_numbers)


def _product_of_sizes(
    op: Named,
    of_x: tuple[int, ...],
    of_weight: tuple[int, ...],
    of_bias: tuple[int, ...] | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: Any,
    output_padding: Any = None,
) -> Product:
    axes = int(op.__name__[-2])  # as in "conv1d"
    text = isinstance(padding, str) and output_padding is None
    stride = sizes(op, "stride", stride, axes)
    if not text:
        padding = sizes(op, "padding", padding, axes, least=0)
    dilation = sizes(op, "dilation", dilation, axes)
    groups = integer(op, "groups", groups, least=1)
    if output_padding is not None:
        output_padding = sizes(op, "output_padding", output_padding, axes, least=0)
    windows = _plan(op, of_x, of_weight, of_bias, stride, padding, dilation, groups, output_padding)
    return Product(windows, int(groups))


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
) -> Grid:
    n, transposed, name = len(stride), more is not None, op.__name__
    axes, kernel = AXES[n], "k"
    if n > 1:
        kernel = ", ".join(f"k{axis.lower()}" for axis in axes.split(", "))
    right = len(of_x) - n in (1, 2) and not (transposed and 0 in of_x[-n:])
    condition = ""
    if transposed:
        condition = ", no image empty"
    expect(
        op,
        "x",
        of_x,
        right,
        f"(N, in_channels, {axes}) or (in_channels, {axes}){condition}",
    )
    channels, lengths = of_x[-1 - n], of_x[-n:]
    if channels % groups:
        raise ValueError(f"{name}: groups={groups} do not divide the {channels} channels of x, shape {of_x}")
    part = ""
    if groups > 1:
        part = f"/{groups}"
    if transposed:
        of_filters = f"({channels}, out_channels{part}"
        right = of_weight[:1] == (channels,)
    else:
        of_filters = f"(out_channels, {channels}{part}"
        right = of_weight[1:2] == (channels // groups,)
    right = right and len(of_weight) == 2 + n and min(of_weight) > 0
    expect(op, "weight", of_weight, right, f"{of_filters}, {kernel}) for x of shape {of_x}")
    if transposed:
        filters = of_weight[1] * groups
    else:
        filters = of_weight[0]
    if filters % groups:
        raise ValueError(f"{name}: groups={groups} do not divide the out_channels of a weight {of_weight}")
    if of_bias is not None:
        in_groups = ""
        if transposed:
            in_groups = f" and groups={groups}"
        wanted = f"({filters},) for a weight of shape {of_weight}" + in_groups
        expect(op, "bias", of_bias, of_bias == (filters,), wanted)
    if more is not None:
        return _windows_of_result(op, of_x, of_weight, stride, padding, dilation, more)
    ends = padding_of(op, padding, stride, dilation, of_weight[2:])
    windows = Grid(map(Windows.along, lengths, of_weight[2:], stride, dilation, *zip(*ends, strict=True)))
    if min(along.count for along in windows) < 1:
        wanted = " x ".join(str(along.reach) for along in windows)
        present = " x ".join(str(along.total) for along in windows)
        raise ValueError(
            f"{name}: argument 'x' of shape {of_x} has {KINDS[n]} of {present} with padding, smaller than "
            f"the windows of {wanted} of a weight {of_weight}"
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
        several = ""
        if len(kernel) > 1:
            several = f" {SEVERAL[len(kernel)]},"
        raise ValueError(f"{op.__name__}: padding must be an int,{several} 'valid' or 'same', found {padding!r}")
    if max(stride) != 1:
        raise ValueError(f"{op.__name__}: padding='same' is for stride 1, found stride={stride}")
    missing = [gap * (length - 1) for gap, length in zip(dilation, kernel, strict=True)]
    return tuple((n // 2, n - n // 2) for n in missing)


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
    return product_of(conv1d, x, weight, bias, stride, padding, dilation, groups).convolve(xp, x, weight, bias)


@function(
    samples=lambda: [
        sample(draw(2, 1, 2, 3, 2), draw(2, 1, 2, 2, 1), draw(2)),
        sample(draw(2, 4, 2, 3), draw(2, 1, 2, 1, 2), stride=2, padding=(1, 0, 1), dilation=(2, 1, 1), groups=2),
        sample(draw(1, 2, 3, 2), draw(1, 1, 2, 2, 2), padding="same"),
        sample(draw(0, 1, 2, 2, 2), draw(2, 1, 2, 2, 2)),
    ],
)
def conv3d(
    xp: Any,
    x: Tensor,
    weight: Tensor,
    /,
    bias: Tensor | None = None,
    *,
    stride: Triple = 1,
    padding: Triple | Literal["valid", "same"] = 0,
    dilation: Triple = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve volumes with filters: sum the products of each window and a weight.

    Parameters
    ----------
    x : volumes, array of shape (N, in_channels, D, H, W), or (in_channels, D, H, W) for one
    weight : array of shape (out_channels, in_channels / groups, kd, kh, kw)
    bias : array of shape (out_channels,); none is added if None
    stride : from a window to the next, a number for all axes or three
    padding : zeros added at both ends of the axes; ``"valid"`` for none, ``"same"`` for as many as keep the size,
        where the odd one of an axis comes behind
    dilation : from an element of a window to the next
    groups : of channels, each with filters of its own

    Returns
    -------
    array of shape (N, out_channels, D', H', W'), without N for one volume, with
    ``D' = (D + 2 * padding - dilation * (kd - 1) - 1) // stride + 1``

    Raises
    ------
    TypeError : if a parameter is no int
    ValueError : if shapes and parameters do not fit each other

    Notes
    -----
    See `conv2d`, which it is along one axis more. Linear in volumes and weight. Source: PyTorch,
    `torch.nn.functional.conv3d`.

    Examples
    --------
    >>> x = dk.asarray([[[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]]]])
    >>> dk.nn.functional.conv3d(x, dk.ones((1, 1, 2, 1, 2)))
    tensor([[[[10.]],
             [[18.]]]])
    """
    return product_of(conv3d, x, weight, bias, stride, padding, dilation, groups).convolve(xp, x, weight, bias)


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
    op = conv_transpose2d
    return product_of(op, x, weight, bias, stride, padding, dilation, groups, output_padding).spread(
        xp, x, weight, bias
    )


def _windows_of_result(
    op: Named,
    of_x: tuple[int, ...],
    of_weight: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    more: tuple[int, ...],
) -> Grid:
    """Return as many windows along each axis of a result as `x` has elements there.

    Raises
    ------
    ValueError : if more is added behind an axis than lies between windows, or nothing is left of one
    """
    windows = []
    for count, kernel, step, gap, ends, behind in zip(
        of_x[-len(stride) :], of_weight[2:], stride, dilation, padding, more, strict=True
    ):
        if behind >= max(step, gap):
            raise ValueError(
                f"{op.__name__}: output_padding={more} must be less than stride={stride} or dilation={dilation}"
            )
        length = (count - 1) * step + gap * (kernel - 1) + 1 + behind - 2 * ends
        windows.append(Windows(length, kernel, step, gap, ends, ends, count))
    if min(along.length for along in windows) < 1:
        raise ValueError(
            f"{op.__name__}: argument 'x' of shape {of_x} and a weight {of_weight} give {KINDS[len(stride)]} of "
            f"{' x '.join(str(along.length) for along in windows)} with padding={padding}"
        )
    return Grid(windows)


@function(
    samples=lambda: [
        sample(draw(2, 1, 2), draw(1, 2, 2), draw(2)),
        sample(draw(2, 3), draw(2, 1, 2), stride=2, padding=1, output_padding=1, groups=2),
        sample(draw(0, 1, 3), draw(1, 2, 2)),
    ],
)
def conv_transpose1d(
    xp: Any,
    x: Tensor,
    weight: Tensor,
    /,
    bias: Tensor | None = None,
    *,
    stride: Single = 1,
    padding: Single = 0,
    output_padding: Single = 0,
    groups: int = 1,
    dilation: Single = 1,
) -> Tensor:
    """Spread sequences by filters: add up, for each element, the weight times it where its window lies.

    Parameters
    ----------
    x : sequences, array of shape (N, in_channels, L), or (in_channels, L) for one
    weight : array of shape (in_channels, out_channels / groups, k)
    bias : array of shape (out_channels,); none is added if None
    stride : from a window to the next
    padding : elements of the result that are left out at both ends
    output_padding : elements that are added behind, fewer than `stride` or `dilation`
    groups : of channels, each with filters of its own
    dilation : from an element of a window to the next

    Returns
    -------
    array of shape (N, out_channels, L'), without N for one sequence, with
    ``L' = (L - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1``

    Raises
    ------
    TypeError : if a parameter is no int
    ValueError : if shapes and parameters do not fit each other

    Notes
    -----
    The transpose of `conv1d`. Source: PyTorch, `torch.nn.functional.conv_transpose1d`.

    Examples
    --------
    >>> x = dk.asarray([[1.0, 2.0]])
    >>> dk.nn.functional.conv_transpose1d(x, dk.asarray([[[1.0, 10.0, 100.0]]]), stride=2)
    tensor([[  1.,  10., 102.,  20., 200.]])
    """
    op = conv_transpose1d
    return product_of(op, x, weight, bias, stride, padding, dilation, groups, output_padding).spread(
        xp, x, weight, bias
    )


@function(
    samples=lambda: [
        sample(draw(2, 1, 2, 1, 2), draw(1, 2, 2, 1, 2), draw(2)),
        sample(draw(2, 2, 1, 2), draw(2, 1, 2, 2, 1), draw(2), stride=2, padding=(1, 0, 0), output_padding=1, groups=2),
        sample(draw(0, 1, 2, 2, 2), draw(1, 2, 2, 2, 2), dilation=(2, 1, 1)),
    ],
)
def conv_transpose3d(
    xp: Any,
    x: Tensor,
    weight: Tensor,
    /,
    bias: Tensor | None = None,
    *,
    stride: Triple = 1,
    padding: Triple = 0,
    output_padding: Triple = 0,
    groups: int = 1,
    dilation: Triple = 1,
) -> Tensor:
    """Spread volumes by filters: add up, for each element, the weight times it where its window lies.

    Parameters
    ----------
    x : volumes, array of shape (N, in_channels, D, H, W), or (in_channels, D, H, W) for one
    weight : array of shape (in_channels, out_channels / groups, kd, kh, kw)
    bias : array of shape (out_channels,); none is added if None
    stride : from a window to the next, a number for all axes or three
    padding : elements of the result that are left out at both ends of the axes
    output_padding : elements that are added behind each axis, less than `stride` or `dilation`
    groups : of channels, each with filters of its own
    dilation : from an element of a window to the next

    Returns
    -------
    array of shape (N, out_channels, D', H', W'), without N for one volume, with
    ``D' = (D - 1) * stride - 2 * padding + dilation * (kd - 1) + output_padding + 1``

    Raises
    ------
    TypeError : if a parameter is no int
    ValueError : if shapes and parameters do not fit each other

    Notes
    -----
    The transpose of `conv3d`. Source: PyTorch, `torch.nn.functional.conv_transpose3d`.

    Examples
    --------
    >>> x = dk.asarray([[[[1.0]], [[2.0]]]])
    >>> dk.nn.functional.conv_transpose3d(x, dk.asarray([[[[[1.0, 10.0]], [[100.0, 0.0]]]]]))
    tensor([[[[  1.,  10.]],
             [[102.,  20.]],
             [[200.,   0.]]]])
    """
    op = conv_transpose3d
    return product_of(op, x, weight, bias, stride, padding, dilation, groups, output_padding).spread(
        xp, x, weight, bias
    )


def _declare_rules(op: Any, forth: str, back: str) -> None:
    """Declare the derivatives of a convolution, or of a transposed one.

    Parameters
    ----------
    op : the operation
    forth, back : the methods of its product that compute it, and its transpose by images
    """
    axes = int(op.__name__[-2])
    options = [p for p in inspect.signature(op).parameters.values() if p.kind is p.KEYWORD_ONLY]

    def product(x, weight, values):
        return product_of(op, x, weight, None, **dict(zip((p.name for p in options), values, strict=True)))

    def vjp_x(xp, g, x, weight, *values):
        return getattr(product(x, weight, values), back)(xp, g, conjugate(xp, weight))

    def vjp_weight(xp, g, x, weight, *values):
        if forth == "convolve":
            of_windows, images = g, conjugate(xp, x)
        else:
            of_windows, images = conjugate(xp, x), g
        return product(x, weight, values).gradient_of_weight(xp, of_windows, images)

    def vjp_bias(xp, g, *_):
        return xp.sum(g, axis=tuple(axis for axis in range(g.ndim) if axis != g.ndim - axes - 1))

    def jvp_x(xp, t, weight, *values):
        return getattr(product(t, weight, values), forth)(xp, t, weight)

    def jvp_weight(xp, t, x, *values):
        return getattr(product(x, t, values), forth)(xp, x, t)

    def jvp_bias(xp, t, y, *_):
        return xp.broadcast_to(xp.reshape(t, (-1,) + (1,) * axes), y.shape)

    vjps: dict[str, Any] = {"x": vjp_x, "weight": vjp_weight, "bias": vjp_bias}
    jvps: dict[str, Any] = {"x": jvp_x, "weight": jvp_weight, "bias": jvp_bias}
    for rule in (*vjps.values(), *jvps.values()):
        # They name what they read, in place of which the last parameter stands.
        named = list(inspect.signature(rule).parameters.values())[:-1]
        last = [p.replace(kind=p.POSITIONAL_OR_KEYWORD, default=p.empty) for p in options]
        rule.__signature__ = inspect.Signature([*named, *last])
    # Of an argument itself, a cotangent has the shape; its values are not read.
    shapes: dict[str, tuple[str, ...]] = {"x": ("x",), "weight": ("weight",), "bias": ()}
    for argument, rule in vjps.items():
        op.def_vjp(argument, shapes=shapes[argument])(rule)
    for argument, rule in jvps.items():
        op.def_jvp(argument)(rule)


_op: Any
for _op in (conv1d, conv2d, conv3d):
    _declare_rules(_op, "convolve", "spread")
for _op in (conv_transpose1d, conv_transpose2d, conv_transpose3d):
    _declare_rules(_op, "spread", "convolve")
