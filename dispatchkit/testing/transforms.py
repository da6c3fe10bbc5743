"""The checks of what goes through a type: gradients, tangents, batches.

Each compares a function of the type's fields computed on instances with the same function computed on their dense
form. A handler that leaves dispatchkit, with NumPy inside, cuts the gradient and is found here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.errors import TransformError
from dispatchkit.func import jvp, vjp, vmap
from dispatchkit.func.containers import arrays_of, is_floating, mapped
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.calls import TypeCall
from dispatchkit.testing.differences import (
    Function,
    Transformed,
    described,
    floating,
    gradients,
    members,
    numbers,
    shown,
    wrong_derivatives,
)
from dispatchkit.testing.examination import examination, fails
from dispatchkit.testing.findings import Failure
from dispatchkit.testing.invariants import comparable, is_determined
from dispatchkit.testing.subject import Subject

__all__ = ["dense_gradient", "forward", "gradient", "second", "vmapped"]

ADVICE = "does it leave dispatchkit, with NumPy inside or detach?"


def gradient(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Gradients with respect to the fields are those of the dense computation."""
    if _differentiable(operation):
        for call in _differentiated(subject, operation):
            yield _compared("gradient", subject, call, gradients, ADVICE)


def dense_gradient(subject: Subject, x: Any) -> Iterator[Failure | None]:
    """Gradients flow through the dense form, without which there is nothing to compare with."""
    if numbers(x):
        found = _dense_gradient(subject, x)
        text = f"to_dense() of a {subject.name}"
        yield None if found is None else Failure("gradient", "", text, f"{found} ({ADVICE})", "a derivative")


def _dense_gradient(subject: Subject, x: Any) -> str | None:
    try:
        grads = gradients(lambda one: [subject.dense(one)], [x])
    except Exception as error:  # noqa: BLE001  # what to_dense() of a traced instance raises is shown
        return described(error)
    return None if any(map(np.any, grads)) or not np.size(subject.array(x)) else "no derivative"


def second(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Second derivatives with respect to the fields are those of the dense computation."""
    if _differentiable(operation) and not fails(subject, operation, gradient):
        for call in _differentiated(subject, operation):
            yield _compared("second", subject, call, _second_derivatives, "is backward differentiable itself?")


def forward(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Tangents along the fields (`dk.func.jvp`) are those of the dense computation."""
    if _differentiable(operation) and not fails(subject, operation, gradient):
        for call in _differentiated(subject, operation):
            yield _compared("forward", subject, call, _tangents, ADVICE)


def vmapped(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Batches of instances under `dk.func.vmap` give what their dense forms give."""
    if not is_determined(operation) or fails(subject, operation, gradient):
        return
    for call in examination(subject, operation).some(subject.depth):
        yield _compared("vmap", subject, call, _batches, "is a value asked for that a batch has not?")


def _differentiable(operation: Overridable) -> bool:
    return isinstance(operation, DeclaredOperation) and operation.differentiable and is_determined(operation)


def _differentiated(subject: Subject, operation: Overridable) -> list[TypeCall]:
    return [call for call in examination(subject, operation).some(subject.depth) if call.sample.differentiable]


def _compared(name: str, subject: Subject, call: TypeCall, transformed: Transformed, advice: str) -> Failure | None:
    """Compare what a transformation gives on instances and on their dense form."""
    # A Function without jvp refuses, as it should.
    refusals = (*subject.refusals, NotImplementedError)
    instances = [operand.make() for operand in call.operands if operand.own]
    wrong = wrong_derivatives(partial(_function, subject, call), instances, transformed, refusals)
    if wrong is None:
        return None
    if isinstance(wrong.found, Exception):
        hinted, found, expected = isinstance(wrong.found, TransformError), described(wrong.found), "no exception"
    else:
        hinted = any(map(wrong.lost, range(len(wrong.found))))
        found, expected = (", ".join(map(shown, one)) for one in (wrong.found, wrong.expected))
    found += f" ({advice})" if hinted else ""
    return Failure(name, call.operation.qualified_name, call.text, found, expected, made=call)


def _function(subject: Subject, call: TypeCall, dense: bool) -> Function:
    """Return a call as a function of its instances that gives plain floating-point tensors."""

    def function(*instances: Any) -> Any:
        given = map(subject.dense, instances) if dense else instances
        result = call.run(*call.with_values(given, lambda operand: operand.own))
        result = comparable(subject, call.operation, result)
        return [xp.asarray(one) for one in members(result)]

    return function


def _second_derivatives(function: Function, instances: list[Any]) -> list[Any]:
    def first(*own: Any) -> Any:
        output, pull = vjp(floating(function), *own)
        return [one for one in arrays_of(list(pull([y * 0 + 1.5 for y in output]))) if is_floating(one)]

    return gradients(first, instances)


def _tangents(function: Function, instances: list[Any]) -> list[Any]:
    rng = np.random.default_rng(2)

    def tangent(x: Any) -> Any:
        return xp.asarray(rng.uniform(0.5, 1.5, x.shape), dtype=x.dtype) if is_floating(x) else x

    if not numbers(instances):
        return []
    _, tangents = jvp(floating(function), tuple(instances), tuple(mapped(tangent, instances)))
    return numbers(tangents)


def _batches(function: Function, instances: list[Any]) -> list[Any]:
    def pair(x: Any) -> Any:
        return xp.stack([x, x * 1.25 if is_floating(x) else x])

    return [np.array(one.detach().numpy()) for one in vmap(function)(*mapped(pair, instances))]
