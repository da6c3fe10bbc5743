"""The node of a `Function`, the vertices of its outputs, and the backward pass through them."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import reduce
from typing import Any, NoReturn, Protocol

import numpy as np

from dispatchkit.autograd.function_context import (
    ASKED,
    FunctionCtx,
    Saved,
    fill_holes,
    holes_in,
    may_hold_tensors,
    members_of,
    paths_in,
    tensors_in,
    with_members_of,
    with_tensors,
    without_tensors,
)
from dispatchkit.autograd.function_intermediates import refused
from dispatchkit.backends.arrays import is_inexact, namespace_of
from dispatchkit.declare.inplace import move_vertices, touch
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.overlays import after_change
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import FREED, CallNode, Differentiable, Node, Output, make_node
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Memory, Storage, Vertex, share_memory, vertex_of
from dispatchkit.marks import override
from dispatchkit.protocol.frames import caller_frame, warn_at
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.tensor import twin
from dispatchkit.tree import Path

NOT_RETURNED = (
    "{name}: Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
    "modified inplace must all be outputs of the Function."
)


VIEW_CHANGED = (
    "{name}: If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
    "more than one Tensor. This is not supported by the current autograd engine. You should either make sure the input "
    "is not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it "
    "into two Functions: one doing the inplace that returns a single Tensor and a second one that does the other "
    "operations)."
)
NOT_AN_INPUT = (
    "{name}: Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no need to "
    "pass it to mark_dirty()."
)
Input = tuple[type | None, tuple[Path, ...]]
_TENSOR: Input = (Storage, ((),))


class FunctionNode(CallNode):
    """A recorded call of a `Function`. Other attributes are read from the context.

    Attributes
    ----------
    saved : the context alone; None once the graph was freed
    inputs : of each input the class, None for what is no array, and the attributes that lead to each of its tensors
    results : for several outputs each without its tensors; None for one tensor
    """

    __slots__ = ("inputs", "results")

    inputs: tuple[Input, ...]
    results: list[Any] | None

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
        if name == "_raw_saved_tensors" and self.saved_attribute is not None:
            return self.saved_attribute(name)
        if name.startswith("__") or name in SLOTS or self.saved is None:
            raise AttributeError(f"{self.name} has no attribute '{name}'")
        return getattr(self.saved[0], name)

    @override
    def track_memory(self, memory: Memory, index: int = 0) -> None:
        saved = None
        if self.saved is not None:
            saved = self.context._kept_for_backward
        if saved is not None and index in saved.outputs.values():
            super().track_memory(memory, index)


SLOTS = frozenset(name for cls in FunctionNode.__mro__ for name in getattr(cls, "__slots__", ()))


def input_of(value: Any) -> Input:
    """Return what a node keeps of an input."""
    if isinstance(value, Storage):
        return _TENSOR
    if may_hold_tensors(value):
        return type(value), paths_in(value)
    return None, ()


class FunctionOperation(Differentiable, Protocol):
    """What a call of a `Function` asks of its record."""

    @property
    def node_class(self) -> type[FunctionNode]:
        """The class of its nodes."""

    @property
    def refuses(self) -> bool:
        """Whether what PyTorch refuses is refused, where it would be right here."""


def record_call(
    operation: FunctionOperation, ctx: FunctionCtx, args: Sequence[Any], given: Sequence[Any], r: Any
) -> Any:
    """Return what a `Function` gave, its tensors with their vertices, or outside the graph.

    Parameters
    ----------
    operation : the `Function`'s record
    ctx : its context
    args : of the call
    given : the tensors in them
    r : what `forward` returned
    """
    if isinstance(r, Storage) and not ctx.dirty_tensors:
        return _record_tensor(operation, ctx, args, given, r)
    inputs = set(map(id, given))
    tensors = [tensor for output in members_of(r) for tensor in tensors_in(output)]
    dirty = _changed_inputs(operation, ctx, inputs, tensors) if ctx.dirty_tensors else set()
    vertices: Sequence[Vertex | None] = [None] * len(tensors)
    if ctx._is_recorded:
        apart = _parts_apart(ctx)
        flows = [is_inexact(tensor.array.dtype) and id(tensor) not in apart for tensor in tensors]
        if True in flows:
            node = _node_of_call(operation, ctx, args, given)
            vertices = _describe(node, r, tensors, flows)
            if not ctx._materialize_non_diff_grads:
                ctx._without_zeros = frozenset(place for place, follows in enumerate(flows) if not follows)
            new = {id(t): place for place, t in enumerate(tensors) if id(t) not in inputs or id(t) in dirty}
            if ctx.to_save:
                ctx._kept_for_backward = Saved(node, ctx.to_save, new)
            _forget_asked(ctx)
    done: dict[int, Any] = {}
    for tensor, vertex in zip(tensors, vertices, strict=True):
        if id(tensor) not in done:
            changed = ctx._function_name if id(tensor) in dirty else None
            done[id(tensor)] = _place(tensor, vertex, id(tensor) in inputs, changed)
        elif vertex is not None:  # returned twice: one tensor, the last output
            done[id(tensor)]._node = vertex
    if isinstance(r, Storage):
        return done[id(r)]
    placed = iter([done[id(tensor)] for tensor in tensors])
    return with_members_of(r, [with_tensors(member, placed) for member in members_of(r)])


def _record_tensor(
    operation: FunctionOperation, ctx: FunctionCtx, args: Sequence[Any], given: Sequence[Any], r: Any
) -> Any:
    """Return the one tensor that a `Function` gave and that it has not changed, as `record_call` does."""
    is_input = False
    for tensor in given:
        is_input = is_input or tensor is r
    dtype = r.array.dtype
    if not ctx._is_recorded or not is_inexact(dtype) or id(r) in _parts_apart(ctx):
        return _place(r, None, is_input, None)
    node = _node_of_call(operation, ctx, args, given)
    node.results = node.outputs = None
    node.shape, node.dtype = r.array.shape, dtype
    if ctx.to_save:
        ctx._kept_for_backward = Saved(node, ctx.to_save, {} if is_input else {id(r): 0})
    _forget_asked(ctx)
    return _place(r, node, is_input, None)


def _parts_apart(ctx: FunctionCtx) -> set[int]:
    """Return the ids of the tensors that `forward` has marked as not differentiable."""
    if not ctx.non_differentiable:
        return set()
    return {id(part) for tensor in ctx.non_differentiable for part in tensors_in(tensor)}


def _node_of_call(
    operation: FunctionOperation, ctx: FunctionCtx, args: Sequence[Any], given: Sequence[Any]
) -> FunctionNode:
    """Return the node of a call, without its outputs."""
    edges = [tensor._node if tensor._memory is None else vertex_of(tensor) for tensor in given]
    node = make_node(operation.node_class, operation, edges, (ctx,), (), None)
    node.inputs = tuple([_TENSOR if isinstance(arg, Storage) else input_of(arg) for arg in args])
    return node


def _forget_asked(ctx: FunctionCtx) -> None:
    """Take away what `forward` asked for, once the node is made."""
    asked = ctx.__dict__
    if len(asked) > 3:
        for name in ASKED:
            asked.pop(name, None)


def _changed_inputs(
    operation: FunctionOperation, ctx: FunctionCtx, inputs: Container[int], tensors: Sequence[Any]
) -> set[int]:
    """Return the ids of the tensors that `forward` has changed in place, whose changes are counted.

    Parameters
    ----------
    operation, ctx : as for `record_call`
    inputs : the ids of the tensors in the arguments
    tensors : in the outputs
    """
    dirty: set[int] = set()
    for part in (part for tensor in ctx.dirty_tensors for part in tensors_in(tensor)):
        dirty.add(id(part))
        touch(part)
        if id(part) not in inputs:
            warn_at(caller_frame(), NOT_AN_INPUT.format(name=ctx._function_name), UserWarning)
    if not dirty <= set(map(id, tensors)):
        raise AutogradError(NOT_RETURNED.format(name=ctx._function_name))
    if operation.refuses and ctx._is_recorded and len(tensors) > 1:
        changed = [tensor for tensor in tensors if id(tensor) in dirty]
        if any(tensor._memory is not None and tensor._memory.root is not tensor for tensor in changed):
            raise AutogradError(VIEW_CHANGED.format(name=ctx._function_name))
    return dirty


def _describe(node: FunctionNode, r: Any, tensors: Sequence[Any], flows: Sequence[bool]) -> Sequence[Vertex | None]:
    """Describe the outputs to the node, and return the place of each tensor."""
    if isinstance(r, Storage):
        node.results = node.outputs = None
        node.shape, node.dtype = r.array.shape, r.array.dtype
        return [node]
    node.results = [without_tensors(output) if may_hold_tensors(output) else None for output in members_of(r)]
    node.outputs = [(tensor.array.shape, tensor.array.dtype) for tensor in tensors]
    return [
        Output(node, index, *layout) if follows else None
        for index, (layout, follows) in enumerate(zip(node.outputs, flows, strict=True))
    ]


def _place(tensor: Any, vertex: Vertex | None, is_input: bool, changed_by: str | None) -> Any:
    """Return an output with its vertex: the same object if new or changed in place, else another on its memory."""
    if changed_by is not None:
        if vertex is not None:
            move_vertices(after_change(changed_by, tensor, vertex))
            return tensor
    elif is_input or tensor._node is not None:
        if vertex is None:
            return tensor.detach()
        alias = twin(tensor, vertex)
        share_memory(alias, tensor)
        return alias
    if vertex is not None:
        tensor._node = vertex
        if tensor._memory is not None:
            vertex.track_memory(tensor._memory)
    return tensor


TWICE = "{name}: trying to differentiate twice a function that was marked with @once_differentiable"
ON_THE_WAY = (
    "{name}: trying to differentiate twice through a tensor that forward computed and kept, which is neither an input "
    "nor an output; save the inputs and compute it in backward, or return it as a further output"
)
OUTSIDE = (
    "{name}: trying to differentiate twice a function whose backward returned a NumPy array, which is outside the "
    "graph; compute it with tensors, or mark backward with @once_differentiable"
)


def pull_cotangents(backward: Callable[..., Any], node: FunctionNode, g: Any, cls: type | None) -> list[Any]:
    """Return the cotangent of each tensor of a recorded call, None where there is none.

    Parameters
    ----------
    backward : the static method
    node : of the call
    g : cotangent of the output, a list of them for several outputs
    cls : the class in which `backward` is given raw cotangents; None where they are tensors in the graph

    Raises
    ------
    AutogradError : if what `backward` returns does not fit the inputs
    """
    ctx, live = node.context, cls is None
    cotangents = _cotangents(node, g, ctx, cls)
    if live and ctx._intermediates and is_grad_enabled():
        with refused(ctx, lambda tensor: _refusal_at(node, g, tensor.array, ON_THE_WAY)):
            returned = backward(ctx, *cotangents)
    else:
        returned = backward(ctx, *cotangents)
    grads: Sequence[Any]
    if isinstance(returned, (tuple, list)):
        grads = returned
    else:
        grads = (returned,)
    count = len(node.inputs)
    if len(grads) != count and (len(grads) < count or any(grad is not None for grad in grads[count:])):
        raise AutogradError(
            f"function {node.name} returned an incorrect number of gradients (expected {count}, got {len(grads)})"
        )
    result: list[Any] = []
    edges = node.edges
    for index, ((kind, paths), grad) in enumerate(zip(node.inputs, grads, strict=False)):
        if kind is None:
            if grad is not None:
                raise AutogradError(
                    f"function {node.name} returned a gradient different than None at position {index + 1}, but the "
                    f"corresponding forward input was no tensor"
                )
            continue
        for part in (grad,) if kind is Storage else _parts_of_gradient(node, index, kind, paths, grad):
            edge = edges[len(result)]
            if part is None or edge is None:
                result.append(None)
            elif not live and isinstance(part, Storage) and part.array.shape == edge.shape:
                result.append(part.array)
            else:
                result.append(_check_gradient(node, index, part, edge, live))
    if live and is_grad_enabled():
        return _differentiable(backward, node, g, result)
    return result


def _differentiable(backward: Callable[..., Any], node: FunctionNode, g: Any, grads: list[Any]) -> list[Any]:
    """Return gradients that raise when they are differentiated where that would be wrong."""
    if getattr(backward, "once_differentiable", False):
        return [None if grad is None else _refusing(grad, node, g, TWICE) for grad in grads]
    return [_refusing(grad, node, g, OUTSIDE) if isinstance(grad, np.ndarray) else grad for grad in grads]


def _cotangents(node: FunctionNode, g: Any, ctx: FunctionCtx, cls: type | None) -> list[Any]:
    """Return the argument of `backward` for each output."""
    if node.results is None:
        return [g if cls is None else wrap_array(cls, g)]
    assert node.outputs is not None
    arrived = next(part for part in g if part is not None)
    xp = tensor_namespace
    if cls is not None:
        xp = namespace_of(arrived)
    flat: list[Any] = []
    for place, (part, (shape, dtype)) in enumerate(zip(g, node.outputs, strict=True)):
        if part is None and ctx.materialize_grads and place not in ctx._without_zeros:
            part = xp.zeros(shape, dtype=dtype, device=getattr(arrived, "device", None))
        flat.append(part if part is None or cls is None else wrap_array(cls, part))
    rest = iter(flat)
    cotangents: list[Any] = []
    for emptied in node.results:
        parts = [next(rest) for _ in range(holes_in(emptied))]
        cotangents.append(None if all(part is None for part in parts) else fill_holes(emptied, iter(parts)))
    return cotangents


def _parts_of_gradient(node: FunctionNode, index: int, cls: type, paths: tuple[Path, ...], grad: Any) -> list[Any]:
    """Return the gradient of each tensor in an array type."""
    if grad is None:
        return [None] * len(paths)
    if isinstance(grad, cls):
        return [reduce(getattr, path, grad) for path in paths]
    single = len(paths) == 1
    if single and isinstance(grad, (Storage, np.ndarray, np.generic)):
        return [grad]
    name = cls.__name__
    what = ""
    if single:
        what = ", a tensor"
    raise AutogradError(
        f"function {node.name} returned a gradient at index {index} that does not fit a {name}: expected a {name} with "
        f"gradients in its fields{what} or None (got {type(grad).__name__})"
    )


def _check_gradient(node: FunctionNode, index: int, grad: Any, edge: Vertex, live: bool) -> Any:
    """Return a gradient as the sweep takes it."""
    if not isinstance(grad, (Storage, np.ndarray, np.generic)):
        raise AutogradError(
            f"function {node.name} returned a gradient at index {index} that is no tensor: expected a tensor, a NumPy "
            f"array or None (got {type(grad).__name__})"
        )
    tensor: Any
    if isinstance(grad, Storage):
        tensor = grad
    else:
        tensor = np.asarray(grad)
    shape = tuple(tensor.shape)
    if shape != edge.shape and not stretches_to(edge.shape, shape):
        raise AutogradError(
            f"Function {node.name} returned an invalid gradient at index {index} - got {list(shape)} but "
            f"expected shape compatible with {list(edge.shape)}"
        )
    if live or not isinstance(grad, Storage):
        return tensor
    return tensor.array


def stretches_to(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether broadcasting makes `other` of `shape`, so that summing brings it back."""
    if len(shape) > len(other):
        return False
    return all(a in (1, b) for a, b in zip(reversed(shape), reversed(other), strict=False))


class _Refusal:
    """Stands in the graph where there is no second derivative."""

    node_name = "Error"
    keeps_output = False
    trusted = False

    def __init__(self, text: str) -> None:
        self.text = text

    def pull_raw(self, node: Any, g: Any) -> NoReturn:
        """Raise.

        Raises
        ------
        AutogradError : always
        """
        raise AutogradError(self.text)

    pull_live = pull_raw


def _refusing(grad: Any, node: FunctionNode, g: Any, text: str) -> Any:
    """Return a gradient that raises when it is differentiated, by an input of the function or a cotangent of it."""
    array = grad
    if isinstance(grad, Storage):
        array = grad.array
    return wrap_array(Tensor, array, _refusal_at(node, g, array, text))


def _refusal_at(node: FunctionNode, g: Any, array: Any, text: str) -> Node:
    """Return the vertex of an array that raises when it is differentiated."""
    cotangents = g
    if not isinstance(g, list):
        cotangents = [g]
    edges = (*node.edges, *(vertex_of(cotangent) for cotangent in cotangents if cotangent is not None))
    return make_node(Node, _Refusal(text.format(name=node.name)), edges, (), array.shape, array.dtype)
