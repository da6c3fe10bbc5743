"""The nodes of the graph: one for each recorded operation, one for each leaf.

Recording is on the hot path, so a node holds as few slots as it can: what few nodes need (hooks, a retained
gradient, versions of shared memory) is in a separate object, made on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from dispatchkit.errors import InplaceError
from dispatchkit.graph.storage import Memory, Storage, Vertex, VertexExtras, extras_of

__all__ = [
    "CallNode",
    "Differentiable",
    "Leaf",
    "Node",
    "Output",
    "saved_tensors",
    "snapshot_versions",
]


class Differentiable(Protocol):
    """What a node asks of its operation."""

    @property
    def node_name(self) -> str:
        """Name as printed, such as ``AddBackward``."""

    @property
    def keeps_output(self) -> bool:
        """Whether the rules read the output."""

    @property
    def trusted(self) -> bool:
        """Whether its rules keep no gradient, and give new arrays or views of their cotangent."""

    @property
    def pull_raw(self) -> Callable[[Any, Any], Sequence[Any]]:
        """Gives one raw cotangent for each edge, None where there is none, of a node and its cotangent."""

    @property
    def pull_live(self) -> Callable[[Any, Any], Sequence[Any]]:
        """Gives one tensor for each edge, so that the cotangents are differentiable again."""


class Node(Vertex):
    """A recorded operation.

    Attributes
    ----------
    operation : gives the name and the rules
    edges : vertices of the inputs, None for inputs without gradient
    saved : the arguments of the call that the rules read; None once the graph was freed
    output : raw output; unset or None where the rules do not read it
    """

    __slots__ = ("edges", "operation", "output", "saved")

    operation: Differentiable
    saved: tuple[Any, ...] | None
    output: Any

    @property
    def name(self) -> str:  # type: ignore[override]  # read only here
        """Name of the operation, as printed."""
        return self.operation.node_name

    @property
    def next_functions(self) -> tuple[tuple[Vertex | None, int], ...]:
        """The vertices of the inputs, each with the index of its output, as in PyTorch."""
        return tuple((edge.main, edge.index) if isinstance(edge, Output) else (edge, 0) for edge in self.edges)

    @property
    def original(self) -> Node:
        """The vertex of the graph that this is, or stands in for while its operation runs backwards."""
        return self

    def track_memory(self, memory: Memory, index: int = 0) -> None:
        """Note that the memory of the output, or of one of several, is shared from now on."""
        if self.operation.keeps_output:
            # The first time counts: the values that the rules read are those of then.
            extras_of(self).shared.setdefault(index, (memory.version, memory.version.changes))

    def check_versions(self) -> None:
        """Raise if a value that the rules read was changed in place since it was saved.

        Raises
        ------
        InplaceError : naming the operation, the shape and both versions
        """
        extras = self.extras
        for tensor in saved_tensors(self.saved or ()):
            memory = tensor._memory
            if memory is not None:
                expected = 0 if extras is None else extras.versions.get(id(tensor), 0)
                if memory.count != expected:
                    self._spoilt(tensor.array, expected, memory.count)
        if extras is not None and self.operation.keeps_output:
            for index, (version, count) in extras.shared.items():
                if version.changes != count:
                    output = self.output[index] if isinstance(self.output, tuple) else self.output
                    self._spoilt(output, count, version.changes)

    def _spoilt(self, array: Any, expected: int, found: int) -> None:
        raise InplaceError(self.name, tuple(array.shape), str(array.dtype), expected, found)


class CallNode(Node):
    """A recorded call with parameters besides its arrays.

    Attributes
    ----------
    keywords : of the call
    outputs : shape and dtype of each output, where there are several
    """

    __slots__ = ("keywords", "outputs")

    keywords: dict[str, Any]
    outputs: list[tuple[tuple[int, ...], Any]] | None


class Output(Vertex):
    """One of several outputs of a node; an edge leads to it as to a node."""

    __slots__ = ("index", "main")

    def __init__(self, main: Node, index: int, shape: tuple[int, ...], dtype: Any) -> None:
        self.main = main
        self.index = index
        self.shape = shape
        self.dtype = dtype
        self.extras = None

    @property
    def edges(self) -> tuple[Vertex | None, ...]:  # type: ignore[override]  # read only here
        """The node of all outputs."""
        return (self.main,)

    @property
    def name(self) -> str:  # type: ignore[override]  # read only here
        """Name of the operation, as printed."""
        return self.main.name

    @property
    def next_functions(self) -> tuple[tuple[Vertex | None, int], ...]:
        """The vertices of the operation's inputs."""
        return self.main.next_functions

    def track_memory(self, memory: Memory) -> None:
        """Note that the output's memory is shared from now on."""
        self.main.track_memory(memory, self.index)


class Leaf(Vertex):
    """A tensor that the user made to require a gradient."""

    __slots__ = ()
    is_leaf = True
    name = "AccumulateGrad"

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype
        self.extras = VertexExtras()

    @property
    def next_functions(self) -> tuple[()]:
        """Nothing: the graph ends here."""
        return ()

    def track_memory(self, memory: Memory) -> None:
        """Do nothing: the graph does not read the values of a leaf."""


def snapshot_versions(node: Node) -> None:
    """Record how often the memory of each saved argument has been changed so far."""
    for tensor in saved_tensors(node.saved or ()):
        if tensor._memory is not None:
            extras_of(node).versions[id(tensor)] = tensor._memory.count


def saved_tensors(saved: Sequence[Any]) -> Iterator[Storage]:
    """Yield the tensors among saved arguments."""
    for value in saved:
        if isinstance(value, Storage):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from saved_tensors(value)
