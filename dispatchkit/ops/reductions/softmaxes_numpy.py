"""Softmax of NumPy arrays, and the product with its derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.backends.replaceable import replaceable
from dispatchkit.declare.typing import Namespace
from dispatchkit.ops.shared.axes import Axis

__all__ = ["centred_rows", "shares"]


@replaceable
def shares(xp: Namespace, x: Any, axis: Axis) -> Any:
    """Return softmax of an array, in one other one."""
    e = x - xp.max(x, axis=axis, keepdims=True)
    np.exp(e, out=e)
    e /= xp.sum(e, axis=axis, keepdims=True)
    return e


@replaceable
def centred_rows(v: Any, y: Any) -> Any:
    """Return the product with the derivative of softmax along the last axis."""
    d = v - np.vecdot(v, y)[..., None]
    d *= y
    return d
