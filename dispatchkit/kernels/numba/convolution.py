"""Convolution without copies of windows: sums of images that are shifted in memory, times the weights.

A block is some images, or some lines of one, with zeros around them. Where windows are a stride apart, it is as many
images as the stride is long, of every second, third, ... element. The elements that windows have in one place then lie
in one piece of memory, at the distance of the place. Outputs are computed for whole lines of a block; what lies beyond
the last window of a line is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.kernels.numba.rows import loop, summing_loop
from dispatchkit.nn.functional.convolution import (
    conv1d,
    conv2d,
    conv_transpose1d,
    conv_transpose2d,
    product_of,
)
from dispatchkit.nn.functional.normalization import DTYPES
from dispatchkit.nn.functional.windows import Grid, Product, Windows

# Outputs that are summed at a time, of which a few rows stay in the first cache; a multiple of what a register holds.
TILE, REGISTER = 1104, 16
SECOND, THIRD, FOURTH = (np.uint64(i * TILE) for i in (1, 2, 3))
# The fewest lines of an image in a block.
LINES = 8
# Products of large matrices take less time where a smaller share of a block than this is outputs.
SHARE, LARGE = 0.7, 64


class Plan(NamedTuple):
    """How images are divided into blocks, and where outputs are written."""

    images: int  # of a block
    lines: int  # of windows, of each image of a block
    height: int
    width: int
    down: int  # strides
    right: int
    above: int  # what is added to images
    before: int
    high: int  # windows of an image
    wide: int
    length: int  # outputs of a block, with those that are left out
    first_row: int
    row_step: int
    first_column: int
    column_step: int


# What follows takes arrays whole and unsigned places in them: a view of an array would cost as much as a line of
# numbers, and a place that may be negative keeps several numbers from being computed at a time.
@loop
def _pack(x: Any, shape: Any, first: int, line: int, channel: int, plan: Any, memory: Any, channels: int) -> None:
    """Write images (N, C, H, W) from a channel on into a block (channels, down, right, images, height, width)."""
    place = 0
    for c in range(channel, channel + channels):
        for i in range(plan.down):
            for j in range(plan.right):
                # Of a line: the first and last elements that images have, and where the first lies in them.
                start = j - plan.before
                head = min(max(0, -(start // plan.right)), plan.width)
                tail = min(max(head, (shape[3] - start + plan.right - 1) // plan.right), plan.width)
                for b in range(first, first + plan.images):
                    for h in range(line, line + plan.height):
                        row = h * plan.down + i - plan.above
                        low = head if b < shape[0] and 0 <= row < shape[2] else tail
                        source = ((b * shape[1] + c) * shape[2] + row) * shape[3] + start + low * plan.right
                        for k in range(low):
                            memory[np.uint64(place + k)] = 0
                        if plan.right == 1:
                            for k in range(tail - low):
                                memory[np.uint64(place + low + k)] = x[np.uint64(source + k)]
                        else:
                            for k in range(tail - low):
                                memory[np.uint64(place + low + k)] = x[np.uint64(source + k * plan.right)]
                        for k in range(tail, plan.width):
                            memory[np.uint64(place + k)] = 0
                        place += plan.width


@loop
def _add_four(sums: Any, n: int, memory: Any, places: Any, k: int, start: int, weight: Any, f: int) -> None:
    """Add three pieces of memory, times their weights, to four sums."""
    a0, a1, a2 = weight[f, k], weight[f, k + 1], weight[f, k + 2]
    b0, b1, b2 = weight[f + 1, k], weight[f + 1, k + 1], weight[f + 1, k + 2]
    c0, c1, c2 = weight[f + 2, k], weight[f + 2, k + 1], weight[f + 2, k + 2]
    d0, d1, d2 = weight[f + 3, k], weight[f + 3, k + 1], weight[f + 3, k + 2]
    p, q, r = np.uint64(places[k] + start), np.uint64(places[k + 1] + start), np.uint64(places[k + 2] + start)
    for i in range(n):
        j = np.uint64(i)
        x, y, z = memory[p + j], memory[q + j], memory[r + j]
        sums[j] = sums[j] + a0 * x + a1 * y + a2 * z
        sums[j + SECOND] = sums[j + SECOND] + b0 * x + b1 * y + b2 * z
        sums[j + THIRD] = sums[j + THIRD] + c0 * x + c1 * y + c2 * z
        sums[j + FOURTH] = sums[j + FOURTH] + d0 * x + d1 * y + d2 * z


@loop
def _add_one(sums: Any, n: int, memory: Any, places: Any, k: int, start: int, weight: Any, f: int) -> None:
    a, b, c = weight[f, k], weight[f, k + 1], weight[f, k + 2]
    p, q, r = np.uint64(places[k] + start), np.uint64(places[k + 1] + start), np.uint64(places[k + 2] + start)
    for i in range(n):
        j = np.uint64(i)
        sums[j] = sums[j] + a * memory[p + j] + b * memory[q + j] + c * memory[r + j]


@loop
def _put(sums: Any, offset: int, start: int, stop: int, first: int, line: int, channel: int, plan: Any, y: Any) -> None:
    """Write the sums of a block from `start` on to where outputs lie; they are given from `given` on."""
    offset -= start
    for b in range(min(plan.images, y.shape[0] - first)):
        for h in range(min(plan.lines, plan.high - line)):
            place = (b * plan.height + h) * plan.width
            row = plan.first_row + (line + h) * plan.row_step
            low, high = max(place, start), min(place + plan.wide, stop)
            if plan.column_step == 1:
                for j in range(low, high):
                    y[first + b, channel, row, np.uint64(j - place)] = sums[np.uint64(offset + j)]
            else:
                for j in range(low, high):
                    column = np.uint64(plan.first_column + (j - place) * plan.column_step)
                    y[first + b, channel, row, column] = sums[np.uint64(offset + j)]


@loop
def _convolve(x: Any, weight: Any, bias: Any, places: Any, plan: Any, memory: Any, channels: int, y: Any) -> None:
    flat, sums = x.reshape(-1), np.empty(4 * TILE, y.dtype)
    groups, filters = weight.shape[:2]
    for first in range(0, x.shape[0], plan.images):
        for line in range(0, plan.high, plan.lines):
            for group in range(groups):
                _pack(flat, x.shape, first, line, group * channels, plan, memory, channels)
                weights = weight[group]
                for start in range(0, plan.length, TILE):
                    stop, f = min(start + TILE, plan.length), 0
                    while f < filters:
                        channel, some = group * filters + f, 4 if f + 4 <= filters else 1
                        for i in range(some):
                            for j in range(stop - start):
                                sums[np.uint64(i * TILE + j)] = bias[channel + i]
                        for k in range(0, places.size, 3):
                            if some == 4:
                                _add_four(sums, stop - start, memory, places, k, start, weights, f)
                            else:
                                _add_one(sums, stop - start, memory, places, k, start, weights, f)
                        for i in range(some):
                            _put(sums, i * TILE, start, stop, first, line, channel + i, plan, y)
                        f += some


@summing_loop
def _dots_four(rows: Any, start: int, stop: int, memory: Any, places: Any, k: int, y: Any, f: int) -> None:
    """Add the products of four rows with three pieces of memory."""
    a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = memory.dtype.type(0)
    p, q, r = np.uint64(places[k]), np.uint64(places[k + 1]), np.uint64(places[k + 2])
    for i in range(start, stop):
        j = np.uint64(i)
        x0, x1, x2 = memory[p + j], memory[q + j], memory[r + j]
        g0, g1, g2, g3 = rows[f, j], rows[f + 1, j], rows[f + 2, j], rows[f + 3, j]
        a0, a1, a2 = a0 + g0 * x0, a1 + g0 * x1, a2 + g0 * x2
        b0, b1, b2 = b0 + g1 * x0, b1 + g1 * x1, b2 + g1 * x2
        c0, c1, c2 = c0 + g2 * x0, c1 + g2 * x1, c2 + g2 * x2
        d0, d1, d2 = d0 + g3 * x0, d1 + g3 * x1, d2 + g3 * x2
    y[f, k], y[f, k + 1], y[f, k + 2] = y[f, k] + a0, y[f, k + 1] + a1, y[f, k + 2] + a2
    f += 1
    y[f, k], y[f, k + 1], y[f, k + 2] = y[f, k] + b0, y[f, k + 1] + b1, y[f, k + 2] + b2
    f += 1
    y[f, k], y[f, k + 1], y[f, k + 2] = y[f, k] + c0, y[f, k + 1] + c1, y[f, k + 2] + c2
    f += 1
    y[f, k], y[f, k + 1], y[f, k + 2] = y[f, k] + d0, y[f, k + 1] + d1, y[f, k + 2] + d2


@summing_loop
def _dots_one(rows: Any, start: int, stop: int, memory: Any, places: Any, k: int, y: Any, f: int) -> None:
    a = b = c = memory.dtype.type(0)
    p, q, r = np.uint64(places[k]), np.uint64(places[k + 1]), np.uint64(places[k + 2])
    for i in range(start, stop):
        j = np.uint64(i)
        g = rows[f, j]
        a, b, c = a + g * memory[p + j], b + g * memory[q + j], c + g * memory[r + j]
    y[f, k], y[f, k + 1], y[f, k + 2] = y[f, k] + a, y[f, k + 1] + b, y[f, k + 2] + c


@loop
def _spread(g: Any, first: int, line: int, channel: int, plan: Any, rows: Any) -> None:
    """Write cotangents of outputs to where the outputs of a block lie, zeros in between."""
    rows[:] = 0
    for f in range(rows.shape[0]):
        for b in range(min(plan.images, g.shape[0] - first)):
            for h in range(min(plan.lines, plan.high - line)):
                place = (b * plan.height + h) * plan.width
                for j in range(plan.wide):
                    rows[f, np.uint64(place + j)] = g[first + b, channel + f, line + h, np.uint64(j)]


@loop
def _differentiate(g: Any, x: Any, places: Any, plan: Any, memory: Any, channels: int, y: Any) -> None:
    groups, filters = y.shape[:2]
    flat, rows = x.reshape(-1), np.empty((filters, plan.length), g.dtype)
    for first in range(0, x.shape[0], plan.images):
        for line in range(0, plan.high, plan.lines):
            for group in range(groups):
                _pack(flat, x.shape, first, line, group * channels, plan, memory, channels)
                _spread(g, first, line, group * filters, plan, rows)
                target = y[group]
                for start in range(0, plan.length, TILE):
                    stop, f = min(start + TILE, plan.length), 0
                    while f < filters:
                        some = 4 if f + 4 <= filters else 1
                        for k in range(0, places.size, 3):
                            if some == 4:
                                _dots_four(rows, start, stop, memory, places, k, target, f)
                            else:
                                _dots_one(rows, start, stop, memory, places, k, target, f)
                        f += some


def _plan(n: int, rows: Windows, columns: Windows, origin: tuple[int, int], steps: tuple[int, int]) -> Plan:
    """Return blocks for images with these windows, whose outputs lie from `origin` on, `steps` apart."""
    lines = rows.count
    added = (rows.reach - 1) // rows.stride
    width = columns.count + (columns.reach - 1) // columns.stride
    if lines * width > TILE:
        parts = -(-lines // max(LINES, TILE // width))
        lines = -(-lines // parts)
    height = lines + added
    images = max(1, min(n, TILE // (height * width))) if lines == rows.count else 1
    length = ((images - 1) * height + lines - 1) * width + columns.count
    length = -(-length // REGISTER) * REGISTER
    at = (origin[0], steps[0], origin[1], steps[1])
    strides, around = (rows.stride, columns.stride), (rows.before, columns.before)
    return Plan(images, lines, height, width, *strides, *around, rows.count, columns.count, length, *at)


def _memory(channels: int, rows: Windows, columns: Windows, plan: Plan, dtype: Any) -> tuple[Any, Any]:
    """Return memory for a block, and where the elements of windows lie in it: a multiple of three."""
    images = plan.images * plan.height * plan.width
    i, j = np.arange(rows.kernel)[:, None] * rows.dilation, np.arange(columns.kernel) * columns.dilation
    of_window = (i % plan.down * plan.right + j % plan.right) * images + i // plan.down * plan.width + j // plan.right
    of_channels = np.arange(channels) * (plan.down * plan.right * images)
    places = (of_channels[:, None] + of_window.reshape(-1)).reshape(-1)
    # Behind the block are zeros, for whole registers and for places that are missing to a multiple of three.
    size = channels * plan.down * plan.right * images + REGISTER
    return np.zeros(size + plan.length, dtype), np.append(places, [size] * (-places.size % 3))


def _pad_weight(weight: Any, groups: int, count: int) -> Any:
    """Return weights as matrices (groups, filters, count), zeros in the columns behind."""
    matrices = weight.reshape(groups, weight.shape[0] // groups, -1)
    y = np.zeros((*matrices.shape[:2], count), weight.dtype)
    y[..., : matrices.shape[2]] = matrices
    return y


def _write(x: Any, weight: Any, bias: Any, windows: tuple[Windows, Windows], groups: int, y: Any, *at: Any) -> None:
    """Write the convolution of images to `y`, from an origin on by steps."""
    plan = _plan(len(x), *windows, *at)
    memory, places = _memory(weight.shape[1], *windows, plan, x.dtype)
    bias = np.zeros(len(weight), x.dtype) if bias is None else np.ascontiguousarray(bias)
    matrices = _pad_weight(weight, groups, len(places))
    _convolve(np.ascontiguousarray(x), matrices, bias, places, plan, memory, weight.shape[1], y)


def _takes(shape: Any, *arrays: Any) -> bool:
    """Return whether arrays are of one dtype of real numbers and not empty, and windows have several elements."""
    if shape[-2] * shape[-1] == 1 or not all(type(x) is np.ndarray and x.size for x in arrays):
        return False
    return arrays[0].dtype in DTYPES and all(x.dtype == arrays[0].dtype for x in arrays)


def _share(windows: Windows) -> float:
    """Return how many windows there are, divided by the length of an axis of a block."""
    return windows.count / (windows.count + (windows.reach - 1) // windows.stride)


def of_images(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of images that takes sequences, too, as images of one row."""

    def call(product: Product, first: Any, second: Any, *bias: Any) -> Any:
        if len(product.windows) == 2:
            return compute(product, first, second, *bias)
        product = Product(Grid((Windows.along(1, 1, 1, 1, 0, 0), *product.windows)), product.groups)
        y = compute(product, first[..., None, :], second[..., None, :], *bias)
        return y if y is NotImplemented else y[..., 0, :]

    return call


