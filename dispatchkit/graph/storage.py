"""What a tensor stores: an array, its vertex in the graph, and the memory it may share with others."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dispatchkit.graph.node import Extras

__all__ = ["Memory", "Storage", "Version", "Vertex", "memory_of", "share_memory", "version_of"]


class Version:
    """Counts the in-place changes of a piece of memory."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Memory:
    """A piece of memory as one family of views sees it.

    Attributes
    ----------
    version : counts changes; shared with families that look at the same memory through `detach`
    offset : changes counted before the memory became this one, when a tensor was given other contents
    views : the tensors of the family, made by view operations from one another
    """

    __slots__ = ("_full", "offset", "version", "views")

    def __init__(self, version: Version | None = None, offset: int = 0) -> None:
        self.version = Version() if version is None else version
        self.offset = offset
        self.views: list[weakref.ref[Storage]] = []
        self._full = 16

    @property
    def count(self) -> int:
        """Number of changes that a tensor of the family has seen."""
        return self.version.count + self.offset

    def add(self, tensor: Storage) -> None:
        """Take a tensor into the family; now and then the dead are forgotten."""
        if len(self.views) >= self._full:
            self.views = [ref for ref in self.views if ref() is not None]
            self._full = max(16, 2 * len(self.views))
        self.views.append(weakref.ref(tensor))

    def relatives(self, of: Storage) -> list[Storage]:
        """Return the other living tensors of the family."""
        living = [(ref, tensor) for ref in self.views if (tensor := ref()) is not None]
        self.views = [ref for ref, _ in living]
        return [tensor for _, tensor in living if tensor is not of]


class Vertex:
    """A point of the graph that gradients arrive at.

    Attributes
    ----------
    shape, dtype : of the value whose gradient arrives
    extras : hooks and gradient, None where there are none
    edges : the vertices that gradients flow on to
    """

    __slots__ = ("__weakref__", "dtype", "extras", "shape")
    is_leaf = False
    name = ""
    edges: tuple[Vertex | None, ...] = ()

    shape: tuple[int, ...]
    dtype: Any
    extras: Extras | None

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def watch(self, memory: Memory) -> None:
        """Note that the memory of the value is shared from now on."""


class Storage:
    """The slots of a tensor.

    Attributes
    ----------
    array : the raw array
    _node : its vertex in the graph, None where no gradient flows
    _memory : None until something shares it or changes it in place
    _grad : gradient of a tensor that has no vertex; unset where there is none
    """

    __slots__ = ("__weakref__", "_grad", "_memory", "_node", "array")

    array: Any
    _node: Vertex | None
    _memory: Memory | None
    _grad: Any


def memory_of(tensor: Storage) -> Memory:
    """Return the memory of a tensor, made if nobody asked before."""
    memory = tensor._memory
    if memory is None:
        memory = tensor._memory = Memory()
        memory.add(tensor)
        if tensor._node is not None:
            tensor._node.watch(memory)
    return memory


def version_of(tensor: Storage) -> int:
    """Return how often the memory of a tensor was changed in place."""
    return 0 if tensor._memory is None else tensor._memory.count


def share_memory(view: Storage, base: Storage, *, family: bool = True) -> None:
    """Note that two tensors look at the same memory.

    Parameters
    ----------
    view : the new tensor
    base : the one it was made from
    family : whether gradients flow from one to the other; not so for `detach`
    """
    memory = memory_of(base)
    if not family:
        # Nodes that saved an earlier content of `view` see a count that they did not note.
        before = -1 if view._memory is None and view._node is None else version_of(view)
        memory = Memory(memory.version, max(0, before + 1 - memory.version.count))
    view._memory = memory
    memory.add(view)
    if view._node is not None and not view._node.is_leaf:
        view._node.watch(memory)
