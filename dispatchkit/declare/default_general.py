"""What computes a call on tensors whose arrays are several, or a sequence: a closure for each form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchkit.backends.arrays import PLAIN, foreign, is_inexact, raw_array
from dispatchkit.backends.numpy import DOUBLE
from dispatchkit.declare.call_errors import MISTAKES, check_numbers, reraise
from dispatchkit.declare.libraries import library_of_call
from dispatchkit.declare.outputs import is_held, node_of_call, note_sharing, several_results
from dispatchkit.declare.wrapping import make_leaf, spec_of, wrapped
from dispatchkit.graph.node import CallNode, snapshot_versions
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage, vertex_of
from dispatchkit.tree import Item, map_leaves, sequence_items

if TYPE_CHECKING:
    from dispatchkit.declare.operation import DeclaredOperation

__all__ = ["arrays_handler", "call_handler", "gathering_handler"]

Handler = Callable[..., Any]
new: Callable[[Any], Any] = object.__new__
ndarray = np.ndarray


def call_handler(operation: DeclaredOperation, cls: type) -> Handler:
    """Return what computes an operation of any signature: several arrays, sequences, none at all."""
    on_numpy, composite = operation.on_numpy, operation.composite
    parameters = operation.parameters
    makes_leaves = "requires_grad" in parameters.signature.parameters
    takes_dtype = "dtype" in parameters.signature.parameters
    differentiable = operation.differentiable

    def handler(*args: Any, **kwargs: Any) -> Any:
        requires_grad = makes_leaves and kwargs.pop("requires_grad", False)
        compute = on_numpy
        if foreign:
            xp, args, kwargs = library_of_call(operation, args, kwargs)
            compute = operation.computed_by(xp)
        tensors: list[Storage] = []
        raw_args = [arg if type(arg) in PLAIN else _opened(arg, tensors) for arg in args]
        raw_kwargs = kwargs
        if kwargs and not PLAIN.issuperset(map(type, kwargs.values())):
            raw_kwargs = {name: _opened(arg, tensors) for name, arg in kwargs.items()}
        tracked = differentiable and _any_tracked(tensors)
        if tracked and composite:
            try:
                result = operation.decomposed(*args, **kwargs)
            except MISTAKES as error:
                reraise(operation, error, args, kwargs, inner=True)
            # An argument handed on becomes a tensor of its own, as it does outside the graph.
            return result[...] if is_held(result, tensors) else result
        try:
            result = compute(*raw_args, **raw_kwargs)
            if takes_dtype and "dtype" in kwargs:
                check_numbers(operation, result, kwargs.get("dtype"))
        except MISTAKES as error:
            reraise(operation, error, args, kwargs)
        if type(result) is not ndarray:
            if isinstance(result, (tuple, list)):
                return several_results(operation, cls, result, tensors, args, kwargs, tracked)
            result = raw_array(result)
        y = wrapped(cls, result)
        if tracked and is_inexact(result.dtype):
            y._node = node_of_call(operation, args, kwargs, result)
        elif requires_grad:
            y._node = make_leaf(result)
        note_sharing(y, tensors)
        return y

    return handler


def _any_tracked(tensors: Sequence[Storage]) -> bool:
    for t in tensors:
        if t._node is not None:
            return is_grad_enabled()
    return False


def _opened(value: Any, tensors: list[Storage]) -> Any:
    """Return an argument with raw arrays for its tensors, which are put on the list."""
    if isinstance(value, Storage):
        tensors.append(value)
        return value.array
    if isinstance(value, (tuple, list)):
        return map_leaves(
            _members, lambda leaf: _opened(leaf, tensors) if isinstance(leaf, Storage) else leaf, value, share=True
        )
    return value


def _members(value: Any) -> list[Item] | None:
    """Return the members of a sequence, but for one of plain values alone."""
    sequence = isinstance(value, (tuple, list)) and not PLAIN.issuperset(map(type, value))
    return sequence_items(value) if sequence else None


def arrays_handler(operation: DeclaredOperation, cls: type, tensors: Sequence[bool]) -> Handler:
    """Return what computes an operation of several arrays, given first, with parameters.

    Parameters
    ----------
    operation : to compute
    cls : of the result
    tensors : for each array argument, whether it is a tensor rather than a raw array, a scalar, or left out

    Notes
    -----
    A call with arrays among its keywords is computed as any other.
    """
    compute, differentiable = operation.on_numpy, operation.differentiable
    general = call_handler(operation, cls)
    places = [i for i, tensor in enumerate(tensors) if tensor]
    names = frozenset(p.name for p in operation.parameters.arrays)

    def handler(*args: Any, **kwargs: Any) -> Any:
        if foreign or (not names.isdisjoint(kwargs) and not PLAIN.issuperset(map(type, kwargs.values()))):
            return general(*args, **kwargs)
        opened = list(args)
        flows = False
        for i in places:
            x = args[i]
            opened[i] = x.array
            if x._node is not None:
                flows = True
        try:
            r = compute(*opened, **kwargs)
        except MISTAKES as error:
            reraise(operation, error, args, kwargs)
        tracked = flows and differentiable and is_grad_enabled()
        if type(r) is not ndarray:
            if isinstance(r, (tuple, list)):
                return several_results(operation, cls, r, [args[i] for i in places], args, kwargs, tracked)
            r = raw_array(r)
        y = new(cls)
        y.array = r
        y._node = _node_of_arrays(operation, places, args, kwargs, r) if tracked else None
        y._memory = None
        if type(r) is not ndarray or r.base is not None or is_held(r, opened):
            note_sharing(y, [args[i] for i in places])
        return y

    return handler


def _node_of_arrays(
    operation: DeclaredOperation, places: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any], r: Any
) -> CallNode | None:
    """Return the node of a call with tensors at these places; None where the result has no derivative."""
    if r.dtype is not DOUBLE and not is_inexact(r.dtype):
        return None
    plan = operation.plan
    n = CallNode()
    n.operation = operation
    edges: list[Any] = [None] * operation.parameters.positional
    for i in places:
        edges[i] = vertex_of(args[i])
    n.edges = tuple(edges)
    saved = list(args)
    for i, need in enumerate(plan.needs([edge is not None for edge in edges])):
        if not need and i < len(saved):
            saved[i] = spec_of(saved[i])
    n.saved = tuple(saved)
    n.keywords = kwargs
    n.outputs = n.extras = None
    n.shape = r.shape
    n.dtype = r.dtype
    n.output = r if plan.keeps_output else None
    for i in places:
        if args[i]._memory is not None:
            snapshot_versions(n)
            break
    return n


def gathering_handler(operation: DeclaredOperation, cls: type) -> Handler:
    """Return what computes an operation of a sequence of arrays, given first, with parameters."""
    compute, general = operation.on_numpy, call_handler(operation, cls)

    def handler(arrays: Any, /, *args: Any, **kwargs: Any) -> Any:
        if foreign:
            return general(arrays, *args, **kwargs)
        raw, tracked = _raw_arrays(arrays)
        try:
            r = compute(raw, *args, **kwargs)
        except MISTAKES as error:
            reraise(operation, error, (arrays, *args), kwargs)
        y = wrapped(cls, r if type(r) is ndarray else raw_array(r))
        if tracked:
            _record(operation, y, (arrays, *args), kwargs)
        if y.array.base is not None or is_held(r, raw):
            note_sharing(y, arrays)
        return y

    return handler


def _raw_arrays(values: Sequence[Any]) -> tuple[list[Any], bool]:
    """Return values with raw arrays for tensors, and whether one of those is in the graph."""
    raw = []
    tracked = False
    for x in values:
        if isinstance(x, Storage):
            raw.append(x.array)
            if x._node is not None:
                tracked = True
        else:
            raw.append(x)
    return raw, tracked


def _record(operation: DeclaredOperation, y: Storage, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Give a result its node, where gradients flow through the operation and recording is on."""
    if operation.differentiable and is_inexact(y.array.dtype) and is_grad_enabled():
        y._node = node_of_call(operation, args, kwargs, y.array)
