"""Layers that make sequences, images and volumes smaller: `MaxPool2d`, `AvgPool3d`, `AdaptiveAvgPool1d`, ..."""

from __future__ import annotations

from typing import Any, Generic

from dispatchkit.marks import override
from dispatchkit.nn import functional
from dispatchkit.nn.convolution import Sizes
from dispatchkit.nn.functional.shared import Pair, Single, Triple, sizes
from dispatchkit.nn.module import DeclaredModule, declared


class Pooling(DeclaredModule):
    """What layers that make images smaller share; by default their windows lie side by side."""

    @override
    def _set_options(self, options: dict[str, Any]) -> None:
        if options.get("stride", 0) is None:
            options["stride"] = options["kernel_size"]
        super()._set_options(options)


@declared(None)
class _Largest(Pooling, Generic[Sizes]):
    """What layers share that find the largest elements of windows."""

    kernel_size: int | Sizes
    stride: int | Sizes | None = None
    padding: int | Sizes = 0
    dilation: int | Sizes = 1
    ceil_mode: bool = False


@declared(None)
class _Average(Pooling, Generic[Sizes]):
    """A layer that averages the elements of each window."""

    shown = 3

    kernel_size: int | Sizes
    stride: int | Sizes | None = None
    padding: int | Sizes = 0
    ceil_mode: bool = False
    count_include_pad: bool = True


class PoolingOfSequences(Pooling):
    """What layers that make sequences shorter share: they pool images of one row."""

    @override
    def forward(self, x: Any) -> Any:
        values = self._values()
        for name in values.keys() & {"kernel_size", "stride", "padding", "dilation"}:
            values[name] = int(name != "padding"), *sizes(type(self), name, values[name], 1, least=0)
        return self.function(x[..., None, :], **values)[..., 0, :]


@declared(functional.max_pool2d)
class MaxPool1d(PoolingOfSequences, _Largest[tuple[int]]):
    """A layer that finds the largest element of each window of sequences.

    Parameters
    ----------
    kernel_size : of the windows; like the three that follow, a number or a tuple of one
    stride : from a window to the next, `kernel_size` if None
    padding : elements added at both ends
    dilation : from an element of a window to the next
    ceil_mode : whether a last window that reaches beyond the end counts

    Notes
    -----
    Takes arrays of shape (..., L). Source: PyTorch, `torch.nn.MaxPool1d`.

    Examples
    --------
    >>> dk.nn.MaxPool1d(2)(dk.asarray([[1.0, 2.0, 0.0, 5.0]]))
    tensor([[2., 5.]])
    """


@declared(functional.avg_pool2d)
class AvgPool1d(PoolingOfSequences, _Average[tuple[int]]):
    """A layer that averages the elements of each window of sequences.

    Parameters
    ----------
    kernel_size : of the windows; like the two that follow, a number or a tuple of one
    stride : from a window to the next, `kernel_size` if None
    padding : zeros added at both ends
    ceil_mode : whether a last window that reaches beyond the end counts
    count_include_pad : whether the zeros count as elements

    Notes
    -----
    Takes arrays of shape (..., L). Source: PyTorch, `torch.nn.AvgPool1d`.

    Examples
    --------
    >>> dk.nn.AvgPool1d(2)(dk.asarray([[1.0, 2.0, 0.0, 5.0]]))
    tensor([[1.5000, 2.5000]])
    """

    @override
    def extra_repr(self) -> str:
        """Return the windows, as PyTorch shows them."""
        return ", ".join(f"{n}={sizes(type(self), n, getattr(self, n), 1, least=0)}" for n in self.options[:3])


@declared(functional.max_pool2d)
class MaxPool2d(_Largest[tuple[int, int]]):
    """A layer that finds the largest element of each window of images.

    Parameters
    ----------
    kernel_size : of the windows, a number for both axes or a pair
    stride : from a window to the next, `kernel_size` if None
    padding : elements added at both ends of the axes
    dilation : from an element of a window to the next
    ceil_mode : whether a last window that reaches beyond the end counts

    Examples
    --------
    >>> dk.nn.MaxPool2d(2)(dk.asarray([[1.0, 2.0, 0.0, 5.0], [4.0, 3.0, 7.0, 6.0]]))
    tensor([[4., 7.]])
    """


