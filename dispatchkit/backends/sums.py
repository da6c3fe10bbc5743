"""Sums of NumPy arrays with the rounding errors of pairwise summation, along every axis.

NumPy sums pairwise where the elements of a sum lie one after another; along any other axis it adds row after row, so
that the error grows with the number of rows, and a sum in half precision stops growing at all. Here such an axis is
split: few rows are added to each of many partial sums, and those are summed in the same way. Short rows are joined to
long ones on the way, which takes a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

__all__ = ["HALF", "SINGLE", "total"]

# The stub of the reduction does not know its positional form.
_sum: Callable[..., Any] = np.add.reduce
SMALL = 4096  # elements that NumPy adds in the time that a second look takes
ROWS = 64  # added one after another to a partial sum
WIDTH = 2048  # elements of a row in which the cost of the loop over rows is lost
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
