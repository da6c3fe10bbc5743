"""Images and volumes made smaller by windows of one size: `max_pool2d`, `avg_pool3d`, ..."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import lru_cache, reduce
from math import prod
from typing import Any

import numpy as np

from dispatchkit.accelerator import computed_by
from dispatchkit.backends.arrays import dtype_name, is_complex, is_inexact, same_dtype
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.numpy_sums import HALF, SINGLE
from dispatchkit.declare.samples import draw, sample
from dispatchkit.nn.functional.pooling_numpy import (
    given_to_largest,
    largest_of_few,
    spread_of_few,
    sums_of_few,
)
from dispatchkit.nn.functional.shared import (
    AXES,
    KINDS,
    Pair,
    Triple,
    expect,
    function,
    real_numbers,
    sizes,
)
from dispatchkit.nn.functional.small_norms_numpy import number_of
from dispatchkit.nn.functional.windows import Grid, Windows, padded, summed_windows
from dispatchkit.ops.shared import Named, floating, integer, shape_of
from dispatchkit.tensor import Tensor

__all__ = [
    "avg_pool2d",
    "avg_pool3d",
    "max_pool2d",
    "max_pool3d",
]


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
    return _largest(xp, max_pool2d, x, windows_of(max_pool2d, x, kernel_size, stride, padding, dilation, ceil_mode))


@function(
    samples=lambda: [
        sample(draw(1, 2, 3, 4, content="distinct"), 2),
        sample(draw(3, 2, 3, content="distinct"), (2, 1, 2), stride=1, padding=(1, 0, 1), dilation=(1, 1, 2)),
    ],
    real=True,
)
def max_pool3d(
    xp: Any,
    x: Tensor,
    /,
    kernel_size: Triple,
    stride: Triple | None = None,
    padding: Triple = 0,
    dilation: Triple = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Find the largest element of each window of volumes.

    Parameters
    ----------
    x : volumes, array of shape (..., D, H, W) of real numbers
    kernel_size : of the windows, a number for all axes or three
    stride : from a window to the next; by default windows lie side by side
    padding : elements added at both ends of the axes, which are never the largest; at most half the window
    dilation : from an element of a window to the next
    ceil_mode : whether a last window that reaches beyond the end counts, if it begins before

    Returns
    -------
    array of shape (..., D', H', W') and the dtype of `x`; NaN where a window has one

    Raises
    ------
    TypeError : for complex numbers, or a parameter that is no int
    ValueError : if no window fits, or the padding is too large

    Notes
    -----
    Of equal elements the first one receives the cotangent, of a window with a NaN none does. Source: PyTorch,
    `torch.nn.functional.max_pool3d`.

    Examples
    --------
    >>> dk.nn.functional.max_pool3d(dk.reshape(dk.arange(8.0), (2, 2, 2)), 2)
    tensor([[[7.]]])
    """
    return _largest(xp, max_pool3d, x, windows_of(max_pool3d, x, kernel_size, stride, padding, dilation, ceil_mode))


def _largest(xp: Any, op: Named, x: Any, windows: Grid) -> Any:
    """Return the largest element of each window."""
    real_numbers(op, "x", x)
    x = padded(xp, x, windows, _least(xp, x.dtype))
    for along in windows.elements:
        first, *others = [x[element] for element in along]
        # A new array also where windows have one element.
        x = reduce(xp.maximum, others or [first], first)
    return x


def _least(xp: Any, dtype: Any) -> Any:
    """Return what no element of a dtype is less than."""
    if is_inexact(dtype):
        return -float("inf")
    if dtype_name(dtype) == "bool":
        return False
    return xp.iinfo(dtype).min


def _given_to_largest(xp: Any, g: Any, y: Any, x: Any, windows: Grid) -> Any:
    """Return the cotangent of what the largest elements of windows are found in.

    Parameters
    ----------
    xp : namespace
    g, y : the cotangent of the largest elements, and these
    x, windows : what they are found in, and where
    """
    if xp is numpy_namespace:
        return given_to_largest(g, y, x, windows)
    each = _first_largest(y, padded(xp, x, windows, np.nan), windows)
    zero = xp.zeros_like(g)
    parts = [xp.where(is_largest, g, zero) for is_largest in each]
    return summed_windows(xp, parts, tuple(x.shape), g.dtype, windows)


