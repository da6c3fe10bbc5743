"""The checks of the forms a call can have, and of what goes through a type: gradients, tangents, batches."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.variables import is_floating
from dispatchkit.errors import TransformError
from dispatchkit.func import jvp, vjp, vmap
from dispatchkit.func.containers import arrays_of, map_container, with_variables, zip_containers
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.surface import REFLECTED, Property
from dispatchkit.testing.authored import written
from dispatchkit.testing.calls import TypeCall, arguments_text
from dispatchkit.testing.checks.companions import COMPANIONS
from dispatchkit.testing.comparing.differences import (
    Function,
    Transformed,
    error_text,
    floating,
    gradients,
    is_determined,
    members,
    numbers,
    same,
    value_text,
)
from dispatchkit.testing.examination import CallResult, Snapshot, examination, fails, wrong_derivatives_of, wrong_result
from dispatchkit.testing.findings import Failure, Reading, Subject, alike, readings

PROPERTIES = (Property, property)  # the library's, and those that a type's author writes
ONE_BY_ONE = 4  # calls of an operation that are made with one instance after the other
TURNS = range(1, 7)  # each with other elements of the instances
TRIES = 16  # with which a call in three stands where an instance stood, with 100 a call in two


def repeat(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Repeated calls give equal results."""
    if not is_determined(operation):
        return
    left = ONE_BY_ONE
    for call in examination(subject, operation).some(subject.depth):
        first = readings(subject, call.result())
        failure = _form("repeat", subject, call.text, call, call.result, first)
        if failure is None and (left or subject.thorough) and _varies(call):
            left -= 1
            failure = _with_other_elements(subject, call)
        yield failure


def _varies(call: TypeCall) -> bool:
    """Return whether the instances of a call can have other elements; few integers cannot."""
    turns = [replace(call, turn=turn) for turn in TURNS[:2]]
    forms = [[operand.plain() for operand in turn.operands if operand.own] for turn in turns]
    return any(not same(one, other) for one, other in zip(*forms, strict=True))


def _with_other_elements(subject: Subject, call: TypeCall) -> Failure | None:
    """Make a call with one instance after the other, each with other elements, where the one before stood in memory."""
    places: set[int] = set()
    for turn in TURNS:
        other = replace(call, turn=turn)
        if not other.is_valid():
            continue
        try:
            arguments = _where_others_stood(subject, other, places)
            wrong = wrong_result(subject, CallResult(other, arguments, call.run(*arguments)))
            del arguments
        except Exception:  # noqa: BLE001  # other elements may be refused
            return None
        if wrong is not None:
            return other.failure("repeat", *wrong[1:3])
    return None


def _where_others_stood(subject: Subject, call: TypeCall, places: set[int]) -> tuple[Any, Any]:
    """Return arguments of a call with an instance where an earlier one stood, if Python gives that memory out again."""
    args, kwargs = call.make()
    held = []
    for _ in range(TRIES):
        places_now = {id(value) for value in args if isinstance(value, subject.cls)}
        if not places_now or not places or not places.isdisjoint(places_now):
            break
        held.append(args)  # so that the next ones stand elsewhere
        args = tuple(copy.copy(value) if isinstance(value, subject.cls) else value for value in args)
    places |= places_now
    return args, kwargs


def repeatable(subject: Subject, operation: Overridable, count: int | None) -> list[TypeCall]:
    """Return so many sound calls of an operation; none where repeated ones differ, by right or as `repeat` reports."""
    if not is_determined(operation) or fails(subject, operation, repeat):
        return []
    return examination(subject, operation).some(count)


