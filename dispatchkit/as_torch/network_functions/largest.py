"""The largest elements of windows, and what puts them back: `max_pool2d`, `adaptive_max_pool2d` and their like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from dispatchkit import nn
from dispatchkit.as_torch.shared import gradient_alone, in_memory
from dispatchkit.as_torch.table import TRANSLATIONS
from dispatchkit.backends.numpy_sums import SINGLE
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.nn import functional
from dispatchkit.nn.functional.pooling import windows_of
from dispatchkit.nn.functional.shared import sizes


def _largest(input, tables, return_indices):
    """Return the largest element of each window over the last axes, and where they stand in these.

    Parameters
    ----------
    input : the array
    tables : for each axis, places of the elements of each window, which may be beyond the axis: arrays of shape
        (..., windows, elements)
    return_indices : whether the places are returned, too
    """
    n = len(tables)
    lead, flat = input.shape[:-n], np.zeros((1,) * (2 * n), np.int64)
    for axis, (table, length) in enumerate(zip(tables, input.shape[-n:], strict=True)):
        inside = (table >= 0) & (table < length)
        table = np.where(inside, table, np.take_along_axis(table, inside.argmax(-1)[..., None], -1))
        flat = flat * length + np.expand_dims(table, [i - 2 * n for i in range(2 * n) if i % n != axis])
    counts = flat.shape[-2 * n : -n]
    flat = np.broadcast_to(flat, (*lead, *flat.shape[-2 * n :])).reshape(
        *lead, math.prod(counts), math.prod(flat.shape[-n:])
    )
    places = xp.asarray(flat, like=input)
    rows = xp.reshape(input, (*lead, 1, math.prod(input.shape[-n:])))
    elements = xp.take_along_axis(rows, places, axis=-1)
    best = xp.argmax(elements, axis=-1, keepdims=True)
    if xp.isdtype(input.dtype, "real floating"):
        # The last one that is NaN, as PyTorch takes one in the place of another.
        is_nan = xp.isnan(elements)
        last = xp.argmax(xp.where(is_nan, places, -1), axis=-1, keepdims=True)
        best = xp.where(xp.any(is_nan, axis=-1, keepdims=True), last, best)
    results = [xp.reshape(xp.take_along_axis(x, best, axis=-1), (*lead, *counts)) for x in (elements, places)]
    if return_indices:
        return tuple(results)
    return results[0]


def _largest_side_by_side(pooled, input, lengths, counts):
    """Return the largest element of each window, of windows of one length; None where they are not, or one has a NaN.

    Parameters
    ----------
    pooled : finds them; what it finds gives its gradient to no NaN, unlike PyTorch's adaptive pooling
    input : array of floating-point numbers, of others nothing is found
    lengths, counts : of the last axes, and of windows along each of them
    """
    if any(length % count for length, count in zip(lengths, counts, strict=True)):
        return None
    if not in_memory(input) or input.array.dtype not in (SINGLE, np.float64):
        return None
    kernels = tuple([length // count for length, count in zip(lengths, counts, strict=True)])
    if len({*kernels}) == 1:
        y = pooled(input, kernels[0])
    else:
        y = pooled(input, kernels)
    if y.requires_grad and np.isnan(y.array).any():
        return None
    return y


def _for_each_axis(value, axes):
    """Return a value for each axis; one that is no sequence is that of all."""
    if isinstance(value, Sequence):
        return value
    return (value,) * axes


def _lengths_along(layer, axes, name, value, default=None):
    """Return a length for each axis, that of `default` where there is none."""
    values = _for_each_axis(value, axes)
    if default is not None and len(values) == axes:
        values = [n if v is None else v for v, n in zip(values, default, strict=True)]
    return sizes(layer, name, values, axes)


def _times_ratios(lengths, ratios):
    """Return lengths times ratios, rounded down."""
    return tuple(int(n * ratio) for n, ratio in zip(lengths, ratios, strict=True))


def _of_no_windows(input, counts, return_indices):
    """Return the largest elements of no windows, and where they stand."""
    axes = len(counts)
    lengths = [length if n is None else n for n, length in zip(counts, input.shape[-axes:], strict=True)]
    shape = (*input.shape[:-axes], *lengths)
    nothing = xp.zeros(shape, dtype=input.dtype)
    if return_indices:
        return nothing, xp.zeros(shape, dtype=xp.int64)
    return nothing


def _unpooling(axes):
    """Return the function that puts elements back where the largest of windows stood."""
    layer = getattr(nn, f"MaxPool{axes}d")
    several = partial(_lengths_along, layer, axes)

    def max_unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        lead, lengths = input.shape[:-axes], output_size
        if lengths is None:
            kernels, ends = several("kernel_size", kernel_size), sizes(layer, "padding", padding, axes, least=0)
            along = zip(input.shape[-axes:], several("stride", stride or kernels), ends, kernels, strict=True)
            lengths = [(n - 1) * s - 2 * p + k for n, s, p, k in along]
        lengths = lengths[-axes:]
        zeros = xp.zeros((*lead, math.prod(lengths)), dtype=input.dtype)
        if not zeros.numel():
            return xp.reshape(zeros, (*lead, *lengths))
        places, elements = (xp.reshape(x, (*lead, -1)) for x in (indices, input))
        y = TRANSLATIONS["scatter"](zeros, -1, places, elements.detach())
        # Each of several elements for a place gets the gradient there, as in PyTorch.
        return xp.reshape(y + xp.scatter_add(zeros, -1, places, gradient_alone(elements)), (*lead, *lengths))

    return max_unpool


def _room_of_windows(length, kernel, count):
    """Return how far the last of windows begins behind the first, of which no two may begin together."""
    room = length - kernel
    if count > room + 1:
        raise RuntimeError(
            f"fractional_max_pool: windows of {kernel} are too large relative to an axis of length {length} for "
            f"{count} of them"
        )
    return room


def _pooling(axes):
    """Return the function that finds the largest elements of windows over a number of axes."""
    layer = getattr(nn, f"MaxPool{axes}d")
    pooled = getattr(functional, f"max_pool{axes}d", None)

    def max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        if not return_indices and pooled is not None:
            return pooled(input, kernel_size, stride, padding, dilation, ceil_mode)
        if not return_indices:
            return layer(kernel_size, stride, padding, dilation, ceil_mode)(input)
        windows = windows_of(layer, input, kernel_size, stride, padding, dilation, ceil_mode)
        starts = [np.arange(along.count)[:, None] * along.stride - along.before for along in windows]
        tables = [s + np.arange(w.kernel) * w.dilation for s, w in zip(starts, windows, strict=True)]
        return _largest(input, tables, True)

    return max_pool


def _of_windows(axes):
    """Yield the functions of largest elements of windows over a number of axes."""
    layer = getattr(nn, f"MaxPool{axes}d")
    several = partial(_lengths_along, layer, axes)
    pooled = getattr(functional, f"max_pool{axes}d", None)

    def adaptive_max_pool(input, output_size, return_indices=False):
        tables, lengths = [], input.shape[-axes:]
        counts = _for_each_axis(output_size, axes)
        if 0 in counts and len(counts) == axes:
            return _of_no_windows(input, counts, return_indices)
        counts = several("output_size", output_size, lengths)
        if pooled is not None and not return_indices and 0 not in lengths:
            y = _largest_side_by_side(pooled, input, lengths, counts)
            if y is not None:
                return y
        for length, n in zip(lengths, counts, strict=True):
            starts, ends = np.arange(n) * length // n, -(-np.arange(1, n + 1) * length // n)
            tables.append(np.minimum(starts[:, None] + np.arange(max(ends - starts)), ends[:, None] - 1))
        return _largest(input, tables, return_indices)

    def fractional_max_pool(
        input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        lead, lengths, kernels = input.shape[:-axes], input.shape[-axes:], several("kernel_size", kernel_size)
        if output_size is None:
            output_size = _times_ratios(lengths, _for_each_axis(output_ratio, axes))
        counts = _for_each_axis(output_size, axes)
        if 0 in counts and len(counts) == axes:
            return _of_no_windows(input, counts, return_indices)
        if _random_samples is None:
            _random_samples = xp.random.uniform(shape=(*lead, axes))
        samples = _random_samples.numpy().reshape(*lead, axes)
        tables = []
        for axis, count in enumerate(several("output_size", output_size)):
            share, room = samples[..., axis, None], _room_of_windows(lengths[axis], kernels[axis], count)
            step = room / max(count - 1, 1)
            starts = np.floor((np.arange(count) + share) * step) - np.floor(share * step)
            starts[..., -1] = room
            tables.append(starts.astype(np.int64)[..., None] + np.arange(kernels[axis]))
        return _largest(input, tables, return_indices)

    yield from (_pooling(axes), adaptive_max_pool, _unpooling(axes))
    if axes > 1:
        yield fractional_max_pool


for _axes in (1, 2, 3):
    TRANSLATIONS.update({f"nn.functional.{each.__name__}{_axes}d": each for each in _of_windows(_axes)})
