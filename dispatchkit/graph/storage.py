"""What a tensor stores: an array, its vertex in the graph, and the memory it may share with other tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self
from weakref import ref

import numpy as np

from dispatchkit.backends.arrays import ArrayHolder


class Memory:
    """The memory of one family of views, and the number of its changes in place.

    Parameters
    ----------
    first : the first tensor of the family
    version, offset, outside : see below; the memory counts its own changes if `version` is None

    Attributes
    ----------
    behind : views that were changed since they were last used, by their ids; each is taken anew when it is used
    changes : number of them, of a memory that counts its own
    full : how many tensors the family has when the dead are to be dropped
    offset : changes counted before the memory became this one, when a tensor was given other contents
    outside : whether the family are views of a tensor in the graph that were made while recording was off
    source : what the views that are behind are taken from, None before the first change
    views : the other tensors of the family, made by view operations from one another
    watchers : a weak set of those that are called before a change, of a memory that counts its own; None where none is
    """

    __slots__ = ("_first", "_version", "behind", "changes", "full", "offset", "outside", "source", "views", "watchers")

    def __init__(
        self, first: Storage, version: Memory | None = None, offset: int = 0, *, outside: bool = False
    ) -> None:
        self._version = version
        self.changes = 0
        self.offset = offset
        self.outside = outside
        self._first = member = ref(first)
        self.views = [member]
        self.behind: dict[int, ref[Storage]] = {}
        self.source: Any = None
        self.full = 16
        self.watchers: Any = None

    @property
    def version(self) -> Memory:
        """The memory that counts the changes: this one, or that of the family that `detach` left, which shares it."""
        if self._version is None:
            return self
        return self._version

    @property
    def count(self) -> int:
        """Number of changes that a tensor of the family has seen."""
        return self.version.changes + self.offset

    @property
    def root(self) -> Storage | None:
        """The tensor that the others are views of; None once it is gone or was given other contents."""
        return self._member(self._first)

    def tell_watchers(self) -> None:
        """Tell those who watch a memory, which counts its own changes, that it is about to be changed."""
        watchers, self.watchers = self.watchers, None
        for watcher in list(watchers):
            watcher.before_change()

    def count_change(self) -> None:
        """Count a change of a memory, which counts its own, before it is made."""
        if self.watchers is not None:
            self.tell_watchers()
        self.changes += 1

    def give_root(self, tensor: Storage, other: Storage) -> None:
        """Let another tensor be the one that the others are views of, if this one is."""
        if self.root is tensor:
            self._first = ref(other)

    def forget_dead(self) -> None:
        """Drop the tensors that are gone, and say when it is time to do so again."""
        # As `_member` says, which would take most of the time that a view costs.
        self.views = [view for view in self.views if (tensor := view()) is not None and tensor._memory is self]
        if self.behind:
            self.behind = {key: view for key, view in self.behind.items() if self._member(view) is not None}
        self.full = max(16, 2 * len(self.views), 2 * len(self.behind))

    def in_graph(self) -> bool:
        """Return whether a gradient flows to a tensor of the family."""
        gone = False
        for view in (*self.views, *self.behind.values()):
            tensor = self._member(view)
            if tensor is None:
                gone = True
            elif tensor._node is not None:
                return True
        if gone:
            self.forget_dead()
        return False

    def up_to_date(self) -> list[Storage]:
        """Return the living tensors of the family whose vertices are up to date.

        The others move to `behind`, so that each is visited once however many changes follow.
        """
        tensors: list[Storage] = []
        views: list[ref[Storage]] = []
        for view in self.views:
            tensor = self._member(view)
            if tensor is None:
                continue
            if tensor._node is not None and tensor._node.behind:
                self.behind[id(tensor)] = view
            else:
                tensors.append(tensor)
                views.append(view)
        self.views = views
        if len(self.behind) >= self.full:
            self.forget_dead()
        return tensors

    def relatives(self, of: Storage) -> list[Storage]:
        """Return the other living tensors of the family, without those that were given other contents."""
        family = [*self.up_to_date(), *map(self._member, self.behind.values())]
        return [tensor for tensor in family if tensor is not None and tensor is not of]

    def _member(self, view: ref[Storage]) -> Storage | None:
        """Return a tensor of the family; None if it is gone or was given other contents."""
        tensor = view()
        if tensor is not None and tensor._memory is self:
            return tensor
        return None


class RemovableHandle:
    """What registering a hook gives: it removes the hook, also on leaving a `with` block."""

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self.id = max(hooks, default=-1) + 1
        self._hooks = hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        self._hooks.pop(self.id, None)
        # Another hook may be given the same id.
        self._hooks = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class NodeHooks:
    """The hooks of the vertex of a leaf.

    Attributes
    ----------
    before, after : called with gradients before and after they are accumulated, in order
    """

    __slots__ = ("after", "before")

    def __init__(self) -> None:
        self.before: dict[int, Callable[[Any], Any]] = {}
        self.after: dict[int, Callable[[Any, Any], Any]] = {}


class VertexExtras:
    """What few vertices have.

    Attributes
    ----------
    versions : for each saved argument the number of changes of its memory when it was saved, by its id
    shared : version counter of each output's memory and its count when it came to be shared, by index
    hooks : called with the gradient, in order; a result replaces it
    after : called once a leaf's gradient was accumulated
    around : the hooks of a leaf's vertex, None where there are none
    retains : whether `grad` is kept
    grad : the gradient: accumulated of a leaf, retained of another
    metadata : what users keep there
    spell : makes of a plain tensor the one that hooks of the operation are given, None where they get plain ones
    """

    __slots__ = ("after", "around", "grad", "hooks", "metadata", "retains", "shared", "spell", "versions")

    def __init__(self) -> None:
        self.versions: dict[int, int] = {}
        self.shared: dict[int, tuple[Memory, int]] = {}
        self.hooks: dict[int, Callable[[Any], Any]] = {}
        self.after: dict[int, Callable[[Any], Any]] = {}
        self.around: NodeHooks | None = None
        self.retains = False
        self.grad: Any = None
        self.metadata: dict[Any, Any] | None = None
        self.spell: Callable[[Any], Any] | None = None

    def give_gradient(self, vertex: Vertex) -> None:
        """Move the gradient, and whether it is retained, to another vertex."""
        if self.retains or self.grad is not None:
            other = extras_of(vertex)
            other.grad, other.retains = self.grad, self.retains
            self.grad, self.retains = None, False


class VertexName(str):
    """The name of a vertex, which PyTorch's programs call for."""

    __slots__ = ()

    def __call__(self) -> str:
        """Return the name."""
        return str(self)