def operators(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """`x1 + x2`, `-x` and `x[key]` give what the functions give."""
    for name in _members(operation, dunder=True):
        if name in REFLECTED.values():
            continue
        for call in _plain_calls(subject, operation):
            yield _operator("operators", subject, call, name, name)


def reflected_operators(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """With a tensor, an array or a number on the left the operators give what the functions give."""
    for name in filter(REFLECTED.__contains__, _members(operation, dunder=True)):
        for call in _plain_calls(subject, operation):
            for other in COMPANIONS:
                right = replace(call, seats=(1,), other=other)
                yield _operator("reflected", subject, right, name, REFLECTED[name])


def inplace(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """`x += y` makes of `x` what `x + y` is, and changes nothing else."""
    for name in filter(REFLECTED.__contains__, _members(operation, dunder=True)):
        for call in _plain_calls(subject, operation):
            yield _in_place(subject, call, f"__i{name[2:]}")


def _in_place(subject: Subject, call: TypeCall, name: str) -> Failure | None:
    args, kwargs = call.make()
    target = subject.array(args[0])
    expected = readings(subject, call.run(args, kwargs))
    result = expected[0].array
    if not isinstance(result, np.ndarray) or (target.shape, target.dtype) != (result.shape, result.dtype):
        return None  # what cannot be written back may raise
    x, y = call.make()[0]
    text = f"{name} of {call.text}"
    left, right = Snapshot(subject, [("x", x)]), Snapshot(subject, [("y", y)])
    try:
        changed = getattr(operator, name)(x, y)
    except subject.refusals:
        return None
    except Exception as error:  # noqa: BLE001  # what the operator raises is what is looked for
        return call.failure("inplace", error_text(error), "no exception", text)
    wrong = (
        alike(readings(subject, changed), expected)
        or right.first_change()
        or (None if changed is x else left.first_change())
    )
    if wrong is None:
        return None
    return call.failure("inplace", *wrong, text)


def methods(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Methods and properties give what the functions give."""
    for name in _members(operation, dunder=False):
        for call in repeatable(subject, operation, 1):
            (x, *args), kwargs = call.make()
            view = getattr(subject.cls, name, None)
            is_member = callable(view) or isinstance(view, PROPERTIES)
            if not is_member or not isinstance(x, subject.cls):
                continue
            if isinstance(view, PROPERTIES) and (args or kwargs):
                continue
            (_, *words), named = call.arguments(lambda operand: operand)
            shown = ""
            if not isinstance(view, PROPERTIES):
                shown = f"({arguments_text(tuple(words), named)})"
            form = partial(_view, x, name, view, args, kwargs)
            expected = readings(subject, call.result())
            if written(subject.cls, name) is not None:  # which may keep a structure that the function does not
                form = partial(_elements, subject, form)
                expected = readings(subject, _elements(subject, call.result))
            yield _form("methods", subject, f"{subject.name}.{name}{shown}", call, form, expected)


def _elements(subject: Subject, form: Callable[[], Any]) -> Any:
    """Return what a form gives, as NumPy arrays."""
    return [subject.array(member) for member in members(form())]


def _view(x: Any, name: str, view: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    member = getattr(x, name)
    if isinstance(view, PROPERTIES):
        return member
    return member(*args, **kwargs)


def _operator(check: str, subject: Subject, call: TypeCall, name: str, shown: str) -> Failure | None:
    """Compare an operator, shown as the method that answers, with the function."""
    args, _ = call.make()
    try:
        expected = readings(subject, call.result())
    except Exception:  # noqa: BLE001  # refused, or wrong in a way that another check reports
        return None
    return _form(check, subject, f"{shown} of {call.text}", call, partial(getattr(operator, name), *args), expected)


def _form(
    check: str, subject: Subject, text: str, call: TypeCall, form: Callable[[], Any], expected: list[Reading]
) -> Failure | None:
    try:
        results = readings(subject, form())
    except Exception as error:  # noqa: BLE001  # what the form raises is what is looked for
        return call.failure(check, error_text(error), "what the function gives", text)
    difference = alike(results, expected)
    if difference is None:
        return None
    return call.failure(check, *difference, text)


def _members(operation: Overridable, *, dunder: bool) -> list[str]:
    """Return the names of the operators, or of the methods and properties, that view an operation."""
    names = [member.name for member in tensor_protocol.surface if member.operation is operation]
    return [name for name in names if name.startswith("__") is dunder]


def _plain_calls(subject: Subject, operation: Overridable) -> list[TypeCall]:
    """Return sound calls that an operator can make: nothing but its one or two operands, an instance first."""
    return [
        call
        for call in repeatable(subject, operation, subject.depth)
        if not call.sample.kwargs and len(call.sample.args) <= 2 and call.operands[0].own and not call.others
    ]


ADVICE = "does it leave dispatchkit, with NumPy inside or detach?"


def gradient(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Gradients with respect to the fields are those of the dense computation."""
    for call in _differentiable_calls(subject, operation):
        yield _compare("gradient", subject, call, gradients, ADVICE)


def dense_gradient(subject: Subject, x: Any) -> Iterator[Failure | None]:
    """Gradients flow through the dense form, without which there is nothing to compare with."""
    if numbers(x):
        fault = _dense_gradient(subject, x)
        text = f"to_dense() of a {subject.name}"
        if fault is None:
            yield None
        else:
            yield Failure("gradient", "", text, f"{fault} ({ADVICE})", "a derivative")


def _dense_gradient(subject: Subject, x: Any) -> str | None:
    try:
        grads = gradients(lambda one: [subject.dense(one)], [x])
    except Exception as error:  # noqa: BLE001  # what to_dense() of a traced instance raises is shown
        return error_text(error)
    if any(map(np.any, grads)) or not np.size(subject.array(x)):
        return None
    return "no derivative"


def second(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Second derivatives with respect to the fields are those of the dense computation."""
    if not fails(subject, operation, gradient):
        for call in _differentiable_calls(subject, operation, 1):
            yield _compare("second", subject, call, _second_derivatives, "is backward differentiable itself?")


def forward(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Tangents along the fields (`dk.func.jvp`) are those of the dense computation."""
    if not fails(subject, operation, gradient):
        for call in _differentiable_calls(subject, operation, 1):
            yield _compare("forward", subject, call, _tangents, ADVICE)


def under_vmap(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Batches of instances under `dk.func.vmap` give what their dense forms give."""
    if not is_determined(operation) or fails(subject, operation, gradient):
        return
    for call in examination(subject, operation).some(subject.depth):
        yield _compare("vmap", subject, call, _batches, "is a value asked for that a batch has not?")


def _differentiable_calls(subject: Subject, operation: Overridable, most: int | None = None) -> list[TypeCall]:
    """Return calls whose derivatives are compared, of those that are looked into all, or so many of each sort."""
    if not isinstance(operation, DeclaredOperation) or not operation.differentiable or not is_determined(operation):
        return []
    if subject.depth is None or most is None:
        most = subject.depth
    return [call for call in examination(subject, operation).some(most) if call.sample.differentiable]


def _compare(name: str, subject: Subject, call: TypeCall, transformed: Transformed, advice: str) -> Failure | None:
    """Compare what a transformation gives on instances and on their dense form."""
    # A Function without jvp refuses, as it should.
    refusals = (*subject.refusals, NotImplementedError)
    wrong = wrong_derivatives_of(call, subject.dense, lambda operand: operand.own, transformed, refusals)
    if wrong is None:
        return None
    if isinstance(wrong.found, Exception):
        hinted, seen, expected = isinstance(wrong.found, TransformError), error_text(wrong.found), "no exception"
    else:
        hinted = any(map(wrong.lost, range(len(wrong.found))))
        seen, expected = (", ".join(map(value_text, derivatives)) for derivatives in (wrong.found, wrong.expected))
    if hinted:
        seen += f" ({advice})"
    return call.failure(name, seen, expected)


def _second_derivatives(function: Function, instances: list[Any]) -> list[Any]:
    def first(*own: Any) -> Any:
        output, pull = vjp(floating(function), *own)
        cotangents = [y * 0 + 1.5 for y in output]
        return [array for array in arrays_of(list(pull(cotangents))) if is_floating(array)]

    return gradients(first, instances)


def _tangents(function: Function, instances: list[Any]) -> list[Any]:
    rng = np.random.default_rng(2)

    def tangent(x: Any) -> Any:
        if is_floating(x):
            return xp.asarray(rng.uniform(0.5, 1.5, x.shape), dtype=x.dtype)
        return x

    if not numbers(instances):
        return []
    _, tangents = jvp(floating(function), tuple(instances), tuple(map_container(tangent, instances)))
    return numbers(tangents)


def _batches(function: Function, instances: list[Any]) -> list[Any]:
    others = with_variables(lambda x: x * 1.25, instances)
    pairs = zip_containers(lambda x, other: xp.stack([x, other]), instances, others, "vmap")
    return [np.array(batch.detach().numpy()) for batch in vmap(function)(*pairs)]
