"""NumPy's functions that change their first argument, made of assignments to its elements, which gradients see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.typing import Array
from dispatchkit.tensor.numpy_arguments import as_array
from dispatchkit.tensor.numpy_shapes import composition


@composition
def copyto(dst: Array, src: Array | complex, casting: Any = "same_kind", where: Array | None = None) -> None:
    dtype = getattr(src, "dtype", None)
    if dtype is not None and not np.can_cast(dtype, dst.dtype, casting):
        raise TypeError(f"copyto: an array of {dtype} does not become one of {dst.dtype} by casting={casting!r}")
    if where is None:
        dst[...] = src
    else:
        # Of arrays with units, the first of the two says in which the result is: what is not written stays as it is.
        dst[...] = xp.where(xp.logical_not(as_array(where)), dst, src)


def _write(a: Any, values: Any, write: Callable[[Any, Any], None]) -> None:
    """Write values where NumPy's function writes them, which is asked with the numbers of their places."""
    values = as_array(values)
    numbers = np.full(tuple(a.shape), -1)
    write(numbers, np.arange(values.size).reshape(tuple(values.shape)))
    if values.size:
        written = xp.take(xp.ravel(values), np.maximum(numbers, 0).ravel(), axis=0)
        a[...] = xp.where(numbers < 0, a, xp.reshape(xp.astype(written, a.dtype), numbers.shape))


@composition
def put(a: Array, ind: Any, v: Array | complex, mode: Literal["raise", "wrap", "clip"] = "raise") -> None:
    places = np.asarray(ind)
    if places.size and not np.can_cast(places.dtype, np.int64, "safe"):
        raise TypeError(f"numpy.put: ind must be integers, found {ind!r}")
    _write(a, v, lambda numbers, values: np.put(numbers, places.astype(np.int64), values, mode))


@composition
def putmask(a: Array, mask: Array, values: Array | complex) -> None:
    _write(a, values, lambda numbers, values: np.putmask(numbers, np.asarray(mask), values))


@composition
def place(arr: Array, mask: Array, vals: Array | complex) -> None:
    _write(arr, vals, lambda numbers, values: np.place(numbers, np.asarray(mask), values))


@composition
def fill_diagonal(a: Array, val: Array | complex, wrap: bool = False) -> None:
    _write(a, val, lambda numbers, values: np.fill_diagonal(numbers, values, wrap))


@composition
def put_along_axis(arr: Array, indices: Array, values: Array | complex, axis: Any) -> None:
    _write(arr, values, lambda numbers, values: np.put_along_axis(numbers, np.asarray(indices), values, axis))
