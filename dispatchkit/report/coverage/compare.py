"""Results of a call with a type compared with those of the same call on plain tensors: values, and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.autograd import enable_grad, grad
from dispatchkit.declare.wrapping import wrapped
from dispatchkit.func.containers import is_floating, with_floats, with_variables
from dispatchkit.graph.storage import vertex_of
from dispatchkit.ops import asarray, multiply, real
from dispatchkit.ops import sum as sum_of
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.report.coverage.operands import Call, Operand
from dispatchkit.tensor import Tensor
from dispatchkit.testing.differences import OPAQUE, arrayed, difference, members
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


def gradient_mismatch(call: Call, answer: Callable[..., Any]) -> str:
    """Return how derivatives through a type differ from those of the dense computation; "" where they agree.

    Floating tensors and numbers in the fields of the arrays are what is differentiated by. Where the dense computation
    has no derivative, or one that is NaN, there is nothing to compare.

    Parameters
    ----------
    call : to differentiate
    answer : makes the call with given arguments
    """
    protocol = call.operation.protocol
    with enable_grad():
        try:
            reference = _gradients(call, lambda args, kwargs: call.operation.function(*args, **kwargs), protocol, True)
        except Exception:  # noqa: BLE001  # what cannot be differentiated densely is nothing to compare with
            return ""
        if reference is None or not any(g is not None for g in reference[1]):
            return ""
        try:
            own = _gradients(call, answer, protocol, False)
        except Exception as error:  # noqa: BLE001  # whatever a rule raises is what is reported
            return f"{type(error).__name__}: {error}".splitlines()[0]
    outputs, wanted = reference
    for place, (got, want) in enumerate(zip([None] * len(wanted) if own is None else own[1], wanted, strict=True)):
        if want is None or np.all(np.isnan(want)):
            continue
        if got is None:
            if np.any(want):
                return f"no gradient flows to {_name(call, place)}"
            continue
        if got.shape == want.shape:
            got = np.where(np.isnan(want), want, got)
        found = difference(got, want, outputs)
        if found is not None:
            return f"gradient of {_name(call, place)}: {found.brief}"
    return ""


def _name(call: Call, place: int) -> str:
    """Return the argument to which a leaf belongs."""
    counted = [operand.text for operand in call.operands() for _ in _leaves_of(operand)[1]]
    return counted[place]


def _leaves_of(operand: Operand) -> tuple[Any, list[Tensor]]:
    """Return an argument in which floating tensors and numbers are leaves that require a gradient, and those."""
    leaves: list[Tensor] = []

    def leaf(value: Any) -> Any:
        if isinstance(value, Tensor):
            if not is_floating(value):
                return value
            made: Any = value.detach()
        elif type(value) in (float, complex):
            made = asarray(value)
        else:
            return value
        leaves.append(made.requires_grad_())
        return made

    value = operand.make()
    if isinstance(value, (float, complex, np.ndarray)):
        return value, []
    return with_variables(leaf, with_floats(value)), leaves


def _gradients(
    call: Call, run: Callable[..., Any], protocol: Dispatcher, dense: bool
) -> tuple[list[Tensor], list[Any]] | None:
    """Return the results, and the gradient of their weighted sum for each leaf; None where no gradient flows at all."""
    leaves: list[Tensor] = []

    def tracked(operand: Operand) -> Any:
        value, found = _leaves_of(operand)
        leaves.extend(found)
        return densified(protocol, value) if dense else value

    args, kwargs = call.arguments(tracked)
    dense = densified(protocol, run(args, kwargs))
    total: Any = None
    outputs: list[Tensor] = []
    for y in members(determined(call.operation, dense, dense)[0]):
        if not isinstance(y, Tensor) or not is_floating(y):
            continue
        outputs.append(y)
        part = real(sum_of(multiply(y, _weights(y))))
        total = part if total is None else total + part
    if total is None or not total.requires_grad or not leaves:
        return None
    return outputs, [None if g is None else arrayed(g) for g in grad(total, leaves, allow_unused=True)]


def _weights(y: Tensor) -> Any:
    """Return weights that are the same for each result of a shape, and tell its elements apart."""
    weights = np.linspace(0.5, 1.5, y.size).reshape(y.shape)
    return weights.astype(np.float64)
