"""The adviser: which rules to write next, by what a program did or by what a type lacks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dispatchkit.protocol.fallbacks import Decompose, fallback
from dispatchkit.protocol.fallbacks.strategies import Dense
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.outcome import DECLINES, REFUSED, RULE
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.prediction import Prediction
from dispatchkit.protocol.stubs import stub_for
from dispatchkit.report.coverage.rows import STRUCTURED
from dispatchkit.report.coverage.survey import Survey, dry_calls
from dispatchkit.report.documents import format_time, short_location, wrapped_names
from dispatchkit.report.operations import Named, declared_operations
from dispatchkit.testing.calls import Arguments
from dispatchkit.wording import format_bytes, plural

# What a rule can be written for.
Target: TypeAlias = "Overridable | Kind"
# Of which one rule can answer all operations in the same way.
KINDS = (kinds.elementwise, kinds.reduction)
KEYWORD = re.compile(r"the keyword '(\w+)'")  # as rules say what they cannot be called with
FURTHER = "counted call by call: what takes a result next may become dense then, as a new record shows"
LINES = 3  # of the program that a suggestion names


@dataclass(frozen=True, slots=True)
class Event:
    """A call that a rule would have answered with the structure kept.

    Attributes
    ----------
    operation : that was called
    arguments : its own, with stand-ins in the place of arrays; None for the calls of a function together
    nbytes, nanoseconds : what became dense, and how long the call took
    line : file and line of the caller, "" where nothing was called
    """

    operation: Overridable
    arguments: Arguments | None = None
    nbytes: int = 0
    nanoseconds: int = 0
    line: str = ""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A rule to write.

    Attributes
    ----------
    operation : its name, or a kind such as ``"kinds.rounding"``
    bucket : how the operation is answered now, "" for a kind
    answers : names of the operations that the rule itself answers
    unlocks : names of those that then keep the structure through decomposition
    calls : number of calls that no longer become dense
    nbytes, nanoseconds : what these made dense, and how long they took
    lines : file and line of the callers, the most frequent first
    stub : the rule, to be filled in; "" where there is one
    cure : what that one lacks; "" where there is none
    """

    operation: str
    bucket: str
    answers: tuple[str, ...]
    unlocks: tuple[str, ...]
    calls: int
    nbytes: int
    nanoseconds: int
    lines: tuple[str, ...]
    stub: str
    cure: str = ""


@dataclass(frozen=True)
class Advice:
    """Rules to write, the most useful first; prints as a list.

    Attributes
    ----------
    type : name of the type
    suggestions : each chosen as if those before it were written
    events : number of calls that do not keep the structure
    note : what else is to be said
    """

    type: str
    suggestions: tuple[Suggestion, ...]
    events: int = 0
    note: str = ""

    def __iter__(self) -> Iterator[Suggestion]:
        return iter(self.suggestions)

    def __len__(self) -> int:
        return len(self.suggestions)

    def __getitem__(self, index: int) -> Suggestion:
        return self.suggestions[index]

    def __str__(self) -> str:
        recorded = any(suggestion.lines for suggestion in self.suggestions)
        share = ""
        if recorded:
            share = f", of which {self.events} calls became dense"
        lines = [f"advice for {self.type}{share}:"]
        for number, suggestion in enumerate(self.suggestions, 1):
            now = ""
            if suggestion.bucket:
                now = f" (now {suggestion.bucket})"
            rest = ""
            if suggestion.unlocks:
                rest = f" unlocks {len(suggestion.unlocks)} more"
            lines.append(f"  {number}. {suggestion.operation}{now}{rest}{_saving(suggestion)}")
            if len(suggestion.answers) > 1:
                lines += [f"  {line}" for line in wrapped_names(suggestion.answers)]
            if suggestion.unlocks:
                lines += [f"  {line}" for line in wrapped_names(suggestion.unlocks)]
            if suggestion.lines:
                lines.append(f"     called from {', '.join(map(short_location, suggestion.lines[:LINES]))}")
            lines += [f"     {line}" for line in suggestion.cure.splitlines()]
            lines += [f"       {line}" for line in suggestion.stub.splitlines()]
        if not self.suggestions:
            lines.append("  nothing to add: no call became dense, or none of these can keep the structure")
        return "\n".join([*lines, *([f"  {self.note}"] if self.note else [])])

    __repr__ = __str__


def _saving(suggestion: Suggestion) -> str:
    if not suggestion.lines:
        return ""
    calls = f"{suggestion.calls} {plural('call', suggestion.calls)}"
    time = format_time(suggestion.nanoseconds)
    return f": {calls}, {format_bytes(suggestion.nbytes)} and {time} that are spent dense now"


def lacking_events(survey: Survey) -> list[Event]:
    """Return, inside `measuring`, an event for each operation whose calls on a type alone lose its structure."""
    rows = ((operation, survey.row(operation)) for operation in survey.protocol.operations.values())
    return [Event(operation) for operation, row in rows if row.bucket not in (*STRUCTURED, "no array argument")]


