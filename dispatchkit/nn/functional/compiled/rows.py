"""Softmax along the last axis, and sums of rows at numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.backends.sums import add_rows
from dispatchkit.nn.functional.compiled.exponential import LARGEST, exp
from dispatchkit.nn.functional.compiled.loops import loop, summing_loop
from dispatchkit.nn.functional.normalization_numpy import DTYPES
from dispatchkit.ops.reductions.softmaxes_numpy import centred_rows, shares

__all__ = ["KERNELS"]

SINGLE = np.dtype("float32")
MAGNITUDE = np.int32((1 << 31) - 1)


@loop
def _largest(x: Any, i: int) -> Any:
    """Return the largest number of a row, NaN where one is: by bits, of which several are compared at a time."""
    largest = np.int32(-(1 << 31))
    for j in range(x.shape[1]):
        bits = np.float32(x[i, j]).view(np.int32)
        largest = np.int32(max(largest, np.int32(bits ^ (np.int32(bits >> 31) & MAGNITUDE))))
    return np.int32(largest ^ (np.int32(largest >> 31) & MAGNITUDE)).view(np.float32)


@summing_loop
def _softmax(x: Any, y: Any) -> None:
    for i in range(x.shape[0]):
        largest, total = _largest(x, i), np.float32(0)
        for j in range(x.shape[1]):
            y[i, j] = exp(max(x[i, j] - largest, -LARGEST))
        for j in range(x.shape[1]):
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] /= total


@summing_loop
def _centred(v: Any, y: Any, d: Any) -> None:
    for i in range(y.shape[0]):
        total = y.dtype.type(0)
        for j in range(y.shape[1]):
            total += v[i, j] * y[i, j]
        for j in range(y.shape[1]):
            d[i, j] = (v[i, j] - total) * y[i, j]


@loop
def _add(out: Any, rows: Any, value: Any) -> None:
    for i in range(rows.size):
        k = rows[i]
        for j in range(out.shape[1]):
            out[k, j] += value[i, j]


def _shares(_: Any, x: Any, axis: Any) -> Any:
    if x.dtype is not SINGLE or not x.size or axis not in (-1, x.ndim - 1):
        return NotImplemented
    y = np.empty(x.shape, x.dtype)
    _softmax(x.reshape(-1, x.shape[-1]), y.reshape(-1, x.shape[-1]))
    return y


def _centred_rows(v: Any, y: Any) -> Any:
    if y.dtype not in DTYPES or v.dtype != y.dtype or v.shape != y.shape or not y.size:
        return NotImplemented
    d, shape = np.empty(y.shape, y.dtype), (-1, y.shape[-1])
    _centred(v.reshape(shape), y.reshape(shape), d.reshape(shape))
    return d


def _add_rows(out: Any, rows: Any, value: Any) -> Any:
    if out.dtype not in DTYPES or not out.flags.c_contiguous:
        return NotImplemented
    _add(out.reshape(len(out), -1), rows.astype(np.intp, copy=False), value.reshape(rows.size, -1))
    return True


KERNELS: dict[Callable[..., Any], Callable[..., Any]] = {
    shares: _shares,
    centred_rows: _centred_rows,
    add_rows: _add_rows,
}
