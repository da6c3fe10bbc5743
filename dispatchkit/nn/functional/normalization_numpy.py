"""`layer_norm` of NumPy arrays, a block of rows at a time, of which the backward pass is given means and factors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import isfinite, prod
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import computes_alone
from dispatchkit.nn.functional.rows import DTYPES, FAR, steps

# Elements of a block, which stays in the cache.
BLOCK = 1 << 15


@np.errstate(over="ignore", invalid="ignore")
def layer_norm_flow(x: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Return standardized rows and what takes cotangents back; NotImplemented for calls that the body is for.

    Those are calls of other arrays, and of numbers whose variance is infinite or none.

    Parameters
    ----------
    x, normalized_shape, weight, bias, eps : as `layer_norm` takes them
    """
    lengths = normalized_shape
    if type(normalized_shape) is int:
        lengths = (normalized_shape,)
    parameters = [p for p in (weight, bias) if p is not None]
    if not computes_alone("numpy") or not _fits(x, lengths, parameters):
        return NotImplemented
    rows = x.reshape(-1, prod(lengths))
    size, count = rows.shape
    share, scale, offset = _equal_shares(count, x.dtype), _row(weight), _row(bias)
    y, means, factors = np.empty(x.shape, x.dtype), np.empty(size, x.dtype), np.empty(size, x.dtype)
    rows_of_y = y.reshape(rows.shape)
    for block in steps(size, BLOCK // count):
        written = means[block], factors[block], rows_of_y[block]
        if not _standardize(rows[block], *written, share, scale, offset, eps):
            return NotImplemented

    def pull(g: Any, wanted: Any) -> Any:
        of_x, *of_parameters = _cotangents(g[0].reshape(rows.shape), rows, means, factors, share, scale)
        return of_x.reshape(x.shape), *(part.reshape(lengths) for part in of_parameters)

    return y, pull


def _standardize(rows: Any, mean: Any, factor: Any, part: Any, share: Any, scale: Any, offset: Any, eps: float) -> bool:
    """Write standardized rows, and their means and factors; return whether their variances are finite.

    For small arrays the calls are what takes time: a method takes less than NumPy's function, and finding the place of
    the least number less than reducing to it.

    Parameters
    ----------
    rows : array of shape (m, n)
    mean, factor : arrays of shape (m,), written to
    part : array of the shape of the rows, written to
    share : one divided by n, for each element of a row
    scale, offset : arrays of shape (n,), None for none
    eps : added to variances
    """
    rows.dot(share, out=mean)
    np.subtract(rows, mean[:, None], out=part)
    variance = np.vecdot(part, part, out=factor)
    variance *= share[0]
    if not isfinite(variance[variance.argmax()]):
        return False
    room = FAR * variance
    room -= mean * mean
    if not room[room.argmin()] >= 0:
        # Of numbers far from 0 the mean is not precise, that of what it was subtracted from is.
        rest = part.dot(share)
        mean += rest
        part -= rest[:, None]
        np.vecdot(part, part, out=variance)
        variance *= share[0]
    variance += eps
    np.sqrt(variance, out=variance)
    part *= np.reciprocal(variance, out=variance)[:, None]
    if scale is not None:
        part *= scale
    if offset is not None:
        part += offset
    return True


@lru_cache(maxsize=64)
def _equal_shares(count: int, dtype: Any) -> Any:
    """Return what gives the mean of so many numbers, as a product; it is not to be changed."""
    return np.full(count, 1 / count, dtype)


def _row(parameter: Any) -> Any:
    if parameter is None:
        return None
    return parameter.reshape(-1)


def _fits(x: Any, lengths: Any, parameters: Sequence[Any]) -> bool:
    """Return whether the loops are for a call; what is wrong with one is for the body to say."""
    if not isinstance(lengths, (tuple, list)) or type(x) is not np.ndarray or x.dtype not in DTYPES:
        return False
    lengths = tuple(lengths)
    alike = all(type(p) is np.ndarray and p.dtype == x.dtype and p.shape == lengths for p in parameters)
    return alike and bool(lengths) and x.size > 0 and x.shape[-len(lengths) :] == lengths


def _cotangents(g: Any, rows: Any, means: Any, factors: Any, share: Any, scale: Any) -> tuple[Any, Any, Any]:
    """Return the cotangents of rows, of their weights and of what is added to them.

    Parameters
    ----------
    g : cotangent of the result, of the shape of the rows
    rows, means, factors : what was standardized, by which numbers
    share : one divided by the length of a row, for each element of one
    scale : the weights, None for none
    """
    if scale is not None:
        share = share * scale
    count = rows.shape[1]
    of_rows, of_scale, of_offset = np.empty(rows.shape, rows.dtype), *np.zeros((2, count), rows.dtype)
    scratch = np.empty((2, min(len(rows), max(BLOCK // count, 1)), count), rows.dtype)
    for block in steps(len(rows), BLOCK // count):
        of_part, part = of_rows[block], g[block]
        normal, products = scratch[:, : len(part)]
        ones, factor = np.ones(len(part), rows.dtype), factors[block][:, None]
        np.subtract(rows[block], means[block][:, None], out=normal)
        normal *= factor
        np.multiply(part, normal, out=products)
        of_scale += np.dot(ones, products)
        of_offset += np.dot(ones, part)
        # The means of the cotangents, and of their products with standardized elements.
        normal *= np.dot(products, share)[:, None]
        normal += np.dot(part, share)[:, None]
        if scale is None:
            np.subtract(part, normal, out=of_part)
        else:
            np.multiply(part, scale, out=of_part)
            of_part -= normal
        of_part *= factor
    return of_rows, of_scale, of_offset
