"""Images made smaller: `max_pool2d`, `avg_pool2d`, `adaptive_avg_pool2d`."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import dtype_name, is_complex, is_inexact
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.samples import draw, sample
from dispatchkit.nn.functional.shared import Pair, expect, function, real_numbers, sizes
from dispatchkit.nn.functional.windows import Windows, cropped, padded, places, summed_windows
from dispatchkit.ops.shared import Named, floating, integer, shape_of
from dispatchkit.tensor import Tensor

__all__ = ["adaptive_avg_pool2d", "avg_pool2d", "max_pool2d"]


@function(
    samples=lambda: [
        sample(draw(2, 1, 4, 4, content="distinct"), 2),
        sample(draw(2, 5, 5, content="distinct"), 3, stride=1, padding=1),
        sample(draw(1, 5, 4, content="distinct"), (2, 1), stride=(2, 3), ceil_mode=True),
        sample(draw(1, 5, 5, content="distinct"), 2, stride=2, dilation=2),
        sample(draw(0, 2, 2), 2),
    ],
    real=True,
)
def max_pool2d(
    xp: Any,
    x: Tensor,
    /,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Find the largest element of each window of images.

    Parameters
    ----------
    x : images, array of shape (..., H, W) of real numbers
    kernel_size : of the windows, a number for both axes or a pair
    stride : from a window to the next; by default windows lie side by side
    padding : elements added at both ends of the axes, which are never the largest; at most half the window
    dilation : from an element of a window to the next
    ceil_mode : whether a last window that reaches beyond the end counts, if it begins before

    Returns
    -------
    array of shape (..., H', W') and the dtype of `x`; NaN where a window has one

    Raises
    ------
    TypeError : for complex numbers, or a parameter that is no int
    ValueError : if no window fits, or the padding is too large

    Notes
    -----
    Of equal elements the first one receives the cotangent, of a window with a NaN none does. Source: PyTorch,
    `torch.nn.functional.max_pool2d`.

    Examples
    --------
    >>> dk.nn.functional.max_pool2d(dk.asarray([[1.0, 2.0, 0.0, 5.0], [4.0, 3.0, 7.0, 6.0]]), 2)
    tensor([[4., 7.]])
    """
    real_numbers(max_pool2d, "x", x)
    rows, columns = _windows(max_pool2d, x, kernel_size, stride, padding, dilation, ceil_mode)
    x = padded(xp, x, rows, columns, _least(xp, x.dtype))
    for axis, windows in ((-2, rows), (-1, columns)):
        first, *others = windows.elements(x, axis)
        # A new array also where windows have one element.
        x = reduce(xp.maximum, others or [first], first)
    return x


def _least(xp: Any, dtype: Any) -> Any:
    """Return what no element of a dtype is less than."""
    if is_inexact(dtype):
        return -float("inf")
    return False if dtype_name(dtype) == "bool" else xp.iinfo(dtype).min


@max_pool2d.def_vjp
def max_pool2d_vjp(xp, g, y, x, kernel_size, stride, padding, dilation, ceil_mode):
    rows, columns = _windows(max_pool2d, x, kernel_size, stride, padding, dilation, ceil_mode)
    images = padded(xp, x, rows, columns, _least(xp, x.dtype))
    if xp is numpy_namespace:
        return _given_to_largest(g, y, images, rows, columns)
    zero = xp.zeros_like(g)
    parts = [xp.where(is_largest, g, zero) for is_largest in _first_largest(y, images, rows, columns)]
    return summed_windows(xp, parts, tuple(x.shape), g.dtype, rows, columns)


def _given_to_largest(g: Any, y: Any, images: Any, rows: Windows, columns: Windows) -> Any:
    """Return the cotangent of NumPy arrays."""
    total = np.zeros(images.shape, g.dtype)
    apart = rows.apart and columns.apart
    for place, is_largest in zip(places(rows, columns), _first_largest(y, images, rows, columns), strict=True):
        target = total[place]
        if apart:
            np.multiply(g, is_largest, out=target)
        else:
            np.add(target, g, out=target, where=is_largest)
    return cropped(total, rows, columns)


