"""Compiled loops: the exponential of numbers, softmax along the last axis, and sums of rows at numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from dispatchkit.nn.functional.affine import embedding
from dispatchkit.nn.functional.rows import DTYPES
from dispatchkit.ops.reductions.softmaxes import softmax

F = TypeVar("F", bound=Callable[..., Any])
# A division by 0 gives an infinity, as in NumPy.
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


def loop(function: F) -> F:
    """Compile a function of arrays and numbers, in which products are added without rounding in between."""
    compiled: F = numba.njit(function, fastmath={"contract"}, **OPTIONS)
    return compiled


def summing_loop(function: F) -> F:
    """Compile a function that sums: in any order, so that several elements are summed at a time."""
    compiled: F = numba.njit(function, fastmath={"contract", "reassoc"}, **OPTIONS)
    return compiled


def contiguous(x: Any, *shape: int) -> Any:
    """Return an array in another shape, its elements one behind the other: else a loop computes one at a time."""
    return np.ascontiguousarray(x).reshape(shape)


ONE = np.float32(1)
# Beyond this exponents are 0 or infinite.
LARGEST = np.float32(160)
# Of exp, as in Cephes: 2**n * (1 + r + r**2 * polynomial(r)), with a logarithm of 2 in two parts. What a large number
# is added to and subtracted from is rounded to an integer.
PER_LOG_2, LOG_2 = np.float32(1 / math.log(2)), (np.float32(0.693359375), np.float32(-2.12194440e-4))
ROUNDING = np.float32(3 << 22)
OF_EXPONENTIAL = tuple(
    np.float32(c)
    for c in (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
)


@loop
def exp(x: Any) -> Any:
    """Return the exponential of a number between minus and plus `LARGEST`, 0 or infinity where it is out of range."""
    n = (x * PER_LOG_2 + ROUNDING) - ROUNDING
    r = (x - n * LOG_2[0]) - n * LOG_2[1]
    p, c = OF_EXPONENTIAL[0], OF_EXPONENTIAL
    p = ((((p * r + c[1]) * r + c[2]) * r + c[3]) * r + c[4]) * r + c[5]
    # 2**n as a product of two powers, whose bits are made.
    half = np.int32(np.int32(n) >> 1)
    low, high = np.int32((half + 127) << 23), np.int32((np.int32(n) - half + 127) << 23)
    return (p * r * r + r + ONE) * low.view(np.float32) * high.view(np.float32)


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
def _center(v: Any, y: Any, d: Any) -> None:
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


def _centred_rows(g: Any, y: Any, axis: Any) -> Any:
    """Return the product with the derivative of softmax along the last axis."""
    if axis not in (-1, y.ndim - 1) or y.dtype not in DTYPES or g.dtype != y.dtype or not y.size:
        return NotImplemented
    d, shape = np.empty(y.shape, y.dtype), (-1, y.shape[-1])
    _center(contiguous(g, *shape), contiguous(y, *shape), d.reshape(shape))
    return d


@softmax.def_kernel("numba", gradients=_centred_rows)
def softmax_of_rows(x, /, *, axis=-1):
    if type(x) is not np.ndarray or x.dtype is not SINGLE or not x.size or axis not in (-1, x.ndim - 1):
        return NotImplemented
    y = np.empty(x.shape, x.dtype)
    _softmax(contiguous(x, -1, x.shape[-1]), y.reshape(-1, x.shape[-1]))
    return y


def _summed_rows(g: Any, x: Any, weight: Any, padding_idx: Any) -> Any:
    """Return the cotangent of a table: for each row the sum of those of its copies."""
    if g.dtype not in DTYPES or padding_idx is not None:
        return NotImplemented
    total = np.zeros(weight.shape, g.dtype)
    _add(total, contiguous(x.astype(np.intp, copy=False), -1), contiguous(g, x.size, -1))
    return total


@embedding.def_kernel("numba", gradients={"weight": _summed_rows}, shapes=("weight",))
def embedding_rows(x, weight, /, *, padding_idx=None):
    return NotImplemented
