"""NumPy's functions that change their first argument, made of assignments to its elements, which gradients see."""

from __future__ import annotations

import math
import operator
from typing import Any, Literal

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.typing import Array
from dispatchkit.ops.shared import normal_axis
from dispatchkit.tensor.numpy_shapes import composition


@composition
def copyto(dst: Array, src: Array | complex, casting: Any = "same_kind", where: Array | None = None) -> None:
    dtype = getattr(src, "dtype", None)
    if dtype is not None and not np.can_cast(dtype, dst.dtype, casting):
        raise TypeError(f"copyto: an array of {dtype} does not become one of {dst.dtype} by casting={casting!r}")
    dst[...] = src if where is None else xp.where(where, src, dst)


@composition
def put(a: Array, ind: Any, v: Array | complex, mode: Literal["raise", "wrap", "clip"] = "raise") -> None:
    places = np.asarray(ind, dtype=np.int64).ravel()
    if not places.size or not np.size(v):
        return
    if not a.size or (mode == "raise" and (places.min() < -a.size or places.max() >= a.size)):
        raise IndexError(f"put: an index is out of bounds for {a.size} elements")
    places = np.clip(places, 0, a.size - 1) if mode == "clip" else places % a.size
    a[np.unravel_index(places, tuple(a.shape))] = np.resize(v, places.shape)


@composition
def putmask(a: Array, mask: Array, values: Array | complex) -> None:
    if mask.size != a.size:
        raise ValueError(f"putmask: mask must have the shape of a, {tuple(a.shape)}, found {tuple(mask.shape)}")
    if np.size(values):
        mask = xp.reshape(mask, tuple(a.shape)) != 0
        a[...] = xp.where(mask, xp.astype(np.resize(values, tuple(a.shape)), a.dtype), a)


@composition
def place(arr: Array, mask: Array, vals: Array | complex) -> None:
    places = np.flatnonzero(np.asarray(mask))
    if places.size and not np.size(vals):
        raise ValueError("place: vals must have elements to put at the places of mask")
    put(arr, places, vals)


@composition
def fill_diagonal(a: Array, val: Array | complex, wrap: bool = False) -> None:
    shape = tuple(a.shape)
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ValueError(f"fill_diagonal: a must have two axes, or more of one length, found shape {shape}")
    step = 1 + sum(math.prod(shape[k:]) for k in range(1, len(shape)))
    stop = None if wrap or len(shape) > 2 else shape[1] * shape[1]
    put(a, np.arange(a.size)[:stop:step], val)


@composition
def put_along_axis(arr: Array, indices: Array, values: Array | complex, axis: Any) -> None:
    places, ndim = np.asarray(indices), 1 if axis is None else arr.ndim
    if places.ndim != ndim:
        raise ValueError(f"put_along_axis: indices must have as many axes as arr, {ndim}, found shape {places.shape}")
    if axis is None:
        arr[np.unravel_index(places % arr.size, tuple(arr.shape))] = values
        return
    axis = normal_axis(operator.index(axis), ndim)
    key: list[Any] = list(np.ogrid[tuple(map(slice, arr.shape))])
    key[axis] = places
    arr[tuple(key)] = values
