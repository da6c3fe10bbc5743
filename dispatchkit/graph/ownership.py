"""Who owns the memory of a gradient: what a sweep stores or returns shares memory with no other array.

The rules of this library keep no gradient, and give new arrays or views of their cotangent; a test holds them to it. So
a sweep owns the memory of a gradient unless the gradient came from outside, went outside, or shares memory with another
gradient of the sweep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import is_fixed, namespace_of
from dispatchkit.graph.storage import Storage, Vertex

__all__ = ["Ownership", "copied", "let_go", "owned", "separate"]

ndarray = np.ndarray
# What `owned` is given by a sweep, but for the gradient.
Ownership = tuple[Mapping[Vertex, Any], list[Any], set[int]]


def owned(g: Any, pending: Mapping[Vertex, Any], outside: list[Any], known: set[int]) -> Any:
    """Return a raw gradient to give away: itself if its memory is the sweep's own, else a copy.

    Parameters
    ----------
    g : the gradient, which goes no further in the sweep
    pending : the gradients that do, lists of them for several outputs
    outside : gradients that somebody outside may hold; moved from here to `known`
    known : ids of the arrays whose memory somebody outside may hold. The id of an array that is gone may come back;
        then a copy too many is made.
    """
    let_go(outside, known)
    if type(g) is ndarray:
        owner = _owner(g)
        free = id(owner) not in known and (owner is g or _is_whole(g, owner))
        if free and not (pending and _looked_at(id(owner), pending)):
            return g
    elif is_fixed(g):
        return g
    elif hasattr(g, "untyped_storage"):
        key = _memory_key(g)
        free = key not in known and g.is_contiguous() and g.untyped_storage().nbytes() == g.numel() * g.element_size()
        if free and not (pending and _looked_at(key, pending)):
            return g
    return copied(g)


def let_go(outside: list[Any], known: set[int]) -> None:
    """Hold gradients no longer that somebody outside may hold, but the ids of those that own their memory."""
    while outside:
        one = outside.pop()
        if type(one) is list:
            outside += one
        else:
            known.add(_memory_key(one))


def separate(found: dict[Vertex, Any], outside: Sequence[Any]) -> None:
    """Clone the gradients, which are tensors, that share memory with another one or with a tensor outside."""
    taken = {key for one in outside for key in _keys(one)}
    for vertex, g in found.items():
        if not g.is_tracer and (not taken.isdisjoint(_keys(g)) or _is_read_only(g.array)):
            found[vertex] = g.clone()
        taken.update(_keys(g))


def copied(g: Any) -> Any:
    """Return a copy of a raw gradient."""
    return namespace_of(g).asarray(g, copy=True)


def _owner(g: Any) -> Any:
    """Return the array that owns the memory of an array."""
    if type(g) is ndarray and g.base is None:
        return g
    while isinstance(base := getattr(g, "base", None), ndarray):
        g = base
    return g


def _is_whole(g: np.ndarray[Any, Any], owner: Any) -> bool:
    """Return whether an array is all of its owner, perhaps in another shape, contiguous and writeable."""
    whole = type(owner) is ndarray and owner.base is None and owner.nbytes == g.nbytes
    return whole and g.flags.forc and g.flags.writeable


def _memory_key(array: Any) -> int:
    """Return what tells the memory of an array from that of others, while it lives."""
    if hasattr(array, "untyped_storage"):
        key: int = array.untyped_storage()._cdata
        return key
    return id(_owner(array))


def _looked_at(key: int, pending: Mapping[Vertex, Any]) -> bool:
    """Return whether a pending gradient uses the memory that a key stands for."""
    return any(_memory_key(part) == key for one in pending.values() for part in _parts(one))


def _parts(g: Any) -> Sequence[Any]:
    """Return what a vertex has as its gradient: one for each of several outputs."""
    return g if type(g) is list else (g,)


def _keys(tensor: Storage) -> set[int]:
    """Return keys that two tensors share if they are the same or use the same memory."""
    return {id(tensor)} if tensor._memory is None else {id(tensor), id(tensor._memory.version)}


def _is_read_only(array: Any) -> bool:
    return isinstance(array, ndarray) and not array.flags.writeable
