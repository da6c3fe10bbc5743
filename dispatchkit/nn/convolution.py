"""Layers that convolve, and layers that move pixels to channels and back: `Conv3d`, `PixelShuffle`, ..."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, Generic, Literal, TypeVar

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.marks import override
from dispatchkit.nn import functional
from dispatchkit.nn.functional.convolution import padding_of
from dispatchkit.nn.functional.shared import expect, sizes
from dispatchkit.nn.linear import register_zeros, start_uniform
from dispatchkit.nn.module import DeclaredModule, Module, declared
from dispatchkit.ops.shared import integer

# A number for each axis that windows move along.
Sizes = TypeVar("Sizes", bound=tuple[int, ...])
# What PyTorch's modes of padding are called by `dispatchkit.pad`.
PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


class _Convolution(Module, Generic[Sizes]):
    """What layers of convolutions share: their sizes, weight and bias."""

    weight: Any
    bias: Any
    kernel_size: Any
    stride: Any
    padding: Any
    dilation: Any
    _operation: ClassVar[Any]
    axes: ClassVar[int] = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sizes,
        stride: int | Sizes = 1,
        padding: int | Sizes | Literal["valid", "same"] = 0,
        dilation: int | Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cls = type(self)
        self.in_channels = integer(cls, "in_channels", in_channels, least=1)
        self.out_channels = integer(cls, "out_channels", out_channels, least=1)
        self.groups = integer(cls, "groups", groups, least=1)
        for name, channels in (("in_channels", self.in_channels), ("out_channels", self.out_channels)):
            if channels % self.groups:
                raise ValueError(f"{cls.__name__}: {name}={channels} must be divisible by groups={self.groups}")
        if padding_mode not in PADDING_MODES:
            raise ValueError(
                f"{cls.__name__}: padding_mode must be one of {str([*PADDING_MODES])[1:-1]}, found {padding_mode!r}"
            )
        self.kernel_size = self._sizes("kernel_size", kernel_size)
        self.stride, self.dilation = self._sizes("stride", stride), self._sizes("dilation", dilation)
        if isinstance(padding, str):
            self.padding = padding
        else:
            self.padding = self._sizes("padding", padding, least=0)
        self.padding_mode = padding_mode
        self._ends = padding_of(cls, self.padding, self.stride, self.dilation, self.kernel_size)
        shape = *self._channels(), *self.kernel_size
        of_bias = None
        if bias:
            of_bias = (self.out_channels,)
        register_zeros(self, device, dtype, weight=shape, bias=of_bias)
        self.reset_parameters()

    def _sizes(self, name: str, value: Any, *, least: int = 1) -> Any:
        """Return an argument as a number for each axis."""
        return sizes(type(self), name, value, self.axes, least=least)

    def _channels(self) -> tuple[int, int]:
        """Return the lengths of the first axes of the weight."""
        return self.out_channels, self.in_channels // self.groups

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        start_uniform(self.weight, self.bias, prod(self.weight.shape[1:]))

    def forward(self, x: Any) -> Any:
        """Convolve.

        Parameters
        ----------
        x : array of shape (N, in_channels, ...) with the axes that the layer is for, or without N

        Returns
        -------
        Array
            Array of shape (N, out_channels, ...), without N where `x` has none.
        """
        padding = self.padding
        if self.padding_mode != "zeros":
            ends = dict(zip(range(-len(self._ends), 0), self._ends, strict=True))
            x, padding = tensor_namespace.pad(x, ends, PADDING_MODES[self.padding_mode]), 0
        return self._convolve(x, padding=padding)

    def _convolve(self, x: Any, **options: Any) -> Any:
        steps = {"stride": self.stride, "dilation": self.dilation, "groups": self.groups}
        return self._operation(x, self.weight, self.bias, **steps, **options)

    @override
    def extra_repr(self) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0), ("groups", 1)):
            value = getattr(self, name, usual)
            if value not in (usual, (usual,) * len(self.stride)):
                parts.append(f"{name}={value!r}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode!r}")
        return ", ".join(parts)


class Conv1d(_Convolution[tuple[int]]):
    """A layer that convolves sequences with filters.

    Parameters
    ----------
    in_channels, out_channels : of the sequences it takes and gives
    kernel_size : of the filters, a number or a tuple of one; likewise the three that follow
    stride : from a window to the next
    padding : elements added at both ends, or ``"valid"`` or ``"same"``
    dilation : from an element of a window to the next
    groups : of channels, each with filters of its own
    bias : whether one is added
    padding_mode : what is added: ``"zeros"``; the sequences mirrored (``"reflect"``); their last elements
        (``"replicate"``); the sequences from their other end (``"circular"``)
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    weight : parameter of shape (out_channels, in_channels / groups, k)
    bias : parameter of shape (out_channels,), or None

    Raises
    ------
    TypeError : if a size is no int
    ValueError : if the groups do not divide the channels, or a size or mode is not possible

    Notes
    -----
    Weight and bias start uniform between ``±1 / sqrt(in_channels / groups * k)``. Source: PyTorch,
    `torch.nn.Conv1d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.Conv1d(1, 8, 3, padding=1)
    >>> layer
    Conv1d(1, 8, kernel_size=(3,), stride=(1,), padding=(1,))
    >>> layer(dk.ones((2, 1, 5))).shape
    (2, 8, 5)
    """

    _operation = staticmethod(functional.conv1d)
    axes = 1


class Conv2d(_Convolution[tuple[int, int]]):
    """A layer that convolves images with filters.

    Parameters
    ----------
    in_channels, out_channels : of the images it takes and gives
    kernel_size : of the filters, a number for both axes or a pair
    stride : from a window to the next
    padding : elements added at both ends of the axes, or ``"valid"`` or ``"same"``
    dilation : from an element of a window to the next
    groups : of channels, each with filters of its own
    bias : whether one is added
    padding_mode : what is added: ``"zeros"``; the images mirrored (``"reflect"``); their last elements
        (``"replicate"``); the images from their other end (``"circular"``)
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    weight : parameter of shape (out_channels, in_channels / groups, kh, kw)
    bias : parameter of shape (out_channels,), or None

    Raises
    ------
    TypeError : if a size is no int
    ValueError : if the groups do not divide the channels, or a size or mode is not possible

    Notes
    -----
    Weight and bias start uniform between ``±1 / sqrt(in_channels / groups * kh * kw)``. Source: PyTorch,
    `torch.nn.Conv2d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.Conv2d(1, 8, 3, padding=1)
    >>> layer
    Conv2d(1, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    >>> layer(dk.ones((2, 1, 5, 5))).shape
    (2, 8, 5, 5)
    """

    _operation = staticmethod(functional.conv2d)


class Conv3d(_Convolution[tuple[int, int, int]]):
    """A layer that convolves volumes with filters.

    Parameters
    ----------
    in_channels, out_channels : of the volumes it takes and gives
    kernel_size : of the filters, a number for all axes or three; likewise the three that follow
    stride, padding, dilation, groups, bias, padding_mode, device, dtype : as for `Conv2d`

    Attributes
    ----------
    weight : parameter of shape (out_channels, in_channels / groups, kd, kh, kw)
    bias : parameter of shape (out_channels,), or None

    Notes
    -----
    Takes arrays of shape (N, C, D, H, W) or (C, D, H, W). Source: PyTorch, `torch.nn.Conv3d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Conv3d(1, 8, 3, padding=1)(dk.ones((2, 1, 5, 5, 5))).shape
    (2, 8, 5, 5, 5)
    """

    _operation = staticmethod(functional.conv3d)
    axes = 3


class _Transposed(_Convolution[Sizes]):
    """What layers of transposed convolutions share."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sizes,
        stride: int | Sizes = 1,
        padding: int | Sizes = 0,
        output_padding: int | Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f"{type(self).__name__}: padding_mode must be 'zeros', found {padding_mode!r}")
        padding = self._sizes("padding", padding, least=0)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )
        self.output_padding = self._sizes("output_padding", output_padding, least=0)

    @override
    def _channels(self) -> tuple[int, int]:
        return self.in_channels, self.out_channels // self.groups

    @override
    def forward(self, x: Any, output_size: Sequence[int] | None = None) -> Any:
        """Spread by filters.

        Parameters
        ----------
        x : array of shape (N, in_channels, ...) with the axes that the layer is for, or without N
        output_size : lengths of the result along these axes, or its shape, in place of `output_padding`

        Returns
        -------
        Array
            Array of shape (N, out_channels, ...), without N where `x` has none.

        Raises
        ------
        ValueError : if no output padding gives that size
        """
        more = self.output_padding
        if output_size is not None and x.ndim in (self.axes + 1, self.axes + 2):
            more = self._padding_for(x, tuple(output_size))
        return self._convolve(x, padding=self.padding, output_padding=more)

    def _padding_for(self, x: Any, output_size: tuple[int, ...]) -> Any:
        """Return the output padding that gives a result of a size."""
        name, axes = type(self).__name__, self.axes
        if len(output_size) not in (axes, x.ndim):
            raise ValueError(
                f"{name}: output_size must have {axes} or {x.ndim} members for an array of shape {tuple(x.shape)}, "
                f"found {output_size}"
            )
        wanted = tuple(map(operator.index, output_size[-axes:]))
        least = []
        for axis, n in enumerate(x.shape[-axes:]):
            window = self.dilation[axis] * (self.kernel_size[axis] - 1) + 1
            least.append((int(n) - 1) * self.stride[axis] + window - 2 * self.padding[axis])
        most = [size + step - 1 for size, step in zip(least, self.stride, strict=True)]
        if any(not low <= size <= high for low, size, high in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"{name}: output_size={output_size} is not between {tuple(least)} and {tuple(most)}, the sizes that "
                f"an array of shape {tuple(x.shape)} can get"
            )
        return tuple(size - low for size, low in zip(wanted, least, strict=True))


class ConvTranspose2d(_Transposed[tuple[int, int]]):
    """A layer that spreads images by filters, which makes them larger where windows are apart.

    Parameters
    ----------
    in_channels, out_channels : of the images it takes and gives
    kernel_size : of the filters, a number for both axes or a pair
    stride : from a window to the next
    padding : elements of the result that are left out at both ends of the axes
    output_padding : elements that are added behind each axis
    groups : of channels, each with filters of its own
    bias : whether one is added
    dilation : from an element of a window to the next
    padding_mode : ``"zeros"``
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    weight : parameter of shape (in_channels, out_channels / groups, kh, kw)
    bias : parameter of shape (out_channels,), or None

    Raises
    ------
    TypeError : if a size is no int
    ValueError : if the groups do not divide the channels, or a size or mode is not possible

    Notes
    -----
    Weight and bias start uniform between ``±1 / sqrt(out_channels / groups * kh * kw)``. Source: PyTorch,
    `torch.nn.ConvTranspose2d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.ConvTranspose2d(8, 1, 3, stride=2, padding=1)
    >>> layer
    ConvTranspose2d(8, 1, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))
    >>> x = dk.ones((2, 8, 5, 5))
    >>> layer(x).shape, layer(x, output_size=(10, 10)).shape
    ((2, 1, 9, 9), (2, 1, 10, 10))
    """

    _operation = staticmethod(functional.conv_transpose2d)


class ConvTranspose1d(_Transposed[tuple[int]]):
    """A layer that spreads sequences by filters, which makes them longer where windows are apart.

    Parameters
    ----------
    in_channels, out_channels : of the sequences it takes and gives
    kernel_size, stride, padding, output_padding : as for `ConvTranspose2d`, a number or a tuple of one
    groups, bias : as for `ConvTranspose2d`
    dilation : from an element of a window to the next, a number or a tuple of one
    padding_mode, device, dtype : as for `ConvTranspose2d`

    Attributes
    ----------
    weight : parameter of shape (in_channels, out_channels / groups, k)
    bias : parameter of shape (out_channels,), or None

    Notes
    -----
    Source: PyTorch, `torch.nn.ConvTranspose1d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.ConvTranspose1d(8, 1, 3, stride=2)(dk.ones((2, 8, 5))).shape
    (2, 1, 11)
    """

    _operation = staticmethod(functional.conv_transpose1d)
    axes = 1


class ConvTranspose3d(_Transposed[tuple[int, int, int]]):
    """A layer that spreads volumes by filters, which makes them larger where windows are apart.

    Parameters
    ----------
    in_channels, out_channels : of the volumes it takes and gives
    kernel_size, stride, padding, output_padding : as for `ConvTranspose2d`, a number for all axes or three
    groups, bias : as for `ConvTranspose2d`
    dilation : from an element of a window to the next, a number for all axes or three
    padding_mode, device, dtype : as for `ConvTranspose2d`

    Attributes
    ----------
    weight : parameter of shape (in_channels, out_channels / groups, kd, kh, kw)
    bias : parameter of shape (out_channels,), or None

    Notes
    -----
    Source: PyTorch, `torch.nn.ConvTranspose3d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.ConvTranspose3d(8, 1, 3, stride=2)(dk.ones((2, 8, 2, 2, 2))).shape
    (2, 1, 5, 5, 5)
    """

    _operation = staticmethod(functional.conv_transpose3d)
    axes = 3


def pixel_shuffle(x: Any, upscale_factor: int) -> Any:
    """Return images whose pixels were in channels.

    Parameters
    ----------
    x : array of shape (..., C * r * r, H, W)
    upscale_factor : r

    Returns
    -------
    Array
        Array of shape (..., C, H * r, W * r).
    """
    r, shape = integer(pixel_shuffle, "upscale_factor", upscale_factor, least=1), tuple(x.shape)
    expect(pixel_shuffle, "x", shape, len(shape) >= 3 and shape[-3] % r**2 == 0, f"(..., C * {r} * {r}, H, W)")
    *others, c, h, w = shape
    squares = tensor_namespace.reshape(x, (prod(others), c // r**2, r, r, h, w))
    images = tensor_namespace.permute_dims(squares, (0, 1, 4, 2, 5, 3))
    return tensor_namespace.reshape(images, (*others, c // r**2, h * r, w * r))


@declared(pixel_shuffle)
class PixelShuffle(DeclaredModule):
    """A layer that makes images larger, and takes the pixels from channels.

    Parameters
    ----------
    upscale_factor : how many times higher and wider images become, r

    Raises
    ------
    ValueError : from `forward`, if the factor is not positive, or the channels cannot be divided into squares of it

    Notes
    -----
    Makes an array of shape (..., C, H r, W r) of one of shape (..., C r², H, W): channel c r² + a r + b has the pixels
    of row a and column b in each square of channel c. Source: PyTorch, `torch.nn.PixelShuffle`.

    Examples
    --------
    >>> dk.nn.PixelShuffle(2)(dk.asarray([[[1.0]], [[2.0]], [[3.0]], [[4.0]]]))
    tensor([[[1., 2.],
             [3., 4.]]])
    """

    upscale_factor: int


def pixel_unshuffle(x: Any, downscale_factor: int) -> Any:
    """Return images whose pixels came into channels.

    Parameters
    ----------
    x : array of shape (..., C, H * r, W * r)
    downscale_factor : r

    Returns
    -------
    Array
        Array of shape (..., C * r * r, H, W).
    """
    r, shape = integer(pixel_unshuffle, "downscale_factor", downscale_factor, least=1), tuple(x.shape)
    right = len(shape) >= 3 and shape[-2] % r == shape[-1] % r == 0
    expect(pixel_unshuffle, "x", shape, right, f"(..., C, H * {r}, W * {r})")
    *others, c, h, w = shape
    images = tensor_namespace.reshape(x, (prod(others), c, h // r, r, w // r, r))
    squares = tensor_namespace.permute_dims(images, (0, 1, 3, 5, 2, 4))
    return tensor_namespace.reshape(squares, (*others, c * r**2, h // r, w // r))


@declared(pixel_unshuffle)
class PixelUnshuffle(DeclaredModule):
    """A layer that makes images smaller, and channels of the pixels: the inverse of `PixelShuffle`.

    Parameters
    ----------
    downscale_factor : how many times lower and narrower images become, r

    Raises
    ------
    ValueError : from `forward`, if the factor is not positive, or images cannot be divided into squares of it

    Notes
    -----
    Makes an array of shape (..., C r², H, W) of one of shape (..., C, H r, W r). Source: PyTorch,
    `torch.nn.PixelUnshuffle`.

    Examples
    --------
    >>> dk.nn.PixelUnshuffle(2)(dk.ones((3, 4, 6))).shape
    (12, 2, 3)
    """

    downscale_factor: int
