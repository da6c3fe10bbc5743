"""What an audit finds: ambiguities, cycles, asymmetries, and handlers that no call reaches."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import Any, TypeAlias

from dispatchkit.protocol.explain.call import predicted_steps
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.naming import ANY, location_of, type_name
from dispatchkit.protocol.outcome import AMBIGUOUS, ANSWERS, DEFAULT, FOREIGN, KIND, METHOD, RULE
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import ArrayParameter, Form
from dispatchkit.protocol.rules import Rule
from dispatchkit.protocol.steps import Step
from dispatchkit.protocol.types.array_types import ArrayTypes
from dispatchkit.protocol.types.declaration import Conversion
from dispatchkit.report.auditing.pairs import SEVERAL, Chains, Decision, key_of
from dispatchkit.report.outcomes import SHOWN

Names: TypeAlias = Mapping[type, str]
# From the worst on; the reports keep the order.
KINDS = {
    "ambiguity": "two rules fit a call equally well: it raises",
    "unreachable": "a handler that no call can reach",
    "cycle": "an order of types that contradicts itself",
    "lossy": "answered by way of a conversion that loses something",
    "missing": "both types have a rule, and together nobody answers",
    "asymmetry": "the order of two arguments decides who answers",
    "shadowed": "a handler that is asked only where another one declines",
}
LIKEWISE = 3  # pairs that a finding names as alike
# What is wrong whatever the types mean; the others may be meant.
FAULTS = ("ambiguity", "unreachable", "cycle")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that an audit found.

    Attributes
    ----------
    kind : one of `KINDS`
    operations : qualified names of the operations it shows in; none for an order of types
    types : names of types, in the order of the arguments, of each combination it shows in
    text : what is found, and what would resolve it
    locations : file and line of the handlers and conversions that it is about
    """

    kind: str
    operations: tuple[str, ...]
    types: tuple[tuple[str, ...], ...]
    text: str
    locations: tuple[str, ...]


def distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the values without repetitions and without empty ones, in their order."""
    return tuple(dict.fromkeys(value for value in values if value))


def _finding(kind: str, decisions: Sequence[Decision], names: Names, text: str, locations: Iterable[str]) -> Finding:
    operations = distinct(decision.operation.qualified_name for decision in decisions)
    types = distinct(tuple(map(names.__getitem__, decision.types)) for decision in decisions)
    return Finding(kind, operations, types, text, distinct(locations))


def ambiguities(decisions: Iterable[Decision], names: Names) -> Iterator[Finding]:
    """Yield each set of equally specific rules that some call meets, with the signature that resolves it."""
    by_rivals: dict[frozenset[int], tuple[Step, list[Decision]]] = {}
    for decision in decisions:
        steps = decision.chain.handlers
        for place, step in enumerate(steps):
            # A more specific rule of the same type resolves it, though it may decline.
            if step.rivals and not any(other.cls is step.cls and other.rule is not None for other in steps[:place]):
                by_rivals.setdefault(frozenset(map(id, step.rivals)), (step, []))[1].append(decision)
    for step, involved in by_rivals.values():
        assert step.error is not None
        text = str(step.error())
        if not any(decision.step is not None and decision.step.source is AMBIGUOUS for decision in involved):
            text += "\nit is met where what is asked before declines"
        yield _finding("ambiguity", involved, names, text, (rule.location for rule in step.rivals))


def cycles(known: ArrayTypes, types: Sequence[type], names: Names) -> Iterator[Finding]:
    """Yield superclasses that are asked before a subclass, by their priority."""
    priority = known.priority
    asked = [cls for cls in types if cls is not known.base and known.participates(cls)]
    for sub, above in permutations(asked, 2):
        if issubclass(sub, above) and priority(above) > priority(sub):
            text = (
                f"{names[above]} (priority {priority(above):g}) is asked before its subclass {names[sub]} (priority "
                f"{priority(sub):g}), though a subclass goes first\ngive {names[sub]} a priority of "
                f"{priority(above):g} or more to resolve it"
            )
            yield Finding("cycle", (), ((names[sub], names[above]),), text, ())


def group_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with those of one shadowed handler, met again through subclasses, as one."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        key: object = finding
        if finding.kind == "shadowed":
            key = (finding.kind, finding.locations[:1])
        groups.setdefault(key, []).append(finding)
    return [_join(group) for group in groups.values()]


def _join(group: Sequence[Finding]) -> Finding:
    first = group[0]
    if len(group) == 1:
        return first
    operations = distinct(name for finding in group for name in finding.operations)
    types = distinct(names for finding in group for names in finding.types)
    pairs = distinct(f"({', '.join(finding.types[0])})" for finding in group[1:])
    text = f"{first.text}\nlikewise {', '.join(pairs[:LIKEWISE])}"
    if len(pairs) > LIKEWISE:
        text += f" and {len(pairs) - LIKEWISE} more"
    return Finding(first.kind, operations, types, text, first.locations)


def missing_pairs(decisions: Iterable[Decision], names: Names) -> Iterator[Finding]:
    """Yield the pairs of types each of which has a rule for an operation, though nobody answers both together."""
    listed = list(decisions)
    alone = {
        (decision.operation, decision.types[0]): decision.step.rule
        for decision in listed
        if decision.types[0] is decision.types[1] and decision.step is not None and decision.step.rule is not None
    }
    lacking: dict[frozenset[type], list[Decision]] = {}
    for decision in listed:
        if decision.step is None and all((decision.operation, cls) in alone for cls in decision.types):
            lacking.setdefault(frozenset(decision.types), []).append(decision)
    for group in lacking.values():
        left, right = group[0].types
        rules = distinct(alone[decision.operation, cls] for decision in group for cls in (left, right))
        text = f"{names[left]} and {names[right]} each have a rule, and nobody answers them together"
        yield _finding("missing", group, names, text, (rule.location for rule in rules if rule is not None))


def asymmetries(decisions: Mapping[tuple[Any, ...], Decision], names: Names) -> Iterator[Finding]:
    """Yield the pairs whose two orders are answered differently, though the two arguments play the same part.

    Parameters
    ----------
    decisions : by call and types; only calls whose arguments are alike
    names : of the types
    """
    pairs: dict[tuple[Any, ...], list[tuple[Decision, Decision]]] = {}
    order = {cls: place for place, cls in enumerate(names)}
    for (call, left, right), decision in decisions.items():
        if order[left] < order[right]:
            other = decisions[call, right, left]
            if not _symmetric(decision, other):
                how = (left, right, _how(decision, names), _how(other, names))
                pairs.setdefault(how, []).append((decision, other))
    # The same handlers, or the same ways where none is behind them, met by several pairs.
    groups: dict[object, list[Finding]] = {}
    for (left, right, first, second), both in pairs.items():
        text = f"({names[left]}, {names[right]}) {first}; ({names[right]}, {names[left]}) {second}"
        steps = [decision.step for two in both for decision in two if decision.step is not None]
        locations = [step.rule.location for step in steps if step.rule is not None]
        finding = _finding("asymmetry", [decision for two in both for decision in two], names, text, locations)
        ways = [_how(decision, {left: "the first", right: "the second"}) for decision in both[0]]
        groups.setdefault(finding.locations or (*ways, finding.operations), []).append(finding)
    yield from map(_join, groups.values())


def _symmetric(one: Decision, other: Decision) -> bool:
    """Return whether two orders are answered alike, or only a call shows it."""
    a, b = one.step, other.step
    if a is None or b is None:
        return a is b
    if {a.source, b.source} & {METHOD, AMBIGUOUS, FOREIGN}:
        return True
    if a.rule is not None and b.rule is not None:
        mirrored = _for_pair(a.rule) and _for_pair(b.rule)
        return mirrored or a.rule.handler is b.rule.handler or (a.cls is b.cls and a.source is b.source)
    return a.source is b.source and (a.cls is b.cls or bool(SHOWN[a.source].for_all))


def _for_pair(rule: Rule) -> bool:
    return not rule.anywhere and rule.demands() > 1


def _how(one: Decision, names: Names) -> str:
    """Return who answers, and how, in words."""
    step = one.step
    if step is None:
        return "is answered by nobody"
    return SHOWN[step.source].for_all or (
        f"is answered by {names.get(step.cls) or step.cls.__name__} ({_WAYS.get(step.source) or one.share})"
    )


_WAYS = {RULE: "a rule", KIND: "a rule for the kind", DEFAULT: "as plain tensors are"}


def _step_with_loss(decision: Decision) -> Step | None:
    """Return what answers a call, or may answer it, if it converts with a loss."""
    if _has_loss(decision.step):
        return decision.step
    if decision.verdict != ANSWERS and _has_loss(decision.otherwise):
        return decision.otherwise
    return None


def _has_loss(step: Step | None) -> bool:
    return step is not None and any(edge.lossy for edge in step.path)


def losses(decisions: Iterable[Decision], names: Names) -> Iterator[Finding]:
    """Yield each path of conversions with a loss that is the answer to some call, with its cost."""
    taken: dict[tuple[Conversion, ...], tuple[Step, list[Decision]]] = {}
    for decision in decisions:
        step = _step_with_loss(decision)
        if step is not None:
            taken.setdefault(step.path, (step, []))[1].append(decision)
    for path, (step, affected) in taken.items():
        lossy = [edge for edge in path if edge.lossy]
        where = " and ".join(f"{edge.function.__name__} at {location_of(edge.function)}" for edge in lossy)
        locations = [location_of(edge.function) for edge in lossy]
        yield _finding("lossy", affected, names, f"{step.text} by {where}", locations)


NONE = type(None)
# Calls that are tried for a rule and an operation; where more would have to be, nothing is said.
TRIED = 10_000
BLOCKERS = 3  # that are named


@dataclass
class _Obstacles:
    """What the calls that a rule fits have shown.

    Attributes
    ----------
    before : the answers that come first, with files and lines of the rules among them, "" for others
    refused : what the handler cannot be given
    raised : answers before it that raise
    tried : whether there was a call at all
    """

    before: dict[str, str] = field(default_factory=dict)
    refused: dict[str, None] = field(default_factory=dict)
    raised: dict[str, None] = field(default_factory=dict)
    tried: bool = False


class Reach:
    """Judges the handlers of some types.

    Parameters
    ----------
    chains : of the protocol
    types : whose handlers are judged; calls are made up of them, plain arrays and what handlers name of numbers
    names : of the types
    """

    def __init__(self, chains: Chains, types: Sequence[type], names: Mapping[type, str]) -> None:
        self.chains = chains
        self.protocol = chains.protocol
        self.names = names
        base = self.protocol.types.base
        if base is None or base in types:
            known = [*types]
        else:
            known = [*types, base]
        self.types = [cls for cls in known if not _is_abstract(cls)]
        self.own = [cls for cls in types if cls is not base and self.protocol.types.participates(cls)]

    def findings(self, operations: Iterable[Overridable]) -> Iterator[Finding]:
        """Yield what is found of the handlers for some operations, and for the kinds that these are of."""
        listed = list(self.protocol.operations.values())
        chosen = list(operations)
        kinds = {kind for operation in chosen for kind in operation.kind.lineage()}
        everywhere = {kind for operation in listed for kind in operation.kind.lineage()}
        for rule in self.protocol.rules():
            target = rule.target
            if not any(rule.serves(self.protocol.types.counts_as(cls)) for cls in self.own):
                continue
            if isinstance(target, Overridable) and target in chosen:
                finding = self._judge(rule, [target])
            elif isinstance(target, Kind) and (target in kinds or target not in everywhere):
                finding = self._judge(rule, [operation for operation in listed if target in operation.kind.lineage()])
            else:
                finding = None
            if finding is not None:
                yield finding

    def _judge(self, rule: Rule, operations: list[Overridable]) -> Finding | None:
        absent = next((cls for cls in rule.types if _is_abstract(cls) and not _concrete(cls)), None)
        if absent is not None:
            return self._finding(rule, operations, f"{type_name(absent)} is abstract, and no class implements it")
        if not operations:
            return self._finding(rule, [], f"no operation is of {rule.target!r}")
        fitting = [operation for operation in operations if rule.anywhere or _count_fits(rule, operation)]
        if not fitting:
            text = f"it names {len(rule.types)} types, and no operation of {rule.target!r} takes so many arrays"
            return self._finding(rule, operations, text)
        obstacles = _Obstacles()
        for operation, call_types, count in self._calls_in_turn(rule, fitting):
            obstacles.tried = True
            if count > TRIED or self._reaches(rule, operation, call_types, obstacles):
                return None
        return self._verdict(rule, operations, obstacles)

    def _verdict(self, rule: Rule, operations: list[Overridable], obstacles: _Obstacles) -> Finding | None:
        if obstacles.before:
            first = " or ".join([*obstacles.before][:BLOCKERS])
            if len(obstacles.before) > BLOCKERS:
                first += f" or, in other calls, one of {len(obstacles.before) - BLOCKERS} more"
            why = f"asked only where {first} declines"
            return self._finding(rule, operations, why, "shadowed", obstacles.before.values())
        if not obstacles.tried:
            return None  # it names types that are not audited
        text = "no call has these types"
        if obstacles.refused:
            text = f"it cannot be called with {', '.join(obstacles.refused)}"
        elif obstacles.raised:
            text = f"what comes before it raises: {'; '.join(obstacles.raised)}"
        elif len(rule.types) > 1 and any(len(operation.parameters.arrays) == 1 for operation in operations):
            text = "the distinct types of several arrays count, each once, so that no call has these"
        return self._finding(rule, operations, text)

    def _finding(
        self,
        rule: Rule,
        operations: list[Overridable],
        why: str,
        kind: str = "unreachable",
        locations: Iterable[str] = (),
    ) -> Finding:
        types = tuple(self.names.get(cls) or type_name(cls) for cls in rule.types)
        named = tuple(operation.qualified_name for operation in operations)
        return Finding(kind, named, (types,), f"{rule}: {why}", distinct([rule.location, *locations]))

    def _reaches(self, rule: Rule, operation: Overridable, given: dict[str, Any], obstacles: _Obstacles) -> bool:
        """Return whether a call with these types gets to a rule before anybody else; note what does first."""
        chain = self.chains(operation, key_of(operation.parameters, given))
        there = any(step.rule is rule or rule in step.rivals for step in chain.handlers)
        for args, kwargs in _forms(rule, operation, given):
            blocker: Step | None = None
            # Fallbacks come after all rules, and take long to make.
            for entry, verdict in predicted_steps(operation, chain.declared, args, kwargs):
                if not entry.answers:
                    continue
                # Members of a handler's unions do not stand in each other's way. An ambiguity is found elsewhere.
                matches = rule in entry.rivals or (
                    entry.rule is not None and entry.rule.registration == rule.registration
                )
                refused = verdict.startswith("passed over")
                if matches and there and not refused:
                    if blocker is None:
                        return True
                    if blocker.rule is None:
                        obstacles.before[blocker.text] = ""
                    else:
                        obstacles.before[blocker.text] = blocker.rule.location
                elif entry.rule is rule:
                    obstacles.refused = obstacles.refused or dict.fromkeys(rule.refusal(args, kwargs))
                if entry.source in (AMBIGUOUS, FOREIGN):
                    obstacles.raised[entry.text] = None
                    break
                if blocker is None and not matches and not refused:
                    blocker = entry
        return False

    def _calls_in_turn(
        self, rule: Rule, operations: list[Overridable]
    ) -> Iterator[tuple[Overridable, dict[str, Any], int]]:
        """Yield operations with the types of calls that a rule fits, the first call of each before the second of any.

        The third of each is which call of its operation it is, from 1.

        A rule for a kind may be asked by few of its operations, and by these whatever the types of the others are.
        """
        waiting = deque((operation, enumerate(self._calls(rule, operation), 1)) for operation in operations)
        while waiting:
            operation, calls = waiting.popleft()
            for count, call_types in calls:
                waiting.append((operation, calls))
                yield operation, call_types, count
                break

    def _calls(self, rule: Rule, operation: Overridable) -> Iterator[dict[str, Any]]:
        """Yield the types of the arrays of calls that a rule fits, by parameter."""
        arrays = operation.parameters.arrays
        named = operation.parameters.signature.parameters
        if not rule.anywhere and len(rule.types) != len(arrays):
            for members in product(*(self._counting_as(wanted) for wanted in rule.types)):
                yield {arrays[0].name: members}
            return
        optional = {p.name: named[p.name].default is not named[p.name].empty for p in arrays}
        if not rule.anywhere:
            choices = [self._types_for(wanted, optional[p.name]) for p, wanted in zip(arrays, rule.types, strict=True)]
            yield from _spread(arrays, choices)
            return
        for place in sorted(arrays, key=lambda p: p.form is Form.INDEX):
            choices = []
            for p in arrays:
                if p is place:
                    choices.append(self._counting_as(rule.types[0]))
                elif optional[p.name] or p.form is Form.STAR:
                    choices.append([NONE])
                else:
                    choices.append([*self.types, float])
            yield from _spread(arrays, choices)

    def _types_for(self, wanted: type, optional: bool) -> list[type]:
        """Return the types that a parameter may be given under a rule, and None where it may be left out."""
        if wanted is ANY:
            choices = self.types
        else:
            choices = self._counting_as(wanted)
        if optional and NONE not in choices:
            return [*choices, NONE]
        return choices

    def _counting_as(self, wanted: type) -> list[type]:
        if wanted is NONE or self.protocol.types.is_raw(wanted):
            return [wanted]
        return [cls for cls in self.types if wanted in self.protocol.types.counts_as(cls)]


def _spread(arrays: Sequence[ArrayParameter], choices: Sequence[Sequence[type]]) -> Iterator[dict[str, Any]]:
    for chosen in product(*choices):
        yield {
            p.name: (cls,) if p.form in SEVERAL else cls
            for p, cls in zip(arrays, chosen, strict=True)
            if cls is not NONE
        }


def _forms(
    rule: Rule, operation: Overridable, given: Mapping[str, Any]
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield the shortest call that gives some arrays, and one with everything else that the handler takes."""
    args, kwargs = operation.parameters.shortest_call(given)
    yield args, kwargs
    takes = rule.takes.parameters
    open_ended = any(p.kind is p.VAR_KEYWORD for p in takes.values())
    passed = list(operation.parameters.signature.parameters.values())
    more = {p.name: p.name for p in passed if p.kind is p.KEYWORD_ONLY and (p.name in takes or open_ended)}
    if more.keys() - kwargs.keys():
        yield args, {**more, **kwargs}
    named = {
        p.name: p.name
        for p in passed[len(args) :]
        if p.kind is p.POSITIONAL_OR_KEYWORD and (p.name in takes or open_ended)
    }
    if named:
        yield args, {**named, **more, **kwargs}
    # By position, too, for a handler that gives these parameters names of its own.
    for count in range(1, 1 + sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in passed[len(args) :])):
        yield (*args, *(p.name for p in passed[len(args) : len(args) + count])), kwargs


def _count_fits(rule: Rule, operation: Overridable) -> bool:
    arrays = operation.parameters.arrays
    return len(rule.types) == len(arrays) or (len(arrays) == 1 and arrays[0].form not in (Form.ONE, Form.INDEX))


def _is_abstract(cls: type) -> bool:
    return inspect.isabstract(cls) or bool(cls.__dict__.get("_is_protocol", False))


def _concrete(cls: type) -> bool:
    """Return whether a subclass of an abstract class has instances."""
    below: list[type] = type.__subclasses__(cls)
    return any(not _is_abstract(sub) or _concrete(sub) for sub in below)
