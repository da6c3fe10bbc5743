"""What computes a call on tensors of one or two arrays: a closure for each form and each combination of types.

A handler takes the raw arrays, computes, wraps the result in the class it was made for, and records a node where
gradients flow. Nothing that the types alone decide is asked again when the handler runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchkit.backends.arrays import foreign, may_share_memory, namespace_of, raw_array
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.call_errors import MISTAKES, check_numbers, reraise
from dispatchkit.declare.entry_points import recorder_of_leading, recorder_of_one, recorder_of_two
from dispatchkit.declare.libraries import as_python, common_library
from dispatchkit.declare.outputs import note_view, several_results
from dispatchkit.declare.wrapping import wrapped
from dispatchkit.graph.node import Node, snapshot_versions
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage, vertex_of

if TYPE_CHECKING:
    from dispatchkit.declare.operation import DeclaredOperation

__all__ = ["leading_handler", "plain_handler"]

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
    return _one(operation, cls, *tensors) if len(tensors) == 1 else _two(operation, cls, *tensors)


def _one(operation: DeclaredOperation, cls: type, tensor: bool) -> Handler:
    kernel = operation.kernel
    record = recorder_of_one(operation) if operation.differentiable and tensor else None

    def one(x: Any) -> Any:
        a = x.array if tensor else x
        try:
            r = kernel(a) if not foreign or type(a) is ndarray else _elementwise(operation, a)
        except MISTAKES as error:
            reraise(operation, error, (x,), {})
        y = wrapped(cls, r if type(r) is ndarray else raw_array(r))
        if record is not None and x._node is not None:
            y._node = record(y.array, x)
        return y

    return one


def _two(operation: DeclaredOperation, cls: type, first: bool, second: bool) -> Handler:
    kernel = operation.kernel
    differentiable = operation.differentiable
    record = recorder_of_two(operation) if differentiable and first and second else None

    def two(x1: Any, x2: Any) -> Any:
        a = x1.array if first else x1
        b = x2.array if second else x2
        xp = numpy_namespace
        if foreign and not (type(a) is ndarray and type(b) is ndarray):
            xp = common_library(operation.qualified_name, (x1, x2)) or numpy_namespace
            if xp is not numpy_namespace and (isinstance(a, np.generic) or isinstance(b, np.generic)):
                return two(as_python(x1), as_python(x2))
        try:
            r = kernel(a, b) if xp is numpy_namespace else operation.body_of_namespace(xp, a, b)
        except MISTAKES as error:
            reraise(operation, error, (x1, x2), {})
        y = new(cls)
        y.array = r if type(r) is ndarray else raw_array(r)
        y._node = y._memory = None
        if record is not None:
            if x1._node is not None or x2._node is not None:
                y._node = record(y.array, x1, x2)
        elif differentiable:
            v1 = vertex_of(x1) if first else None
            v2 = vertex_of(x2) if second else None
            if (v1 is not None or v2 is not None) and is_grad_enabled():
                y._node = _node(operation, y.array, (v1, v2), (x1, x2))
        return y

    return two


def _elementwise(operation: DeclaredOperation, a: Any) -> Any:
    """Compute on another library's array; the result has memory of its own."""
    xp = namespace_of(a)
    r = operation.body_of_namespace(xp, a)
    return xp.asarray(r, copy=True) if may_share_memory(r, a) else r


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
            snapshot_versions(n)
            break
    return n


def leading_handler(operation: DeclaredOperation, cls: type) -> Handler:
    """Return what computes an operation of one tensor, given first, with parameters: reductions, shape changes."""
    on_numpy, whole = operation.on_numpy, operation.whole
    record = recorder_of_leading(operation) if operation.differentiable else None
    takes_dtype = "dtype" in operation.parameters.signature.parameters

    def handler(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        a = x.array
        compute = on_numpy if type(a) is ndarray else operation.computed_by(namespace_of(a))
        try:
            if args or kwargs:
                r = compute(a, *args, **kwargs)
                if takes_dtype and (args or "dtype" in kwargs):
                    check_numbers(operation, r, kwargs.get("dtype"))
            elif whole is None or compute is not on_numpy:
                r = compute(a)
            else:
                r = whole(a)
        except MISTAKES as error:
            reraise(operation, error, (x, *args), kwargs)
        if type(r) is not ndarray:
            if isinstance(r, (tuple, list)):
                tracked = x._node is not None and operation.differentiable and is_grad_enabled()
                return several_results(operation, cls, r, [x], (x, *args), kwargs, tracked)
            r = raw_array(r)
        y = wrapped(cls, r)
        if record is not None and x._node is not None:
            y._node = record(r, x, args, kwargs)
        if r is a or type(r) is not ndarray or r.base is not None:
            note_view(y, x)
        return y

    return handler
