"""The adviser: which rules to write next, by what a program did or by what a type lacks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeAlias

from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import Decompose, fallback
from dispatchkit.protocol.fallbacks.strategies import Dense
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.outcome import DECLINES, REFUSED, RULE
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key, Layout, flatten
from dispatchkit.protocol.prediction import Prediction
from dispatchkit.protocol.prediction.stand_in import FollowedCall, stand_ins_in
from dispatchkit.protocol.registration.decorators import make_rules
from dispatchkit.protocol.rules import Rule
from dispatchkit.protocol.stubs import stub_for
from dispatchkit.report.covering.rows import STRUCTURED
from dispatchkit.report.covering.survey import Survey, dry_calls
from dispatchkit.report.documents import format_time, short_location, wrap_last, wrapped_names
from dispatchkit.report.operations import Named, declared_operations
from dispatchkit.testing.calls import Arguments
from dispatchkit.wording import format_bytes, plural

# What a rule can be written for.
Target: TypeAlias = "Overridable | Kind"
# Of which one rule can answer all operations in the same way.
KINDS = (kinds.elementwise, kinds.reduction)
KEYWORD = re.compile(r"the keyword '(\w+)'")  # as rules say what they cannot be called with
FURTHER = "found by a trial: each rule stands and gives what its stub says, and the recorded calls are predicted anew"
TRIED = 6  # rules of which the best is taken, where their promises do not decide
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
    number : by which it is known again in a trial
    """

    operation: Overridable
    arguments: Arguments | None = None
    nbytes: int = 0
    nanoseconds: int = 0
    line: str = ""
    number: int = 0


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
    new_calls, new_nbytes : calls that become dense only then, since an array that they are given keeps its structure
    new : names of their operations
    left, left_nbytes : all calls that then become dense, and what they make dense
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
    new_calls: int = 0
    new_nbytes: int = 0
    new: tuple[str, ...] = ()
    left: int = 0
    left_nbytes: int = 0


@dataclass(frozen=True)
class Advice:
    """Rules to write, the most useful first; prints as a list.

    Attributes
    ----------
    type : name of the type
    suggestions : each chosen as if those before it were written
    events, nbytes : calls that do not keep the structure now, and what they make dense
    note : what else is to be said
    """

    type: str
    suggestions: tuple[Suggestion, ...]
    events: int = 0
    note: str = ""
    nbytes: int = 0

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
            dense = f"{self.events} {plural('call', self.events)} became dense"
            share = f", of which {dense} ({format_bytes(self.nbytes)})"
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
            if suggestion.new_calls:
                lines += wrap_last("     ", _forecast(suggestion), 100, hanging=0)
            if suggestion.lines:
                lines.append(f"     called from {', '.join(map(short_location, suggestion.lines[:LINES]))}")
            lines += [f"     {line}" for line in suggestion.cure.splitlines()]
            lines += [f"       {line}" for line in suggestion.stub.splitlines()]
        if not self.suggestions:
            lines.append("  nothing to add: no call became dense, or none of these can keep the structure")
        if recorded:
            last = self.suggestions[-1]
            calls = f"{last.left} {plural('call', last.left)}"
            lines.append(f"  with all of these {calls} become dense ({format_bytes(last.left_nbytes)})")
        if self.note:
            lines.append(f"  {self.note}")
        return "\n".join(lines)

    __repr__ = __str__


def _saving(suggestion: Suggestion) -> str:
    if not suggestion.lines:
        return ""
    calls = f"{suggestion.calls} {plural('call', suggestion.calls)}"
    time = format_time(suggestion.nanoseconds)
    return f": {calls}, {format_bytes(suggestion.nbytes)} and {time} that are spent dense now"


def _forecast(suggestion: Suggestion) -> str:
    """Return in words which calls become dense only once a rule is there."""
    count = suggestion.new_calls
    dense = f"{count} further {plural('call', count)} ({format_bytes(suggestion.new_nbytes)})"
    return f"then what it gives makes {dense} become dense: {', '.join(suggestion.new)}"


