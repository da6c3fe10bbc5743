"""The checks of the forms a call can have: operators, reflected, in place, methods; repeated, with companions.

A form is right if it gives what the function gives; whether that is right is for other checks to say. So a wrong
function is reported once, and not by every operator and method that views it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.members import REFLECTED, Property
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.calls import Call, arguments_text
from dispatchkit.testing.examination import Snapshot, examination, fails, lost_metadata
from dispatchkit.testing.findings import Failure, Reading, alike, described, different, readings
from dispatchkit.testing.invariants import comparable, is_determined
from dispatchkit.testing.subject import Subject

__all__ = ["companions", "inplace", "methods", "operators", "reflected", "repeat", "repeatable"]


def two(value: Any) -> float:
    """Stand in for an array as a Python number."""
    return 2.0


def numpy_two(value: Any) -> Any:
    """Stand in for an array as a NumPy scalar."""
    return np.float64(2.0)


def as_it_is(value: Any) -> Any:
    """Stand in for an array as a NumPy array."""
    return value


COMPANIONS: tuple[Callable[[Any], Any], ...] = (tensor_namespace.asarray, as_it_is, two, numpy_two)


def repeat(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Repeated calls give equal results."""
    if not is_determined(operation):
        return
    for call in examination(subject, operation).some(subject.depth):
        first = readings(subject, _again(subject, call))
        yield _form("repeat", subject, call.text(subject), operation, partial(_again, subject, call), first)


def repeatable(subject: Subject, operation: Overridable, count: int | None) -> list[Call]:
    """Return so many sound calls of an operation; none where repeated ones differ, by right or as `repeat` reports."""
    return (
        []
        if not is_determined(operation) or fails(subject, operation, repeat)
        else examination(subject, operation).some(count)
    )


def _again(subject: Subject, call: Call) -> Any:
    return subject.call(call.operation, *call.make(subject))


