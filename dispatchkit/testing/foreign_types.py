"""The check of what a type does with types that it does not know: it declines, so that they are asked."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.members import REFLECTED
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.testing.calls import TypeCall
from dispatchkit.testing.differences import described
from dispatchkit.testing.examination import examination
from dispatchkit.testing.findings import Failure
from dispatchkit.testing.subject import Subject

__all__ = ["foreign_types"]

ANSWER = "answered by the foreign type"
COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__")


class Foreign:
    """A type of the protocol that answers every call, whoever else is in it."""

    @classmethod
    def __tensor_function__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        return ANSWER

    def __repr__(self) -> str:
        return "Foreign()"


class Foreigner:
    """A class outside the protocol whose operators answer."""

    def __repr__(self) -> str:
        return "Foreigner()"


def _answer(self: Any, other: Any) -> Any:
    return ANSWER


for _name in (*REFLECTED.values(), *COMPARISONS):
    setattr(Foreigner, _name, _answer)


def foreign_types(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Types that the type does not know are asked in their turn: handlers decline, and raise nothing."""
    if sum(p.form is not Form.INDEX for p in operation.parameters.arrays) < 2:
        return
    for call in examination(subject, operation).some(1):
        for place in range(len(call.operands)):
            yield _with_foreign(subject, replace(call, seats=(place,), other=_foreign))
        for member in tensor_protocol.surface:
            if member.operation is operation and member.name in (*REFLECTED, *COMPARISONS):
                yield from _with_foreigner(subject, call, member.name)


def _with_foreign(subject: Subject, call: TypeCall) -> Failure | None:
    args, kwargs = call.make()
    try:
        call.run(args, kwargs)
    except Exception as error:  # noqa: BLE001  # whatever a handler raises, the foreign type was not asked
        text = call.text
        return _failure(call, text, error, "a decline (dk.decline or NotImplemented), then its answer")
    return None


def _foreign(value: Any) -> Foreign:
    return Foreign()


def _with_foreigner(subject: Subject, call: TypeCall, name: str) -> Iterator[Failure | None]:
    form: Callable[[Any, Any], Any] = getattr(operator, name)
    (x, *_), _ = call.make()
    try:
        yield None if form(x, Foreigner()) == ANSWER else _unasked(call, name, subject)
    except Exception as error:  # noqa: BLE001  # whatever the operator raises, the other operand was not asked
        yield _failure(call, f"{subject.name}.{name}(Foreigner())", error, "NotImplemented, then its answer")
    try:
        form(x, object())
    except TypeError:
        yield None
    except Exception as error:  # noqa: BLE001  # Python's own answer would be a TypeError
        yield _failure(call, f"{subject.name}.{name}(object())", error, "NotImplemented, so a TypeError")


def _unasked(call: TypeCall, name: str, subject: Subject) -> Failure:
    operation, text = call.operation.qualified_name, f"{subject.name}.{name}(Foreigner())"
    return Failure("foreign", operation, text, "an answer of its own", ANSWER, made=call)


def _failure(call: TypeCall, text: str, error: Exception, expected: str) -> Failure:
    return Failure("foreign", call.operation.qualified_name, text, described(error), expected, made=call)
