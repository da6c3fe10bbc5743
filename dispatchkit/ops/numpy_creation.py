"""NumPy's shorter ways for making arrays; arguments that it refuses are looked at by the bodies, for their messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.graph.numpy_namespace import DOUBLE, numpy_namespace
from dispatchkit.ops.creation import empty, filled, full, ones, shape_of, zeros
from dispatchkit.ops.dtypes import default_dtype_of, dtype_of_scalar

__all__: list[str] = []

SHAPES = (tuple, int)


def _making(name: str, make: Callable[..., Any]) -> Callable[..., Any]:
    def way(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
        dtype = dtype or default_dtype_of("f")
        if type(shape) in SHAPES and device is None:
            try:
                return make(shape, dtype)
            except (TypeError, ValueError):
                pass
        return make(shape_of(name, shape), dtype=dtype, device=device)

    return way


for operation, make in ((zeros, np.zeros), (ones, np.ones), (empty, np.empty)):
    operation.def_numpy(_making(operation.__name__, make))


@full.def_numpy
def full_numpy(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Put floats into a new array by its own method; anything else as the body does."""
    plain = type(fill_value) is float and type(shape) in SHAPES and (dtype is None or dtype is DOUBLE)
    if plain and device is None:
        try:
            y = np.empty(shape, dtype or dtype_of_scalar(fill_value))
        except (TypeError, ValueError):
            pass
        else:
            y.fill(fill_value)
            return y
    return filled(numpy_namespace, shape_of("full", shape), fill_value, dtype or dtype_of_scalar(fill_value), device)
