"""The node of a `Function`, which holds the call's context, and the vertices of its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from dispatchkit.autograd.function_context import FunctionCtx, Saved
from dispatchkit.autograd.tensor_leaves import NO_LEAVES, TENSOR, TensorLeaves, tensor_leaves
from dispatchkit.backends.arrays import is_inexact
from dispatchkit.declare.inplace import move_vertices, touch
from dispatchkit.declare.view_aliasing import after_change
from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import CallNode, Differentiable, Output
from dispatchkit.graph.storage import Memory, Storage, Vertex, share_memory, vertex_of
from dispatchkit.graph.sweep import FREED
from dispatchkit.tensor.tensor import twin
from dispatchkit.tree import with_members

__all__ = ["FunctionNode", "recorded"]

NOT_RETURNED = (
    "{name}: Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
    "modified inplace must all be outputs of the Function."
)


class FunctionNode(CallNode):
    """A recorded call of a `Function`. Other attributes are read from the context.

    Attributes
    ----------
    saved : the context alone; None once the graph was freed
    inputs : where the tensors are in each input
    results : for several outputs, where the tensors are in each, and the output without them; None for one tensor
    """

    __slots__ = ("inputs", "results")

    inputs: tuple[TensorLeaves, ...]
    results: list[tuple[TensorLeaves, Any]] | None

    @property
    def context(self) -> FunctionCtx:
        """What the methods of the `Function` share.

        Raises
        ------
        AutogradError : if the graph was freed
        """
        if self.saved is None:
            raise AutogradError(FREED.format(name=self.name))
        context: FunctionCtx = self.saved[0]
        return context

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What the call keeps for its backward pass."""
        return self.context.saved_tensors

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in SLOTS or self.saved is None:
            raise AttributeError(f"{self.name} has no attribute '{name}'")
        return getattr(self.saved[0], name)

    @override
    def track_memory(self, memory: Memory, index: int = 0) -> None:
        saved = self.context._kept_for_backward if self.saved is not None else None
        if saved is not None and index in saved.outputs.values():
            super().track_memory(memory, index)


SLOTS = frozenset(name for cls in FunctionNode.__mro__ for name in getattr(cls, "__slots__", ()))


def recorded(
    operation: Differentiable, ctx: FunctionCtx, given: list[Any], inputs: tuple[TensorLeaves, ...], r: Any
) -> Any:
    """Return what a `Function` gave, its tensors with their vertices, or outside the graph.

    Parameters
    ----------
    operation : the `Function`'s record
    ctx : its context
    given : the tensors of the call, those in fields included
    inputs : where the tensors are in each argument
    r : what `forward` returned
    """
    if isinstance(r, Storage) and r._node is None and not ctx.dirty_tensors and not ctx.non_differentiable:
        for tensor in given:
            if tensor is r:
                break
        else:
            # One new tensor, the commonest case by far.
            if ctx._is_recorded and is_inexact(r.array.dtype):
                node = _node(operation, ctx, given, inputs)
                _describe(node, [r], None)
                _save(node, ctx, {id(r): 0})
                _enter(r, node)
            return r
    return _Outputs(ctx, given, r).placed(_node(operation, ctx, given, inputs) if ctx._is_recorded else None)


def _node(
    operation: Differentiable, ctx: FunctionCtx, given: list[Any], inputs: tuple[TensorLeaves, ...]
) -> FunctionNode:
    node = FunctionNode()
    node.operation = operation
    node.edges = tuple([vertex_of(tensor) for tensor in given])
    node.saved = (ctx,)
    node.inputs = inputs
    node.extras = None
    return node


def _describe(node: FunctionNode, tensors: Sequence[Any], results: list[tuple[TensorLeaves, Any]] | None) -> None:
    """Set the shapes and dtypes of a node's outputs."""
    node.results = results
    if results is None:
        array = tensors[0].array
        node.outputs = None
        node.shape, node.dtype = array.shape, array.dtype
    else:
        node.outputs = [(tensor.array.shape, tensor.array.dtype) for tensor in tensors]
        node.shape, node.dtype = (), None


def _save(node: FunctionNode, ctx: FunctionCtx, outputs: dict[int, int]) -> None:
    """Keep what was saved for the backward pass, and nothing else that forward set on the context."""
    if ctx.to_save:
        ctx._kept_for_backward = Saved(node, ctx.to_save, outputs)
    for name in ("to_save", "saved_for_forward", "dirty_tensors", "non_differentiable"):
        ctx.__dict__.pop(name, None)


