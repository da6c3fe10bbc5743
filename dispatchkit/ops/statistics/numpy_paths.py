"""Fast paths of variance and standard deviation for NumPy arrays."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from dispatchkit.backends.sums import HALF, SINGLE, total
from dispatchkit.declare.decorators import body_on_numpy
from dispatchkit.ops.shared.axes import Axis, count
from dispatchkit.ops.statistics.moments import std, var

__all__ = ["DOUBLE_OF", "holds_nan", "squares"]

# What the means of each kind of numbers are computed in where that is not their own dtype.
DOUBLE_OF = dict.fromkeys("biu", np.dtype("float64"))
# Elements of rows whose squares are summed by a product of vectors, and how many times the variance that the square of
# a mean may be then.
SHORTEST, LONGEST, FAR = 256, 1 << 16, 4
_body_of_var, _body_of_std = body_on_numpy(var), body_on_numpy(std)


def holds_nan(y: Any) -> bool:
    """Return whether an array or number may hold NaN: its sum of squares does then, in which no infinities cancel."""
    found = np.vdot(y, y) if type(y) is np.ndarray else y
    return bool(found != found)  # noqa: PLR0124  # true of NaN alone


def squares(x: Any, mean: Any) -> Any:
    """Return the squared distances from a mean that broadcasts with an array, in one temporary array."""
    d = np.asarray(x - mean)
    if d.dtype.kind != "c":
        return np.multiply(d, d, d)
    real = d.real
    parts = d.view((real.dtype, (2,)))
    np.multiply(parts, parts, parts)
    return np.add(parts[..., 0], parts[..., 1], real)


def _variance(x: Any, axis: Axis, correction: float, keepdims: bool) -> Any:
    whole = total(x, axis=axis, dtype=DOUBLE_OF.get(x.dtype.kind), keepdims=True)
    n = count(x.shape, axis)
    found = _sum_of_rows(x, whole / n, axis, n)
    if found is None:
        return total(squares(x, whole / n), axis=axis, keepdims=keepdims) / max(n - correction, 0)
    return (found if keepdims else found.squeeze(axis)) / max(n - correction, 0)


def _sum_of_rows(x: Any, mean: Any, axis: Axis, n: int) -> Any:
    """Return the sums of the squared distances from means, from the squares of rows, which takes one pass.

    None where the last axes that are summed are no rows, or the means are so far from 0 that digits would be lost.
    """
    if x.dtype.char not in "fd" or not x.flags.c_contiguous:
        return None
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    lead = x.ndim
    while lead and lead - 1 in axes:
        lead -= 1
    length = prod(x.shape[lead:])
    if not SHORTEST <= length <= LONGEST:
        return None
    rows = x.reshape(*x.shape[:lead], length)
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.vecdot(rows, rows).sum(axis=tuple(i for i in axes if i < lead), keepdims=True).reshape(mean.shape)
        of_means = n * mean * mean
        found -= of_means
        return found if (of_means <= FAR * found).all() else None


@var.def_numpy
def var_numpy(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    if type(x) is not np.ndarray or x.size < 2:
        return _body_of_var(x, axis=axis, correction=correction, keepdims=keepdims)
    if x.dtype is HALF:
        return var_numpy(x.astype(SINGLE), axis=axis, correction=correction, keepdims=keepdims).astype(HALF)
    return _variance(x, axis, correction, keepdims)


@std.def_numpy
def std_numpy(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    if type(x) is not np.ndarray or x.size < 2:
        return _body_of_std(x, axis=axis, correction=correction, keepdims=keepdims)
    if x.dtype is HALF:
        return std_numpy(x.astype(SINGLE), axis=axis, correction=correction, keepdims=keepdims).astype(HALF)
    return np.sqrt(_variance(x, axis, correction, keepdims))