def advise(
    survey: Survey, events: Sequence[Event], n: int, *, impossible: Named = (), with_kinds: bool = False
) -> Advice:
    """Return the rules that help the most calls, greedily; made inside `measuring`.

    Parameters
    ----------
    survey : of the type
    events : calls that a rule could help
    n : how many rules at most
    impossible : functions and kinds that cannot keep the structure, besides those that the type declares
    with_kinds : whether one rule for all operations of a kind may be suggested

    Notes
    -----
    A rule helps the calls of its operations, and those of operations whose bodies make only calls that then keep the
    structure. The next to write is the one that helps the most; among equals the one that most of what is left needs,
    each call counted by the share of what it lacks. This is the greedy heuristic for maximum coverage.
    """
    excluded = declared_operations(survey.protocol, survey.cls, "impossible", impossible)
    needs = _Needs(survey, excluded)
    done: set[Overridable] = set()
    suggestions: list[Suggestion] = []
    left = [event for event in events if event.operation not in excluded]
    while len(suggestions) < n:
        wanted = list(dict.fromkeys(event.operation for event in left))
        targets = _targets(needs, wanted, done, with_kinds)
        if not targets:
            break
        pressing = needs.pressing(wanted, done)
        gains = {target: needs.held(wanted, done | set(answered)) for target, answered in targets.items()}
        worth = {target: _worth(left, target, targets[target], gains[target], pressing) for target in targets}
        best = max(targets, key=lambda target, worth=worth: worth[target])  # type: ignore[misc]  # mypy: a default
        done |= set(targets[best])
        after = survey.supposing(done)
        gained = [event for event in left if event.operation in done or _keeps(after, event)]
        suggestions.append(_suggestion(needs, best, targets[best], gained))
        left = [event for event in left if event not in gained]
    note = ""
    if any(suggestion.lines for suggestion in suggestions):
        note = FURTHER
    if fallback.decompose not in survey.protocol.types.fallback(survey.cls):
        note = f"{type_name(survey.cls)} does not decompose: with fallback.decompose a rule helps more functions"
    return Advice(type_name(survey.cls), tuple(suggestions), len(events), note)


def _keeps(survey: Survey, event: Event) -> bool:
    """Return whether the call of an event is certain to keep the structure."""
    if event.arguments is None:
        return survey.row(event.operation).bucket in STRUCTURED
    return survey.verdict(event.operation, *event.arguments).is_certain


def _targets(
    needs: _Needs, left: Sequence[Overridable], done: Collection[Overridable], with_kinds: bool
) -> dict[Target, list[Overridable]]:
    """Return what a rule could be written for, with the operations that it would answer."""
    lacking = {needed: None for operation in left for needed in [operation, *needs.lacks(operation, done)]}
    targets: dict[Target, list[Overridable]] = {
        operation: [operation] for operation in lacking if operation not in needs.excluded
    }
    if with_kinds:
        for kind in dict.fromkeys(kind for operation in left for kind in operation.kind.lineage()):
            of_kind = [operation for operation in left if kind in operation.kind.lineage()]
            if len(of_kind) > 1 and not set(KINDS).isdisjoint(kind.lineage()):
                targets[kind] = of_kind
    return targets


def _worth(
    events: Sequence[Event],
    target: Target,
    own: Sequence[Overridable],
    gained: set[Overridable],
    pressing: Mapping[Overridable, float],
) -> tuple[float, ...]:
    """Return what decides which rule goes first: calls, bytes, calls of its operations, and what others lack."""
    helped = [event for event in events if event.operation in gained]
    direct = sum(event.operation in own for event in helped)
    nbytes = sum(event.nbytes for event in helped)
    needed = sum(pressing.get(operation, 0.0) for operation in own)
    return len(helped), nbytes, direct, needed, isinstance(target, Overridable)


def _suggestion(needs: _Needs, target: Target, answered: Sequence[Overridable], gained: Sequence[Event]) -> Suggestion:
    names = dict.fromkeys(_name(event.operation) for event in gained if event.operation not in answered)
    lines = Counter(event.line for event in gained if event.line)
    if isinstance(target, Kind):
        name, bucket, cures = repr(target), "", dict[str, None]()
        cls = needs.survey.cls.__name__
        helper = f"{target.name}_{cls.lower()}(op, x: {cls}, /, *args, **kwargs)"
        stub = f"@dk.implements(dk.{target!r})\ndef {helper}:\n    ..."
    else:
        called = any(event.operation is target and event.arguments is not None for event in gained)
        name, bucket = _name(target), Dense.outcome.name
        if not called:
            bucket = needs.survey.row(target).bucket
        calls = [call for event in gained for call in needs.calls(target, event)] or needs.calls(target, Event(target))
        cures = dict.fromkeys(filter(None, map(_cure, calls)))
        uncured = dict.fromkeys(call.key for call in calls if not _cure(call))
        stub = "\n\n".join(stub_for(target, key) for key in uncured)
    return Suggestion(
        name,
        bucket,
        tuple(map(_name, answered)),
        tuple(names),
        len(gained),
        sum(event.nbytes for event in gained),
        sum(event.nanoseconds for event in gained),
        tuple(line for line, _ in lines.most_common()),
        stub,
        "\n".join(cures),
    )


