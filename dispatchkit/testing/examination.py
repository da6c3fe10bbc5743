"""`Examination`: every call of an operation made on instances and on plain tensors, and what differs.

It is made once for a type and operation. The checks on values read it, and those that go deeper (gradients, forms,
companions) pass over what is wrong already, so that a fault is reported under its own name alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.calls import Arguments, Call, calls_of
from dispatchkit.testing.findings import Failure, described, different, same, shown
from dispatchkit.testing.invariants import comparable, is_determined
from dispatchkit.testing.subject import Subject, members

__all__ = ["Examination", "Snapshot", "examination", "fails", "lost_metadata"]


@dataclass
class Examination:
    """What came of the calls of an operation.

    Attributes
    ----------
    operation : that was called
    calls : that were made
    answered : those of them that the type answered, rightly or not
    failures : what was wrong
    """

    operation: Overridable
    calls: list[Call] = field(default_factory=list)
    answered: list[Call] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    @property
    def sound(self) -> list[Call]:
        """The answered calls, none where one of the operation's calls went wrong."""
        wrong = any(failure.check != "metadata" for failure in self.failures)
        return [] if wrong else self.answered

    def some(self, count: int | None) -> list[Call]:
        """Return so many of the sound calls, spread over all."""
        calls = self.sound
        return calls if count is None else calls[:: max(1, -(-len(calls) // count))]

    @property
    def refused(self) -> bool:
        """Whether the type answered no call."""
        return bool(self.calls) and not self.answered


def examination(subject: Subject, operation: Overridable) -> Examination:
    """Return the examination of an operation, made at the first request."""
    known: dict[Overridable, Examination] = subject.memory.setdefault("examination", {})
    if operation not in known:
        known[operation] = _examine(subject, operation)
    return known[operation]


def fails(subject: Subject, operation: Overridable, check: Callable[..., Iterator[Failure | None]]) -> bool:
    """Return whether a check finds an operation wrong, for checks that build on it."""
    known = subject.memory.setdefault(check.__name__, {})
    if operation not in known:
        known[operation] = any(check(subject, operation))
    return bool(known[operation])


def _examine(subject: Subject, operation: Overridable) -> Examination:
    found = Examination(operation)
    for call in calls_of(subject, operation):
        try:
            expected = subject.dense_call(operation, *call.make(subject))
        except Exception:  # noqa: BLE001, S112  # a call that plain tensors refuse is none to compare with
            continue
        found.calls.append(call)
        args, kwargs = call.make(subject)
        before = Snapshot(subject, [(p.name, value) for p, value in operation.parameters.values(args, kwargs)])
        try:
            result = subject.call(operation, args, kwargs)
        except NoImplementationError:
            continue
        except Exception as error:  # noqa: BLE001  # what a handler raises is what is looked for
            found.answered.append(call)
            found.failures.append(_failure("raises", subject, call, described(error), "an answer, or a decline"))
            continue
        found.answered.append(call)
        changed = before.changed()
        if changed:
            found.failures.append(_failure("mutation", subject, call, *changed))
        elif fault := _fault(subject, call, result, expected):
            found.failures.append(fault)
        else:
            found.failures += lost_metadata("metadata", subject, call, (args, kwargs), result)
    return found


def _failure(check: str, subject: Subject, call: Call, found: str, expected: str) -> Failure:
    return Failure(check, call.operation.qualified_name, call.text(subject), found, expected)


def _fault(subject: Subject, call: Call, result: Any, expected: Any) -> Failure | None:
    """Return in what a result differs from the right one."""
    found = _difference(subject, call.operation, result, expected)
    if found is None:
        return None
    for name in call.options():
        bare = call.without(name)
        if not bare.is_valid(subject):
            continue
        without = subject.dense_call(call.operation, *bare.make(subject))
        if _difference(subject, call.operation, result, without) is None:
            return _failure("keywords", subject, call, f"what a call without '{name}' gives", f"'{name}' honoured")
    return _failure(found[0], subject, call, *found[1:])


def _difference(subject: Subject, operation: Overridable, result: Any, expected: Any) -> tuple[str, str, str] | None:
    if not is_determined(operation):
        result, expected = ([np.zeros_like(subject.array(one)) for one in members(r)] for r in (result, expected))
        return different(subject, result, expected)
    try:
        result, expected = (comparable(subject, operation, one) for one in (result, expected))
    except Exception as error:  # noqa: BLE001  # a result of the wrong form, shown with what it led to
        return "value", f"{shown(result)}, whose dense form raises {described(error)}", shown(expected)
    return different(subject, result, expected)


def lost_metadata(check: str, subject: Subject, call: Call, arguments: Arguments, result: Any) -> Iterator[Failure]:
    """Yield what a result has lost of what its arguments carried."""
    operation = call.operation
    if not subject.metadata or not {operation.name, operation.qualified_name}.isdisjoint(subject.plain):
        return
    values = [value for _, value in operation.parameters.values(*arguments) if isinstance(value, subject.cls)]
    wanted = subject.carried(values[0])
    for one in members(result):
        if not isinstance(one, subject.cls):
            yield _failure(check, subject, call, f"a {type(one).__name__}", f"a {subject.name} with {wanted!r}")
            return
        carried = subject.carried(one)
        if not all(same(carried[name], wanted[name]) for name in wanted):
            yield _failure(check, subject, call, repr(carried), repr(wanted))
            return


class Snapshot:
    """Arrays and their metadata as they were.

    Parameters
    ----------
    subject : the type under test
    values : instances and other arrays, each with its name
    """

    def __init__(self, subject: Subject, values: Iterable[tuple[str, Any]]) -> None:
        self.subject = subject
        self.values = list(values)
        self.states = [self._state(value) for _, value in self.values]

    def _state(self, value: Any) -> tuple[Any, dict[str, Any]]:
        carried = self.subject.carried(value) if isinstance(value, self.subject.cls) else {}
        return self.subject.array(value), {name: _copied(one) for name, one in carried.items()}

    def changed(self) -> tuple[str, str] | None:
        """Return what has changed since, as found and expected; None where nothing has."""
        for (name, value), (array, carried) in zip(self.values, self.states, strict=True):
            now, now_carried = self._state(value)
            if not same(now, array):
                return f"'{name}' became {shown(now)}", f"'{name}' still {shown(array)}"
            for key, one in carried.items():
                if not same(now_carried[key], one):
                    return f"'{key}' of '{name}' became {now_carried[key]!r}", f"still {one!r}"
        return None


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001  # what cannot be copied is compared by identity
        return value