def decomposes(survey: Survey) -> bool:
    """Return whether the type of a survey computes functions by their bodies."""
    return fallback.decompose in survey.protocol.types.fallback(survey.cls)


def lacking_events(survey: Survey) -> list[Event]:
    """Return, inside `measuring`, an event for each operation whose calls on a type alone lose its structure."""
    events = []
    for number, operation in enumerate(survey.protocol.operations.values()):
        if survey.row(operation).bucket not in (*STRUCTURED, "no array argument"):
            events.append(Event(operation, number=number))
    return events


def advise(
    survey: Survey,
    events_of: Callable[[Survey], list[Event]],
    n: int,
    *,
    impossible: Named = (),
    with_kinds: bool = False,
) -> Advice:
    """Return the rules that help the most calls, greedily; made inside `measuring`.

    Parameters
    ----------
    survey : of the type
    events_of : gives the calls that a rule could help, of a survey in a trial of further rules those that then are left
    n : how many rules at most
    impossible : functions and kinds that cannot keep the structure, besides those that the type declares
    with_kinds : whether one rule for all operations of a kind may be suggested

    Notes
    -----
    A rule helps the calls of its operations, and those of operations whose bodies make only calls that then keep the
    structure. The next to write is the one that helps the most; among equals the one that most of what is left needs,
    each call counted by the share of what it lacks. This is the greedy heuristic for maximum coverage. Which rules are
    worth a trial is estimated; what is said of a rule is what its trial shows.
    """
    excluded = declared_operations(survey.protocol, survey.cls, "impossible", impossible)
    needs = _Needs(survey, excluded)
    events = events_of(survey)
    first, current = events, survey
    done: set[Overridable] = set()
    suggestions: list[Suggestion] = []
    while len(suggestions) < n:
        left = [event for event in events if event.operation not in excluded]
        best = _best_trial(needs, current, left, events_of, done, with_kinds)
        if best is None:
            break
        current, events = best.survey, best.events
        done |= set(best.answered)
        suggestions.append(_suggestion(needs, best))
    note = ""
    if any(suggestion.lines for suggestion in suggestions):
        note = FURTHER
    if suggestions and not decomposes(survey):
        note = f"{type_name(survey.cls)} does not decompose: with fallback.decompose a rule helps more functions"
    nbytes = sum(event.nbytes for event in first)
    return Advice(type_name(survey.cls), tuple(suggestions), len(first), note, nbytes)


@dataclass(frozen=True)
class _Trial:
    """What came of the trial of a rule.

    Attributes
    ----------
    target, answered : what the rule is for, and the operations that it answers
    stub, cure : the rule to write, or what the one that is there lacks
    survey : in which it stands
    events : the calls that then are left
    gained, new : those that the rule helps, and those that were none before
    pressing : how much it is what others lack
    """

    target: Target
    answered: Sequence[Overridable]
    stub: str
    cure: str
    survey: Survey
    events: list[Event]
    gained: Sequence[Event]
    new: Sequence[Event]
    pressing: float

    @property
    def worth(self) -> tuple[float, ...]:
        """What decides which rule goes first: calls, bytes, calls of its operations, and what others lack."""
        return _worth(self.gained, self.target, self.answered, self.pressing)


def _best_trial(
    needs: _Needs,
    current: Survey,
    left: Sequence[Event],
    events_of: Callable[[Survey], list[Event]],
    done: set[Overridable],
    with_kinds: bool,
) -> _Trial | None:
    """Try rules, the most promising first, until no other promises more than the best has shown; None if none helps."""
    wanted = list(dict.fromkeys(event.operation for event in left))
    pressing = needs.pressing(wanted, done)
    promised = []
    for target, answered in _targets(needs, wanted, done, with_kinds).items():
        held = needs.held(wanted, done | set(answered))
        helped = [event for event in left if event.operation in held]
        needed = sum(pressing.get(operation, 0.0) for operation in answered)
        promised.append((_worth(helped, target, answered, needed), target, answered, helped, needed))
    promised.sort(key=lambda entry: entry[0], reverse=True)
    best: _Trial | None = None
    for tried, (worth, target, answered, helped, needed) in enumerate(promised):
        if best is not None and (best.worth >= worth or tried >= TRIED):
            break
        stub, cure, rules = _rule_to_try(needs, target, helped, left)
        if not rules:
            continue
        survey = current.trying(rules)
        events = events_of(survey)
        numbers, before = {event.number for event in events}, {event.number for event in left}
        gained = [event for event in left if event.number not in numbers]
        new = [event for event in events if event.number not in before and event.operation not in needs.excluded]
        trial = _Trial(target, answered, stub, cure, survey, events, gained, new, needed)
        if gained and (best is None or trial.worth > best.worth):
            best = trial
    return best


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


