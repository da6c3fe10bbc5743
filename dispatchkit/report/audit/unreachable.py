"""Handlers that no call reaches, and those that are only asked where another one declines."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.explain import predicted_steps
from dispatchkit.protocol.handlers import ANY, Rule, type_name
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.outcome import AMBIGUOUS, FOREIGN
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import ArrayParameter, Form
from dispatchkit.report.audit.findings import Finding, distinct
from dispatchkit.report.audit.pairs import SEVERAL, Chains, arguments, key_of

__all__ = ["Reach"]

NONE = type(None)
# Combinations of types that are tried for a rule and an operation; where more would have to be, nothing is said.
TRIED = 10_000
BLOCKERS = 3  # that are named


@dataclass
class _Met:
    """What the calls that a rule fits have shown.

    Attributes
    ----------
    before : the answers that come first
    locations : files and lines of the rules among them
    refused : what the handler cannot be given
    raised : answers before it that raise
    tried : whether there was a call at all
    """

    before: dict[str, None] = field(default_factory=dict)
    locations: dict[str, None] = field(default_factory=dict)
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
        known = [*types] if base is None or base in types else [*types, base]
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
                found = self._judged(rule, [target])
            elif isinstance(target, Kind) and (target in kinds or target not in everywhere):
                found = self._judged(rule, [one for one in listed if target in one.kind.lineage()])
            else:
                found = None
            if found is not None:
                yield found

    def _judged(self, rule: Rule, operations: list[Overridable]) -> Finding | None:
        absent = next((cls for cls in rule.types if _is_abstract(cls) and not _concrete(cls)), None)
        if absent is not None:
            return self._unreachable(rule, operations, f"{type_name(absent)} is abstract, and no class implements it")
        if not operations:
            return self._unreachable(rule, [], f"no operation is of {rule.target!r}")
        fitting = [one for one in operations if rule.anywhere or _count_fits(rule, one)]
        if not fitting:
            text = f"it names {len(rule.types)} types, and no operation of {rule.target!r} takes so many arrays"
            return self._unreachable(rule, operations, text)
        met = _Met()
        for operation in fitting:
            for count, given in enumerate(self._calls(rule, operation)):
                met.tried = True
                if count == TRIED or self._reaches(rule, operation, given, met):
                    return None
        return self._verdict(rule, operations, met)

    def _verdict(self, rule: Rule, operations: list[Overridable], met: _Met) -> Finding | None:
        if met.before:
            first = " or ".join([*met.before][:BLOCKERS])
            if len(met.before) > BLOCKERS:
                first += f" or, in other calls, one of {len(met.before) - BLOCKERS} more"
            text = f"{rule}: asked only where {first} declines"
            return self._finding("shadowed", rule, operations, text, met.locations)
        if met.refused:
            return self._unreachable(rule, operations, f"it cannot be called with {', '.join(met.refused)}")
        if met.raised:
            return self._unreachable(rule, operations, f"what comes before it raises: {'; '.join(met.raised)}")
        if not met.tried:
            return None  # it names types that are not audited
        several = len(rule.types) > 1 and any(len(one.parameters.arrays) == 1 for one in operations)
        text = "no call has these types"
        if several:
            text = "the distinct types of several arrays count, each once, so that no call has these"
        return self._unreachable(rule, operations, text)

    def _unreachable(self, rule: Rule, operations: list[Overridable], why: str) -> Finding:
        return self._finding("unreachable", rule, operations, f"{rule}: {why}", ())

    def _finding(
        self, kind: str, rule: Rule, operations: list[Overridable], text: str, locations: Iterable[str]
    ) -> Finding:
        types = tuple(self.names.get(cls) or type_name(cls) for cls in rule.types)
        named = tuple(operation.qualified_name for operation in operations)
        return Finding(kind, named, (types,), text, distinct([rule.location, *locations]))

    def _reaches(self, rule: Rule, operation: Overridable, given: dict[str, Any], met: _Met) -> bool:
        """Return whether a call with these types gets to a rule before anybody else; note what does first."""
        chain = self.chains(operation, key_of(operation.parameters, given))
        there = any(step.rule is rule or rule in step.rivals for step in chain.handlers)
        for args, kwargs in _forms(rule, operation, given):
            blocker: Step | None = None
            for entry, verdict in predicted_steps(chain, args, kwargs):
                if not isinstance(entry, Step):
                    continue
                # Members of a handler's unions do not stand in each other's way. An ambiguity is found elsewhere.
                own = rule in entry.rivals or (entry.rule is not None and entry.rule.registration == rule.registration)
                refused = verdict.startswith("passed over")
                if own and there and not refused:
                    if blocker is None:
                        return True
                    self._note(blocker, met)
                elif entry.rule is rule:
                    met.refused = met.refused or dict.fromkeys(rule.refusal(args, kwargs))
                if entry.source in (AMBIGUOUS, FOREIGN):
                    met.raised[entry.text] = None
                    break
                if blocker is None and not own and not refused:
                    blocker = entry
        return False

    def _note(self, blocker: Step, met: _Met) -> None:
        met.before[blocker.text] = None
        if blocker.rule is not None:
            met.locations[blocker.rule.location] = None

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
            choices = [self._given(wanted, optional[p.name]) for p, wanted in zip(arrays, rule.types, strict=True)]
            yield from _spread(arrays, choices)
            return
        for own in sorted(arrays, key=lambda p: p.form is Form.INDEX):
            choices = []
            for p in arrays:
                if p is own:
                    choices.append(self._counting_as(rule.types[0]))
                elif optional[p.name] or p.form is Form.STAR:
                    choices.append([NONE])
                else:
                    choices.append([*self.types, float])
            yield from _spread(arrays, choices)

    def _given(self, wanted: type, optional: bool) -> list[type]:
        """Return the types that a parameter may be given under a rule, and None where it may be left out."""
        found = self.types if wanted is ANY else self._counting_as(wanted)
        return [*found, NONE] if optional and NONE not in found else found

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
    args, kwargs = arguments(operation.parameters, given)
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
