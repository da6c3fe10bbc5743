"""What computes a call on tensors: one closure for each form of operation and each combination of types.

A handler takes the raw arrays, computes, wraps the result in the class it was made for, and records a node where
gradients flow. Nothing that the types alone decide is asked again when the handler runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchkit.graph.arrays import SCALARS, foreign, is_inexact, namespace_of, raw_array
from dispatchkit.graph.node import CallNode, Node, Output, note_versions
from dispatchkit.graph.numpy_namespace import DOUBLE, numpy_namespace
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage, share_memory
from dispatchkit.ops.wrapping import make_leaf, spec_of, wrapped
from dispatchkit.protocol.parameters import Form

if TYPE_CHECKING:
    from dispatchkit.ops.declared import DeclaredOperation

__all__ = ["call_handler", "call_node", "leading_handler", "plain_handler"]

Handler = Callable[..., Any]
new: Callable[[Any], Any] = object.__new__
ndarray = np.ndarray


def plain_handler(operation: DeclaredOperation, cls: type, tensors: Sequence[bool]) -> Handler:
    """Return what computes an operation of one or two arrays and nothing else, for any mix of types.

    Parameters
    ----------
    operation : to compute
    cls : of the result
    tensors : for each argument, whether it is a tensor rather than a raw array or a scalar
    """
    kernel, body = operation.kernel, operation.body_of_namespace
    differentiable = operation.differentiable
    if len(tensors) == 1:

        def one(x: Any) -> Any:
            a = x.array if tensors[0] else x
            r = kernel(a) if not foreign or type(a) is ndarray else body(namespace_of(a), a)
            y = wrapped(cls, r if type(r) is ndarray else raw_array(r))
            if differentiable and tensors[0] and x._node is not None and is_grad_enabled():
                y._node = _node(operation, y.array, (x._node,), (x,))
            return y

        return one
    first, second = tensors

    def two(x1: Any, x2: Any) -> Any:
        a = x1.array if first else x1
        b = x2.array if second else x2
        if foreign and not (type(a) is ndarray and type(b) is ndarray):
            r = body(namespace_of(b if type(a) is ndarray or not first else a), a, b)
        else:
            r = kernel(a, b)
        y = new(cls)
        y.array = r if type(r) is ndarray else raw_array(r)
        y._node = y._memory = None
        if differentiable:
            v1 = x1._node if first else None
            v2 = x2._node if second else None
            if (v1 is not None or v2 is not None) and is_grad_enabled():
                y._node = _node(operation, y.array, (v1, v2), (x1, x2))
        return y

    return two


def _node(operation: DeclaredOperation, r: Any, edges: tuple[Any, ...], args: tuple[Any, ...]) -> Node:
    plan = operation.plan
    n = Node()
    n.operation = operation
    n.edges = edges
    n.extras = None
    if plan.saves_specs:
        n.saved = operation.save(args, edges)
    else:
        needs = plan.needs([edge is not None for edge in edges])
        n.saved = tuple([arg if needed else None for arg, needed in zip(args, needs, strict=True)])
    if plan.keeps_output:
        n.output = r
    n.shape = r.shape
    n.dtype = r.dtype
    for arg in args:
        if isinstance(arg, Storage) and arg._memory is not None:
            note_versions(n)
            break
    return n


def leading_handler(operation: DeclaredOperation, cls: type) -> Handler:
    """Return what computes an operation of one tensor, given first, with parameters: reductions, shape changes."""
    body, differentiable, whole = operation.body_of_namespace, operation.differentiable, operation.whole
    keeps, keeps_output = operation.plan.keeps[0], operation.plan.keeps_output

    def handler(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        a = x.array
        xp = numpy_namespace if type(a) is ndarray else namespace_of(a)
        if args or kwargs:
            try:
                r = body(xp, a, *args, **kwargs)
            except TypeError:
                operation.check_call((x, *args), kwargs)
                raise
        elif whole is None or xp is not numpy_namespace:
            r = body(xp, a)
        else:
            r = whole(a)
        v = x._node
        tracked = v is not None and differentiable and is_grad_enabled()
        t = type(r)
        if t is not ndarray:
            if t in SCALARS:
                r = np.asarray(r)
            elif isinstance(r, (tuple, list)):
                return _several(operation, cls, r, [x], (x, *args), kwargs, tracked)
            else:
                r = raw_array(r)
        y = new(cls)
        y.array = r
        y._node = y._memory = None
        if tracked and (r.dtype is DOUBLE or is_inexact(r.dtype)):
            y._node = n = CallNode()
            n.operation = operation
            n.edges = (v,)
            n.saved = (x if keeps else spec_of(x), *args)
            n.keywords = kwargs
            n.outputs = n.extras = None
            n.shape = r.shape
            n.dtype = r.dtype
            if keeps_output:
                n.output = r
            if keeps and x._memory is not None:
                note_versions(n)
        if r is a or (t is ndarray and r.base is not None):
            _note_sharing(y, (x,))
        return y

    return handler


def call_handler(operation: DeclaredOperation, cls: type) -> Handler:
    """Return what computes an operation of any signature: several arrays, sequences, none at all."""
    body, composite = operation.body_of_namespace, operation.composite
    parameters = operation.parameters
    makes_leaves = "requires_grad" in parameters.signature.parameters

    def handler(*args: Any, **kwargs: Any) -> Any:
        requires_grad = makes_leaves and kwargs.pop("requires_grad", False)
        tensors: list[Storage] = []
        raw_args = [_opened(arg, tensors) for arg in args]
        raw_kwargs = {name: _opened(arg, tensors) for name, arg in kwargs.items()} if kwargs else kwargs
        tracked = operation.differentiable and any(t._node is not None for t in tensors) and is_grad_enabled()
        if tracked and composite:
            return operation.decomposed(*args, **kwargs)
        xp = _namespace(tensors) if foreign else numpy_namespace
        try:
            result = body(xp, *raw_args, **raw_kwargs)
        except TypeError:
            operation.check_call(args, kwargs)
            raise
        if isinstance(result, (tuple, list)):
            return _several(operation, cls, result, tensors, args, kwargs, tracked)
        y = wrapped(cls, raw_array(result))
        if tracked and is_inexact(y.array.dtype):
            y._node = call_node(operation, args, kwargs)
            y._node.shape, y._node.dtype = y.array.shape, y.array.dtype
            if operation.plan.keeps_output:
                y._node.output = y.array
        elif requires_grad:
            y._node = make_leaf(y.array)
        _note_sharing(y, tensors)
        return y

    return handler


def _opened(value: Any, tensors: list[Storage]) -> Any:
    """Return an argument with raw arrays for its tensors, which are put on the list."""
    if isinstance(value, Storage):
        tensors.append(value)
        return value.array
    if isinstance(value, (tuple, list)) and any(isinstance(member, (Storage, list)) for member in value):
        members = [_opened(member, tensors) for member in value]
        return tuple(members) if isinstance(value, tuple) else members
    return value


def _namespace(tensors: list[Any]) -> Any:
    for tensor in tensors:
        if type(tensor.array) is not ndarray:
            return namespace_of(tensor.array)
    return numpy_namespace


def _note_sharing(y: Storage, tensors: Sequence[Storage]) -> None:
    """Note whose memory a new tensor looks at."""
    r = y.array
    base = r.base if type(r) is ndarray else None
    for x in tensors:
        a = x.array
        if r is a or (base is not None and (base is a or base is a.base or np.may_share_memory(r, a))):
            share_memory(y, x)
            break


def call_node(operation: DeclaredOperation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CallNode:
    """Return a node for a call, without what belongs to its output."""
    n = CallNode()
    n.operation = operation
    edges: list[Any] = []
    tracked: list[bool] = []
    for p in operation.parameters.arrays:
        value = p.find(args, kwargs)
        members = () if p.form is Form.INDEX else (value,) if p.form is Form.ONE else p.members(value)
        own = [getattr(member, "_node", None) for member in members]
        edges += own
        tracked.append(any(edge is not None for edge in own))
    n.edges = tuple(edges)
    n.saved, n.keywords = operation.save_call(args, kwargs, tracked)
    n.outputs = n.extras = None
    note_versions(n)
    return n


def _several(
    operation: DeclaredOperation,
    cls: type,
    result: Any,
    tensors: list[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tracked: bool,
) -> Any:
    """Wrap each of several outputs; they share one node."""
    ys = [wrapped(cls, raw_array(r)) for r in result]
    if tracked and any(is_inexact(y.array.dtype) for y in ys):
        n = call_node(operation, args, kwargs)
        n.shape, n.dtype = (), None
        n.outputs = [(y.array.shape, y.array.dtype) for y in ys]
        if operation.keeps_output:
            n.output = tuple(y.array for y in ys)
        for index, y in enumerate(ys):
            if is_inexact(y.array.dtype):
                y._node = Output(n, index, y.array.shape, y.array.dtype)
    for y in ys:
        _note_sharing(y, tensors)
    return type(result)(*ys) if hasattr(result, "_fields") else type(result)(ys)
