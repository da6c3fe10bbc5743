"""Sequences, images and volumes averaged so that a given size comes out: `adaptive_avg_pool1d`, ..."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dispatchkit.declare.samples import draw, sample
from dispatchkit.nn.functional.pooling_numpy import averages_of_blocks
from dispatchkit.nn.functional.shared import AXES, Pair, Single, Triple, expect, function, result_of, sizes
from dispatchkit.ops.shared import Named, floating, shape_of
from dispatchkit.tensor import Tensor

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"]


@function(samples=lambda: [sample(draw(2, 1, 4), 2), sample(draw(2, 5), 3), sample(draw(1, 3), (None,))])
def adaptive_avg_pool1d(xp: Any, x: Tensor, /, output_size: Single | tuple[int | None]) -> Tensor:
    """Average the elements of windows that are chosen so that sequences of a given length come out.

    Parameters
    ----------
    x : sequences, array of shape (..., L)
    output_size : of what comes out, a number or a tuple of one; None in a tuple keeps the axis as it is

    Returns
    -------
    floating-point array of shape (..., *output_size)

    Raises
    ------
    TypeError : if a size is no int
    ValueError : if sequences have no elements

    Notes
    -----
    Window i of n reaches from ``floor(i * L / n)`` to ``ceil((i + 1) * L / n)``. Source: PyTorch,
    `torch.nn.functional.adaptive_avg_pool1d`.

    Examples
    --------
    >>> dk.nn.functional.adaptive_avg_pool1d(dk.asarray([1.0, 2.0, 3.0]), 2)
    tensor([1.5000, 2.5000])
    """
    return _averages_of(xp, adaptive_avg_pool1d, x, output_size)


@function(
    samples=lambda: [
        sample(draw(2, 1, 4, 4), 2),
        sample(draw(2, 5, 4), (2, 3)),
        sample(draw(1, 3, 4), (None, 1)),
        sample(draw(1, 2, 2), 3),
    ],
)
def adaptive_avg_pool2d(xp: Any, x: Tensor, /, output_size: Pair | tuple[int | None, int | None]) -> Tensor:
    """Average the elements of windows that are chosen so that images of a given size come out.

    Parameters
    ----------
    x : images, array of shape (..., H, W)
    output_size : of what comes out, a number for both axes or a pair; None in a pair keeps an axis as it is

    Returns
    -------
    floating-point array of shape (..., *output_size)

    Raises
    ------
    TypeError : if a size is no int
    ValueError : if images have no elements

    Notes
    -----
    Window i of n along an axis reaches from ``floor(i * H / n)`` to ``ceil((i + 1) * H / n)``. Source: PyTorch,
    `torch.nn.functional.adaptive_avg_pool2d`.

    Examples
    --------
    >>> dk.nn.functional.adaptive_avg_pool2d(dk.asarray([[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]), (1, 2))
    tensor([[3.5000, 4.5000]])
    """
    return _averages_of(xp, adaptive_avg_pool2d, x, output_size)


@function(samples=lambda: [sample(draw(2, 1, 2, 4, 2), 2), sample(draw(2, 2, 3, 2), (None, 2, 3))])
def adaptive_avg_pool3d(
    xp: Any, x: Tensor, /, output_size: Triple | tuple[int | None, int | None, int | None]
) -> Tensor:
    """Average the elements of windows that are chosen so that volumes of a given size come out.

    Parameters
    ----------
    x : volumes, array of shape (..., D, H, W)
    output_size : of what comes out, a number for all axes or three; None among three keeps an axis as it is

    Returns
    -------
    floating-point array of shape (..., *output_size)

    Raises
    ------
    TypeError : if a size is no int
    ValueError : if volumes have no elements

    Notes
    -----
    Window i of n along an axis reaches from ``floor(i * D / n)`` to ``ceil((i + 1) * D / n)``. Source: PyTorch,
    `torch.nn.functional.adaptive_avg_pool3d`.

    Examples
    --------
    >>> dk.nn.functional.adaptive_avg_pool3d(dk.reshape(dk.arange(8.0), (2, 2, 2)), (2, 1, 1))
    tensor([[[1.5000]],
            [[5.5000]]])
    """
    return _averages_of(xp, adaptive_avg_pool3d, x, output_size)


def _lengths_of_averages(op: Named, x: Any, output_size: Any) -> tuple[int, ...]:
    """Return the lengths of the last axes of what comes out of adaptive pooling."""
    if type(output_size) is int:
        return _lengths_of_number(op, shape_of(x), output_size)
    return _lengths_of_sizes(op, shape_of(x), output_size)


@lru_cache(maxsize=256)
def _lengths_of_number(op: Named, shape: tuple[int, ...], output_size: int) -> tuple[int, ...]:
    return _lengths_of_sizes(op, shape, output_size)


def _lengths_of_sizes(op: Named, shape: tuple[int, ...], output_size: Any) -> tuple[int, ...]:
    axes = int(op.__name__[-2])
    expect(op, "x", shape, len(shape) >= axes and min(shape[-axes:]) > 0, f"(..., {AXES[axes]}) with elements")
    if isinstance(output_size, (tuple, list)) and len(output_size) == axes:
        output_size = tuple(n if size is None else size for size, n in zip(output_size, shape[-axes:], strict=True))
    return sizes(op, "output_size", output_size, axes)


def _declare_kernel(op: Any) -> None:
    """Declare the fast path of averages whose windows lie side by side."""

    def flow(x, /, output_size):
        return averages_of_blocks(x, _lengths_of_averages(op, x, output_size))

    @op.def_kernel("numpy", flow=flow)
    def forward(x, /, output_size):
        return result_of(flow(x, output_size))


for _operation in (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d):
    _declare_kernel(_operation)


def _averages_of(xp: Any, op: Named, x: Any, output_size: Any) -> Any:
    """Return the averages of the windows of adaptive pooling."""
    shape, lengths = shape_of(x), _lengths_of_averages(op, x, output_size)
    axes, y = len(lengths), floating(xp, x)
    if all(n % length == 0 for n, length in zip(shape[-axes:], lengths, strict=True)) and lengths != shape[-axes:]:
        # Windows of one length, side by side: axes of their own.
        split = [part for n, length in zip(shape[-axes:], lengths, strict=True) for part in (length, n // length)]
        return xp.mean(xp.reshape(y, (*shape[:-axes], *split)), axis=tuple(range(1 - 2 * axes, 0, 2)))
    for axis, (length, n) in enumerate(zip(shape[-axes:], lengths, strict=True), start=-axes):
        if length == n:
            continue
        behind = (slice(None),) * (-1 - axis)
        parts = [
            xp.mean(y[..., i * length // n : -(-(i + 1) * length // n), *behind], axis=axis, keepdims=True)
            for i in range(n)
        ]
        if n == 1:
            y = parts[0]
        else:
            y = xp.concat(parts, axis=axis)
    if lengths == shape[-axes:]:
        return xp.reshape(xp.concat([y], axis=None), y.shape)
    return y