def companions(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Plain tensors, NumPy arrays, numbers and other instances may stand in any of the other places."""
    for call in examination(subject, operation).some(subject.depth):
        count = len(call.sample.arrays(operation.parameters))
        if count < 2:
            continue
        for seat in range(count):
            for other in (*COMPANIONS, *_other_samples(subject, call)):
                yield _among(subject, replace(call, seats=frozenset({seat})), other)


def _other_samples(subject: Subject, call: Call) -> Iterator[Callable[[Any], Any]]:
    """Yield what puts another of the type's samples in the place of an array."""
    if call.index is None:
        return
    for index in range(len(subject.samples())):
        if index != call.index:
            yield partial(_other_sample, subject, index)


def _other_sample(subject: Subject, index: int, value: Any) -> Any:
    return subject.samples()[index]


def _among(subject: Subject, call: Call, other: Callable[[Any], Any]) -> Failure | None:
    """Compare a call of one instance among companions with the same on plain tensors."""
    operation = call.operation
    try:
        expected = comparable(subject, operation, subject.dense_call(operation, *call.make(subject, other)))
    except Exception:  # noqa: BLE001  # what plain tensors refuse is not asked of the type
        return None
    args, kwargs = call.make(subject, other)
    text = call.text(subject, other)
    try:
        result = subject.call(operation, args, kwargs)
        found = different(subject, comparable(subject, operation, result), expected)
    except NoImplementationError:
        return None
    except Exception as error:  # noqa: BLE001  # what a handler raises is what is looked for
        return Failure("companions", operation.qualified_name, text, described(error), "an answer, or a decline")
    if found is not None:
        return Failure("companions", operation.qualified_name, text, *found[1:])
    return next(lost_metadata("companions", subject, call, (args, kwargs), result), None)


def operators(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """`x1 + x2`, `-x` and `x[key]` give what the functions give."""
    for name in _members(operation, dunder=True):
        if name in REFLECTED.values():
            continue
        for call in _plain_calls(subject, operation):
            args, _ = call.make(subject)
            yield _as_function(
                "operators", subject, f"{name} of {call.text(subject)}", call, getattr(operator, name), args
            )


def reflected(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """With a tensor, an array or a number on the left the operators give what the functions give."""
    for name in _members(operation, dunder=True):
        if name not in REFLECTED:
            continue
        for call in _plain_calls(subject, operation):
            right = replace(call, seats=frozenset({1}))
            for other in COMPANIONS:
                args, _ = right.make(subject, other)
                text = f"{REFLECTED[name]} of {right.text(subject, other)}"
                yield _as_function("reflected", subject, text, right, getattr(operator, name), args, other)


def inplace(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """`x += y` makes of `x` what `x + y` is, and changes nothing else."""
    for name in _members(operation, dunder=True):
        if name not in REFLECTED:
            continue
        for call in _plain_calls(subject, operation):
            yield _in_place(subject, call, f"__i{name[2:]}")


def _in_place(subject: Subject, call: Call, name: str) -> Failure | None:
    operation = call.operation
    args, kwargs = call.make(subject)
    target = subject.array(args[0])
    expected = readings(subject, subject.call(operation, args, kwargs))
    result = expected[0].array
    if not isinstance(result, np.ndarray) or (target.shape, target.dtype) != (result.shape, result.dtype):
        return None  # what cannot be written back may raise
    x, y = call.make(subject)[0]
    text = f"{name} of {call.text(subject)}"
    left, right = Snapshot(subject, [("x", x)]), Snapshot(subject, [("y", y)])
    try:
        made = getattr(operator, name)(x, y)
    except NoImplementationError:
        return None
    except Exception as error:  # noqa: BLE001  # what the operator raises is what is looked for
        return Failure("inplace", operation.qualified_name, text, described(error), "no exception")
    found = alike(readings(subject, made), expected) or right.changed() or (None if made is x else left.changed())
    return None if found is None else Failure("inplace", operation.qualified_name, text, *found)


def methods(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Methods and properties give what the functions give."""
    for name in _members(operation, dunder=False):
        for call in repeatable(subject, operation, 1):
            (x, *args), kwargs = call.make(subject)
            view = getattr(subject.cls, name, None)
            if not isinstance(x, subject.cls) or view is None or not (callable(view) or isinstance(view, Property)):
                continue
            if isinstance(view, Property) and (args or kwargs):
                continue
            shown = "" if isinstance(view, Property) else f"({arguments_text(tuple(args), kwargs)})"
            form = partial(_viewed, x, name, view, args, kwargs)
            expected = readings(subject, _again(subject, call))
            yield _form("methods", subject, f"{subject.name}.{name}{shown}", operation, form, expected)


def _viewed(x: Any, name: str, view: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    found = getattr(x, name)
    return found if isinstance(view, Property) else found(*args, **kwargs)


def _as_function(
    check: str,
    subject: Subject,
    text: str,
    call: Call,
    form: Callable[..., Any],
    args: tuple[Any, ...],
    other: Callable[[Any], Any] = tensor_namespace.asarray,
) -> Failure | None:
    """Compare a form of a call with the function."""
    try:
        expected = readings(subject, subject.call(call.operation, *call.make(subject, other)))
    except Exception:  # noqa: BLE001  # refused, or wrong in a way that another check reports
        return None
    return _form(check, subject, text, call.operation, partial(form, *args), expected)


def _form(
    check: str, subject: Subject, text: str, operation: Overridable, form: Callable[[], Any], expected: list[Reading]
) -> Failure | None:
    try:
        found = readings(subject, form())
    except Exception as error:  # noqa: BLE001  # what the form raises is what is looked for
        return Failure(check, operation.qualified_name, text, described(error), "what the function gives")
    difference = alike(found, expected)
    return None if difference is None else Failure(check, operation.qualified_name, text, *difference)


def _members(operation: Overridable, *, dunder: bool) -> list[str]:
    """Return the names of the operators, or of the methods and properties, that view an operation."""
    names = [member.name for member in tensor_protocol.surface if member.operation is operation]
    return [name for name in names if name.startswith("__") is dunder]


def _plain_calls(subject: Subject, operation: Overridable) -> list[Call]:
    """Return sound calls that an operator can make: nothing but its one or two operands, an instance first."""
    return [
        call
        for call in repeatable(subject, operation, subject.depth)
        if not call.sample.kwargs and len(call.sample.args) <= 2 and 0 in call.seats
    ]
