"""`Failure` and `Conformance`: what the checks found, and how it reads; how results are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dispatchkit.protocol.handlers import type_name
from dispatchkit.testing.differences import described, difference, members, same, shown
from dispatchkit.testing.subject import Subject

__all__ = [
    "Conformance",
    "ConformanceError",
    "Failure",
    "alike",
    "different",
    "readings",
]

SHOWN = 20  # failures of one check that a message lists
LISTED = 6  # further calls of one handler


@dataclass(frozen=True, slots=True)
class Failure:
    """A call or a deed that went wrong.

    Attributes
    ----------
    check : name of the check
    operation : qualified name of the operation, "" where it is about the type itself
    call : what was done
    found, expected : what came of it, and what was right
    handler : the rule or method at fault with its file and line, "" where it is not known
    program : that shows it when it is pasted
    also : the further calls and checks that failed by the same handler
    made : the call as it can be made again; None where it is no call of an operation
    again : gives the failure of the same check on another call, None where it passes
    """

    check: str
    operation: str
    call: str
    found: str
    expected: str
    handler: str = ""
    program: str = ""
    also: tuple[str, ...] = ()
    made: Any = field(default=None, compare=False, repr=False)
    again: Callable[[Any], Failure | None] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        lines = [f"{self.check}: {self.call}"]
        if self.handler:
            lines.append(f"    handler:  {self.handler}")
        lines += [f"    found:    {_indented(self.found)}", f"    expected: {_indented(self.expected)}"]
        if self.also:
            more = f", and {len(self.also) - LISTED} more" if len(self.also) > LISTED else ""
            lines.append(f"    also:     {', '.join(self.also[:LISTED])}{more}")
        if self.program:
            lines += ["    program:", *(f"        {line}".rstrip() for line in self.program.splitlines())]
        return "\n".join(lines)


@dataclass(frozen=True)
class Conformance:
    """What `check_type` did and found; prints as a summary.

    Attributes
    ----------
    type : name of the type
    checks : names of the checks that ran
    failures : what they found
    tried : per check, how many calls or deeds it looked at
    refused : names of operations all of whose calls the type refused
    unreached : names of operations for which no call could be made with the type's samples
    unentered : rules of the type, for the functions under test, that no call entered
    """

    type: str
    checks: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    tried: Mapping[str, int] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()
    unentered: tuple[str, ...] = ()

    def __str__(self) -> str:
        failed = Counter(failure.check for failure in self.failures)
        lines = [f"conformance of {self.type}: {len(self.failures)} failures in {len(self.checks)} checks"]
        lines += [
            f"  {name:<12}{self.tried.get(name, 0):>6} tried  {f'{failed[name]} FAILED' if failed[name] else 'passed'}"
            for name in self.checks
        ]
        for title, names in (("refused", self.refused), ("not reached", self.unreached)):
            if names:
                lines.append(f"  {title} ({len(names)}): {', '.join(names)}")
        if self.unentered:
            lines.append(f"  rules that no call entered ({len(self.unentered)}), for want of samples that reach them:")
            lines += [f"    {text}" for text in self.unentered]
        for name in self.checks:
            mine = [failure for failure in self.failures if failure.check == name]
            lines += ["", *map(str, mine[:SHOWN])] if mine else []
            if len(mine) > SHOWN:
                lines.append(f"{name}: and {len(mine) - SHOWN} more")
        return "\n".join(lines)


class ConformanceError(AssertionError):
    """A type failed checks.

    Attributes
    ----------
    conformance : what was done and found
    """

    def __init__(self, conformance: Conformance) -> None:
        super().__init__(conformance)
        self.conformance = conformance

    def __str__(self) -> str:
        return str(self.conformance)


def different(subject: Subject, found: Any, expected: Any, given: Iterable[Any] = ()) -> tuple[str, str, str] | None:
    """Compare a result with the right one, both dense: in what they differ and both as text, as `difference` says."""
    try:
        dense = subject.dense(found)
    except Exception as error:  # noqa: BLE001  # whatever to_dense() of a wrong result raises is shown
        text = f"{type_name(type(found))}, whose dense form raises {described(error)}"
        return "value", text, shown(subject.dense(expected))
    differs = difference(dense, subject.dense(expected), given)
    return None if differs is None else differs.failure


class Reading(NamedTuple):
    """What is compared of an array of a result: its type, elements and metadata."""

    cls: type
    array: Any
    carried: dict[str, Any]


def readings(subject: Subject, result: Any) -> list[Reading]:
    """Return what is compared of a result now, whatever becomes of it later."""
    return [
        Reading(type(one), subject.array(one), subject.carried(one) if isinstance(one, subject.cls) else {})
        for one in members(result)
    ]


def alike(found: list[Reading], expected: list[Reading]) -> tuple[str, str] | None:
    """Compare two results of the same thing; None where they agree, else both as text."""
    if len(found) != len(expected):
        return f"{len(found)} results", f"{len(expected)} results"
    for one, other in zip(found, expected, strict=True):
        if one.cls is not other.cls:
            return f"a {type_name(one.cls)}", f"a {type_name(other.cls)}"
        if not same(one.array, other.array):
            return shown(one.array), shown(other.array)
        if not all(same(one.carried[name], other.carried[name]) for name in other.carried):
            return repr(one.carried), repr(other.carried)
    return None


def _indented(text: str) -> str:
    return text.replace("\n", "\n" + " " * 14)
