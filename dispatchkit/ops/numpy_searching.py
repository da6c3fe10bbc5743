"""NumPy's shorter ways for counting, finding and telling apart elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.ops.axes import Axis
from dispatchkit.ops.extras_manipulation import argwhere
from dispatchkit.ops.reductions import count_nonzero
from dispatchkit.ops.sets import unique_values

__all__: list[str] = []

_total: Any = np.add.reduce


@count_nonzero.def_numpy
def count_nonzero_numpy(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    if axis is None and not keepdims:
        return np.count_nonzero(x)
    return _total(np.asarray(x).astype(bool, copy=False), axis, np.intp, None, keepdims)


# Integers from which a table of those between the smallest and the largest is made in less time than an order.
MANY = 1000


@unique_values.def_numpy
def unique_values_numpy(x: Any, /) -> Any:
    """Tell values apart: integers that lie close by a table of them, others by their order."""
    x = np.asarray(x)
    if x.size > MANY and x.dtype.kind == "i":
        low, high = int(x.min()), int(x.max())
        if high - low < x.size:
            seen = np.zeros(high - low + 1, bool)
            seen[x.astype(np.intp) - low] = True
            return (seen.nonzero()[0] + low).astype(x.dtype)
    y = x.flatten()
    y.sort()
    kept = np.empty(y.shape, bool)
    kept[:1] = True
    np.not_equal(y[1:], y[:-1], kept[1:])
    return y[kept]


@argwhere.def_numpy
def argwhere_numpy(x: Any, /) -> Any:
    return np.array(x.nonzero()).T if x.ndim else np.argwhere(x)
