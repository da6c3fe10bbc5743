"""What computes a call on tensors: one closure for each form of operation and each combination of types.

A handler takes the raw arrays, computes, wraps the result in the class it was made for, and records a node where
gradients flow. Nothing that the types alone decide is asked again when the handler runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchkit.graph.arrays import SCALARS, foreign, is_inexact, may_share_memory, namespace_of, raw_array
from dispatchkit.graph.node import CallNode, Node, Output, note_versions
from dispatchkit.graph.numpy_namespace import DOUBLE, numpy_namespace
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage, share_memory
from dispatchkit.ops.functions import recorder_of_one, recorder_of_two
from dispatchkit.ops.libraries import as_python, common_library, library_of_call
from dispatchkit.ops.mistakes import MISTAKES, NUMBERS, check_numbers, reraise
from dispatchkit.ops.wrapping import make_leaf, spec_of, wrapped
from dispatchkit.protocol.parameters import Form

if TYPE_CHECKING:
    from dispatchkit.ops.declared import DeclaredOperation

__all__ = [
    "arrays_handler",
    "call_handler",
    "call_node",
    "gathering_handler",
    "leading_handler",
    "making_handler",
    "plain_handler",
]

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
            v1 = x1._node if first else None
            v2 = x2._node if second else None
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
            note_versions(n)
            break
    return n


def leading_handler(operation: DeclaredOperation, cls: type) -> Handler:
    """Return what computes an operation of one tensor, given first, with parameters: reductions, shape changes."""
    on_numpy, differentiable, whole = operation.on_numpy, operation.differentiable, operation.whole
    keeps, keeps_output = operation.plan.keeps[0], operation.plan.keeps_output
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
            n.output = r if keeps_output else None
            if keeps and x._memory is not None:
                note_versions(n)
        if r is a or type(r) is not ndarray or r.base is not None:
            _note_sharing(y, (x,))
        return y

    return handler


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
                return _several(operation, cls, r, [args[i] for i in places], args, kwargs, tracked)
            r = raw_array(r)
        y = new(cls)
        y.array = r
        y._node = _node_of_arrays(operation, places, args, kwargs, r) if tracked else None
        y._memory = None
        if type(r) is not ndarray or r.base is not None or _is_among(r, opened):
            _note_sharing(y, [args[i] for i in places])
        return y

    return handler


def _is_among(r: Any, values: Sequence[Any]) -> bool:
    for value in values:  # noqa: SIM110  # a generator takes longer than the loop
        if value is r:
            return True
    return False


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
        edges[i] = args[i]._node
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
            note_versions(n)
            break
    return n


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
                return operation.decomposed(*args, **kwargs)
            except MISTAKES as error:
                reraise(operation, error, args, kwargs, inner=True)
        try:
            result = compute(*raw_args, **raw_kwargs)
            if takes_dtype and "dtype" in kwargs:
                check_numbers(operation, result, kwargs.get("dtype"))
        except MISTAKES as error:
            reraise(operation, error, args, kwargs)
        if type(result) is not ndarray:
            if isinstance(result, (tuple, list)):
                return _several(operation, cls, result, tensors, args, kwargs, tracked)
            result = raw_array(result)
        y = wrapped(cls, result)
        if tracked and is_inexact(result.dtype):
            y._node = _node_of_call(operation, args, kwargs, result)
        elif requires_grad:
            y._node = make_leaf(result)
        _note_sharing(y, tensors)
        return y

    return handler


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
        if y.array.base is not None or _is_among(r, raw):
            _note_sharing(y, arrays)
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
        y._node = _node_of_call(operation, args, kwargs, y.array)


def making_handler(operation: DeclaredOperation, cls: type) -> Handler:
    """Return what computes an operation that makes an array of no other."""
    compute, general = operation.on_numpy, call_handler(operation, cls)
    makes_leaves = "requires_grad" in operation.parameters.signature.parameters
    takes_dtype = "dtype" in operation.parameters.signature.parameters

    def handler(*args: Any, **kwargs: Any) -> Any:
        if foreign or not UNTRACKED.issuperset(map(type, args)):
            return general(*args, **kwargs)
        requires_grad = makes_leaves and bool(kwargs) and kwargs.pop("requires_grad", False)
        try:
            r = compute(*args, **kwargs)
            if takes_dtype and r.dtype.kind not in NUMBERS:
                check_numbers(operation, r, kwargs.get("dtype"))
        except MISTAKES as error:
            reraise(operation, error, args, kwargs)
        y = wrapped(cls, r)
        if requires_grad:
            y._node = make_leaf(r)
        return y

    return handler


def _any_tracked(tensors: Sequence[Storage]) -> bool:
    for t in tensors:
        if t._node is not None:
            return is_grad_enabled()
    return False


def _node_of_call(operation: DeclaredOperation, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> CallNode:
    n = call_node(operation, args, kwargs)
    n.shape, n.dtype = result.shape, result.dtype
    if operation.plan.keeps_output:
        n.output = result
    return n


# Types of arguments that hold no tensors.
DTYPES = {type(np.dtype(code)) for code in np.typecodes["All"]}
PLAIN = frozenset({int, float, complex, bool, str, type(None), type, *DTYPES})


# ... and axes or shapes, whose members are numbers.
UNTRACKED = PLAIN | {tuple, list}


def _opened(value: Any, tensors: list[Storage]) -> Any:
    """Return an argument with raw arrays for its tensors, which are put on the list."""
    if isinstance(value, Storage):
        tensors.append(value)
        return value.array
    if isinstance(value, (tuple, list)):
        found = len(tensors)
        members = [member if type(member) in PLAIN else _opened(member, tensors) for member in value]
        if len(tensors) > found:
            return tuple(members) if isinstance(value, tuple) else members
    return value


def _note_sharing(y: Storage, sources: Sequence[Any]) -> None:
    """Note which tensor's memory a new one looks at."""
    r = y.array
    base = r.base if type(r) is ndarray else r
    for x in sources:
        if not isinstance(x, Storage):
            continue
        a = x.array
        if r is a or (base is not None and (base is a or base is getattr(a, "base", None) or may_share_memory(r, a))):
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
