"""What computes a call on tensors: one closure for each form of operation and each combination of types.

A handler takes the raw arrays, computes, wraps the result in the class it was made for, and records a node where
gradients flow. Nothing that the types alone decide is asked again when the handler runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchkit.errors import AutogradError
from dispatchkit.graph.arrays import SCALARS, Spec, foreign, is_inexact, namespace_of, raw_array
from dispatchkit.graph.node import CallNode, Leaf, Node, Output, note_versions
from dispatchkit.graph.numpy_namespace import numpy_namespace
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage, share_memory
from dispatchkit.protocol.callers import ask_the_rest, decide
from dispatchkit.protocol.modes import ask_modes, live
from dispatchkit.protocol.parameters import Form

if TYPE_CHECKING:
    from dispatchkit.ops.declared import DeclaredOperation

__all__ = [
    "binary_function",
    "call_handler",
    "finalized",
    "leading_function",
    "leading_handler",
    "make_leaf",
    "plain_handler",
    "spec_of",
    "unary_function",
    "wrapped",
]

Handler = Callable[..., Any]
new: Callable[[Any], Any] = object.__new__
ndarray = np.ndarray


def unary_function(operation: DeclaredOperation) -> Handler:
    """Return the public function of an operation of one array: tensors at once, all else by the table.

    The plain case is written out here, down to the node, because every call it saves shows in the figures.
    """
    kernel, table = operation.kernel, operation.table
    base: Any = None
    keep_x = keep_y = differentiable = False
    save: Any = None
    nothing = (None,)

    def call(x: Any, /) -> Any:
        if live and (answer := ask_modes(operation, (x,), {})) is not NotImplemented:
            return answer
        t = type(x)
        if t is base and not foreign:
            r = kernel(x.array)
            if type(r) is not ndarray:
                r = raw_array(r)
            y = new(t)
            y.array = r
            y._memory = None
            v = x._node
            if v is None or not differentiable or not is_grad_enabled():
                y._node = None
                return y
            y._node = n = Node()
            n.operation = operation
            n.edges = (v,)
            n.saved = save((x,)) if save is not None else (x,) if keep_x else nothing
            if keep_y:
                n.output = r
            n.shape = r.shape
            n.dtype = r.dtype
            n.extras = None
            if keep_x and x._memory is not None:
                note_versions(n)
            return y
        try:
            first = table[t]
        except KeyError:
            first = decide(operation, (x,), {}, t)
        result = first(x)
        if result is NotImplemented:
            return ask_the_rest(operation, (x,), {})
        return result

    def settle() -> None:
        nonlocal base, keep_x, keep_y, differentiable, save
        base = operation.fast_base
        differentiable = operation.differentiable
        plan = operation.plan
        (keep_x,), keep_y = plan.keeps, plan.keeps_output
        save = operation.save if plan.saves_specs else None

    operation.settlers.append(settle)
    return call


def binary_function(  # noqa: C901  # written out: see unary_function
    operation: DeclaredOperation, as_operator: bool = False
) -> Handler:
    """Return the public function of an operation of two arrays: tensors at once, all else by the table.

    Parameters
    ----------
    operation : to compute
    as_operator : whether it is the operator, which leaves strangers to Python
    """
    kernel, table = operation.kernel, operation.table
    base: Any = None
    keep_any = keep_1 = keep_2 = keep_y = differentiable = False
    save: Any = None
    nothing = (None, None)

    def call(x1: Any, x2: Any, /) -> Any:
        if live and (answer := ask_modes(operation, (x1, x2), {})) is not NotImplemented:
            return answer
        t = type(x1)
        if t is base and type(x2) is t and not foreign:
            r = kernel(x1.array, x2.array)
            if type(r) is not ndarray:
                r = raw_array(r)
            y = new(t)
            y.array = r
            y._memory = None
            v1 = x1._node
            v2 = x2._node
            if (v1 is None and v2 is None) or not differentiable or not is_grad_enabled():
                y._node = None
                return y
            y._node = n = Node()
            n.operation = operation
            n.edges = (v1, v2)
            n.extras = None
            if keep_any:
                n.saved = (x1 if keep_1 else None, x2 if keep_2 else None) if save is None else save((x1, x2))
                if x1._memory is not None or x2._memory is not None:
                    note_versions(n)
            else:
                n.saved = nothing
            if keep_y:
                n.output = r
            n.shape = r.shape
            n.dtype = r.dtype
            return y
        try:
            first = table[t][type(x2)]
        except KeyError:
            if as_operator and operation.protocol.is_stranger(type(x2)):
                return NotImplemented
            first = decide(operation, (x1, x2), {}, t, type(x2))
        result = first(x1, x2)
        if result is NotImplemented:
            return ask_the_rest(operation, (x1, x2), {})
        return result

    def settle() -> None:
        nonlocal base, keep_any, keep_1, keep_2, keep_y, differentiable, save
        base = operation.fast_base
        differentiable = operation.differentiable
        plan = operation.plan
        (keep_1, keep_2), keep_y = plan.keeps, plan.keeps_output
        save = operation.save if plan.saves_specs else None
        keep_any = keep_1 or keep_2 or save is not None

    operation.settlers.append(settle)
    return call


def leading_function(operation: DeclaredOperation) -> Handler:
    """Return the public function of an operation of one array and parameters.

    A reduction of a whole plain tensor is written out; all else goes by the table.
    """
    table, whole = operation.table, operation.whole
    base: Any = None

    def call(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        if live and (answer := ask_modes(operation, (x, *args), kwargs)) is not NotImplemented:
            return answer
        t = type(x)
        if t is base and not args and not kwargs and x._node is None and not foreign:
            y = new(t)
            y.array = whole(x.array)  # type: ignore[misc]  # there is a base only where there is this
            y._node = y._memory = None
            return y
        try:
            first = table[t]
        except KeyError:
            first = decide(operation, (x, *args), kwargs, t)
        result = first(x, *args, **kwargs) if args or kwargs else first(x)
        if result is NotImplemented:
            return ask_the_rest(operation, (x, *args), kwargs)
        return result

    def settle() -> None:
        nonlocal base
        base = None if whole is None else operation.fast_base

    operation.settlers.append(settle)
    return call


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
    n = Node()
    n.operation = operation
    n.edges = edges
    n.saved = operation.save(args)
    if operation.keeps_output:
        n.output = r
    n.shape = r.shape
    n.dtype = r.dtype
    n.extras = None
    note_versions(n)
    return n


def leading_handler(operation: DeclaredOperation, cls: type) -> Handler:
    """Return what computes an operation of one tensor, given first, with parameters: reductions, shape changes."""
    body, differentiable, whole = operation.body_of_namespace, operation.differentiable, operation.whole

    def handler(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        a = x.array
        xp = numpy_namespace if type(a) is ndarray else namespace_of(a)
        if args or kwargs:
            r = body(xp, a, *args, **kwargs)
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
        if tracked and is_inexact(r.dtype):
            y._node = n = CallNode()
            n.operation = operation
            n.edges = (v,)
            n.saved = (x if operation.plan.keeps[0] else spec_of(x), *args)
            n.keywords = kwargs
            n.outputs = n.extras = None
            n.shape = r.shape
            n.dtype = r.dtype
            if operation.plan.keeps_output:
                n.output = r
            if x._memory is not None:
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
        tensors = [v for _, v in parameters.values(args, kwargs) if isinstance(v, Storage)]
        tracked = operation.differentiable and any(t._node is not None for t in tensors) and is_grad_enabled()
        if tracked and composite:
            return operation.decomposed(*args, **kwargs)
        raw_args, raw_kwargs = parameters.replace(args, kwargs, _raw)
        xp = _namespace(tensors) if foreign else numpy_namespace
        result = body(xp, *raw_args, **raw_kwargs)
        if isinstance(result, (tuple, list)):
            return _several(operation, cls, result, tensors, args, kwargs, tracked)
        y = wrapped(cls, raw_array(result))
        if tracked and is_inexact(y.array.dtype):
            y._node = _call_node(operation, args, kwargs)
            y._node.shape, y._node.dtype = y.array.shape, y.array.dtype
            if operation.plan.keeps_output:
                y._node.output = y.array
        elif requires_grad:
            y._node = make_leaf(y.array)
        _note_sharing(y, tensors)
        return y

    return handler


def make_leaf(array: Any) -> Leaf:
    """Return the vertex of a tensor that is to require a gradient.

    Raises
    ------
    AutogradError : for an array of integers or booleans
    """
    if not is_inexact(array.dtype):
        raise AutogradError(f"only floating-point and complex tensors can require gradients, not {array.dtype}")
    return Leaf(tuple(array.shape), array.dtype)


def _raw(name: str, value: Any) -> Any:
    return value.array if isinstance(value, Storage) else value


def _namespace(tensors: list[Any]) -> Any:
    for tensor in tensors:
        if type(tensor.array) is not ndarray:
            return namespace_of(tensor.array)
    return numpy_namespace


def _note_sharing(y: Storage, tensors: Sequence[Storage]) -> None:
    """Note whose memory a new tensor looks at."""
    r = y.array
    view = type(r) is not ndarray or r.base is not None
    for x in tensors:
        if r is x.array or (view and type(r) is ndarray and np.may_share_memory(r, x.array)):
            share_memory(y, x)
            break


def _call_node(operation: DeclaredOperation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CallNode:
    """Return a node for a call, without what belongs to its output."""
    n = CallNode()
    n.operation = operation
    edges: list[Any] = []
    for p in operation.parameters.arrays:
        value = p.find(args, kwargs)
        if p.form is Form.ONE:
            edges.append(getattr(value, "_node", None))
        elif p.form is not Form.INDEX:
            edges += [getattr(member, "_node", None) for member in p.members(value)]
    n.edges = tuple(edges)
    n.saved, n.keywords = operation.save_call(args, kwargs)
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
        n = _call_node(operation, args, kwargs)
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


def wrapped(cls: type, array: Any, vertex: Any = None) -> Any:
    """Return a tensor of a class around a raw array, without calling its constructor."""
    y = new(cls)
    y.array = array
    y._node = vertex
    y._memory = None
    return y


def finalized(operation: DeclaredOperation, cls: Any, handler: Handler, tensors: Sequence[bool]) -> Handler:
    """Return a handler whose results are told of the tensors they come from.

    Parameters
    ----------
    operation, cls, handler : as it computes, and what the results are
    tensors : for an operation of one or two arrays, which of them are tensors
    """
    parameters, function = operation.parameters, operation.function
    finalize = cls.__tensor_finalize__

    def of_one(x: Any) -> Any:
        y = handler(x)
        finalize(y, function, (x,))
        return y

    def of_two(x1: Any, x2: Any) -> Any:
        y = handler(x1, x2)
        finalize(y, function, (x1, x2))
        return y

    def of_any(*args: Any, **kwargs: Any) -> Any:
        result = handler(*args, **kwargs)
        sources = tuple([v for _, v in parameters.values(args, kwargs) if isinstance(v, Storage)])
        for y in result if isinstance(result, (tuple, list)) else (result,):
            if type(y) is cls:
                finalize(y, function, sources)
        return result

    if operation.composite or operation.several or not all(tensors):
        return of_any
    return of_one if parameters.unary else of_two if parameters.binary else of_any


def spec_of(value: Any) -> Any:
    """Return shape and dtype of an array, and anything else as it is."""
    if isinstance(value, Storage):
        array = value.array
        return Spec(array.shape, array.dtype)
    if isinstance(value, (list, tuple)):
        return [spec_of(member) for member in value]
    return Spec(tuple(value.shape), value.dtype) if hasattr(value, "dtype") else value