class Vertex:
    """A point of the graph that gradients arrive at.

    Attributes
    ----------
    shape, dtype : of the value whose gradient arrives
    extras : hooks and gradient, None where there are none
    edges : the vertices that gradients flow on to
    behind : whether it stands for a view that is to be taken anew before it is used
    """

    __slots__ = ("__weakref__", "dtype", "extras", "shape")
    behind = False
    is_leaf = False
    name: str = VertexName()
    edges: tuple[Vertex | None, ...] = ()

    shape: tuple[int, ...]
    dtype: Any
    extras: VertexExtras | None

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for users, which lives as long as the vertex."""
        extras = extras_of(self)
        if extras.metadata is None:
            extras.metadata = {}
        return extras.metadata

    def register_hook(self, hook: Callable[[Any, Any], Any]) -> RemovableHandle:
        """Have a function called each time that the operation has gone backwards.

        Parameters
        ----------
        hook : called with two tuples, the gradients of the operation's inputs and of its outputs, None where there is
            none; a tuple that it returns takes the place of the first. That of a leaf is called once the gradient
            was accumulated, with an empty tuple and the gradient

        Returns
        -------
        RemovableHandle
            Its `remove` takes the hook off.
        """
        return RemovableHandle(self.hooks_of_operation().after, self._in_spelling(hook))

    def register_prehook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Have a function called each time before the operation goes backwards.

        Parameters
        ----------
        hook : called with a tuple, the gradients of the operation's outputs, None where there is none; a tuple that it
            returns takes its place. That of a leaf is called after the hooks of the tensor, before the gradient is
            accumulated; not where `dispatchkit.autograd.grad` returns it

        Returns
        -------
        RemovableHandle
            Its `remove` takes the hook off.
        """
        return RemovableHandle(self.hooks_of_operation().before, self._in_spelling(hook))

    def _in_spelling(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        """Return a hook that is given tensors as this vertex spells them."""
        spell = None if self.extras is None else self.extras.spell
        if spell is None:
            return hook

        def in_spelling(gradients: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple([g if g is None else spell(g) for g in gradients])

        return lambda *gradients: hook(*map(in_spelling, gradients))

    def spell_by(self, spell: Callable[[Any], Any] | None) -> None:
        """Say what makes the tensors that hooks of the operation are given, of this vertex and those that it leads to.

        Parameters
        ----------
        spell : takes a plain tensor; None, which changes nothing, for that tensor
        """
        if spell is not None:
            extras_of(self).spell = spell

    def hooks_of_operation(self) -> Any:
        """Return what has the hooks `before` and `after` the operation, made if needed: those of a leaf here."""
        extras = extras_of(self)
        if extras.around is None:
            extras.around = NodeHooks()
        return extras.around

    def track_memory(self, memory: Memory) -> None:
        """Note that the memory of the value is shared from now on."""

    def current(self, tensor: Storage) -> Vertex:
        """Return the vertex of a tensor that has this one: this one, unless the tensor is behind."""
        return self


def extras_of(vertex: Vertex) -> VertexExtras:
    """Return the extras of a vertex, made if needed."""
    if vertex.extras is None:
        vertex.extras = VertexExtras()
    return vertex.extras


class Storage(ArrayHolder):
    """The slots of a tensor.

    Attributes
    ----------
    array : the raw array
    _node : its vertex in the graph, None where no gradient flows; who makes it part of the graph asks `vertex_of`
    _memory : None until something shares it or changes it in place
    _grad : gradient of a tensor that has no vertex; unset where there is none
    is_tracer : whether a transformation put it in the place of another tensor; then it has no raw array
    """

    __slots__ = ("__weakref__", "_grad", "_memory", "_node", "array")
    is_tracer: ClassVar[bool] = False

    array: Any
    _node: Vertex | None
    _memory: Memory | None
    _grad: Any

    def _refuse_change(self, name: str) -> None:
        """Raise where a class refuses the change in place of a name, which would be recorded: this one refuses none."""

    def _innermost(self) -> Storage:
        """Return the tensor that holds the array: this one, or what is inside a tracer."""
        return self


def memory_of(tensor: Storage) -> Memory:
    """Return the memory of a tensor, made on first use."""
    memory = tensor._memory
    if memory is None:
        memory = tensor._memory = Memory(tensor)
        if tensor._node is not None:
            tensor._node.track_memory(memory)
    return memory


def vertex_of(tensor: Storage) -> Vertex | None:
    """Return the present vertex of a tensor: a view whose memory was changed is taken from its base anew."""
    vertex = tensor._node
    if vertex is None or not vertex.behind:
        return vertex
    return vertex.current(tensor)


def version_of(tensor: Storage) -> int:
    """Return how often the memory of a tensor was changed in place."""
    if tensor._memory is None:
        return 0
    return tensor._memory.count


def share_memory(view: Storage, base: Storage, *, family: bool = True) -> None:
    """Note that two tensors share memory.

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
        member = ref(view)
        if len(memory.views) >= memory.full:
            memory.forget_dead()
        # In one step, as another thread may put another list in the place of this one.
        memory.views.append(member)
        if view._node is None:
            return
    elif family:
        view._memory = Memory(view, memory.version, outside=True)
    else:
        vertex_of(view)  # which its present family knows
        # Nodes that saved an earlier content of `view` see a count that they did not note.
        before = -1
        if view._memory is not None or view._node is not None:
            before = version_of(view)
        view._memory = Memory(view, memory.version, max(0, before + 1 - memory.version.changes))
    if view._node is not None and not view._node.is_leaf:
        view._node.track_memory(view._memory)


def share_outside(view: Storage, base: Storage) -> None:
    """Note that a new tensor outside the graph shares memory with another: `share_memory` that is no family."""
    memory = base._memory
    if memory is None:
        memory = memory_of(base)
    view._memory = Memory(view, memory._version or memory)


Indices = np.ndarray[Any, np.dtype[np.int64]]


class Strides:
    """Where the elements of an array lie.

    Parameters
    ----------
    array : looked at once; it is not kept alive
    in_parts : whether the elements are the real and the imaginary parts of its complex numbers, along a last axis

    Attributes
    ----------
    array : weak reference to the array
    shape, strides, itemsize : of the elements
    size : number of elements
    address : of the first element
    low, high : lowest address of the elements, and the one after the last of their bytes
    """

    __slots__ = ("address", "array", "high", "in_parts", "itemsize", "low", "shape", "size", "strides")

    def __init__(self, array: np.ndarray[Any, Any], *, in_parts: bool = False) -> None:
        self.array = ref(array)
        self.in_parts = in_parts
        self.shape = array.shape
        self.strides = array.strides
        self.itemsize = array.itemsize
        self.size = array.size
        if in_parts:
            self.itemsize //= 2
            self.shape, self.strides, self.size = (*self.shape, 2), (*self.strides, self.itemsize), 2 * self.size
        self.address = low = high = array.__array_interface__["data"][0]
        for stride, n in zip(self.strides, self.shape, strict=True):
            if stride < 0:
                low += stride * (n - 1)
            else:
                high += stride * (n - 1)
        self.low, self.high = low, high + self.itemsize

    @property
    def decodable(self) -> bool:
        """Whether an address determines the index: each axis steps over all that the axes of smaller steps reach.

        So it is for every array that owns its memory, and for what indexing and reordering axes make of such an array.
        """
        if self.size == 0:
            return True
        reach = self.itemsize - 1
        for stride, n in sorted(zip(map(abs, self.strides), self.shape, strict=True)):
            if n > 1:
                if stride <= reach:
                    return False
                reach += stride * (n - 1)
        return True

    def apart_from(self, other: Strides) -> bool:
        """Return whether no element of another array can be one of this one, as the bounds show."""
        return self.size == 0 or other.size == 0 or self.high <= other.low or other.high <= self.low

    def covers(self, other: Strides) -> bool:
        """Return whether all elements of another array are elements of this one, which is decodable."""
        if other.size == 0:
            return True
        if other.low < self.low or other.high > self.high:
            return False
        # What fills its bounds without a gap holds every element within them.
        if self.high - self.low == self.size * self.itemsize and self._in_step(other):
            return True
        return bool((self.find(other.addresses()) >= 0).all())

    def _in_step(self, other: Strides) -> bool:
        """Return whether the elements of another array lie at whole numbers of elements from those of this one."""
        return not any(step % self.itemsize for step in (other.low - self.low, *other.strides))

    def addresses(self) -> Indices:
        """Return the address of each element, in the order of a flattened array."""
        addresses = np.full((1,) * len(self.shape), self.address, dtype=np.int64)
        for axis, (n, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            steps = np.arange(n, dtype=np.int64) * stride
            addresses = addresses + steps.reshape((-1,) + (1,) * (len(self.shape) - 1 - axis))
        return addresses.reshape(-1)

    def find(self, addresses: Indices) -> Indices:
        """Return the index, in the flattened array, of the element at each address; -1 where there is none."""
        if self.size == 0:
            return np.full(addresses.shape, -1, dtype=np.int64)
        rest = addresses - self.low
        inside = rest >= 0
        flat = np.zeros(addresses.shape, dtype=np.int64)
        weights = np.cumprod((1, *self.shape[:0:-1]))[::-1] if self.shape else ()
        axes = sorted(zip(self.strides, self.shape, weights, strict=True), key=lambda axis: -abs(axis[0]))
        for stride, n, weight in axes:
            if n > 1:
                index, rest = np.divmod(rest, abs(stride))
                inside &= index < n
                flat += weight * (index if stride > 0 else n - 1 - index)
        return np.where(inside & (rest == 0), flat, -1)


def shared_elements(one: Strides, other: Strides) -> tuple[Indices, Indices]:
    """Return the indices, in the flattened arrays, of the elements that two arrays have in common.

    Parameters
    ----------
    one, other : of which at least one is decodable
    """
    if one.decodable and (one.size >= other.size or not other.decodable):
        there, here = _elements_in(one, other)
        return here, there
    return _elements_in(other, one)


def _elements_in(whole: Strides, part: Strides) -> tuple[Indices, Indices]:
    """Return the indices of common elements: in `part`, then in `whole`, which is decodable."""
    places = whole.find(part.addresses())
    inside = np.flatnonzero(places >= 0)
    return inside, places[inside]
