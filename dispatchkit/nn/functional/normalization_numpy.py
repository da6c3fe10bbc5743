"""Rows and channels of NumPy arrays brought to mean 0 and variance 1, a block at a time, which stays in the cache.

What the elements of rows are multiplied by, a number of the row times one of the column, is a product of matrices: that
takes half as long as NumPy's loops over one short row after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

__all__ = [
    "centred",
    "centred_channels",
    "is_of_channels",
    "is_of_rows",
    "shares",
    "standardized",
    "standardized_channels",
]

# Elements of a block, and the fewest and most of a row.
BLOCK, SHORTEST, LONGEST = 1 << 16, 16, 1 << 12
DTYPES = frozenset("fd")
# Times the variance that the square of a mean may be before it is subtracted first.
FAR = 4


def is_of_rows(axes: tuple[int, ...], x: Any, *others: Any) -> bool:
    """Return whether the axes are the last ones of a NumPy array, and make rows that are neither long nor empty.

    The other arrays that are not None have to be of its dtype.
    """
    return (
        type(x) is np.ndarray
        and x.dtype.char in DTYPES
        and axes == tuple(range(x.ndim - len(axes), x.ndim))
        and all(other is None or other.dtype == x.dtype for other in others)
        and 0 < prod(x.shape[x.ndim - len(axes) :]) <= LONGEST
    )


def is_of_channels(axes: tuple[int, ...], x: Any, *others: Any) -> bool:
    """Return whether the axes are all but the second one of a NumPy array, and those after it make rows.

    The other arrays have to be of its dtype.
    """
    return (
        type(x) is np.ndarray
        and x.dtype.char in DTYPES
        and axes == (0, *range(2, x.ndim))
        and all(other.dtype == x.dtype for other in others)
        and x.size > 0
        and SHORTEST <= prod(x.shape[2:]) <= LONGEST
    )


def _blocks(axes: tuple[int, ...], *arrays: Any) -> Iterator[list[Any]]:
    """Yield the rows of arrays of one shape, as many at a time as stay in the cache."""
    shape = arrays[0].shape
    length = prod(shape[len(shape) - len(axes) :])
    rows = [x.reshape(-1, length) for x in arrays]
    step = max(1, BLOCK // length)
    for start in range(0, len(rows[0]), step):
        yield [x[start : start + step] for x in rows]


def _scratch(axes: tuple[int, ...], x: Any) -> Any:
    """Return memory for two blocks of the rows of an array."""
    length = prod(x.shape[x.ndim - len(axes) :])
    return np.empty((2, min(max(1, BLOCK // length), x.size // length), length), x.dtype)


def _moments(x: Any, eps: float, scratch: Any) -> tuple[Any, Any, Any]:
    """Return rows, their means, and one divided by their standard deviations.

    Rows that are far from 0 are less their means, in memory that is given: the variance is the difference of two sums.
    """
    n = x.shape[1]
    mean = np.dot(x, np.full(n, 1 / n, x.dtype))
    square = mean * mean
    factor = np.vecdot(x, x)
    factor /= n
    factor -= square
    if not (square <= FAR * factor).all():
        x = np.subtract(x, mean[:, None], out=scratch)
        mean = np.zeros_like(mean)
        factor = np.vecdot(x, x)
        factor /= n
    factor += eps
    np.sqrt(factor, out=factor)
    return x, mean, np.reciprocal(factor, out=factor)


def _product(first: Any, second: Any, both: Any, out: Any) -> Any:
    """Return a number for each row times `both[0]`, plus another times `both[1]`."""
    # Of two columns, also where one would do: BLAS takes longer for one.
    pairs = np.empty((len(out), 2), out.dtype)
    pairs[:, 0], pairs[:, 1] = first, second
    return np.dot(pairs, both, out=out)


def _both(weight: Any, bias: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """Return a matrix of two rows: a weight, ones if it is None, and a bias, zeros if it is None."""
    both = np.empty((2, prod(x.shape[x.ndim - len(axes) :])), x.dtype)
    both[0] = 1 if weight is None else weight.reshape(-1)
    both[1] = 0 if bias is None else bias.reshape(-1)
    return both


def standardized(x: Any, axes: tuple[int, ...], eps: float, weight: Any = None, bias: Any = None) -> Any:
    """Return the rows less their means, divided by their standard deviations, then multiplied and moved."""
    y = np.empty(x.shape, x.dtype)
    both = _both(weight, bias, x, axes)
    scratch = _scratch(axes, x)
    for given, found in _blocks(axes, x, y):
        first, second = scratch[:, : len(given)]
        given, mean, factor = _moments(given, eps, first)
        np.multiply(given, _product(factor, 0, both, second), out=found)
        found += _product(-mean * factor, 1, both, second)
    return y


def centred(g: Any, x: Any, axes: tuple[int, ...], eps: float, weight: Any = None) -> Any:
    """Return the product of `g`, or of `g` times a weight, with the derivative of standardized rows."""
    out = np.empty(x.shape, x.dtype)
    both = _both(weight, None, x, axes)
    shared = both[0] / both.shape[1]
    scratch = _scratch(axes, x)
    for given, of_x, found in _blocks(axes, g, x, out):
        first, second = scratch[:, : len(given)]
        of_x, mean, factor = _moments(of_x, eps, first)
        of_g = np.dot(given, shared)
        share = np.dot(np.multiply(given, of_x, out=second), shared)
        share -= mean * of_g
        share *= factor * factor * factor
        np.multiply(given, _product(factor, 0, both, second), out=found)
        found -= np.multiply(of_x, share[:, None], out=second)
        share *= mean
        share -= np.multiply(factor, of_g, out=of_g)
        found += share[:, None]
    return out


def shares(g: Any, x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """Return the sum of the products of `g` and standardized rows: the cotangent of the weight."""
    shape = x.shape[x.ndim - len(axes) :]
    total = np.zeros(prod(shape), x.dtype)
    scratch = _scratch(axes, x)
    for given, of_x in _blocks(axes, g, x):
        first, second = scratch[:, : len(given)]
        of_x, mean, factor = _moments(of_x, eps, first)
        total += np.dot(factor, np.multiply(given, of_x, out=second))
        total -= np.dot(factor * mean, given)
    return total.reshape(shape)


def _images(*arrays: Any) -> tuple[list[Any], Iterator[slice]]:
    """Return arrays of one shape (N, C, ...) as (N, C, elements), and as many images at a time as stay in the cache."""
    n, c = arrays[0].shape[:2]
    images = [x.reshape(n, c, -1) for x in arrays]
    step = max(1, BLOCK // images[0][0].size)
    return images, (slice(start, start + step) for start in range(0, n, step))


def _mean_of_channels(x: Any) -> Any:
    """Return the means of images (N, C, elements) for each channel, of shape (C, 1)."""
    n = x.shape[2]
    return np.dot(x, np.full(n, 1 / n, x.dtype)).mean(axis=0)[:, None]


def standardized_channels(x: Any, eps: float) -> Any:
    """Return each channel of images (N, C, ...) less its mean, divided by its standard deviation."""
    y = np.empty(x.shape, x.dtype)
    (given, found), parts = _images(x, y)
    factor = _factor_of_channels(given, found, eps)
    for part in parts:
        found[part] *= factor
    return y


def _factor_of_channels(x: Any, d: Any, eps: float) -> Any:
    """Write what images (N, C, elements) differ from the means of channels; return 1 / standard deviations, (C, 1)."""
    mean, squares = _mean_of_channels(x), np.empty(x.shape[:2], x.dtype)
    _, parts = _images(x)
    for part in parts:
        np.subtract(x[part], mean, out=d[part])
        np.vecdot(d[part], d[part], out=squares[part])
    factor = squares.mean(axis=0)[:, None]
    factor /= x.shape[2]
    factor += eps
    np.sqrt(factor, out=factor)
    return np.reciprocal(factor, out=factor)


def centred_channels(g: Any, y: Any, x: Any, eps: float) -> Any:
    """Return the product of `g` with the derivative of standardized channels `y` of images `x`, (N, C, ...)."""
    out = np.empty(x.shape, x.dtype)
    (of_g, of_y, of_x, found), parts = _images(g, y, x, out)
    factor = _factor_of_channels(of_x, found, eps)
    share = np.vecdot(of_g, of_y).mean(axis=0)[:, None]
    share /= -of_g.shape[2]
    mean = _mean_of_channels(of_g)
    for part in parts:
        block = np.multiply(of_y[part], share, out=found[part])
        block += of_g[part]
        block -= mean
        block *= factor
    return out
