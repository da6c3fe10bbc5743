"""Fast paths for NumPy arrays that are rolled, broadcast together, or made of evenly spaced values."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from dispatchkit.backends.numpy import DOUBLE, numpy_namespace
from dispatchkit.declare.decorators import body_on_numpy
from dispatchkit.declare.typing import DType
from dispatchkit.ops.creation.creation import linspace
from dispatchkit.ops.creation.dtypes import default_dtype_of
from dispatchkit.ops.manipulation.joining import broadcast_arrays
from dispatchkit.ops.manipulation.permuting import roll, swapaxes, transpose
from dispatchkit.ops.manipulation.shapes import ravel
from dispatchkit.ops.shared.axes import Axis, along

__all__ = ["rolled"]

_transpose_any = body_on_numpy(transpose)
_swapaxes_any = body_on_numpy(swapaxes)
_roll_any = body_on_numpy(roll)
_broadcast_any = body_on_numpy(broadcast_arrays)
_linspace_any = body_on_numpy(linspace)


@transpose.def_numpy
def transpose_numpy(x: Any, /, axes: int | Sequence[int] | None = None, *more: int) -> Any:
    if axes is None and not more:
        return x.transpose()
    if type(axes) is tuple and not more:
        return x.transpose(axes) if len(axes) == x.ndim else _transpose_any(x, axes)
    return _transpose_any(x, axes, *more)


@swapaxes.def_numpy
def swapaxes_numpy(x: Any, axis1: int, axis2: int, /) -> Any:
    try:
        return x.swapaxes(axis1, axis2)
    except (TypeError, ValueError):
        return _swapaxes_any(x, axis1, axis2)


@ravel.def_numpy
def ravel_numpy(x: Any, /) -> Any:
    return x.reshape(-1)


@roll.def_numpy
def roll_numpy(x: Any, /, shift: int | tuple[int, ...], *, axis: Axis = None) -> Any:
    if type(x) is not np.ndarray or type(shift) is not int:
        return _roll_any(x, shift, axis=axis)
    if axis is None:
        return rolled(x.reshape(-1), shift, 0).reshape(x.shape)
    if type(axis) is int and -x.ndim <= axis < x.ndim:
        return rolled(x, shift, axis % x.ndim)
    return _roll_any(x, shift, axis=axis)


def rolled(x: Any, shift: int, axis: int) -> Any:
    """Return an array with its elements moved on along an axis, given as a non-negative number."""
    kept = x.shape[axis]
    kept -= shift % kept if kept else 0
    return np.concatenate((x[along(axis, slice(kept, None))], x[along(axis, slice(None, kept))]), axis)


@broadcast_arrays.def_numpy
def broadcast_arrays_numpy(*arrays: Any) -> tuple[Any, ...]:
    try:
        shape = np.broadcast(*arrays).shape
    except ValueError:
        return _broadcast_any(*arrays)
    return tuple([_broadcast(x, shape) for x in arrays])


def _broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    """Return a read-only view of a shape, which NumPy's iterator need not find out where it is the array's own."""
    if type(x) is not np.ndarray or x.shape != shape:
        return numpy_namespace.broadcast_to(x, shape)
    view = x.view()
    view.flags.writeable = False
    return view


@linspace.def_numpy
def linspace_numpy(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType = None,
    device: Any = None,
    endpoint: bool = True,
) -> Any:
    parts = num - 1 if endpoint else num
    plain = type(start) is type(stop) is float and type(num) is int and dtype is None and device is None
    if plain and parts > 0 and default_dtype_of("f") == DOUBLE:
        step: Any = (stop - start) / parts
        if step and isfinite(step):
            y = np.arange(num, dtype=DOUBLE)
            np.multiply(y, step, y)
            np.add(y, start, y)
            if endpoint:
                y[-1] = stop
            return y
    return _linspace_any(start, stop, num, dtype=dtype, device=device, endpoint=endpoint)