def _worth(helped: Sequence[Event], target: Target, own: Sequence[Overridable], needed: float) -> tuple[float, ...]:
    """Return what decides which rule goes first: calls, bytes, calls of its operations, and what others lack.

    Among those that help as many calls, creation functions come last: few want `asarray` to keep a structure.
    """
    direct = sum(event.operation in own for event in helped)
    nbytes = sum(event.nbytes for event in helped)
    creates = isinstance(target, Overridable) and kinds.creation in target.kind.lineage()
    return len(helped), not creates, nbytes, direct, needed, isinstance(target, Overridable)


def _rule_to_try(
    needs: _Needs, target: Target, helped: Sequence[Event], left: Sequence[Event]
) -> tuple[str, str, list[Rule]]:
    """Return a rule as it is to be written, what one that is there lacks, and both as rules for a trial.

    Nothing is tried for a kind that has the very rule: which of its operations that does not answer is seen one by one.
    """
    survey, cls = needs.survey, needs.survey.cls
    if not survey.protocol.types.participates(cls):  # any longer
        return "", "", []
    if isinstance(target, Kind):
        result = cls.__name__
        base = survey.protocol.types.base
        if base is not None and kinds.reduction in target.lineage():
            result = f"{result} | dk.{base.__name__}"
        name = f"{target.name}_{cls.__name__.lower()}"
        signature = f"op, x: {cls.__name__}, /, *args, **kwargs"
        stub = f"@dk.implements(dk.{target!r})\ndef {name}({signature}) -> {result}:\n    ..."
        rules = rules_of_stub(survey.protocol, target, stub, (cls,))
        if any(survey.protocol.handlers.replaced_by(rule) for rule in rules):
            return "", "", []
        return stub, "", rules
    calls = [call for event in helped for call in needs.calls(target, event)]
    calls = calls or [call for event in left for call in needs.calls(target, event)]
    calls = calls or needs.calls(target, Event(target))
    stubs: dict[str, None] = {}
    cures: dict[str, None] = {}
    rules = []
    by_key: dict[Key, list[Needed]] = {}
    for call in calls:
        by_key.setdefault(call.prediction.key, []).append(call)
    for key, alike in by_key.items():
        stub = stub_for(target, key, _result_of(survey, target, alike))
        written = rules_of_stub(survey.protocol, target, stub, flatten(key)) if stub else []
        rules += written
        there = dict.fromkeys(filter(None, (_cure(call.prediction) for call in alike)))
        if not there:
            standing = filter(None, map(survey.protocol.handlers.replaced_by, written))
            there = dict.fromkeys(f"the rule of {target.name} does not answer these calls: {rule}" for rule in standing)
        if there:
            cures |= there
        elif stub:
            stubs[stub] = None
    return "\n\n".join(stubs), "\n".join(cures), rules


