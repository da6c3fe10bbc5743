"""Layers that make images smaller: `MaxPool2d`, `AvgPool2d`, `AdaptiveAvgPool2d`."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from dispatchkit.nn.functional.images.pooling import adaptive_avg_pool2d, avg_pool2d, max_pool2d
from dispatchkit.nn.functional.shapes import Pair
from dispatchkit.nn.module import Module

__all__ = ["AdaptiveAvgPool2d", "AvgPool2d", "MaxPool2d"]


class MaxPool2d(Module):
    """A layer that finds the largest element of each window of images.

    Parameters
    ----------
    kernel_size, stride, padding, dilation, ceil_mode : as for `nn.functional.max_pool2d`

    Notes
    -----
    Source: PyTorch, `torch.nn.MaxPool2d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.MaxPool2d(2)(dk.asarray([[1.0, 2.0, 0.0, 5.0], [4.0, 3.0, 7.0, 6.0]]))
    tensor([[4., 7.]])
    """

    def __init__(
        self,
        kernel_size: Pair,
        stride: Pair | None = None,
        padding: Pair = 0,
        dilation: Pair = 1,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.ceil_mode = padding, dilation, ceil_mode

    def forward(self, x: Any) -> Any:
        """Find the largest elements.

        Parameters
        ----------
        x : images, array of shape (..., H, W)

        Returns
        -------
        Array
            Array of shape (..., H_out, W_out).
        """
        return max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)

    @override
    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class AvgPool2d(Module):
    """A layer that averages the elements of each window of images.

    Parameters
    ----------
    kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override : as for `nn.functional.avg_pool2d`

    Notes
    -----
    Source: PyTorch, `torch.nn.AvgPool2d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.AvgPool2d(2)(dk.asarray([[1.0, 2.0, 0.0, 5.0], [4.0, 3.0, 7.0, 6.0]]))
    tensor([[2.5000, 4.5000]])
    """

    def __init__(
        self,
        kernel_size: Pair,
        stride: Pair | None = None,
        padding: Pair = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, x: Any) -> Any:
        """Average the elements.

        Parameters
        ----------
        x : images, array of shape (..., H, W)

        Returns
        -------
        Array
            Array of shape (..., H_out, W_out).
        """
        return avg_pool2d(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    @override
    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool2d(Module):
    """A layer that averages the elements of windows, chosen so that images of a given size come out.

    Parameters
    ----------
    output_size : as for `nn.functional.adaptive_avg_pool2d`

    Notes
    -----
    Source: PyTorch, `torch.nn.AdaptiveAvgPool2d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.AdaptiveAvgPool2d(1)(dk.asarray([[1.0, 2.0], [3.0, 6.0]]))
    tensor([[3.]])
    """

    def __init__(self, output_size: Pair | tuple[int | None, int | None]) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, x: Any) -> Any:
        """Average the elements.

        Parameters
        ----------
        x : images, array of shape (..., H, W)

        Returns
        -------
        Array
            Array of shape (..., H_out, W_out).
        """
        return adaptive_avg_pool2d(x, self.output_size)

    @override
    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"
