"""NumPy's indices in terms of those of the array API standard.

The standard knows fewer indices than NumPy: axes are not left out, slices do not reach beyond the ends, integer arrays
do not go together with slices. An index is therefore taken apart first, one part for each axis and each new one; what
then is no plain index becomes the places of its elements in the flattened array.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.backends.traced import is_traced

__all__ = ["Picked", "flat_places", "is_basic", "parts_of"]


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
    given = [_converted(xp, part) for part in (key if isinstance(key, tuple) else (key,))]
    used = sum(_axes_of(part) for part in given)
    dots = [place for place, part in enumerate(given) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can have a single ellipsis ('...')")
    if used > len(shape):
        raise IndexError(f"too many indices: the array has {len(shape)} axes, {used} were indexed")
    rest = [slice(None)] * (len(shape) - used)
    place = dots[0] if dots else len(given)
    given = [*given[:place], *rest, *given[place + 1 :]]
    found: list[Any] = []
    axis = 0
    for part in given:
        found += _along(xp, shape, axis, part)
        axis += _axes_of(part)
    return found


def _converted(xp: Any, part: Any) -> Any:
    """Return a part of an index, a list or truth value as an array."""
    if isinstance(part, np.generic):
        part = part.item()
    if isinstance(part, bool):
        return xp.asarray(part)
    if isinstance(part, (list, tuple)):
        return xp.asarray(part) if part else xp.zeros((0,), dtype=xp.index_dtype)
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
    return part.ndim if _is_mask(part) else 1


def _is_mask(part: Any) -> bool:
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
    elif not _is_mask(part):
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
    return slice(start, None if stop < 0 else stop, step)


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
    picked = _broadcast_shape([parts[i].indices.shape for i in picking if isinstance(parts[i], Picked)])
    together = not picking or picking[-1] - picking[0] + 1 == len(picking)
    before = picking[0] if picking and together else 0
    kept = [place for place, part in enumerate(parts) if part is None or isinstance(part, slice)]
    lead = sum(place < before for place in kept)
    ndim = len(kept) + len(picked)
    found = xp.zeros((1,) * ndim, dtype=xp.index_dtype)
    lengths = iter(shape)
    strides = iter([math.prod(shape[axis + 1 :]) for axis in range(len(shape))])
    for place, part in enumerate(parts):
        if part is None or (isinstance(part, Picked) and not part.real):
            indices, stride = (xp.zeros((1,), dtype=xp.index_dtype) if part is None else part.indices), 0
        else:
            n, stride = next(lengths), next(strides)
            indices = _indices(xp, part, n)
        if place in kept:
            at = kept.index(place)
            after = ndim - 1 - (at if at < lead else at + len(picked))
        else:
            after = len(kept) - lead
        found = found + xp.reshape(indices, (*indices.shape, *(1,) * after)) * stride
    return found


def _indices(xp: Any, part: Any, n: int) -> Any:
    """Return the indices along an axis that a part selects."""
    if isinstance(part, Picked):
        return xp.astype(part.indices, xp.index_dtype, copy=False)
    if isinstance(part, slice):
        return xp.arange(*part.indices(n), dtype=xp.index_dtype)
    return xp.asarray(part, dtype=xp.index_dtype)


def _broadcast_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to."""
    ndim = max(map(len, shapes), default=0)
    found = []
    for lengths in zip(*((1,) * (ndim - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        wide = {n for n in lengths if n != 1}
        if len(wide) > 1:
            raise IndexError(f"index arrays of shapes {', '.join(map(str, map(tuple, shapes)))} do not broadcast")
        found.append(wide.pop() if wide else 1)
    return tuple(found)