def _first_largest(y: Any, images: Any, windows: Grid) -> Iterator[Any]:
    """Yield for each place in a window whether the first of its largest elements stands there.

    Parameters
    ----------
    y : the largest elements
    images : floating-point numbers, NaN around them, which equals none
    windows : over their last axes
    """
    free: Any = None
    for place in windows.places:
        is_largest = images[place] == y
        if free is None:
            free = ~is_largest
        else:
            is_largest = is_largest & free
            free = free ^ is_largest
        yield is_largest


def _tangent_of_largest(xp: Any, op: Named, t: Any, x: Any, windows: Grid) -> Any:
    y = _largest(xp, op, x, windows)
    images, tangents = padded(xp, x, windows, np.nan), padded(xp, t, windows)
    total = xp.zeros_like(y)
    for place, is_largest in zip(windows.places, _first_largest(y, images, windows), strict=True):
        total = xp.where(is_largest, tangents[place], total)
    return total


@computed_by("largest")
def _largest_by_core(x: Any, plan: Any) -> Any:
    """Return the largest element of each window, None where the compiled core does not find it."""
    return None


@computed_by("given_to_largest")
def _given_by_core(g: Any, x: Any, plan: Any, op: Named, windows: Grid) -> Any:
    """Return the cotangent of a NumPy array that the largest elements of windows are found in."""
    return _given_to_largest(numpy_namespace, g, _largest(numpy_namespace, op, x, windows), x, windows)


