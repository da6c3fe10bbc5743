"""Indices as NumPy takes them, read for libraries that take fewer."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.backends.tracing import is_traced


class Picked(NamedTuple):
    """Integers that pick along an axis.

    Attributes
    ----------
    indices : array of non-negative integers
    length : of the axis; 1 for one that is not there, which a 0-D mask picks from
    real : whether the axis is there
    """

    indices: Any
    length: int
    real: bool = True


def parts_of(xp: Any, shape: Sequence[int], key: Any) -> list[Any]:
    """Return the parts of an index: one for each axis, and None for each new one.

    Parameters
    ----------
    xp : namespace of the arrays in the index
    shape : of the array that is indexed
    key : any index that NumPy takes; lists count as arrays

    Returns
    -------
    non-negative integers, slices with non-negative bounds, None, and `Picked` for arrays

    Raises
    ------
    IndexError : if there are too many parts, or one is out of bounds or no index at all
    """
    entries = (key,)
    if isinstance(key, tuple):
        entries = key
    key_parts = [_index_part(xp, part) for part in entries]
    used = sum(_axes_of(part) for part in key_parts)
    dots = [place for place, part in enumerate(key_parts) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can have a single ellipsis ('...')")
    if used > len(shape):
        raise IndexError(f"too many indices: the array has {len(shape)} axes, {used} were indexed")
    rest = [slice(None)] * (len(shape) - used)
    if dots:
        place = dots[0]
    else:
        place = len(key_parts)
    key_parts = [*key_parts[:place], *rest, *key_parts[place + 1 :]]
    parts: list[Any] = []
    axis = 0
    for part in key_parts:
        parts += _along(xp, shape, axis, part)
        axis += _axes_of(part)
    return parts


def _index_part(xp: Any, part: Any) -> Any:
    """Return a part of an index, a list or truth value as an array."""
    if isinstance(part, np.generic):
        part = part.item()
    if isinstance(part, bool):
        return xp.asarray(part)
    if isinstance(part, (list, tuple)):
        if part:
            return xp.asarray(part)
        return xp.zeros((0,), dtype=xp.index_dtype)
    if part is None or part is Ellipsis or isinstance(part, slice) or hasattr(part, "shape"):
        return part
    try:
        return operator.index(part)
    except TypeError:
        raise IndexError(f"{part!r} is no index: integers, slices, ..., None, and arrays are") from None


def _axes_of(part: Any) -> int:
    """Return how many axes a part is the index of."""
    if part is None or part is Ellipsis:
        return 0
    if is_mask(part):
        return int(part.ndim)
    return 1


def is_mask(part: Any) -> bool:
    """Return whether a part of an index is an array of booleans."""
    return str(getattr(part, "dtype", "")).rpartition(".")[2] == "bool"


def _along(xp: Any, shape: Sequence[int], axis: int, part: Any) -> Iterator[Any]:
    """Yield the parts that one given part stands for."""
    if part is None:
        yield None
    elif isinstance(part, slice):
        yield _within(part, shape[axis])
    elif isinstance(part, int):
        n = shape[axis]
        if not -n <= part < n:
            raise IndexError(f"index {part} is out of bounds for axis {axis} with size {n}")
        yield part % n
    elif not is_mask(part):
        yield Picked(_non_negative(xp, part, axis, shape[axis]), shape[axis])
    elif part.ndim == 0:
        yield Picked(xp.zeros((int(bool(part)),), dtype=xp.index_dtype), 1, real=False)
    elif part.shape != tuple(shape[axis : axis + part.ndim]):
        raise IndexError(f"a mask of shape {tuple(part.shape)} does not fit the axes from {axis} on of {tuple(shape)}")
    else:
        for offset, indices in enumerate(xp.nonzero(part)):
            yield Picked(indices, shape[axis + offset])


def _within(part: slice, n: int) -> slice:
    """Return a slice whose bounds are inside an axis; its stop is None where it goes down to 0."""
    start, stop, step = part.indices(n)
    if len(range(start, stop, step)) == 0:
        return slice(0, 0, 1)
    if stop < 0:
        return slice(start, None, step)
    return slice(start, stop, step)


def _non_negative(xp: Any, indices: Any, axis: int, n: int) -> Any:
    outside = xp.any((indices < -n) | (indices >= n))
    if not is_traced(outside) and bool(outside):
        raise IndexError(f"an index is out of bounds for axis {axis} with size {n}")
    return xp.where(indices < 0, indices + n, indices)


def is_basic(parts: list[Any]) -> bool:
    """Return whether the parts of an index are integers, slices that go up, and new axes."""
    return not any(isinstance(part, Picked) or (isinstance(part, slice) and part.step < 0) for part in parts)


def flat_places(xp: Any, shape: Sequence[int], parts: list[Any]) -> Any:
    """Return where in a flattened array the elements are that an index selects.

    Parameters
    ----------
    xp : namespace to compute with
    shape : of the array that is indexed
    parts : of the index, see `parts_of`

    Returns
    -------
    integer array of the shape of the selection: the axes of arrays stand where the first of these stood, or in front
    where a slice or new axis came between them
    """
    picking = [place for place, part in enumerate(parts) if isinstance(part, Picked)]
    if picking:  # together with arrays, integers are 0-D arrays
        picking = [place for place, part in enumerate(parts) if isinstance(part, (Picked, int))]
    shapes = [tuple(parts[i].indices.shape) for i in picking if isinstance(parts[i], Picked)]
    try:
        picked = np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(f"index arrays of shapes {', '.join(map(str, shapes))} do not broadcast") from None
    together = not picking or picking[-1] - picking[0] + 1 == len(picking)
    before = 0
    if picking and together:
        before = picking[0]
    kept = [place for place, part in enumerate(parts) if part is None or isinstance(part, slice)]
    lead = sum(place < before for place in kept)
    ndim = len(kept) + len(picked)
    places = xp.zeros((1,) * ndim, dtype=xp.index_dtype)
    lengths = iter(shape)
    strides = iter([math.prod(shape[axis + 1 :]) for axis in range(len(shape))])
    for place, part in enumerate(parts):
        if part is None or (isinstance(part, Picked) and not part.real):
            stride = 0
            if part is None:
                indices = xp.zeros((1,), dtype=xp.index_dtype)
            else:
                indices = part.indices
        else:
            n, stride = next(lengths), next(strides)
            indices = _indices(xp, part, n)
        if place in kept:
            at = kept.index(place)
            if at >= lead:
                at += len(picked)
            after = ndim - 1 - at
        else:
            after = len(kept) - lead
        places = places + xp.reshape(indices, (*indices.shape, *(1,) * after)) * stride
    return places


def _indices(xp: Any, part: Any, n: int) -> Any:
    """Return the indices along an axis that a part selects."""
    if isinstance(part, Picked):
        return xp.astype(part.indices, xp.index_dtype, copy=False)
    if isinstance(part, slice):
        return xp.arange(*part.indices(n), dtype=xp.index_dtype)
    return xp.asarray(part, dtype=xp.index_dtype)


def picks_rows(parts: list[Any], shape: tuple[int, ...]) -> bool:
    """Return whether an index picks along the first axis alone, and takes the others whole."""
    if not (parts and isinstance(parts[0], Picked) and parts[0].real):
        return False
    return parts[1:] == [slice(0, n, 1) for n in shape[1:]]
