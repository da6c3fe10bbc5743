"""Wrappers around the operations of single nodes, and the nodes that a call has recorded.

A node whose backward pass does more than its operation has a wrapper as its operation, which calls the wrapped one.
Other nodes are not affected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dispatchkit.graph.node import Differentiable, Node, Output
from dispatchkit.graph.storage import Storage
from dispatchkit.tree import Item, leaves, sequence_items

if TYPE_CHECKING:
    from dispatchkit.protocol.overridable import Overridable

__all__ = ["NodeWrapper", "is_wrapped_by", "recorded"]


class NodeWrapper:
    """Wraps the operation of a node.

    Parameters
    ----------
    inner : the operation
    """

    __slots__ = ("inner",)

    def __init__(self, inner: Differentiable) -> None:
        self.inner = inner

    @property
    def node_name(self) -> str:
        """Name of the operation, as printed."""
        return self.inner.node_name

    @property
    def keeps_output(self) -> bool:
        """Whether the rules read the output that the node has."""
        return self.inner.keeps_output

    @property
    def trusted(self) -> bool:
        """Whether its rules are trusted with gradients."""
        return self.inner.trusted

    def pull_raw(self, node: Any, g: Any) -> Sequence[Any]:
        """Return the raw cotangents of a node's inputs."""
        return self.inner.pull_raw(node, g)

    def pull_live(self, node: Any, g: Any) -> Sequence[Any]:
        """Return the cotangents of a node's inputs as tensors."""
        return self.inner.pull_live(node, g)


def is_wrapped_by(cls: type[NodeWrapper], node: Node) -> bool:
    """Return whether a wrapper of a class is around the operation of a node."""
    operation: Any = node.operation
    while isinstance(operation, NodeWrapper):
        if isinstance(operation, cls):
            return True
        operation = operation.inner
    return False


def recorded(
    operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any
) -> dict[Node, dict[int, Storage]]:
    """Return the nodes of a call's result that are not those of its arguments.

    Parameters
    ----------
    operation, args, kwargs, result : the call

    Returns
    -------
    each node with the tensors of the result that are its outputs, by their index
    """
    fields = operation.protocol.types
    before = {
        _main(tensor)
        for _, value in operation.parameters.values(args, kwargs)
        for tensor in _tensors(fields, value)
        if tensor._node is not None
    }
    found: dict[Node, dict[int, Storage]] = {}
    for tensor in _tensors(fields, result):
        node = _main(tensor)
        if isinstance(node, Node) and node not in before:
            found.setdefault(node, {})[getattr(tensor._node, "index", 0)] = tensor
    return found


def _main(tensor: Storage) -> Any:
    return tensor._node.main if isinstance(tensor._node, Output) else tensor._node


def _tensors(records: Any, value: Any) -> Iterator[Storage]:
    """Yield the tensors of a result: its own, its members', and those in the fields of array types."""

    def items(part: Any) -> Sequence[Item] | None:
        if isinstance(part, Storage):
            return None
        return sequence_items(part) if isinstance(part, (list, tuple)) else records.items_of(part, strict=False)

    for leaf in leaves(items, value):
        if isinstance(leaf, Storage) and not leaf.is_tracer:
            yield leaf