def _enter(tensor: Any, vertex: Vertex) -> None:
    """Give a tensor its place in the graph."""
    tensor._node = vertex
    if tensor._memory is not None:
        vertex.track_memory(tensor._memory)


class _Outputs:
    """The tensors of what `forward` returned, in the general case.

    Parameters
    ----------
    ctx, given, r : as for `recorded`
    """

    def __init__(self, ctx: FunctionCtx, given: Sequence[Any], r: Any) -> None:
        self.ctx = ctx
        self.result = r
        self.several = isinstance(r, (tuple, list)) and tensor_leaves(r) is NO_LEAVES
        self.members = list(r) if self.several else [r]
        self.layout = list(map(tensor_leaves, self.members))
        self.tensors = [t for parts, member in zip(self.layout, self.members, strict=True) for t in parts.take(member)]
        self.inputs = {id(tensor) for tensor in given}
        dirty = [part for tensor in ctx.dirty_tensors for part in tensor_leaves(tensor).take(tensor)]
        self.dirty = {id(part) for part in dirty}
        for part in dirty:
            touch(part)
        if not self.dirty.issubset(map(id, self.tensors)):
            raise AutogradError(NOT_RETURNED.format(name=ctx._function_name))

    def placed(self, node: FunctionNode | None) -> Any:
        """Return the result with each tensor in its place.

        Parameters
        ----------
        node : of the call, None where it is not recorded
        """
        apart = {id(part) for tensor in self.ctx.non_differentiable for part in tensor_leaves(tensor).take(tensor)}
        flows = [node is not None and is_inexact(t.array.dtype) and id(t) not in apart for t in self.tensors]
        vertices: list[Vertex | None] = [None] * len(self.tensors)
        if node is not None and any(flows):
            vertices = self._vertices(node, flows)
        done: dict[int, Any] = {}
        for tensor, vertex in zip(self.tensors, vertices, strict=True):
            if id(tensor) not in done:
                done[id(tensor)] = self._placed_tensor(tensor, vertex)
            elif vertex is not None:  # returned twice: one tensor, the last output
                done[id(tensor)]._node = vertex
        return self._rebuilt([done[id(tensor)] for tensor in self.tensors])

    def _vertices(self, node: FunctionNode, flows: Sequence[bool]) -> list[Vertex | None]:
        """Describe the outputs to the node, save, and return the place of each tensor."""
        alone = not self.several and self.layout[0] is TENSOR
        emptied = [parts.emptied(m) if parts is not NO_LEAVES else None for parts, m in self._pairs()]
        _describe(node, self.tensors, None if alone else list(zip(self.layout, emptied, strict=True)))
        own = {id(t): i for i, t in enumerate(self.tensors) if id(t) not in self.inputs or id(t) in self.dirty}
        _save(node, self.ctx, own)
        if alone:
            return [node]
        return [
            Output(node, index, tensor.array.shape, tensor.array.dtype) if follows else None
            for index, (tensor, follows) in enumerate(zip(self.tensors, flows, strict=True))
        ]

    def _placed_tensor(self, tensor: Any, vertex: Vertex | None) -> Any:
        """Return an output with its vertex: the same object if new or changed in place, else another on its memory."""
        if id(tensor) in self.dirty:
            if vertex is not None:
                move_vertices(after_change(self.ctx._function_name, tensor, vertex))
                return tensor
        elif id(tensor) in self.inputs or tensor._node is not None:
            if vertex is None:
                return tensor.detach()
            alias = twin(tensor, vertex)
            share_memory(alias, tensor)
            return alias
        if vertex is not None:
            _enter(tensor, vertex)
        return tensor

    def _rebuilt(self, tensors: list[Any]) -> Any:
        """Return the result with other tensors in it; a member without change is the same object."""
        rest = iter(tensors)
        members = []
        for parts, member in self._pairs():
            own = [next(rest) for _ in parts.paths]
            same = all(new is old for new, old in zip(own, parts.take(member), strict=True))
            members.append(member if same else parts.put(member, own))
        if not self.several:
            return members[0]
        return with_members(self.result, members)

    def _pairs(self) -> list[tuple[TensorLeaves, Any]]:
        return list(zip(self.layout, self.members, strict=True))
