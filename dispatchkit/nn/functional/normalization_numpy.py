"""Rows of NumPy arrays brought to mean 0 and variance 1, a block at a time, which stays in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

__all__ = ["centred", "is_of_rows", "shares", "standardized"]

# Elements of a block, and of the longest rows, whose elements are added one after another.
BLOCK, LONGEST = 1 << 16, 1 << 12
DTYPES = frozenset("fd")


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


def _blocks(axes: tuple[int, ...], *arrays: Any) -> Iterator[list[Any]]:
    """Yield the rows of arrays of one shape, as many at a time as stay in the cache."""
    shape = arrays[0].shape
    length = prod(shape[len(shape) - len(axes) :])
    rows = [x.reshape(-1, length) for x in arrays]
    step = max(1, BLOCK // length)
    for start in range(0, len(rows[0]), step):
        yield [x[start : start + step] for x in rows]


def _deviations(x: Any, d: Any, eps: float) -> Any:
    """Write what rows differ from their means; return one divided by their standard deviations."""
    np.subtract(x, _mean(x), out=d)
    factor = np.vecdot(d, d)[:, None]
    factor /= x.shape[1]
    factor += eps
    np.sqrt(factor, out=factor)
    return np.reciprocal(factor, out=factor)


def _mean(x: Any) -> Any:
    n = x.shape[1]
    return np.matmul(x, np.full((n, 1), 1 / n, x.dtype))


def standardized(x: Any, axes: tuple[int, ...], eps: float, weight: Any = None, bias: Any = None) -> Any:
    """Return the rows less their means, divided by their standard deviations, then multiplied and moved."""
    y = np.empty(x.shape, x.dtype)
    for given, found in _blocks(axes, x, y):
        found *= _deviations(given, found, eps)
        if weight is not None:
            found *= weight.reshape(-1)
        if bias is not None:
            found += bias.reshape(-1)
    return y


def centred(g: Any, x: Any, axes: tuple[int, ...], eps: float, weight: Any = None) -> Any:
    """Return the product of `g`, or of `g` times a weight, with the derivative of standardized rows."""
    out = np.empty(x.shape, x.dtype)
    y, weighted = np.empty((2, max(1, BLOCK // prod(x.shape[-len(axes) :])), prod(x.shape[-len(axes) :])), x.dtype)
    for given, of_x, found in _blocks(axes, g, x, out):
        of_y, of_g = y[: len(of_x)], given
        factor = _deviations(of_x, of_y, eps)
        of_y *= factor
        if weight is not None:
            of_g = np.multiply(given, weight.reshape(-1), out=weighted[: len(of_x)])
        share = np.vecdot(of_g, of_y)[:, None]
        share /= -of_g.shape[1]
        of_y *= share
        np.subtract(of_g, _mean(of_g), out=found)
        found += of_y
        found *= factor
    return out


def shares(g: Any, x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """Return the sum of the products of `g` and standardized rows: the cotangent of the weight."""
    shape = x.shape[x.ndim - len(axes) :]
    total = np.zeros(prod(shape), x.dtype)
    y = np.empty((max(1, BLOCK // total.size), total.size), x.dtype)
    for given, of_x in _blocks(axes, g, x):
        of_y = y[: len(of_x)]
        of_y *= _deviations(of_x, of_y, eps)
        total += np.einsum("ij,ij->j", given, of_y)
    return total.reshape(shape)
