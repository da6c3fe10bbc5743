"""Tensors of a call's raw results: their node in the graph, and the memory they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from dispatchkit.backends.arrays import is_fixed, is_inexact, may_share_memory, raw_array
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.wrapping import spec_of, taking_nothing
from dispatchkit.graph.node import CallNode, Output, snapshot_versions
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage, share_memory, vertex_of
from dispatchkit.protocol.parameters import Form

ndarray = np.ndarray
new: Callable[[Any], Any] = object.__new__


def note_sharing(y: Storage, sources: Sequence[Any], views: bool = False) -> None:
    """Note which tensor a new one shares memory with."""
    for x in sources:
        if isinstance(x, Storage) and note_view(y, x, views):
            break


def note_view(y: Storage, x: Storage, views: bool = False) -> bool:
    """Note that a new tensor shares the memory of another, if it does; return whether it does.

    Parameters
    ----------
    y, x : the new tensor, and the other
    views : whether the operation that gave it makes views; where arrays cannot be changed, its results count as such,
        so that a change of them is not lost unseen
    """
    r, a = y.array, x.array
    if r is not a:
        if type(r) is not ndarray:
            if not may_share_memory(r, a) and not (views and is_fixed(r)):
                return False
        elif (base := r.base) is None:
            return False
        elif base is not a and (type(a) is not ndarray or base is not a.base):
            # Arrays without a base have memory of their own.
            apart = type(base) is type(a) is ndarray and a.base is None is base.base
            if apart or not may_share_memory(r, a):
                return False
    memory, node = x._memory, y._node
    if memory is not None and (x._node is None or node is not None) and len(memory.views) < memory.full:
        # As `share_memory` does, in less time.
        y._memory = memory
        memory.views.append(ref(y))
        if node is not None:
            node.track_memory(memory)
    else:
        share_memory(y, x)
    return True


def several_results(
    operation: DeclaredOperation,
    cls: type,
    result: Any,
    tensors: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    flows: bool,
) -> Any:
    """Wrap each of several outputs; they share one node where gradients flow to an argument."""
    raw = [r if type(r) is ndarray else raw_array(r) for r in result]
    n = None
    if flows and operation.differentiable and is_grad_enabled():
        for r in raw:
            if is_inexact(r.dtype):
                n = call_node(operation, args, kwargs)
                if operation.derivative.keeps_output:
                    n.output = tuple(raw)
                break
    return wrap_several(operation, cls, type(result), raw, tensors, n)


def wrap_several(
    operation: DeclaredOperation,
    cls: type,
    form: type,
    raw: Sequence[Any],
    tensors: Sequence[Any],
    node: CallNode | None,
) -> Any:
    """Return tensors of the raw outputs of a call.

    Parameters
    ----------
    operation, cls : that was called, and the class of the tensors
    form : type of the sequence that holds them
    raw : the outputs
    tensors : whose memory they may show
    node : of the call; None where no gradients flow
    """
    ys = []
    views, apart = not operation.implementation.trusted, operation.gives_new_memory
    for index, r in enumerate(raw):
        if type(r) is ndarray:
            views = views or r.base is not None
        else:
            views = views or not apart or is_held(r, [x.array for x in tensors if isinstance(x, Storage)])
        y = new(cls)
        y.array = r
        y._node = y._memory = None
        if node is not None and is_inexact(r.dtype):
            y._node = Output(node, index, r.shape, r.dtype)
        ys.append(y)
    if node is not None:
        node.shape, node.dtype = (), None
        node.outputs = [(r.shape, r.dtype) for r in raw]
    if views:
        shown = operation.gives_views
        for y in ys:
            note_sharing(y, tensors, shown)
    finalize_all(operation, cls, ys, tensors)
    if hasattr(form, "_fields"):
        return tuple.__new__(form, ys)
    return form(ys)


def finalize_all(operation: DeclaredOperation, cls: Any, result: Any, sources: Sequence[Any]) -> None:
    """Give results of a subclass the tensors that they come from."""
    if cls is not operation.protocol.types.base and cls not in taking_nothing:
        for y in result if isinstance(result, (tuple, list)) else (result,):
            if type(y) is cls:
                cls.__tensor_finalize__(y, operation.function, tuple(sources))


def is_held(r: Any, values: Sequence[Any]) -> bool:
    """Return whether a result is one of these raw values."""
    for value in values:  # noqa: SIM110  # a generator takes longer than the loop
        if value is r:
            return True
    return False


def node_of_call(operation: DeclaredOperation, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> CallNode:
    """Return the node of a call that gave one array."""
    n = call_node(operation, args, kwargs)
    n.shape, n.dtype = result.shape, result.dtype
    if operation.derivative.plan.keeps_output:
        n.output = result
    return n


def node_of_sequence(
    operation: DeclaredOperation, arrays: Any, rest: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> CallNode:
    """Return the node of a call on a sequence of arrays, given first, and no other arrays, to which gradients flow.

    It is that of `node_of_call`, in fewer steps.
    """
    if type(arrays) is not list and type(arrays) is not tuple:
        return node_of_call(operation, (arrays, *rest), kwargs, result)
    derivative = operation.derivative
    plan, saved = derivative.plan, arrays
    keeps = plan.keeps[0] or not derivative.rules
    if not keeps:
        saved = [None] * len(arrays)
        if plan.saves_specs:
            saved = [spec_of(x) for x in arrays]
    n = CallNode()
    n.operation = derivative
    n.edges = tuple([vertex_of(x) if isinstance(x, Storage) else None for x in arrays])
    n.saved, n.keywords = (saved, *rest), kwargs
    n.output = None
    if plan.keeps_output:
        n.output = result
    n.shape, n.dtype = result.shape, result.dtype
    n.outputs = n.extras = None
    if keeps:
        snapshot_versions(n)
    return n


def call_node(operation: DeclaredOperation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CallNode:
    """Return a node for a call, without what belongs to its output."""
    n = CallNode()
    n.operation = operation.derivative
    edges: list[Any] = []
    tracked: list[bool] = []
    for p in operation.parameters.arrays:
        value = p.find(args, kwargs)
        if p.form is Form.ONE:
            vertex = vertex_of(value) if isinstance(value, Storage) else None
            edges.append(vertex)
            tracked.append(vertex is not None)
        elif p.form is Form.INDEX:
            tracked.append(False)
        else:
            vertices = [vertex_of(member) if isinstance(member, Storage) else None for member in p.members(value)]
            edges += vertices
            tracked.append(vertices.count(None) < len(vertices))
    n.edges = tuple(edges)
    n.saved, n.keywords = operation.derivative.save_call(args, kwargs, tracked)
    n.outputs = n.extras = None
    snapshot_versions(n)
    return n
