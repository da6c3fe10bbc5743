"""Sums of NumPy arrays, precise along every axis, and in little time along the last one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from dispatchkit.accelerator import computed_by, reduction_of

__all__ = ["DOUBLE", "HALF", "SINGLE", "cumulative_sum", "sum_of_array", "sum_of_squares", "total"]

HALF, SINGLE, DOUBLE = np.dtype("float16"), np.dtype("float32"), np.dtype("float64")
sum_of_array: Callable[..., Any] = reduction_of(np.add)
SMALL = 4096  # elements that NumPy adds in the time that a second look takes
ROWS = 64  # added one after another to a partial sum
WIDTH = 2048  # elements of a row in which the cost of the loop over rows is lost
# Elements from which on a product takes less time than NumPy's loop over rows, and of a row that it sums as precisely;
# elements from which on all are summed as rows.
FEW, LONGEST, MANY = 1 << 9, 1 << 10, 1 << 14


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
    if (axis is None or axis in (-1, x.ndim - 1)) and dtype is None and x.size > FEW and x.flags.c_contiguous:
        y = _of_rows(x, axis, keepdims)
        if y is not None:
            return y
    if x.size <= SMALL:
        return sum_of_array(x, axis, dtype, None, keepdims)
    if type(axis) is int and -x.ndim <= axis < x.ndim:
        axes: Sequence[int] = (axis % x.ndim,)
    elif axis is None:
        axes = range(x.ndim)
    else:
        axes = normalize_axis_tuple(axis, x.ndim)
    if _rows(x, axes) <= 4 * ROWS:
        return sum_of_array(x, axis, dtype, None, keepdims)
    y = x
    # The longest axis first: it leaves least to do.
    for i in sorted(axes, key=x.shape.__getitem__, reverse=True):
        y = _along(y, i, dtype)
    if keepdims:
        return y
    return y.squeeze(tuple(axes))


def _of_rows(x: Any, axis: Any, keepdims: bool) -> Any:
    """Return the sums of contiguous rows, or of all elements, by products, which take a third of the time; else None.

    Rows of so few elements are summed as precisely as by NumPy.
    """
    if x.dtype.char not in "fd":
        return None
    if axis is None:
        if x.size < MANY:
            return None
        end = x.size // LONGEST * LONGEST
        rows, rest = x.reshape(-1)[:end].reshape(-1, LONGEST), x.reshape(-1)[end:]
        y = sum_of_array(rows.dot(np.ones(LONGEST, x.dtype)), None) + sum_of_array(rest, None)
        if keepdims:
            return y.reshape((1,) * x.ndim)
        return y
    if type(axis) is not int or x.ndim - 1 not in (axis, axis + x.ndim) or not 2 <= x.shape[-1] <= LONGEST:
        return None
    y = x.dot(np.ones(x.shape[-1], x.dtype))
    if keepdims:
        return y[..., None]
    return y


@computed_by("cumulative_sum")
def cumulative_sum(x: Any, axis: int, backward: bool = False) -> Any:  # C takes it by position
    """Return the sums of the elements up to each one along an axis; backward from each one on."""
    if backward:
        return np.flip(np.flip(x, axis).cumsum(axis), axis)
    return x.cumsum(axis)


def sum_of_squares(x: Any, axis: Any, *, keepdims: bool) -> Any:
    """Return the sums of squares of real numbers: of contiguous rows without an array of the squares."""
    along_rows = type(axis) is int and x.ndim - 1 in (axis, axis + x.ndim) and x.flags.c_contiguous
    if not (along_rows and x.size > FEW and x.shape[-1] <= LONGEST and x.dtype.char in "fd"):
        return total(x * x, axis=axis, keepdims=keepdims)
    y = np.vecdot(x, x)
    if keepdims:
        return y[..., None]
    return y


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
        return sum_of_array(x, axis, dtype, None, True)
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    joined = max(min(WIDTH // max(prod(after), 1), n // ROWS), 1)
    blocks = n // (ROWS * joined)
    end = blocks * ROWS * joined
    whole = (slice(None),) * axis
    rows = x[(*whole, slice(end))].reshape(*before, blocks, ROWS, joined, *after)
    y = _along(sum_of_array(rows, axis + 1, dtype).reshape(*before, blocks * joined, *after), axis, dtype)
    if end == n:
        return y
    return y + _along(x[(*whole, slice(end, None))], axis, dtype)


def _is_innermost(x: Any, axis: int) -> bool:
    """Return whether NumPy's inner loop goes along an axis: the elements along no other one lie as close."""
    step: int = abs(x.strides[axis])
    others = [abs(stride) for i, stride in enumerate(x.strides) if i != axis and x.shape[i] > 1]
    return bool(0 < step < min(others, default=step + 1))
