"""The adviser: which operations to implement next, and the skeletons of their handlers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.protocol.chain import stub_for
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key
from dispatchkit.report.coverage.dry_run import inner_calls
from dispatchkit.report.coverage.rows import STRUCTURED, Row, short_name
from dispatchkit.report.coverage.survey import Survey
from dispatchkit.report.coverage.tables import wrapped_names

__all__ = ["Advice", "Suggestion", "advise", "stubs_of"]

Call: TypeAlias = tuple[Overridable, Key]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One operation to implement.

    Attributes
    ----------
    operation : its name
    bucket : where it is now
    calls : types of the arguments that the unlocked operations call it with
    unlocks : names of the operations that then keep the structure through decomposition
    """

    operation: str
    bucket: str
    calls: tuple[str, ...]
    unlocks: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """Operations to implement, the most useful first; prints as a list.

    Attributes
    ----------
    type : name of the type
    suggestions : each chosen as if those before it were implemented
    note : what else is to be said
    """

    type: str
    suggestions: tuple[Suggestion, ...]
    note: str = ""

    def __iter__(self) -> Iterator[Suggestion]:
        return iter(self.suggestions)

    def __len__(self) -> int:
        return len(self.suggestions)

    def __getitem__(self, index: int) -> Suggestion:
        return self.suggestions[index]

    def __str__(self) -> str:
        lines = [f"advice for {self.type}:"]
        for number, one in enumerate(self.suggestions, 1):
            head = f"  {number}. {one.operation} (now {one.bucket}) unlocks {len(one.unlocks)} more"
            lines.append(head + (":" if one.unlocks else ""))
            if one.calls:
                lines.append(f"     called with {'; '.join(one.calls)}")
            if one.unlocks:
                lines += [f"  {line}" for line in wrapped_names(one.unlocks)]
        if not self.suggestions:
            lines.append("  nothing to add: every function with array arguments keeps the structure")
        return "\n".join([*lines, *([f"  {self.note}"] if self.note else [])])

    __repr__ = __str__


def advise(survey: Survey, n: int) -> Advice:
    """Return the operations whose implementation unlocks the most others, greedily.

    Parameters
    ----------
    survey : of the type
    n : how many at most

    Notes
    -----
    An operation is unlocked once every call that its body makes keeps the structure. The next to implement is the one
    that unlocks the most; among equals the one that most of the operations still locked need, each counted by the share
    of what it lacks. This is the greedy heuristic for maximum coverage.
    """
    needs = _Needs(survey)
    chosen: set[Overridable] = set()
    suggestions: list[Suggestion] = []
    unlocked = needs.unlocked(chosen)
    while len(suggestions) < n and (left := [one for one in needs.locked if one not in chosen | unlocked]):
        pressing = needs.pressing(left, chosen)
        gains = {one: needs.unlocked(chosen | {one}) - unlocked - {one} for one in left}
        best = max(left, key=lambda one: (len(gains[one]), pressing.get(one, 0.0)))
        gained = [one for one in needs.locked if one in gains[best]]
        suggestions.append(needs.suggestion(best, gained))
        chosen.add(best)
        unlocked = unlocked | gains[best]
    note = ""
    if fallback.decompose not in survey.protocol.types.fallback(survey.cls):
        note = f"{type_name(survey.cls)} does not decompose: declare fallback.decompose first"
        free = len(needs.unlocked(set()))
        note += f", which by itself unlocks {free}" if free else ""
    return Advice(type_name(survey.cls), tuple(suggestions), note)


