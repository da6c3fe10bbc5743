"""Fast paths for making NumPy arrays; arguments that NumPy refuses are for the bodies, which say why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import DTYPES
from dispatchkit.declare.decorators import body_on_numpy
from dispatchkit.ops.creation.creation import (
    REFUSED,
    SHAPES,
    arange,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from dispatchkit.ops.creation.dtypes import default_dtype_of, dtype_of_scalar

__all__: list[str] = []

# The kinds of dtypes that hold a Python number as it is, or refuse it.
FITTING = {float: "fc", int: "iufc", bool: "b"}


def _ones(shape: Any, dtype: Any) -> Any:
    y = np.empty(shape, dtype)
    y.fill(1)
    return y


def _making(operation: Any, make: Callable[[Any, Any], Any]) -> None:
    """Make arrays of a shape by a function that takes shape and dtype."""
    body = body_on_numpy(operation)

    def fast(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
        if type(shape) in SHAPES and device is None:
            try:
                return make(shape, dtype or default_dtype_of("f"))
            except REFUSED:
                pass
        return body(shape, dtype=dtype, device=device)

    operation.def_numpy(fast)


def _making_like(operation: Any, make: Callable[[Any, Any], Any]) -> None:
    """Make arrays of the shape of another by a function that takes shape and dtype."""
    body = body_on_numpy(operation)

    def fast(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
        if device is None:
            try:
                return make(x.shape, dtype or x.dtype)
            except REFUSED:
                pass
        return body(x, dtype=dtype, device=device)

    operation.def_numpy(fast)


for of_shape, like, make in ((zeros, zeros_like, np.zeros), (ones, ones_like, _ones), (empty, empty_like, np.empty)):
    _making(of_shape, make)
    _making_like(like, make)


def _filled(shape: Any, value: Any, dtype: Any) -> Any:
    """Return a Python number in every element; None where the body has to do it."""
    fitting = FITTING.get(type(value))
    if type(shape) not in SHAPES or fitting is None or type(dtype) not in DTYPES or dtype.kind not in fitting:
        return None
    try:
        y = np.empty(shape, dtype)
        y.fill(value)
    except REFUSED:
        return None
    return y


_full_any, _full_like_any = body_on_numpy(full), body_on_numpy(full_like)


@full.def_numpy
def full_numpy(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    y = _filled(shape, fill_value, dtype or dtype_of_scalar(fill_value)) if device is None else None
    return _full_any(shape, fill_value, dtype=dtype, device=device) if y is None else y


@full_like.def_numpy
def full_like_numpy(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    y = _filled(x.shape, fill_value, dtype or x.dtype) if device is None else None
    return _full_like_any(x, fill_value, dtype=dtype, device=device) if y is None else y


_arange: Callable[..., Any] = np.arange
_arange_any = body_on_numpy(arange)


@arange.def_numpy
def arange_numpy(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None, device: Any = None
) -> Any:
    if type(start) is int and type(step) is int and step and device is None:
        if stop is None:
            return _arange(0, start, step, dtype or default_dtype_of("i"))
        if type(stop) is int:
            return _arange(start, stop, step, dtype or default_dtype_of("i"))
    return _arange_any(start, stop, step, dtype=dtype, device=device)


_eye_any = body_on_numpy(eye)


@eye.def_numpy
def eye_numpy(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Any:
    """Put ones into the flat array by one slice."""
    columns = n_rows if n_cols is None else n_cols
    if type(n_rows) is type(columns) is type(k) is int and n_rows >= 0 <= columns and device is None:
        y = np.zeros((n_rows, columns), dtype or default_dtype_of("f"))
        if k < columns:
            y.reshape(-1)[k if k >= 0 else -k * columns : (columns - k) * columns : columns + 1] = 1
        return y
    return _eye_any(n_rows, n_cols, k=k, dtype=dtype, device=device)
