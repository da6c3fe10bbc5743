"""Layers that convolve: `Conv2d`."""

from __future__ import annotations

from math import prod
from typing import Any

from typing_extensions import override

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.nn.functional.images.convolution import conv2d, padding_of
from dispatchkit.nn.functional.shapes import Padding, Pair, pair
from dispatchkit.nn.linear import start_uniform
from dispatchkit.nn.module import Module
from dispatchkit.nn.parameter import Parameter
from dispatchkit.ops.shared.arguments import integer

__all__ = ["Conv2d"]

# What PyTorch's modes of padding are called by `dispatchkit.pad`.
PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


class Conv2d(Module):
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

    weight: Any
    bias: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Padding = 0,
        dilation: Pair = 1,
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
        self.kernel_size = pair(cls, "kernel_size", kernel_size)
        self.stride, self.dilation = pair(cls, "stride", stride), pair(cls, "dilation", dilation)
        self.padding = padding if isinstance(padding, str) else pair(cls, "padding", padding, least=0)
        self.padding_mode = padding_mode
        self._ends = padding_of(cls, padding, self.stride, self.dilation, self.kernel_size)
        made = {"device": device, "dtype": dtype}
        shape = self.out_channels, self.in_channels // self.groups, *self.kernel_size
        self.weight = Parameter(tensor_namespace.zeros(shape, **made))
        self.register_parameter(
            "bias", Parameter(tensor_namespace.zeros((self.out_channels,), **made)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        start_uniform(self.weight, self.bias, prod(self.weight.shape[1:]))

    def forward(self, x: Any) -> Any:
        """Convolve images.

        Parameters
        ----------
        x : array of shape (N, in_channels, H, W), or (in_channels, H, W) for one image
        """
        padding: Padding = self.padding
        if self.padding_mode != "zeros":
            ends = dict(zip((-2, -1), self._ends, strict=True))
            x, padding = tensor_namespace.pad(x, ends, PADDING_MODES[self.padding_mode]), 0
        return conv2d(
            x,
            self.weight,
            self.bias,
            stride=self.stride,
            padding=padding,
            dilation=self.dilation,
            groups=self.groups,
        )

    @override
    def extra_repr(self) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        if self.padding != (0, 0):
            parts.append(f"padding={self.padding!r}")
        if self.dilation != (1, 1):
            parts.append(f"dilation={self.dilation}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode!r}")
        return ", ".join(parts)
