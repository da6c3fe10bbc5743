"""The public functions of operations on tensors: plain tensors at once, all else by the table.

The plain case is written out in the public function, because every call it saves shows in the figures; what makes the
node where gradients flow stands apart, because every variable that a closure holds is copied at each call. What the
closures hold of base type and rules is brought up to date by `settle` whenever either changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchkit.backends.arrays import foreign, is_inexact, raw_array
from dispatchkit.backends.numpy import DOUBLE
from dispatchkit.declare.call_errors import MISTAKES, reraise
from dispatchkit.declare.wrapping import spec_of
from dispatchkit.graph.node import CallNode, Node, note_versions
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import vertex_of
from dispatchkit.protocol.callers import continue_chain, decide
from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.modes import ask_modes, live

if TYPE_CHECKING:
    from dispatchkit.declare.operation import DeclaredOperation

__all__ = [
    "binary_function",
    "record_nothing",
    "recorder_of_leading",
    "recorder_of_one",
    "recorder_of_two",
    "unary_function",
]

Handler = Callable[..., Any]
new: Callable[[Any], Any] = object.__new__
ndarray = np.ndarray
asarray = np.asarray


def unary_function(operation: DeclaredOperation) -> Handler:
    """Return the public function of an operation of one array: plain tensors at once, all else by the table."""
    table = operation.table
    base: Any = None
    kernel: Any = None
    record: Any = None

    def call(x: Any, /) -> Any:
        try:
            if live and (answer := ask_modes(operation, (x,), {})) is not NotImplemented:
                return answer
            t = type(x)
            if t is base and not foreign:
                try:
                    r = kernel(x.array)
                except MISTAKES as error:
                    reraise(operation, error, (x,), {})
                if type(r) is not ndarray:
                    r = raw_array(r)
                y = new(t)
                y.array = r
                y._memory = None
                y._node = None if x._node is None else record(r, x)
                return y
            try:
                first = table[t]
            except KeyError:
                first = decide(operation, (x,), {}, t)
            result = first(x)
            if result is NotImplemented or result is None:
                return continue_chain(operation, first, (x,), {}, result)
            return result
        except Exception as error:
            hide_frames(error)
            raise

    def settle() -> None:
        nonlocal base, kernel, record
        base, kernel = operation.fast_base, operation.kernel
        record = recorder_of_one(operation) if operation.differentiable else record_nothing

    operation.settlers.append(settle)
    return call


def record_nothing(*_: Any) -> None:
    """Take the place of a recorder where no gradient flows through the operation."""


def recorder_of_one(operation: DeclaredOperation) -> Callable[[Any, Any], Node | None]:
    """Return what makes the node of a call on a tracked tensor; None where recording is off."""
    plan = operation.plan
    (keep_x,), keep_y = plan.keeps, plan.keeps_output
    save = operation.save if plan.saves_specs else None

    def record(r: Any, x: Any) -> Node | None:
        if not is_grad_enabled():
            return None
        n = Node()
        n.operation = operation
        # Views that were changed are taken anew.
        v = x._node if x._memory is None else vertex_of(x)
        n.edges = edges = (v,)
        n.saved = save((x,), edges) if save is not None else (x,) if keep_x else (None,)
        if keep_y:
            n.output = r
        n.shape = r.shape
        n.dtype = r.dtype
        n.extras = None
        if keep_x and x._memory is not None:
            note_versions(n)
        return n

    return record


def binary_function(operation: DeclaredOperation, reflected: str = "") -> Handler:
    """Return the public function of an operation of two arrays: plain tensors at once, all else by the table.

    Parameters
    ----------
    operation : to compute
    reflected : of the operator, the method that Python asks next
    """
    table = operation.table
    base: Any = None
    kernel: Any = None
    record: Any = None

    def call(x1: Any, x2: Any, /) -> Any:
        try:
            if live and (answer := ask_modes(operation, (x1, x2), {})) is not NotImplemented:
                return answer
            t = type(x1)
            if t is base and type(x2) is t and not foreign:
                try:
                    r = kernel(x1.array, x2.array)
                except MISTAKES as error:
                    reraise(operation, error, (x1, x2), {})
                if type(r) is not ndarray:
                    r = raw_array(r)
                y = new(t)
                y.array = r
                y._memory = None
                y._node = None if x1._node is None and x2._node is None else record(r, x1, x2)
                return y
            try:
                first = table[t][type(x2)]
            except KeyError:
                if reflected and operation.protocol.types.leaves(type(x2), reflected):
                    return NotImplemented
                first = decide(operation, (x1, x2), {}, t, type(x2))
            result = first(x1, x2)
            if result is NotImplemented or result is None:
                return continue_chain(operation, first, (x1, x2), {}, result)
            return result
        except Exception as error:
            hide_frames(error)
            raise

    def settle() -> None:
        nonlocal base, kernel, record
        base, kernel = operation.fast_base, operation.kernel
        record = recorder_of_two(operation) if operation.differentiable else record_nothing

    operation.settlers.append(settle)
    return call


def recorder_of_two(operation: DeclaredOperation) -> Callable[[Any, Any, Any], Node | None]:
    """Return what makes the node of a call on two tensors, one of them tracked; None where recording is off."""
    plan = operation.plan
    (keep_1, keep_2), keep_y = plan.keeps, plan.keeps_output
    (reads_11, reads_12), (reads_21, reads_22) = plan.reads
    save = operation.save if plan.saves_specs else None
    keep_any = keep_1 or keep_2 or save is not None
    nothing = (None, None)

    def record(r: Any, x1: Any, x2: Any) -> Node | None:
        if not is_grad_enabled():
            return None
        n = Node()
        n.operation = operation
        v1 = x1._node if x1._memory is None else vertex_of(x1)
        v2 = x2._node if x2._memory is None else vertex_of(x2)
        n.edges = (v1, v2)
        n.extras = None
        if not keep_any:
            n.saved = nothing
        else:
            if save is not None:
                n.saved = save((x1, x2), (v1, v2))
            elif v2 is None:
                n.saved = (x1 if reads_11 else None, x2 if reads_12 else None)
            elif v1 is None:
                n.saved = (x1 if reads_21 else None, x2 if reads_22 else None)
            else:
                n.saved = (x1 if keep_1 else None, x2 if keep_2 else None)
            if x1._memory is not None or x2._memory is not None:
                note_versions(n)
        if keep_y:
            n.output = r
        n.shape = r.shape
        n.dtype = r.dtype
        return n

    return record


def recorder_of_leading(operation: DeclaredOperation) -> Callable[..., CallNode | None]:
    """Return what makes the node of a call on a tracked tensor; None where recording is off or nothing can flow."""
    plan = operation.plan
    keep_x, keep_y = plan.keeps[0], plan.keeps_output

    def record(r: Any, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CallNode | None:
        if not is_grad_enabled() or (r.dtype is not DOUBLE and not is_inexact(r.dtype)):
            return None
        n = CallNode()
        n.operation = operation
        n.edges = (x._node if x._memory is None else vertex_of(x),)
        n.saved = (x if keep_x else spec_of(x), *args)
        n.keywords = kwargs
        n.outputs = n.extras = None
        n.shape = r.shape
        n.dtype = r.dtype
        n.output = r if keep_y else None
        if keep_x and x._memory is not None:
            note_versions(n)
        return n

    return record
