"""The dry survey: what is predicted of the sample calls of each function with a type, nothing of it being called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.handlers import Rule, type_name
from dispatchkit.protocol.outcome import INHERITED, RULE, UNDECIDED, Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import flatten
from dispatchkit.protocol.prediction import Asked, Memory, Prediction
from dispatchkit.protocol.prediction.declining import promise_of
from dispatchkit.protocol.prediction.tree import DEPENDS, PASSED_OVER
from dispatchkit.report.coverage.dry_run import DryCall, dry_calls
from dispatchkit.report.coverage.rows import FAULTS, Row, RuleEntry, rank, typical
from dispatchkit.report.operations import Named, declared_operations

__all__ = ["Survey", "Verdict", "family", "outcome_of", "rule_entries"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a sample call ends.

    Attributes
    ----------
    bucket : of coverage
    prediction : that says so
    """

    bucket: str
    prediction: Prediction

    @property
    def entered(self) -> tuple[Rule, ...]:
        """The rules that come to the call."""
        found = self.prediction
        asked = found.asked if found.by is None else found.asked[: found.asked.index(found.by) + 1]
        return tuple(one.rule for one in asked if one.rule is not None and one.verdict != PASSED_OVER)

    @property
    def note(self) -> str:
        """What else is to be said: other types in the call, why nobody answers, on what it depends."""
        found = self.prediction
        if self.bucket == "refused":
            return found.error if found.by is not None else "; ".join(one.reason or one.what for one in found.asked)
        return found.depends_on_values if self.bucket == UNDECIDED.bucket else ""


def outcome_of(answer: Step | Asked, cls: type) -> Outcome:
    """Return how an answer comes about for a type: a rule that names a superclass alone is inherited."""
    outcome = answer.source if isinstance(answer, Step) else answer.outcome
    assert outcome is not None
    return INHERITED if outcome is RULE and (answer.rule is None or cls not in answer.rule.types) else outcome


def family(operation: Overridable) -> str:
    """Return the widest kind of an operation but `kinds.all`."""
    return operation.kind.lineage()[-2:][0].name


class Survey:
    """Sorts the sample calls of the operations of a protocol for one type, by what is predicted of them.

    Parameters
    ----------
    protocol : whose operations are sorted
    cls : a type that takes part in it
    closed : functions and kinds under which the author says it is closed, besides those that it declares
    memory : of the predictions, for several types together
    """

    def __init__(self, protocol: DispatchProtocol, cls: type, closed: Named = (), memory: Memory | None = None) -> None:
        self.protocol = protocol
        self.cls = cls
        self.closed = declared_operations(protocol, cls, "closed", closed)
        self.memory = Memory() if memory is None else memory
        self.verdicts: dict[DryCall, Verdict] = {}

    def supposing(self, operations: Iterable[Overridable]) -> Survey:
        """Return the same survey with operations that are taken to have a rule for every call with the type."""
        supposed = dict.fromkeys(operations, self.cls)
        other = Survey(self.protocol, self.cls, memory=self.memory.supposing(supposed))
        names = {one.qualified_name for one in supposed}
        for call, verdict in self.verdicts.items():
            if names.isdisjoint(inner.function for _, inner in verdict.prediction.walk()):
                other.verdicts[call] = verdict
        return other

    def row(self, operation: Overridable) -> Row:
        """Return the row of an operation; made inside `measuring`."""
        place = (operation.name, operation.namespace, family(operation))
        calls = [(call, self.sort(call)) for call in dry_calls(operation)]
        entries = rule_entries(self.protocol, self.cls, operation, [rule for _, one in calls for rule in one.entered])
        if not calls:
            return Row(*place, "no array argument")
        bucket = typical((call.form, not call.keywords, verdict.bucket) for call, verdict in calls)
        deciding = next(verdict for _, verdict in calls if verdict.bucket == bucket)
        others = dict.fromkeys(
            type_name(cls) for cls in flatten(deciding.prediction.key) if cls not in (self.cls, type(None))
        )
        notes = [f"with {', '.join(others)}"] if others and self.cls in flatten(deciding.prediction.key) else []
        notes += [deciding.note] if deciding.note else []
        by = deciding.prediction.by
        found = Counter(verdict.bucket for _, verdict in sorted(calls, key=lambda one: rank(one[1].bucket)))
        return Row(
            *place, bucket, "" if by is None else by.location, ", ".join(notes), len(calls), dict(found), entries
        )

    def sort(self, call: DryCall) -> Verdict:
        """Return how a sample call ends, inside `measuring`; of several samples the one that ends worst."""
        found = self.verdicts.get(call)
        if found is None:
            each = [Verdict(self._bucket(call, one), one) for one in call.predicted(self.cls, self.memory)]
            found = self.verdicts[call] = max(each, key=lambda one: rank(one.bucket))
        return found

    def _bucket(self, call: DryCall, found: Prediction) -> str:
        by = found.by
        if by is None or found.error:
            bucket = "refused"
        elif by.verdict == DEPENDS:
            bucket = UNDECIDED.bucket
        else:
            bucket = outcome_of(by, self.cls).bucket
        promised = call.operation in self.closed and not any(call.form)
        if promised and bucket not in FAULTS and not self._keeps(bucket, found):
            return "plain result"
        return bucket

    def _keeps(self, bucket: str, found: Prediction) -> bool:
        """Return whether a call gives the type again, as far as is known."""
        known = [cls for cls in found.results if self.protocol.types.participates(cls)]
        related = any(issubclass(self.cls, one) or issubclass(one, self.cls) for one in known)
        return bucket != "refused" and (not found.results or related)


def rule_entries(
    protocol: DispatchProtocol, cls: type, operation: Overridable, entered: Iterable[Rule]
) -> tuple[RuleEntry, ...]:
    """Return all rules that a type has for an operation and its kinds, with how many calls come to each."""
    counted = Counter(map(id, entered))
    found = [rule for rule in operation.rules_for_calls() if rule.serves(protocol.types.counts_as(cls))]
    optional = [p for p in operation.parameters.signature.parameters.values() if p.default is not p.empty]
    entries = []
    for rule in found:
        takes = rule.takes.parameters.values()
        names = {p.name for p in takes}
        everything = any(p.kind is p.VAR_KEYWORD for p in takes)
        keywords = tuple(p.name for p in optional if everything or p.name in names)
        result = " or ".join(map(type_name, promise_of(rule.handler).classes))
        entries.append(RuleEntry(rule.types_text, rule.location, keywords, result, counted[id(rule)]))
    return tuple(entries)