class _Needs:
    """What the operations that do not keep a type's structure need for it."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.rows: dict[Overridable, Row] = {}
        for operation in survey.protocol.operations.values():
            row = survey.row(operation)
            if row.bucket not in (*STRUCTURED, "no array argument"):
                self.rows[operation] = row
        self.locked = list(self.rows)
        self.bodies: dict[Overridable, list[Call] | None] = {}

    def body(self, operation: Overridable) -> list[Call] | None:
        """Return the calls that a body makes of operations the type lacks; None where there is no decomposition."""
        if operation not in self.bodies:
            self.bodies[operation] = None
            if isinstance(operation, DeclaredOperation) and operation.decomposition() is not None:
                calls = inner_calls(operation, self.survey.cls)
                if calls and all(inner is not operation for inner, _ in calls):
                    lacking = [call for call in calls if self.survey.sort_key(*call)[0] not in STRUCTURED]
                    self.bodies[operation] = lacking
        return self.bodies[operation]

    def unlocked(self, implemented: set[Overridable]) -> set[Overridable]:
        """Return the operations that keep the structure through decomposition once some are implemented."""
        known: dict[Overridable, bool] = {}

        def holds(operation: Overridable) -> bool:
            if operation in implemented:
                return True
            if operation not in known:
                known[operation] = False
                body = self.body(operation)
                known[operation] = body is not None and all(holds(inner) for inner, _ in body)
            return known[operation]

        return {operation for operation in self.locked if operation not in implemented and holds(operation)}

    def lacks(self, operation: Overridable, implemented: set[Overridable]) -> set[Overridable]:
        """Return the operations without decomposition that the body of another needs in the end."""
        found: set[Overridable] = set()
        seen: set[Overridable] = set()
        waiting = [operation]
        while waiting:
            one = waiting.pop()
            if one in seen or one in implemented:
                continue
            seen.add(one)
            body = self.body(one)
            if body is None:
                found.add(one)
            else:
                waiting += [inner for inner, _ in body]
        return found

    def pressing(self, left: Sequence[Overridable], implemented: set[Overridable]) -> dict[Overridable, float]:
        """Return for each operation how much of what others lack it is."""
        weights: dict[Overridable, float] = {}
        for operation in left:
            lacking = self.lacks(operation, implemented) - {operation}
            for one in lacking:
                weights[one] = weights.get(one, 0.0) + 1 / len(lacking)
        return weights

    def suggestion(self, operation: Overridable, gained: Sequence[Overridable]) -> Suggestion:
        """Return the suggestion to implement an operation that unlocks others."""
        calls: dict[str, None] = {}
        for one in gained:
            for inner, key in self.body(one) or ():
                if inner is operation:
                    calls[f"({', '.join(map(_entry_text, key))})"] = None
        names = tuple(short_name(self.rows[one]) for one in gained)
        row = self.rows[operation]
        return Suggestion(short_name(row), row.bucket, tuple(calls), names)


def _entry_text(entry: type | tuple[type, ...]) -> str:
    return f"[{', '.join(map(type_name, entry))}]" if isinstance(entry, tuple) else type_name(entry)


def stubs_of(survey: Survey, names: Sequence[str]) -> str:
    """Return a module with a handler for each of some functions, which declines until it is filled in.

    Parameters
    ----------
    survey : of the type
    names : qualified names of the functions; those without array arguments are left out
    """
    protocol, cls = survey.protocol, survey.cls
    imports = {_import_of(cls.__module__, cls.__qualname__): None}
    handlers: list[str] = []
    for operation in (protocol.operations[name] for name in names):
        keys = survey.keys(operation)
        if not keys:
            continue
        if operation.namespace.partition(".")[0] != "dispatchkit":
            imports[_import_of(operation.function.__module__, operation.function.__qualname__)] = None
        stub = stub_for(operation, keys[0])
        handlers.append(re.sub(r"\n    \.\.\.$", '\n    return dk.decline("not written yet")', stub))
    head = [
        f'"""Handlers of {type_name(cls)}: each declines until it is written."""',
        "from __future__ import annotations",
        "\n".join(["import dispatchkit as dk", *sorted(imports)]),
    ]
    return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join(handlers) + "\n"


def _import_of(module: str, qualified_name: str) -> str:
    """Return what brings a class or function into a module."""
    if "<locals>" in qualified_name:
        return f"# {qualified_name.rpartition('.')[2]} is local to a function: bring it here"
    outer, _, _ = qualified_name.partition(".")
    name = qualified_name.rpartition(".")[2]
    line = f"from {module} import {outer}"
    return line if outer == name else f"{line}\n\n{name} = {qualified_name}"
