"""Fast paths of variance and standard deviation for NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.backends.sums import HALF, SINGLE, total
from dispatchkit.declare.decorators import body_on_numpy
from dispatchkit.ops.shared.axes import Axis, count
from dispatchkit.ops.statistics.moments import std, var

__all__ = ["DOUBLE_OF", "holds_nan", "squares"]

# What the means of each kind of numbers are computed in where that is not their own dtype.
DOUBLE_OF = dict.fromkeys("biu", np.dtype("float64"))
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
    return total(squares(x, whole / n), axis=axis, keepdims=keepdims) / max(n - correction, 0)


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
