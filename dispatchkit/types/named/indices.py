"""Rules of named arrays whose elements are read and written by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit import ops
from dispatchkit.protocol.steps import decline
from dispatchkit.types.named.array import NamedTensor, inside, joined_name, places, with_names
from dispatchkit.types.rules import axis_of, implements, takes_raw_index

SIMPLE = frozenset({int, slice})


@implements(ops.getitem)
def getitem_named(x: NamedTensor, key: Any, /) -> Any:
    parts = key
    if type(key) is not tuple:
        parts = (key,)
    if SIMPLE.issuperset(map(type, parts)):
        result = x.data[key]
        kept = [name for name, part in zip(x.names, parts, strict=False) if type(part) is slice]
        return with_names(result, (*kept, *x.names[len(parts) :]))
    read = read_index(x, parts)
    if read is NotImplemented:
        return read
    return with_names(x.data[read[0]], read[1])


def read_index(x: NamedTensor, parts: tuple[Any, ...]) -> Any:
    """Return an index for the array inside and the names of what it gives; a decline where an axis has none.

    Parameters
    ----------
    x : array
    parts : of the index
    """
    whole = _each_axis(x, parts)
    if whole is NotImplemented:
        return whole
    plain, kept, chosen, at = [], [], [], 0
    vectors = any(_ndim(part) for part in whole)
    for number, part in enumerate(whole):
        names = x.names[at : at + _axes_of(part)]
        at += len(names)
        plain.append(inside(part))
        if isinstance(part, slice):
            kept.append((number, names[0]))
        elif vectors:
            chosen.append((number, part, names))
    block = _names_chosen(chosen)
    if block is NotImplemented:
        return block
    numbers = [number for number, _, _ in chosen]
    together = True
    if numbers:
        together = numbers == list(range(numbers[0], numbers[-1] + 1))
    # NumPy puts the axes of vectors that a slice parts to the front.
    first = 0
    if numbers and together:
        first = numbers[0]
    before = [name for number, name in kept if number < first]
    after = [name for number, name in kept if number >= first]
    names = (*before, *block, *after)
    if len(set(names)) < len(names):
        return decline(f"axes of the result would have one name: {names}")
    return tuple(plain), names


def _as_vector(part: Any) -> Any:
    """Return a list of positions as an array, of integers also where it is empty; anything else as it is."""
    if not isinstance(part, list):
        return part
    if not part:
        return np.asarray(part, int)
    return np.asarray(part)


def _each_axis(x: NamedTensor, parts: tuple[Any, ...]) -> Any:
    """Return the parts of an index for all axes, lists as arrays; a decline for what makes axes without names."""
    parts = tuple(_as_vector(part) for part in parts)
    for part in parts:
        if part is None or (_is_mask(part) and not _ndim(part)):
            return decline('a new axis has no name: expand_dims(x, axis="name") gives it one')
        if _ndim(part) > 1 and not isinstance(part, NamedTensor) and not _is_mask(part):
            return decline("an index of several axes needs names for them: a NamedTensor of integers")
    used = sum(_axes_of(part) for part in parts if part is not Ellipsis)
    rest = (slice(None),) * (len(x.names) - used)
    gap = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    return (*parts[:gap], *rest, *parts[gap + 1 :])


def _ndim(part: Any) -> int:
    return len(getattr(part, "shape", ()))


def _is_mask(part: Any) -> bool:
    return isinstance(part, bool) or getattr(part, "dtype", None) == np.bool_


def _axes_of(part: Any) -> int:
    """Return how many axes a part of an index stands for."""
    if _is_mask(part):
        return _ndim(part)
    return 1


def _names_chosen(chosen: list[tuple[int, Any, tuple[str, ...]]]) -> Any:
    """Return the names of the axes that vectors in an index give.

    Parameters
    ----------
    chosen : for each of the vectors and of the numbers beside them its place, itself, and the names that it stands for
    """
    vectors = [(part, names) for _, part, names in chosen if _ndim(part)]
    named = {part.names for part, _ in vectors if isinstance(part, NamedTensor) and not _is_mask(part)}
    for part, names in vectors:
        if isinstance(part, NamedTensor) and _is_mask(part) and part.names != names:
            return decline(f"a mask with axes {part.names} chooses none of {names}; at() takes it by name")
    if len(named) > 1:
        return decline(f"the indices have different axes: {sorted(named)}")
    if named:
        return named.pop()
    if len(vectors) > 1:
        return decline("the axis of several vectors has no name: give them as NamedTensors of one name, or use at()")
    return tuple(joined_name(names) for _, names in vectors)


@implements(ops.setitem, NamedTensor)
@takes_raw_index
def setitem_named(x: Any, key: Any, value: Any, /) -> Any:
    if not isinstance(x, NamedTensor):
        return decline("a plain array has no names to align with")
    read = _read_target(x, key, value)
    if read is NotImplemented:
        return read
    ops.setitem(x.data, *read)
    return None


@implements(ops.index_put, NamedTensor)
def index_put_named(x: Any, key: Any, value: Any, /, *, accumulate: bool = False) -> Any:
    if not isinstance(x, NamedTensor):
        return decline("a plain array has no names to align with")
    read = _read_target(x, key, value)
    if read is NotImplemented:
        return read
    return with_names(ops.index_put(x.data, *read, accumulate=accumulate), x.names)


def _read_target(x: NamedTensor, key: Any, value: Any) -> Any:
    """Return where and what to write in the array inside; a decline where what is named meets an axis without name."""
    parts = key
    if not isinstance(key, tuple):
        parts = (key,)
    if not any(isinstance(part, NamedTensor) for part in (*parts, value)):
        return key, value
    read = read_index(x, parts)
    if read is NotImplemented:
        return read
    return read[0], value.aligned(read[1]) if isinstance(value, NamedTensor) else value


@implements(ops.take)
def take_named(x: NamedTensor, indices: Any, /, *, axis: Any = None) -> Any:
    if axis is None:
        if len(x.names) != 1:
            return decline("give the axis along which elements are taken")
        axis = 0
    if not x.names:
        return decline("it has no axis")
    axis = axis_of("take", x, places(ops.take, x, axis))
    read = read_index(x, ((slice(None),) * axis + (indices,)))
    if read is NotImplemented:
        return read
    return with_names(ops.take(x.data, inside(indices), axis=axis), read[1])
