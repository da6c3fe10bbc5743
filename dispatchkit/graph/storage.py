"""What a tensor stores: an array, its vertex in the graph, and the memory it may share with others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from weakref import ref

if TYPE_CHECKING:
    from dispatchkit.graph.node import Extras

__all__ = ["Memory", "Storage", "Vertex", "memory_of", "share_memory", "version_of"]


class Memory:
    """A piece of memory as one family of views sees it, and how often it was changed in place.

    Parameters
    ----------
    first : the first tensor of the family
    version, offset, outside : see below; the memory counts its own changes if `version` is None

    Attributes
    ----------
    changes : number of them, of a memory that counts its own
    full : how many tensors the family has when the dead are to be dropped
    offset : changes counted before the memory became this one, when a tensor was given other contents
    outside : whether the family are views of a tensor in the graph that were made while recording was off
    views : the tensors of the family, made by view operations from one another
    """

    __slots__ = ("_first", "_version", "changes", "full", "offset", "outside", "views")

    def __init__(
        self, first: Storage, version: Memory | None = None, offset: int = 0, *, outside: bool = False
    ) -> None:
        self._version = version
        self.changes = 0
        self.offset = offset
        self.outside = outside
        self._first = member = ref(first)
        self.views = [member]
        self.full = 16

    @property
    def version(self) -> Memory:
        """What counts the changes: itself, or that of a family looking at the same memory that `detach` left."""
        return self if self._version is None else self._version

    @property
    def count(self) -> int:
        """Number of changes that a tensor of the family has seen."""
        return self.version.changes + self.offset

    @property
    def root(self) -> Storage | None:
        """The tensor that the others are views of; None once it is gone or was given other contents."""
        first = self._first()
        return first if first is not None and first._memory is self else None

    def forget_dead(self) -> None:
        """Drop the tensors that are gone, and say when it is time to do so again."""
        self.views = [view for view in self.views if view() is not None]
        self.full = max(16, 2 * len(self.views))

    def relatives(self, of: Storage) -> list[Storage]:
        """Return the other living tensors of the family, without those that were given other contents."""
        living = [(view, tensor) for view in self.views if (tensor := view()) is not None and tensor._memory is self]
        self.views = [view for view, _ in living]
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
    lifted : whether a transformation put it in the place of another tensor; then it has no raw array
    """

    __slots__ = ("__weakref__", "_grad", "_memory", "_node", "array")
    lifted: ClassVar[bool] = False

    array: Any
    _node: Vertex | None
    _memory: Memory | None
    _grad: Any

    def _innermost(self) -> Storage:
        """Return the tensor whose array is computed on: this one, unless a transformation looks into it."""
        return self


def memory_of(tensor: Storage) -> Memory:
    """Return the memory of a tensor, made if nobody asked before."""
    memory = tensor._memory
    if memory is None:
        memory = tensor._memory = Memory(tensor)
        if tensor._node is not None:
            tensor._node.watch(memory)
    return memory


def version_of(tensor: Storage) -> int:
    """Return how often the memory of a tensor was changed in place."""
    return 0 if tensor._memory is None else tensor._memory.count


def share_memory(view: Storage, base: Storage, *, family: bool = True) -> None:
    """Note that two tensors look at the same memory.

    A view outside the graph of a tensor in it, made while recording was off, starts a family of its own.

    Parameters
    ----------
    view : the new tensor, in its place in the graph
    base : the one it was made from
    family : whether gradients flow from one to the other; not so for `detach`
    """
    memory = base._memory
    if memory is None:
        memory = memory_of(base)
    if family and (base._node is None or view._node is not None):
        view._memory = memory
        if len(memory.views) >= memory.full:
            memory.forget_dead()
        memory.views.append(ref(view))
    elif family:
        view._memory = Memory(view, memory.version, outside=True)
    else:
        # Nodes that saved an earlier content of `view` see a count that they did not note.
        before = -1 if view._memory is None and view._node is None else version_of(view)
        view._memory = Memory(view, memory.version, max(0, before + 1 - memory.version.changes))
    if view._node is not None and not view._node.is_leaf:
        view._node.watch(view._memory)