@of_images
def convolve(product: Product, x: Any, weight: Any, bias: Any = None) -> Any:
    """Return the product of images and a weight, and a bias added; NotImplemented where NumPy takes less time."""
    (rows, columns), groups = product.windows, product.groups
    if not _takes(weight.shape, x, weight, *([] if bias is None else [bias])):
        return NotImplemented
    if weight.shape[1] >= LARGE and _share(rows) * _share(columns) < SHARE:
        return NotImplemented
    images = product.batch(x)
    y = np.empty((len(images), len(weight), rows.count, columns.count), x.dtype)
    _write(images, weight, bias, (rows, columns), groups, y, (0, 0), (1, 1))
    return product.like(x, y)


@of_images
def gradient_of_weight(product: Product, g: Any, x: Any) -> Any:
    """Return the sum, over the windows of images, of each times what `g` has there."""
    (rows, columns), groups = product.windows, product.groups
    g, x = product.batch(g), product.batch(x)
    shape = (g.shape[1], x.shape[1] // groups, rows.kernel, columns.kernel)
    if not _takes(shape, g, x):
        return NotImplemented
    plan = _plan(len(x), rows, columns, (0, 0), (1, 1))
    memory, places = _memory(shape[1], rows, columns, plan, x.dtype)
    total = np.zeros((groups, shape[0] // groups, len(places)), x.dtype)
    _differentiate(np.ascontiguousarray(g), np.ascontiguousarray(x), places, plan, memory, shape[1], total)
    total = np.ascontiguousarray(total[..., : shape[1] * shape[2] * shape[3]]).reshape(shape)
    # Infinities of the images meet zeros between the lines of cotangents.
    return NotImplemented if np.isnan(total).any() else total


def _phases(windows: Windows) -> Iterator[tuple[int, slice, Windows]]:
    """Yield the first of the elements of an axis that have one remainder, and what gives their cotangents.

    That is which elements of a window they can be, and the windows over windows that they lie in, the last one first.
    """
    w = windows
    for remainder in range(w.stride):
        taps = [i for i in range(w.kernel) if i * w.dilation % w.stride == remainder]
        first = (remainder - w.before) % w.stride
        count = -(-(w.length - first) // w.stride)
        if not taps or count < 1:
            continue
        step = taps[1] - taps[0] if len(taps) > 1 else 1
        gap = step * w.dilation // w.stride if len(taps) > 1 else 1
        before = (taps[-1] * w.dilation - remainder) // w.stride - (first + w.before - remainder) // w.stride
        after = count + gap * (len(taps) - 1) - before - w.count
        yield first, slice(taps[0], taps[-1] + 1, step), Windows(w.count, len(taps), 1, gap, before, after, count)


@of_images
def spread(product: Product, g: Any, weight: Any, bias: Any = None) -> Any:
    """Return images: the sum, over the windows, of the weight times what `g` has there, and a bias added."""
    (rows, columns), groups = product.windows, product.groups
    cotangents = product.batch(g)
    shape = (len(cotangents), weight.shape[1] * groups, rows.length, columns.length)
    if not _takes(weight.shape, g, weight, *([] if bias is None else [bias])) or 0 in shape:
        return NotImplemented
    turned = weight.reshape(groups, -1, *weight.shape[1:]).swapaxes(1, 2).reshape(shape[1], -1, *weight.shape[2:])
    if product.windows.reversed is not None:  # which is a convolution
        return convolve(
            Product(product.windows.reversed, groups), g, np.ascontiguousarray(turned[..., ::-1, ::-1]), bias
        )
    y = np.zeros(shape, g.dtype)
    for row, down, vertical in _phases(rows):
        for column, right, horizontal in _phases(columns):
            part = np.ascontiguousarray(turned[:, :, down, right][..., ::-1, ::-1])
            at = (row, column), (rows.stride, columns.stride)
            _write(cotangents, part, None, (vertical, horizontal), groups, y, *at)
    if bias is not None:
        y += bias.reshape(-1, 1, 1)
    return product.like(g, y)


def declare_convolution(op: Any) -> None:
    """Declare the kernel of a convolution."""

    def of_x(g, x, weight, stride, padding, dilation, groups):
        return spread(product_of(op, x, weight, None, stride, padding, dilation, groups), g, weight)

    def of_weight(g, x, weight, stride, padding, dilation, groups):
        return gradient_of_weight(product_of(op, x, weight, None, stride, padding, dilation, groups), g, x)

    @op.def_kernel("numba", gradients={"x": of_x, "weight": of_weight})
    def convolution(x, weight, /, bias=None, *, stride=1, padding=0, dilation=1, groups=1):
        return convolve(product_of(op, x, weight, bias, stride, padding, dilation, groups), x, weight, bias)


def declare_transposed(op: Any) -> None:
    """Declare the kernel of a transposed convolution."""

    def of_x(g, x, weight, stride, padding, output_padding, groups, dilation):
        return convolve(product_of(op, x, weight, None, stride, padding, dilation, groups, output_padding), g, weight)

    def of_weight(g, x, weight, stride, padding, output_padding, groups, dilation):
        product = product_of(op, x, weight, None, stride, padding, dilation, groups, output_padding)
        return gradient_of_weight(product, x, g)

    @op.def_kernel("numba", gradients={"x": of_x, "weight": of_weight})
    def spread_by_weight(x, weight, /, bias=None, *, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        product = product_of(op, x, weight, bias, stride, padding, dilation, groups, output_padding)
        return spread(product, x, weight, bias)


_op: Any
for _op in (conv1d, conv2d):
    declare_convolution(_op)
for _op in (conv_transpose1d, conv_transpose2d):
    declare_transposed(_op)
