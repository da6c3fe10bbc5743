"""Attention of NumPy arrays whose scores are all held: few passes through them, and none computed twice.

Exponentials are not divided by their sums: what they are multiplied with is, which has fewer elements. Nor is the
largest score of a row subtracted, where none is so large that an exponential leaves the range of the dtype.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import project
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.nn.functional.rows import DTYPES

# Up to which scores, and for which sums of exponentials, nothing is subtracted.
LARGEST, SMALLEST = 40.0, 1e-17


def _fits(query: Any, key: Any, value: Any, mask: Any, most: int) -> bool:
    """Return whether arrays are alike, and their scores few enough to be held."""
    dtype = getattr(query, "dtype", None)
    if dtype not in DTYPES or not all(type(x) is np.ndarray and x.dtype == dtype for x in (query, key, value)):
        return False
    lead = query.shape[:-2]
    if not (query.ndim == key.ndim == value.ndim >= 2 and key.shape[:-2] == lead == value.shape[:-2]):
        return False
    if key.shape[-1] != query.shape[-1] or value.shape[-2] != key.shape[-2] or 0 in (*query.shape, *value.shape):
        return False
    if query.size // query.shape[-1] * key.shape[-2] > most:
        return False
    if mask is None:
        return True
    if type(mask) is not np.ndarray or mask.dtype not in (dtype, np.dtype(np.bool_)):
        return False
    scores = *lead, query.shape[-2], key.shape[-2]
    return mask.ndim <= len(scores) and all(n in (1, m) for n, m in zip(mask.shape[::-1], scores[::-1], strict=False))


@lru_cache(maxsize=16)
def _earlier(queries: int, keys: int, dtype: Any) -> Any:
    """Return which keys come no later than each query, ones and zeros; the array is not to be changed."""
    return np.tri(queries, keys, dtype=dtype)


def _exponentials(query: Any, key: Any, mask: Any, causal: bool) -> Any:
    """Return the exponentials of scores, perhaps each row times a number; None where a mask leaves out all of a row."""
    scores = np.matmul(query, key.swapaxes(-1, -2))
    if mask is not None and mask.dtype != np.bool_:
        scores += mask
    if not np.maximum.reduce(scores, axis=None) < LARGEST:
        if causal:
            mask = _earlier(*scores.shape[-2:], np.dtype(np.bool_))
        if mask is not None and mask.dtype == np.bool_:
            scores = np.where(mask, scores, -np.inf).astype(scores.dtype, copy=False)
        largest = scores.max(axis=-1, keepdims=True)
        if not np.isfinite(largest).all():
            return None
        scores -= largest
    with np.errstate(under="ignore"):
        np.exp(scores, out=scores)
    if causal:
        scores *= _earlier(*scores.shape[-2:], scores.dtype)
    elif mask is not None and mask.dtype == np.bool_:
        scores *= mask
    return scores


def attention_flow(query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float | None, most: int) -> Any:
    """Return the values that attention gives, and what takes cotangents back; NotImplemented for other calls.

    Parameters
    ----------
    query, key, value, mask, is_causal, scale : as `scaled_dot_product_attention` takes them
    most : scores that are held
    """
    if (is_causal and mask is not None) or not _fits(query, key, value, mask, most):
        return NotImplemented
    factor = query.dtype.type(1 / sqrt(query.shape[-1]) if scale is None else scale)
    scaled = np.multiply(query, factor)
    shares = _exponentials(scaled, key, mask, is_causal)
    if shares is None:
        return NotImplemented
    sums = np.matmul(shares, np.ones(shares.shape[-1], shares.dtype))
    if not np.minimum.reduce(sums, axis=None) > SMALLEST:
        return NotImplemented
    inverse = np.reciprocal(sums, out=sums)[..., None]
    y = np.matmul(shares, value)
    y *= inverse
    kept, key = y.copy(), key.copy()  # a program may change them in place

    def pull(g: Any, wanted: Any) -> Any:
        g = g[0] * inverse
        of_scores = np.matmul(g, value.swapaxes(-1, -2))
        of_scores -= np.vecdot(g, kept)[..., None]
        of_scores *= shares
        of_mask = None
        if wanted[3]:
            of_mask = project(numpy_namespace, of_scores, mask.shape, mask.dtype)
        of_query = np.matmul(of_scores, key)
        of_query *= factor
        transposed = of_scores.swapaxes(-1, -2)
        return of_query, np.matmul(transposed, scaled), np.matmul(shares.swapaxes(-1, -2), g), of_mask

    return y, pull
