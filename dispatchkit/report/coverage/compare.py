"""Results of a call with a type compared with those of the same call on plain tensors: values, and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dispatchkit.declare.wrapping import wrapped
from dispatchkit.func.containers import with_floats
from dispatchkit.graph.storage import vertex_of
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.tensor import Tensor
from dispatchkit.testing.calls import Call
from dispatchkit.testing.differences import OPAQUE, described, difference, members, numbers, wrong_derivatives
from dispatchkit.testing.invariants import determined
from dispatchkit.tree import with_members

__all__ = ["densified", "gradient_mismatch", "mismatch"]

# Where a difference of each aspect lands.
BUCKET_OF = {
    "container": "wrong type",
    "type": "wrong type",
    "shape": "wrong value",
    "value": "wrong value",
    "dtype": "wrong dtype",
}


def densified(protocol: Dispatcher, value: Any) -> Any:
    """Return a result with plain tensors for arrays of all types, `OPAQUE` for those without dense form."""
    if isinstance(value, (tuple, list)):
        return with_members(value, [densified(protocol, member) for member in value])
    cls = type(value)
    if cls is protocol.types.base or not protocol.types.participates(cls):
        return value
    maker = protocol.types.to_dense(cls)
    if maker is not None:
        dense = maker(value)
        return OPAQUE if type(dense) is cls else densified(protocol, dense)
    if isinstance(value, Tensor):
        return wrapped(Tensor, value.array, vertex_of(value))
    return OPAQUE


def mismatch(operation: Overridable, got: Any, want: Any, *, values: bool = True) -> tuple[str, str] | None:
    """Return the bucket and a description of the first difference between two densified results; None where equal.

    Parameters
    ----------
    operation : that was called
    got, want : from the type, and from plain tensors
    values : whether elements are compared, and not types, shapes and dtypes alone
    """
    found = difference(*determined(operation, got, want), values=values)
    return None if found is None else (BUCKET_OF[found.aspect], found.brief)


def gradient_mismatch(call: Call) -> str:
    """Return how derivatives through a type differ from those of the dense computation; "" where they agree.

    Floating tensors and numbers in the fields of the arrays are what is differentiated by.
    """
    protocol = call.operation.protocol
    operands = [one for one in call.operands if protocol.types.participates(one.cls)]
    values = [one.make() for one in operands]
    wrong = wrong_derivatives(partial(_function, call), values)
    if wrong is None:
        return ""
    if isinstance(wrong.found, Exception):
        return described(wrong.found)
    names = [one.text for one, value in zip(operands, values, strict=True) for _ in numbers(with_floats(value))]
    if wrong.lost(wrong.place):
        return f"no gradient flows to {names[wrong.place]}"
    return f"gradient of {names[wrong.place]}: {wrong.brief}"


def _function(call: Call, dense: bool) -> Callable[..., list[Any]]:
    """Return a call as a function of its arrays that gives plain tensors."""
    protocol = call.operation.protocol

    def function(*arrays: Any) -> list[Any]:
        given = map(partial(densified, protocol), arrays) if dense else arrays
        arguments = call.with_values(given, lambda operand: protocol.types.participates(operand.cls))
        result = densified(protocol, call.run(*arguments))
        return [one for one in members(determined(call.operation, result, result)[0]) if isinstance(one, Tensor)]

    return function
