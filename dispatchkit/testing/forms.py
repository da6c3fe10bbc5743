"""The checks of the forms a call can have: operators, reflected, in place, methods; repeated.

A form is right if it gives what the function gives; whether that is right is for other checks to say. So a wrong
function is reported once, and not by every operator and method that views it.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.members import REFLECTED, Property
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.calls import TypeCall, arguments_text
from dispatchkit.testing.companions import COMPANIONS
from dispatchkit.testing.differences import described
from dispatchkit.testing.examination import Snapshot, examination, fails
from dispatchkit.testing.findings import Failure, Reading, alike, different, readings
from dispatchkit.testing.invariants import comparable, is_determined
from dispatchkit.testing.subject import Subject

__all__ = ["inplace", "methods", "operators", "reflected", "repeat", "repeatable"]

TURNS = range(1, 7)  # each with other elements of the instances
TRIES = 100


def repeat(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Repeated calls give equal results."""
    if not is_determined(operation):
        return
    for call in examination(subject, operation).some(subject.depth):
        first = readings(subject, call.result())
        yield (_form("repeat", subject, call.text, call, call.result, first) or _with_other_elements(subject, call))


def _with_other_elements(subject: Subject, call: TypeCall) -> Failure | None:
    """Make a call with one instance after the other, each with other elements, where the one before stood in memory."""
    places: set[int] = set()
    for turn in TURNS:
        other = replace(call, turn=turn)
        try:
            expected = comparable(subject, call.operation, other.expected)
        except Exception:  # noqa: BLE001, S112  # what plain tensors refuse is not asked of the type
            continue
        try:
            given = _where_others_stood(subject, other, places)
            result = comparable(subject, call.operation, call.run(*given))
            del given
            found = different(subject, result, expected, other.values())
        except Exception:  # noqa: BLE001  # other elements may be refused
            return None
        if found is not None:
            return _failure("repeat", other, other.text, *found[1:])
    return None


def _where_others_stood(subject: Subject, call: TypeCall, places: set[int]) -> tuple[Any, Any]:
    """Return arguments of a call with an instance where an earlier one stood, if Python gives that memory out again."""
    args, kwargs = call.make()
    held = []
    for _ in range(TRIES):
        own = {id(one) for one in args if isinstance(one, subject.cls)}
        if not own or not places or not places.isdisjoint(own):
            break
        held.append(args)  # so that the next ones stand elsewhere
        args = tuple(copy.copy(one) if isinstance(one, subject.cls) else one for one in args)
    places |= own
    return args, kwargs


def repeatable(subject: Subject, operation: Overridable, count: int | None) -> list[TypeCall]:
    """Return so many sound calls of an operation; none where repeated ones differ, by right or as `repeat` reports."""
    return (
        []
        if not is_determined(operation) or fails(subject, operation, repeat)
        else examination(subject, operation).some(count)
    )


def operators(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """`x1 + x2`, `-x` and `x[key]` give what the functions give."""
    for name in _members(operation, dunder=True):
        if name in REFLECTED.values():
            continue
        for call in _plain_calls(subject, operation):
            args, _ = call.make()
            text = f"{name} of {call.text}"
            yield _as_function("operators", subject, text, call, getattr(operator, name), args)


def reflected(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """With a tensor, an array or a number on the left the operators give what the functions give."""
    for name in _members(operation, dunder=True):
        if name not in REFLECTED:
            continue
        for call in _plain_calls(subject, operation):
            for other in COMPANIONS:
                right = replace(call, seats=(1,), other=other)
                args, _ = right.make()
                text = f"{REFLECTED[name]} of {right.text}"
                yield _as_function("reflected", subject, text, right, getattr(operator, name), args)


def inplace(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """`x += y` makes of `x` what `x + y` is, and changes nothing else."""
    for name in _members(operation, dunder=True):
        if name not in REFLECTED:
            continue
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
        made = getattr(operator, name)(x, y)
    except subject.refusals:
        return None
    except Exception as error:  # noqa: BLE001  # what the operator raises is what is looked for
        return _failure("inplace", call, text, described(error), "no exception")
    found = alike(readings(subject, made), expected) or right.changed() or (None if made is x else left.changed())
    return None if found is None else _failure("inplace", call, text, *found)


def methods(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Methods and properties give what the functions give."""
    for name in _members(operation, dunder=False):
        for call in repeatable(subject, operation, 1):
            (x, *args), kwargs = call.make()
            view = getattr(subject.cls, name, None)
            if not isinstance(x, subject.cls) or view is None or not (callable(view) or isinstance(view, Property)):
                continue
            if isinstance(view, Property) and (args or kwargs):
                continue
            (_, *words), named = call.arguments(lambda operand: operand)
            shown = "" if isinstance(view, Property) else f"({arguments_text(tuple(words), named)})"
            form = partial(_viewed, x, name, view, args, kwargs)
            expected = readings(subject, call.result())
            yield _form("methods", subject, f"{subject.name}.{name}{shown}", call, form, expected)


def _viewed(x: Any, name: str, view: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    found = getattr(x, name)
    return found if isinstance(view, Property) else found(*args, **kwargs)


def _as_function(
    check: str, subject: Subject, text: str, call: TypeCall, form: Callable[..., Any], args: tuple[Any, ...]
) -> Failure | None:
    """Compare a form of a call with the function."""
    try:
        expected = readings(subject, call.result())
    except Exception:  # noqa: BLE001  # refused, or wrong in a way that another check reports
        return None
    return _form(check, subject, text, call, partial(form, *args), expected)


def _form(
    check: str, subject: Subject, text: str, call: TypeCall, form: Callable[[], Any], expected: list[Reading]
) -> Failure | None:
    try:
        found = readings(subject, form())
    except Exception as error:  # noqa: BLE001  # what the form raises is what is looked for
        return _failure(check, call, text, described(error), "what the function gives")
    difference = alike(found, expected)
    return None if difference is None else _failure(check, call, text, *difference)


def _failure(check: str, call: TypeCall, text: str, found: str, expected: str) -> Failure:
    return Failure(check, call.operation.qualified_name, text, found, expected, made=call)


def _members(operation: Overridable, *, dunder: bool) -> list[str]:
    """Return the names of the operators, or of the methods and properties, that view an operation."""
    names = [member.name for member in tensor_protocol.surface if member.operation is operation]
    return [name for name in names if name.startswith("__") is dunder]


def _plain_calls(subject: Subject, operation: Overridable) -> list[TypeCall]:
    """Return sound calls that an operator can make: nothing but its one or two operands, an instance first."""
    return [
        call
        for call in repeatable(subject, operation, subject.depth)
        if not call.sample.kwargs and len(call.sample.args) <= 2 and call.operands[0].own
    ]