def lacking_keywords(reason: str) -> str:
    """Return the keywords for want of which a rule declines, between commas; "" where it is for another reason."""
    return ", ".join(KEYWORD.findall(reason))


def _cure(call: Prediction) -> str:
    """Return what the rule lacks that there is for a call; "" where there is none."""
    asked = next((step for step in call.asked if step.outcome is RULE and step.rule is not None), None)
    if asked is None:
        return ""
    keywords, rule = lacking_keywords(asked.reason), f"the rule of {call.function.rpartition('.')[2]}"
    if keywords:
        return f"{rule} lacks {keywords}: {asked.rule}"
    return f"{rule} declines some calls: {asked.rule}"


def _name(operation: Overridable) -> str:
    return operation.qualified_name.partition(".")[2]


def _call_without_answer(prediction: Prediction) -> Prediction | None:
    """Return the call of a body that nobody answers, so that the body declines; None where there is none."""
    bodies = [asked for asked in prediction.asked if asked.outcome is Decompose.outcome and asked.verdict == DECLINES]
    calls = [inner for asked in bodies for inner in asked.inner]
    return next((call for call in calls if call.outcome is REFUSED and call.by is None), None)


class _Needs:
    """What operations need in order to keep a type's structure."""

    def __init__(self, survey: Survey, excluded: set[Overridable]) -> None:
        self.survey = survey
        self.excluded = excluded
        self.bodies: dict[Overridable, list[Overridable] | None] = {}
        self.inner: dict[tuple[Overridable, Overridable], list[Prediction]] = {}
        self.decomposes = fallback.decompose in survey.protocol.types.fallback(survey.cls)

    def body(self, operation: Overridable) -> list[Overridable] | None:
        """Return the operations that a body calls and the type lacks; None where there is no decomposition."""
        if operation not in self.bodies:
            self.bodies[operation] = None
            if self.decomposes and operation.decomposition() is not None:
                self.bodies[operation] = self._lacking(operation)
        return self.bodies[operation]

    def _lacking(self, operation: Overridable) -> list[Overridable] | None:
        """Return what a body lacks, each found by supposing that those before it are there."""
        needed: dict[Overridable, None] = {}
        survey = self.survey
        for call in dry_calls(operation):
            failed = None
            if not any(call.form):
                failed = _call_without_answer(survey.sort(call).prediction)
            while failed is not None:
                lacking = survey.protocol.operations[failed.function]
                if lacking is operation or lacking in needed:
                    return None
                needed[lacking] = None
                self.inner.setdefault((operation, lacking), []).append(failed)
                survey = self.survey.supposing(needed)
                failed = _call_without_answer(survey.sort(call).prediction)
        # Where nothing is lacking and the call became dense all the same, it was by its values.
        return list(needed) or None

    def calls(self, target: Overridable, event: Event) -> list[Prediction]:
        """Return the calls that a rule is to answer: that of an event, or those of the body of its operation."""
        if event.operation is not target:
            return self.inner.get((event.operation, target), [])
        if event.arguments is not None:
            return [self.survey.verdict(target, *event.arguments).prediction]
        return [self.survey.sort(call).prediction for call in dry_calls(target)[:1]]

    def held(self, wanted: Iterable[Overridable], written: Collection[Overridable]) -> set[Overridable]:
        """Return the operations that keep the structure once some have a rule."""
        known: dict[Overridable, bool] = {}

        def holds(operation: Overridable) -> bool:
            if operation in written:
                return True
            if operation not in known:
                known[operation] = False
                body = self.body(operation)
                known[operation] = body is not None and all(map(holds, body))
            return known[operation]

        return {operation for operation in wanted if holds(operation)}

    def lacks(self, operation: Overridable, written: Collection[Overridable]) -> set[Overridable]:
        """Return the operations without decomposition that the body of another needs in the end."""
        lacking: set[Overridable] = set()
        reached = [operation]
        for needed in reached:  # which grows
            if needed in written:
                continue
            body = self.body(needed)
            if body is None:
                lacking.add(needed)
            else:
                reached += [inner for inner in body if inner not in reached]
        return lacking

    def pressing(self, left: Sequence[Overridable], written: Collection[Overridable]) -> dict[Overridable, float]:
        """Return for each operation how much of what others lack it is."""
        weights: dict[Overridable, float] = {}
        for operation in left:
            lacking = self.lacks(operation, written) - {operation}
            for needed in lacking:
                weights[needed] = weights.get(needed, 0.0) + 1 / len(lacking)
        return weights
