"""Sums of NumPy arrays: along every axis with the rounding errors of pairwise summation, and at indices.

NumPy sums pairwise where the elements of a sum lie one after another; along any other axis it adds row after row, so
that the error grows with the number of rows, and a sum in half precision stops growing at all. Here such an axis is
split: few rows are added to each of many partial sums, and those are summed in the same way. Short rows are joined to
long ones on the way, which takes a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from dispatchkit.backends.replaceable import replaceable

__all__ = ["HALF", "SINGLE", "add_at", "add_rows", "total"]

# The stub of the reduction does not know its positional form.
_sum: Callable[..., Any] = np.add.reduce
SMALL = 4096  # elements that NumPy adds in the time that a second look takes
ROWS = 64  # added one after another to a partial sum
WIDTH = 2048  # elements of a row in which the cost of the loop over rows is lost
MANY = 4096  # elements that NumPy adds at indices in the time that a matrix is made in
ADDED = frozenset("fdFD")  # characters of the dtypes that SciPy's sparse matrices multiply
HALF, SINGLE = np.dtype("float16"), np.dtype("float32")


def total(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Sum as `numpy.sum`, with errors as small along every axis as along the last one.

    Parameters
    ----------
    x : array of shape (...)
    axis : to sum along, one or several; all by default
    dtype : of the result; small integers are summed in the default integer
    keepdims : whether the summed axes stay, with length 1

    Notes
    -----
    Half precision is summed in single precision, as by PyTorch.
    """
    if x.dtype is HALF and dtype is None:
        return total(x, axis=axis, dtype=SINGLE, keepdims=keepdims).astype(HALF)
    if x.size <= SMALL:
        return _sum(x, axis, dtype, None, keepdims)
    if type(axis) is int and -x.ndim <= axis < x.ndim:
        axes: Sequence[int] = (axis % x.ndim,)
    else:
        axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    if _rows(x, axes) <= 4 * ROWS:
        return _sum(x, axis, dtype, None, keepdims)
    y = x
    # The longest axis first: it leaves least to do.
    for i in sorted(axes, key=x.shape.__getitem__, reverse=True):
        y = _along(y, i, dtype)
    return y if keepdims else y.squeeze(tuple(axes))


def _rows(x: Any, axes: Sequence[int]) -> int:
    """Return how many rows NumPy adds one after another, of an array in no other order than C's."""
    end = x.ndim
    if x.flags.c_contiguous:
        while end and end - 1 in axes:
            end -= 1
    return prod([x.shape[i] for i in axes if i < end])


def _along(x: Any, axis: int, dtype: Any) -> Any:
    """Sum along one axis, which stays."""
    n = x.shape[axis]
    if n <= 2 * ROWS or _is_innermost(x, axis):
        return _sum(x, axis, dtype, None, True)
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    joined = max(min(WIDTH // max(prod(after), 1), n // ROWS), 1)
    blocks = n // (ROWS * joined)
    end = blocks * ROWS * joined
    whole = (slice(None),) * axis
    rows = x[(*whole, slice(end))].reshape(*before, blocks, ROWS, joined, *after)
    y = _along(_sum(rows, axis + 1, dtype).reshape(*before, blocks * joined, *after), axis, dtype)
    return y if end == n else y + _along(x[(*whole, slice(end, None))], axis, dtype)


def _is_innermost(x: Any, axis: int) -> bool:
    """Return whether NumPy's inner loop goes along an axis: the elements along no other one lie as close."""
    own: int = abs(x.strides[axis])
    others = [abs(stride) for i, stride in enumerate(x.strides) if i != axis and x.shape[i] > 1]
    return bool(0 < own < min(others, default=own + 1))


def add_at(out: Any, key: Any, value: Any) -> None:
    """Add to elements of an array in place, to those that an index names twice both times, as `numpy.add.at`.

    Parameters
    ----------
    out : array of shape (n, ...)
    key : any index
    value : array that broadcasts to the shape of ``out[key]``

    Notes
    -----
    Rows that one array of integers names are added by a product with SciPy's sparse matrix of ones and zeros, in the
    same order, where SciPy is installed: a hundred times faster for rows of 256 elements.
    """
    index = key[0] if type(key) is tuple and len(key) == (2 if key[-1] is Ellipsis else 1) else key
    if type(index) is np.ndarray and index.dtype.kind in "iu" and getattr(value, "size", 0) >= MANY:
        rows = _non_negative(index.reshape(-1), out.shape[0])
        fits = value.shape == (*index.shape, *out.shape[1:]) and value.dtype is out.dtype and out.dtype.char in ADDED
        if fits and rows is not None and add_rows(out, rows, value):
            return
    np.add.at(out, key, value)


@replaceable
def add_rows(out: Any, rows: Any, value: Any) -> bool:
    """Add rows to those of numbers from 0 on; return whether SciPy is installed, else nothing is done."""
    matrix_of = _sparse()
    if matrix_of is not None:
        count = rows.size
        ones = np.ones(count, out.dtype)
        matrix = matrix_of((ones, rows, np.arange(count + 1)), shape=(out.shape[0], count))
        out += (matrix @ value.reshape(count, -1)).reshape(out.shape)
    return matrix_of is not None


def _non_negative(rows: Any, length: int) -> Any:
    """Return indices counted from the front, None if one is out of range."""
    least = rows.min()
    if rows.max() >= length or least < -length:
        return None
    return rows if least >= 0 else np.where(rows < 0, rows + length, rows)


@cache
def _sparse() -> Any:
    """Return SciPy's class of matrices stored by columns, None where SciPy is not installed."""
    try:
        from scipy.sparse import csc_matrix  # noqa: PLC0415  # optional dependency
    except ImportError:
        return None
    return csc_matrix