def _declare_rules(op: Any) -> None:
    """Declare the derivatives of a search for largest elements.

    Where gradients flow through NumPy's arrays the elements are kept, in a copy: a program may change the result in
    place. The rules find them again.
    """

    def flow(x, /, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        windows = windows_of(op, x, kernel_size, stride, padding, dilation, ceil_mode)
        y = _largest_by_core(x, windows.plan)
        if y is not None:
            return y, lambda g, wanted: (_given_by_core(g[0], x, windows.plan, op, windows),)
        answer = largest_of_few(x, windows)
        if answer is not NotImplemented:
            return answer
        y = _largest(numpy_namespace, op, x, windows)
        kept = y.copy()
        return y, lambda g, wanted: (_given_to_largest(numpy_namespace, g[0], kept, x, windows),)

    @op.def_kernel("numpy", flow=flow, reads=("x",))
    def forward(x, /, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        windows = windows_of(op, x, kernel_size, stride, padding, dilation, ceil_mode)
        y = _largest_by_core(x, windows.plan)
        if y is not None:
            return y
        answer = largest_of_few(x, windows)
        if answer is not NotImplemented:
            return answer[0]
        return _largest(numpy_namespace, op, x, windows)

    @op.def_vjp
    def vjp(xp, g, x, kernel_size, stride, padding, dilation, ceil_mode):
        windows = windows_of(op, x, kernel_size, stride, padding, dilation, ceil_mode)
        if xp is numpy_namespace:
            return _given_by_core(g, x, windows.plan, op, windows)
        return _given_to_largest(xp, g, _largest(xp, op, x, windows), x, windows)

    @op.def_jvp
    def jvp(xp, t, x, kernel_size, stride, padding, dilation, ceil_mode):
        return _tangent_of_largest(xp, op, t, x, windows_of(op, x, kernel_size, stride, padding, dilation, ceil_mode))


_declare_rules(max_pool2d)
_declare_rules(max_pool3d)


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
    windows = windows_of(avg_pool2d, x, kernel_size, stride, padding, 1, ceil_mode)
    return _averages(xp, avg_pool2d, floating(xp, x), windows, count_include_pad, divisor_override)


@function(
    samples=lambda: [
        sample(draw(1, 2, 3, 4), 2),
        sample(draw(4, 3, 2), (3, 2, 1), stride=(2, 1, 1), padding=(1, 1, 0), ceil_mode=True, count_include_pad=False),
        sample(draw(1, 2, 2, 2), 2, divisor_override=3),
    ],
)
def avg_pool3d(
    xp: Any,
    x: Tensor,
    /,
    kernel_size: Triple,
    stride: Triple | None = None,
    padding: Triple = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Average the elements of each window of volumes.

    Parameters
    ----------
    x : volumes, array of shape (..., D, H, W)
    kernel_size : of the windows, a number for all axes or three
    stride : from a window to the next; by default windows lie side by side
    padding : zeros added at both ends of the axes; at most half the window
    ceil_mode : whether a last window that reaches beyond the end counts, if it begins before
    count_include_pad : whether the zeros count as elements
    divisor_override : what sums are divided by; by default the number of elements

    Returns
    -------
    floating-point array of shape (..., D', H', W')

    Raises
    ------
    TypeError : if a parameter is no int
    ValueError : if no window fits, or the padding is too large

    Notes
    -----
    Linear. Integers are averaged in double precision. Source: PyTorch, `torch.nn.functional.avg_pool3d`.

    Examples
    --------
    >>> dk.nn.functional.avg_pool3d(dk.reshape(dk.arange(8.0), (2, 2, 2)), (1, 2, 2))
    tensor([[[1.5000]],
            [[5.5000]]])
    """
    windows = windows_of(avg_pool3d, x, kernel_size, stride, padding, 1, ceil_mode)
    return _averages(xp, avg_pool3d, floating(xp, x), windows, count_include_pad, divisor_override)


def _averages(xp: Any, op: Named, x: Any, windows: Grid, include: bool, divisor: int | None) -> Any:
    """Return the sum of each window, divided by what `_divisor` says."""
    if same_dtype(x.dtype, HALF):  # which may not hold the sums
        return xp.astype(_averages(xp, op, xp.astype(x, SINGLE), windows, include, divisor), HALF)
    count = _divisor(xp, op, x, windows, include, divisor)
    if xp is numpy_namespace:
        return _averages_of_numpy(x, windows.plan, count, windows)
    return _sums(xp, x, windows) / count


@computed_by("averages")
def _averages_of_numpy(x: Any, plan: Any, count: Any, windows: Grid) -> Any:
    """Return the sums of the windows of a NumPy array, divided by a number or by one for each window."""
    total = sums_of_few(x, windows)
    if total is not NotImplemented:
        return np.divide(total, number_of(count, x.dtype) if type(count) is int else count, out=total)
    return _sums(numpy_namespace, x, windows) / count


def _sums(xp: Any, x: Any, windows: Grid) -> Any:
    """Return the sum of each window."""
    total = padded(xp, x, windows)
    for along in windows.elements:
        total = reduce(operator.add, [total[element] for element in along])
    return total


def _divisor(xp: Any, op: Named, x: Any, windows: Grid, include: bool, divisor: int | None) -> Any:
    """Return the numbers of elements that are averaged: one number where all windows have as many."""
    if divisor is not None:
        count = integer(op, "divisor_override", divisor)
        if not count:
            raise ValueError(f"{op.__name__}: divisor_override must not be zero")
        return count
    if not windows.grows:
        return windows.size
    if xp is numpy_namespace:
        return _counts_of_windows(windows, include, x.dtype)
    counts = _counts_of_windows(windows, include)
    if type(counts) is int:
        return counts
    real = xp.real(x).dtype if is_complex(x.dtype) else x.dtype
    return xp.asarray(counts.tolist(), dtype=real)


@lru_cache(maxsize=256)
def _counts_of_windows(windows: Grid, include: bool, dtype: Any = None) -> Any:
    """Return how many elements the windows have: one number where all have as many, else numbers not to be changed.

    Parameters
    ----------
    windows, include : as for `_divisor`
    dtype : of what is divided, for numbers in the dtype of its real parts
    """
    counts: Any = [_counts(along, include=include) for along in windows]
    if all(len({*along}) == 1 for along in counts):
        return prod(along[0] for along in counts)
    each = reduce(np.multiply.outer, counts)
    if dtype is None:
        return each
    return each.astype(np.empty(0, dtype).real.dtype)


def _counts(windows: Windows, *, include: bool) -> list[int]:
    """Return how many elements windows have that lie on the axis, or on what is added as padding."""
    # What lies beyond the padding, so that a last window fits, never counts.
    padding = windows.before
    if include:
        low, high = 0, windows.length + 2 * padding
    else:
        low, high = padding, padding + windows.length
    starts = range(0, windows.stride * windows.count, windows.stride)
    return [max(min(start + windows.kernel, high) - max(start, low), 1) for start in starts]


@avg_pool2d.def_transpose
def avg_pool2d_transpose(xp, g, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    windows = windows_of(avg_pool2d, x, kernel_size, stride, padding, 1, ceil_mode)
    return _given_to_all(xp, avg_pool2d, g, x, windows, count_include_pad, divisor_override)


@avg_pool3d.def_transpose
def avg_pool3d_transpose(xp, g, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    windows = windows_of(avg_pool3d, x, kernel_size, stride, padding, 1, ceil_mode)
    return _given_to_all(xp, avg_pool3d, g, x, windows, count_include_pad, divisor_override)


def _given_to_all(xp: Any, op: Named, g: Any, x: Any, windows: Grid, include: bool, divisor: int | None) -> Any:
    count = _divisor(xp, op, g, windows, include, divisor)
    if xp is numpy_namespace:
        return _spread(g, windows.plan, count, tuple(x.shape), windows)
    return summed_windows(xp, [g / count] * windows.size, tuple(x.shape), g.dtype, windows)


@computed_by("shares")
def _spread(g: Any, plan: Any, count: Any, shape: tuple[int, ...], windows: Grid) -> Any:
    """Return the transpose of averages for NumPy arrays: each element of a window has its share."""
    shares = g / count
    of_x = spread_of_few(shares, windows)
    if of_x is not NotImplemented:
        return of_x
    return summed_windows(numpy_namespace, [shares] * windows.size, shape, g.dtype, windows)


def windows_of(op: Any, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Grid:
    """Return the windows along the last axes.

    Raises
    ------
    TypeError, ValueError : as documented for the operations
    """
    if type(kernel_size) is type(padding) is type(dilation) is int and (stride is None or type(stride) is int):
        return _plan_of_numbers(op, shape_of(x), kernel_size, stride, padding, dilation, bool(ceil_mode))
    return _plan_of_sizes(op, shape_of(x), kernel_size, stride, padding, dilation, ceil_mode)


@lru_cache(maxsize=256)
def _plan_of_numbers(op: Named, shape: tuple[int, ...], *options: Any) -> Grid:
    """Return the windows that are alike along all axes, of which a second look takes a third of the time."""
    return _plan_of_sizes(op, shape, *options)


def _plan_of_sizes(
    op: Named, shape: tuple[int, ...], kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any
) -> Grid:
    axes = int(op.__name__[-2])  # as in "max_pool2d"
    kernels = sizes(op, "kernel_size", kernel_size, axes)
    strides = kernels
    if stride is not None:
        strides = sizes(op, "stride", stride, axes)
    paddings, dilations = sizes(op, "padding", padding, axes, least=0), sizes(op, "dilation", dilation, axes)
    return _plan(op, shape, kernels, strides, paddings, dilations, bool(ceil_mode))


@lru_cache(maxsize=256)
def _plan(
    op: Named,
    shape: tuple[int, ...],
    kernels: tuple[int, ...],
    strides: tuple[int, ...],
    paddings: tuple[int, ...],
    dilations: tuple[int, ...],
    ceil_mode: bool,
) -> Grid:
    axes = len(kernels)
    expect(op, "x", shape, len(shape) >= axes, f"(..., {AXES[axes]})")
    if any(2 * n > kernel for n, kernel in zip(paddings, kernels, strict=True)):
        raise ValueError(f"{op.__name__}: padding must be at most half of kernel_size={kernels}, found {paddings}")
    windows = []
    for length, kernel, step, gap, n in zip(shape[-axes:], kernels, strides, dilations, paddings, strict=True):
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
            f"{op.__name__}: argument 'x' has shape {shape}, whose {KINDS[axes]} are smaller than the windows of "
            f"kernel_size={kernels}, dilation={dilations}, padding={paddings}"
        )
    return Grid(windows)
