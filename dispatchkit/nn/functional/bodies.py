"""How bodies of functionals call other operations: on raw arrays their bodies, on tensors the operations themselves."""

from __future__ import annotations

from typing import Any

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.typing import Namespace
from dispatchkit.nn.functional.shapes import real_numbers
from dispatchkit.ops.shared.arguments import Named
from dispatchkit.ops.shared.arrays import floating
from dispatchkit.protocol.instance import tensor_protocol

__all__ = ["called", "real_floats"]


def called(xp: Namespace, op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call an operation that the namespace of a body may not have.

    On tensors this is one call, which types can answer and which has one node in the graph, with the operation's own
    derivative; on raw arrays it is the operation's body.

    Parameters
    ----------
    xp : namespace that computes on the arguments
    op : the operation
    args, kwargs : its arguments
    """
    if xp is tensor_namespace:
        return op(*args, **kwargs)
    entry = tensor_protocol.operation(op)
    assert isinstance(entry, DeclaredOperation)
    return entry.implementation.body(xp, *args, **kwargs)


def real_floats(xp: Namespace, op: Named, x: Any, parameter: str = "x") -> Any:
    """Return an argument as floating-point numbers: integers and booleans in double precision.

    Raises
    ------
    TypeError : for complex numbers, naming operation, argument and dtype
    """
    real_numbers(op, parameter, x)
    return floating(xp, x if hasattr(x, "dtype") else xp.asarray(x))