def _result_of(survey: Survey, operation: Overridable, calls: Sequence[Needed]) -> str:
    """Return what a rule for some calls is annotated to return: the type, where a number comes of arrays a plain array.

    It is "" where a result is no array, and no list or tuple of arrays.
    """
    base, names = survey.protocol.types.base, dict[str, None]()
    for call in calls:
        if call.arguments is None:
            layout: Any = Layout()
        else:
            layout = survey.memory.layouts(FollowedCall(operation, *call.arguments))
        if not isinstance(layout, Layout):
            several: dict[type, str] = {
                list: f"list[{survey.cls.__name__}]",
                tuple: f"tuple[{survey.cls.__name__}, ...]",
            }
            if type(layout) not in several or not all(isinstance(member, Layout) for member in layout):
                return ""
            names[several[type(layout)]] = None
            continue
        given = [each._layout.shape for each in stand_ins_in(call.arguments)]
        is_number = layout.shape == () and any(shape != () for shape in given)
        if is_number and base is not None:
            names[f"dk.{base.__name__}"] = None
        else:
            names[survey.cls.__name__] = None
    return " | ".join(sorted(names, key=lambda name: name.startswith("dk.")))


def rules_of_stub(protocol: DispatchProtocol, target: Target, stub: str, classes: Iterable[Any]) -> list[Rule]:
    """Return what a stub would be registered as, for a trial: the very text that is to be pasted.

    Parameters
    ----------
    protocol, target : of the rule, and what it is for
    stub : the text
    classes : the types that it may name
    """
    names: dict[str, Any] = {cls.__name__: cls for cls in classes if protocol.types.participates(cls)}
    if protocol.types.base is not None:
        names["dk"] = SimpleNamespace(**{protocol.types.base.__name__: protocol.types.base})
    before = set(names)
    exec(stub.partition("\n")[2], names)  # noqa: S102  # of names that signatures hold
    (handler,) = (value for name, value in names.items() if name not in before and name != "__builtins__")
    rules = make_rules(protocol.types, target, handler, ())
    for rule in rules:
        rule.registration = rules[0].registration
    return rules


def _suggestion(needs: _Needs, trial: _Trial) -> Suggestion:
    gained, target, answered = trial.gained, trial.target, trial.answered
    names = dict.fromkeys(_name(event.operation) for event in gained if event.operation not in answered)
    lines = Counter(event.line for event in gained if event.line)
    if isinstance(target, Kind):
        name, bucket = repr(target), ""
    else:
        name, bucket = _name(target), Dense.outcome.name
        if not any(event.operation is target and event.arguments is not None for event in gained):
            bucket = needs.survey.row(target).bucket
    return Suggestion(
        name,
        bucket,
        tuple(map(_name, answered)),
        tuple(names),
        len(gained),
        sum(event.nbytes for event in gained),
        sum(event.nanoseconds for event in gained),
        tuple(line for line, _ in lines.most_common()),
        trial.stub,
        trial.cure,
        len(trial.new),
        sum(event.nbytes for event in trial.new),
        tuple(dict.fromkeys(_name(event.operation) for event in trial.new)),
        len(trial.events),
        sum(event.nbytes for event in trial.events),
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


@dataclass(frozen=True, slots=True)
class Needed:
    """A call that a rule is to answer.

    Attributes
    ----------
    prediction : of it
    arguments : its own, with stand-ins in the place of arrays; None where they are not known
    """

    prediction: Prediction
    arguments: Arguments | None = None


class _Needs:
    """What operations need in order to keep a type's structure."""

    def __init__(self, survey: Survey, excluded: set[Overridable]) -> None:
        self.survey = survey
        self.excluded = excluded
        self.bodies: dict[Overridable, list[Overridable] | None] = {}
        self.inner: dict[tuple[Overridable, Overridable], list[Prediction]] = {}
        self.decomposes = decomposes(survey)

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

    def calls(self, target: Overridable, event: Event) -> list[Needed]:
        """Return the calls that a rule is to answer: that of an event, or those of the body of its operation."""
        if event.operation is not target:
            self.body(event.operation)
            return list(map(Needed, self.inner.get((event.operation, target), [])))
        if event.arguments is not None:
            return [Needed(self.survey.verdict(target, *event.arguments).prediction, event.arguments)]
        calls = dry_calls(target)
        alone = [call for call in calls if not any(call.form)] or calls[:1]
        key = self.survey.sort(alone[0]).prediction.key
        return [
            Needed(self.survey.sort(call).prediction, arguments)
            for call in alone
            if self.survey.sort(call).prediction.key == key
            for arguments in call.filled(self.survey.cls)
        ]

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
