"""Averages of windows of NumPy arrays that lie side by side, and the largest elements of windows."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial, reduce
from math import prod
from typing import Any

import numpy as np

from dispatchkit.accelerator import computed_by
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.numpy_sums import total
from dispatchkit.nn.functional.rows import DTYPES
from dispatchkit.nn.functional.small_norms_numpy import are_within
from dispatchkit.nn.functional.windows import Grid, padded, plan_of

__all__ = ["averages_of_blocks", "given_to_largest", "largest_of_few", "spread_of_few", "sums_of_few"]

SMALL = 1 << 12  # elements of all windows up to which one function of NumPy takes them at once
MANY = 16  # elements of a window from which on windows that lie side by side are looked through one by one
MOST = 1 << 11  # elements of a matrix that sums windows, whose product takes less than sums of slices
LARGEST = 1e30  # numbers whose sums are finite in single precision
FEW = 4  # elements of a window along an axis up to which NumPy adds slices in less time than neighbours


def averages_of_blocks(x: Any, lengths: tuple[int, ...]) -> Any:
    """Return averages, and what takes their cotangent back; NotImplemented where windows are not of one length.

    NumPy takes several times as long for sums over several short axes.

    Parameters
    ----------
    x : array of shape (..., *shape)
    lengths : of the last axes of the result
    """
    if type(x) is not np.ndarray or x.dtype not in DTYPES or not x.flags.c_contiguous:
        return NotImplemented
    axes = len(lengths)
    shape = x.shape[x.ndim - axes :]
    plan = _plan_of_blocks(shape, lengths)
    y = _averages_by_core(x, plan, None)
    if y is not None:
        return y, lambda g, wanted: (_shares_of_blocks(g[0], plan, None, shape),)
    if x.size and 1 < prod(lengths) <= MOST // prod(shape):
        answer = _averages_by_product(x, shape, lengths)
        if answer is not NotImplemented:
            return answer
    if any(n % length for n, length in zip(shape, lengths, strict=True)):
        return NotImplemented
    kernels = [n // length for n, length in zip(shape, lengths, strict=True)]
    y = _sums_of_blocks(x, lengths, kernels)
    y = np.divide(y, prod(kernels), out=None if y is x else y)
    return y.reshape(*x.shape[: x.ndim - axes], *lengths), partial(_given_to_blocks, x.shape, lengths, kernels)


@lru_cache(maxsize=256)
def _plan_of_blocks(shape: tuple[int, ...], lengths: tuple[int, ...]) -> Any:
    """Return what the compiled core keeps of the windows of adaptive pooling, None without it."""
    return plan_of(*zip(shape, lengths, strict=True))


@computed_by("averages")
def _averages_by_core(x: Any, plan: Any, count: Any) -> Any:
    """Return the averages of windows, None where the compiled core does not compute them."""
    return None


@computed_by("shares")
def _shares_of_blocks(g: Any, plan: Any, count: Any, shape: tuple[int, ...]) -> Any:
    """Return the cotangent of what was averaged by windows of adaptive pooling over axes of a shape."""
    axes = len(shape)
    lengths = g.shape[g.ndim - axes :]
    total = np.zeros((*g.shape[: g.ndim - axes], *shape), g.dtype)
    for place in np.ndindex(lengths):
        starts = [i * n // count for i, n, count in zip(place, shape, lengths, strict=True)]
        ends = [-(-(i + 1) * n // count) for i, n, count in zip(place, shape, lengths, strict=True)]
        size = prod(end - start for start, end in zip(starts, ends, strict=True))
        window: Any = (..., *map(slice, starts, ends))
        total[window] += g[(..., *[slice(i, i + 1) for i in place])] / size
    return total


def _averages_by_product(x: Any, shape: tuple[int, ...], lengths: tuple[int, ...]) -> Any:
    """Return the averages of windows, which may differ in their lengths, and what takes their cotangent back.

    NotImplemented for numbers that are not finite, which would have part in all of them.
    """
    matrix, counts = _sums_and_counts(shape, lengths, x.dtype)
    y = _product(x.reshape(-1, len(matrix)), matrix)
    if y is NotImplemented:
        return y
    y /= counts

    def pull(g: Any, wanted: Any) -> tuple[Any]:
        shares = g[0].reshape(y.shape) / counts
        of_x = _product(shares, matrix.T)
        if of_x is NotImplemented:
            of_x = np.where(matrix != 0, shares[:, None], 0).sum(2, dtype=x.dtype)
        return (of_x.reshape(x.shape),)

    return y.reshape(*x.shape[: x.ndim - len(lengths)], *lengths), pull


def _product(x: Any, matrix: Any) -> Any:
    """Return the product of two matrices; NotImplemented for numbers that are not finite, or near the largest."""
    if not are_within(x, LARGEST):
        return NotImplemented
    return x.dot(matrix)


@lru_cache(maxsize=64)
def _sums_and_counts(shape: tuple[int, ...], lengths: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    """Return what sums the windows of adaptive pooling as a product, and how many elements each has.

    Parameters
    ----------
    shape, lengths : of the last axes, before and after
    dtype : of both arrays, which are not to be changed
    """
    matrix = np.ones((1, 1), dtype)
    for n, count in zip(shape, lengths, strict=True):
        along = np.zeros((n, count), dtype)
        for i in range(count):
            along[i * n // count : -(-(i + 1) * n // count), i] = 1
        matrix = np.kron(matrix, along)
    counts = matrix.sum(0)
    if counts.min() == counts.max():
        counts = counts[0, ...]
    return matrix, counts


def sums_of_few(x: Any, windows: Grid) -> Any:
    """Return the sums of windows over the last axes of a small array, as a product.

    NotImplemented for other arrays, and for numbers that are not finite, which would have part in all of them.
    """
    area = prod(windows.lengths)
    if type(x) is not np.ndarray or not x.size or area * windows.number > MOST or x.dtype not in DTYPES:
        return NotImplemented
    y = _product(x.reshape(-1, area), _matrix_of(windows, x.dtype))
    if y is NotImplemented:
        return y
    return y.reshape(*x.shape[: x.ndim - len(windows)], *windows.counts)


def spread_of_few(g: Any, windows: Grid) -> Any:
    """Return the transpose of that: for each element of a small array the sum of the numbers of its windows."""
    if type(g) is not np.ndarray or not g.size or g.dtype not in DTYPES:
        return NotImplemented
    if prod(windows.lengths) * windows.number > MOST:
        return NotImplemented
    of_x = _product(g.reshape(-1, windows.number), _matrix_of(windows, g.dtype).T)
    if of_x is NotImplemented:
        return of_x
    return of_x.reshape(*g.shape[: g.ndim - len(windows)], *windows.lengths)


def _matrix_of(windows: Grid, dtype: Any) -> Any:
    """Return the matrix that sums the windows of an image as a product, not to be changed."""
    key = "sums", dtype.num
    if key not in windows.tables:
        total = np.zeros((windows.number, prod(windows.totals)), dtype)
        np.add.at(total, (np.arange(windows.number)[:, None], windows.numbers), 1)
        inside = total.reshape(windows.number, *windows.totals)[windows.inside]
        windows.tables[key] = np.ascontiguousarray(inside.reshape(windows.number, -1).T)
    return windows.tables[key]


def _sums_of_blocks(x: Any, lengths: Sequence[int], kernels: Sequence[int]) -> Any:
    """Return the sums of windows, in their order."""
    if prod(lengths) == 1:
        return total(x.reshape(-1, prod(kernels)), axis=1)
    if max(kernels) <= FEW:
        return _sums_of_slices(x, kernels)
    for axis in reversed(range(len(lengths))):
        behind = prod(lengths[axis + 1 :])
        if behind == 1:
            x = total(x.reshape(-1, kernels[axis]), axis=1)
        else:
            x = np.add.reduce(x.reshape(-1, kernels[axis], behind), 1)
    return x


def _sums_of_slices(x: Any, kernels: Sequence[int]) -> Any:
    """Return sums of windows, which have so many elements along each of the last axes."""
    for axis, kernel in enumerate(kernels, start=x.ndim - len(kernels)):
        if kernel > 1:
            before = (slice(None),) * axis
            x = reduce(operator.add, [x[(*before, slice(i, None, kernel))] for i in range(kernel)])
    return x


def _given_to_blocks(
    shape: tuple[int, ...], lengths: Sequence[int], kernels: Sequence[int], g: Any, wanted: Any
) -> tuple[Any]:
    """Return the cotangent of what was averaged: each element of a window has an equal share."""
    lead = shape[: len(shape) - len(lengths)]
    share = g[0] / prod(kernels)
    inner = [part for pair in zip(lengths, kernels, strict=True) for part in pair]
    apart = [part for length in lengths for part in (length, 1)]
    total = np.empty((*lead, *inner), share.dtype)
    total[...] = share.reshape(*lead, *apart)
    return (total.reshape(shape),)


def largest_of_few(x: Any, windows: Grid) -> Any:
    """Return the largest elements of windows over a small array, and what takes their cotangent back.

    NotImplemented for other arrays than small ones of real numbers, and where a window has no element of the array.

    Parameters
    ----------
    x : array of shape (..., *lengths)
    windows : over its last axes
    """
    if x.dtype.kind not in "biuf" or not x.size:
        return NotImplemented
    count = x.size // prod(windows.lengths)
    if count * windows.number * windows.size > SMALL:
        return NotImplemented
    key = "largest", x.size
    if key not in windows.tables:
        windows.tables[key] = _table(count, windows)
    table, rows = windows.tables[key]
    if table is None:
        return NotImplemented
    elements = x.reshape(-1).take(table)
    first = elements.reshape(-1, windows.size).argmax(1)
    first += rows
    y = elements.take(first).reshape(*x.shape[: x.ndim - len(windows)], *windows.counts)

    def pull(g: Any, wanted: Any) -> tuple[Any]:
        places, largest = table.take(first), elements.take(first)
        total, cotangents = np.zeros(x.size, g[0].dtype), g[0].reshape(-1)
        _put(total, places, cotangents, largest, windows)
        return (total.reshape(x.shape),)

    return y, pull


def _table(count: int, windows: Grid) -> tuple[Any, Any]:
    """Return where the elements of all windows over some images lie, and where those of each window begin in that.

    In the place of what is added around the images stands the first element of the window that is none of that, so that
    it is found at its own place.
    """
    inside = np.full(windows.totals, -1, np.intp)
    inside[windows.inside[1:]] = np.arange(prod(windows.lengths)).reshape(windows.lengths)
    table = inside.reshape(-1)[windows.numbers]
    is_inside = table >= 0
    if not is_inside.any(1).all():
        return None, None
    table = np.where(is_inside, table, table[np.arange(len(table)), is_inside.argmax(1)][:, None])
    images = np.arange(count)[:, None, None] * prod(windows.lengths)
    return (images + table).reshape(-1), np.arange(count * windows.number) * windows.size


def _put(total: Any, places: Any, g: Any, largest: Any, windows: Grid) -> None:
    """Add cotangents at places of a flat array of zeros; that of a window with a NaN is added nowhere."""
    is_number = largest == largest  # noqa: PLR0124  # NaN is not
    if not is_number.all():
        g, places = g[is_number], places[is_number]
    if all(along.apart for along in windows):
        total[places] = g
    else:
        np.add.at(total, places, g)


def given_to_largest(g: Any, y: Any, x: Any, windows: Grid) -> Any:
    """Return the cotangent of an array, of that of the largest elements of windows over its last axes.

    Parameters
    ----------
    g, y : the cotangent, and the largest elements
    x : the array, of floating-point numbers
    windows : where they were found
    """
    images = padded(numpy_namespace, x, windows, np.nan)  # which no element equals
    total, numbers = np.zeros(images.shape, g.dtype), windows.numbers
    if windows.size > MANY and all(along.kernel == along.stride and along.dilation == 1 for along in windows):
        first = _first_of_blocks(images, windows)
    elif all(along.apart for along in windows):
        for place, is_largest in _each_first(images, y, windows):
            np.multiply(g, is_largest, out=total[place])
        return total[windows.inside]
    else:
        first = _first_of_places(images, y, windows)
    places = (numbers[0] - numbers[0, 0]).take(first.reshape(-1, windows.number), mode="clip")
    places += numbers[:, 0]
    area = prod(windows.totals)
    places += np.arange(0, len(places) * area, area)[:, None]
    _put(total.reshape(-1), places.reshape(-1), g.reshape(-1), y.reshape(-1), windows)
    return total[windows.inside]


def _each_first(images: Any, y: Any, windows: Grid) -> Iterator[tuple[Any, Any]]:
    """Yield for each element of windows its index, and of which windows it is the first of the largest."""
    free = np.ones(y.shape, np.bool)
    for place in windows.places:
        is_largest = images[place] == y
        is_largest &= free
        free ^= is_largest
        yield place, is_largest


def _first_of_places(images: Any, y: Any, windows: Grid) -> Any:
    """Return for each window at which of its elements the first of the largest stands, for a NaN behind the last.

    What is copied where a condition holds takes several times as long as a product and a maximum.
    """
    # Numbers counted from the last on.
    last = np.zeros(y.shape, np.min_scalar_type(windows.size))
    is_largest, number = np.empty(y.shape, np.bool), np.empty_like(last)
    for left, place in zip(range(windows.size, 0, -1), windows.places, strict=True):
        np.equal(images[place], y, out=is_largest)
        np.multiply(is_largest.view(np.uint8), last.dtype.type(left), out=number)
        np.maximum(last, number, out=last)
    return np.subtract(windows.size, last, dtype=np.intp)


def _first_of_blocks(images: Any, windows: Grid) -> Any:
    """Return the same for windows that lie side by side."""
    lead = images.shape[: images.ndim - len(windows)]
    whole = tuple([slice(along.count * along.kernel) for along in windows])
    inner = [part for along in windows for part in (along.count, along.kernel)]
    split = images[(..., *whole)].reshape(*lead, *inner)
    first, axes = len(lead), range(len(windows))
    order = [*range(first), *[first + 2 * axis for axis in axes], *[first + 2 * axis + 1 for axis in axes]]
    return split.transpose(order).reshape(*lead, *windows.counts, windows.size).argmax(-1)