def _first_largest(y: Any, images: Any, rows: Windows, columns: Windows) -> Iterator[Any]:
    """Yield for each place in a window whether the first of its largest elements stands there."""
    free: Any = None
    for place in places(rows, columns):
        is_largest = images[place] == y
        if free is None:
            free = ~is_largest
        else:
            is_largest = is_largest & free
            free = free ^ is_largest
        yield is_largest


@max_pool2d.def_jvp
def max_pool2d_jvp(xp, t, y, x, kernel_size, stride, padding, dilation, ceil_mode):
    rows, columns = _windows(max_pool2d, x, kernel_size, stride, padding, dilation, ceil_mode)
    images, tangents = padded(xp, x, rows, columns, _least(xp, x.dtype)), padded(xp, t, rows, columns)
    total = xp.zeros_like(y)
    for place, is_largest in zip(places(rows, columns), _first_largest(y, images, rows, columns), strict=True):
        total = xp.where(is_largest, tangents[place], total)
    return total


@function(
    samples=lambda: [
        sample(draw(2, 1, 4, 4), 2),
        sample(draw(2, 5, 5), 3, stride=1, padding=1),
        sample(draw(1, 5, 4), (3, 1), stride=(2, 3), padding=(1, 0), ceil_mode=True, count_include_pad=False),
        sample(draw(1, 5, 5), 2, ceil_mode=True, divisor_override=3),
        sample(draw(0, 2, 2), 2),
    ],
)
def avg_pool2d(
    xp: Any,
    x: Tensor,
    /,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Average the elements of each window of images.

    Parameters
    ----------
    x : images, array of shape (..., H, W)
    kernel_size : of the windows, a number for both axes or a pair
    stride : from a window to the next; by default windows lie side by side
    padding : zeros added at both ends of the axes; at most half the window
    ceil_mode : whether a last window that reaches beyond the end counts, if it begins before
    count_include_pad : whether the zeros count as elements
    divisor_override : what sums are divided by; by default the number of elements

    Returns
    -------
    floating-point array of shape (..., H', W')

    Raises
    ------
    TypeError : if a parameter is no int
    ValueError : if no window fits, or the padding is too large

    Notes
    -----
    Linear. Integers are averaged in double precision. Source: PyTorch, `torch.nn.functional.avg_pool2d`.

    Examples
    --------
    >>> dk.nn.functional.avg_pool2d(dk.asarray([[1.0, 2.0, 0.0, 5.0], [4.0, 3.0, 7.0, 6.0]]), 2)
    tensor([[2.5000, 4.5000]])
    """
    rows, columns = _windows(avg_pool2d, x, kernel_size, stride, padding, 1, ceil_mode)
    x = floating(xp, x)
    total = padded(xp, x, rows, columns)
    for axis, windows in ((-2, rows), (-1, columns)):
        total = reduce(operator.add, windows.elements(total, axis))
    return total / _divisor(xp, x, rows, columns, count_include_pad, divisor_override)


def _divisor(
    xp: Any, x: Any, rows: Windows, columns: Windows, count_include_pad: bool, divisor_override: int | None
) -> Any:
    """Return the numbers of elements that are averaged: one number where all windows have as many."""
    if divisor_override is not None:
        count = integer(avg_pool2d, "divisor_override", divisor_override)
        if not count:
            raise ValueError(f"{avg_pool2d.__name__}: divisor_override must not be zero")
        return count
    down, right = (_counts(windows, include=count_include_pad) for windows in (rows, columns))
    if len({*down}) == len({*right}) == 1:
        return down[0] * right[0]
    real = xp.real(x).dtype if is_complex(x.dtype) else x.dtype
    return xp.asarray([[float(i * j) for j in right] for i in down], dtype=real)


def _counts(windows: Windows, *, include: bool) -> list[int]:
    """Return how many elements windows have that lie on the axis, or on what is added as padding."""
    # What lies beyond the padding, so that a last window fits, never counts.
    padding = windows.before
    low, high = (0, windows.length + 2 * padding) if include else (padding, padding + windows.length)
    starts = range(0, windows.stride * windows.count, windows.stride)
    return [max(min(start + windows.kernel, high) - max(start, low), 1) for start in starts]


@avg_pool2d.def_transpose
def avg_pool2d_transpose(xp, g, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    rows, columns = _windows(avg_pool2d, x, kernel_size, stride, padding, 1, ceil_mode)
    part = g / _divisor(xp, g, rows, columns, count_include_pad, divisor_override)
    parts = [part] * (rows.kernel * columns.kernel)
    return summed_windows(xp, parts, tuple(x.shape), g.dtype, rows, columns)


def _windows(
    op: Any, x: Any, kernel_size: Pair, stride: Pair | None, padding: Pair, dilation: Pair, ceil_mode: bool
) -> tuple[Windows, Windows]:
    """Return the windows along both axes of images.

    Raises
    ------
    TypeError, ValueError : as documented for the operations
    """
    kernels = sizes(op, "kernel_size", kernel_size, 2)
    strides = kernels if stride is None else sizes(op, "stride", stride, 2)
    paddings, dilations = sizes(op, "padding", padding, 2, least=0), sizes(op, "dilation", dilation, 2)
    return _plan(op, shape_of(x), kernels, strides, paddings, dilations, bool(ceil_mode))


@lru_cache(maxsize=256)
def _plan(
    op: Named,
    shape: tuple[int, ...],
    kernels: tuple[int, ...],
    strides: tuple[int, ...],
    paddings: tuple[int, ...],
    dilations: tuple[int, ...],
    ceil_mode: bool,
) -> tuple[Windows, Windows]:
    expect(op, "x", shape, len(shape) >= 2, "(..., H, W)")
    if any(2 * n > kernel for n, kernel in zip(paddings, kernels, strict=True)):
        raise ValueError(f"{op.__name__}: padding must be at most half of kernel_size={kernels}, found {paddings}")
    windows = []
    for length, kernel, step, gap, n in zip(shape[-2:], kernels, strides, dilations, paddings, strict=True):
        extent = gap * (kernel - 1) + 1
        after = n
        if ceil_mode:
            # The last window begins on the axis or on the padding before it.
            count = -(-(length + 2 * n - extent) // step) + 1
            count -= (count - 1) * step >= length + n
            after = max(n, (count - 1) * step + extent - length - n)
        windows.append(Windows.along(length, kernel, step, gap, n, after))
    if min(along.count for along in windows) < 1:
        raise ValueError(
            f"{op.__name__}: argument 'x' has shape {shape}, whose images are smaller than the windows of "
            f"kernel_size={kernels}, dilation={dilations}, padding={paddings}"
        )
    return windows[0], windows[1]


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
    op, shape = adaptive_avg_pool2d, shape_of(x)
    expect(op, "x", shape, len(shape) >= 2 and min(shape[-2:]) > 0, "(..., H, W) with elements")
    wanted: Any = output_size
    if isinstance(wanted, (tuple, list)) and len(wanted) == 2:
        wanted = tuple(n if size is None else size for size, n in zip(wanted, shape[-2:], strict=True))
    lengths = sizes(op, "output_size", wanted, 2)
    y = floating(xp, x)
    for axis, (length, n) in enumerate(zip(shape[-2:], lengths, strict=True), start=-2):
        if length == n:
            continue
        behind = (slice(None),) * (-1 - axis)
        parts = [
            xp.mean(y[..., i * length // n : -(-(i + 1) * length // n), *behind], axis=axis, keepdims=True)
            for i in range(n)
        ]
        y = parts[0] if n == 1 else xp.concat(parts, axis=axis)
    return xp.reshape(xp.concat([y], axis=None), y.shape) if lengths == shape[-2:] else y