@declared(functional.max_pool3d)
class MaxPool3d(_Largest[tuple[int, int, int]]):
    """A layer that finds the largest element of each window of volumes.

    Parameters
    ----------
    kernel_size : of the windows, a number for all axes or three
    stride : from a window to the next, `kernel_size` if None
    padding : elements added at both ends of the axes
    dilation : from an element of a window to the next
    ceil_mode : whether a last window that reaches beyond the end counts

    Examples
    --------
    >>> dk.nn.MaxPool3d(2)(dk.ones((1, 4, 4, 4))).shape
    (1, 2, 2, 2)
    """


@declared(functional.avg_pool2d)
class AvgPool2d(_Average[tuple[int, int]]):
    """A layer that averages the elements of each window of images.

    Parameters
    ----------
    kernel_size : of the windows, a number for both axes or a pair
    stride : from a window to the next, `kernel_size` if None
    padding : zeros added at both ends of the axes
    ceil_mode : whether a last window that reaches beyond the end counts
    count_include_pad : whether the zeros count as elements
    divisor_override : what sums are divided by, in place of the number of elements

    Examples
    --------
    >>> dk.nn.AvgPool2d(2)(dk.asarray([[1.0, 2.0, 0.0, 5.0], [4.0, 3.0, 7.0, 6.0]]))
    tensor([[2.5000, 4.5000]])
    """

    divisor_override: int | None = None


@declared(functional.avg_pool3d)
class AvgPool3d(_Average[tuple[int, int, int]]):
    """A layer that averages the elements of each window of volumes.

    Parameters
    ----------
    kernel_size : of the windows, a number for all axes or three
    stride : from a window to the next, `kernel_size` if None
    padding : zeros added at both ends of the axes
    ceil_mode : whether a last window that reaches beyond the end counts
    count_include_pad : whether the zeros count as elements
    divisor_override : what sums are divided by, in place of the number of elements

    Examples
    --------
    >>> dk.nn.AvgPool3d(2)(dk.ones((1, 4, 4, 4))).shape
    (1, 2, 2, 2)
    """

    divisor_override: int | None = None


@declared(functional.adaptive_avg_pool1d)
class AdaptiveAvgPool1d(Pooling):
    """A layer that averages the elements of windows, chosen so that sequences of a given length come out.

    Parameters
    ----------
    output_size : of what comes out, a number or a tuple of one; None in a tuple keeps the axis as it is

    Examples
    --------
    >>> dk.nn.AdaptiveAvgPool1d(2)(dk.asarray([[1.0, 2.0, 3.0]]))
    tensor([[1.5000, 2.5000]])
    """

    output_size: Single | tuple[int | None]


@declared(functional.adaptive_avg_pool3d)
class AdaptiveAvgPool3d(Pooling):
    """A layer that averages the elements of windows, chosen so that volumes of a given size come out.

    Parameters
    ----------
    output_size : of what comes out, a number for all axes or three; None among three keeps an axis as it is

    Examples
    --------
    >>> dk.nn.AdaptiveAvgPool3d(1)(dk.ones((1, 2, 2, 2)))
    tensor([[[[1.]]]])
    """

    output_size: Triple | tuple[int | None, int | None, int | None]


@declared(functional.adaptive_avg_pool2d)
class AdaptiveAvgPool2d(Pooling):
    """A layer that averages the elements of windows, chosen so that images of a given size come out.

    Parameters
    ----------
    output_size : of what comes out, a number for both axes or a pair; None in a pair keeps an axis as it is

    Examples
    --------
    >>> dk.nn.AdaptiveAvgPool2d(1)(dk.asarray([[1.0, 2.0], [3.0, 6.0]]))
    tensor([[3.]])
    """

    output_size: Pair | tuple[int | None, int | None]
