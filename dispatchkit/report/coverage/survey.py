"""The dry survey: how the sample calls of each function would end for a type, nothing of the type being called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import Decompose
from dispatchkit.protocol.handlers import ANY, Rule, type_name
from dispatchkit.protocol.outcome import AMBIGUOUS, FOREIGN, INHERITED, RULE, Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key, flatten
from dispatchkit.protocol.registration.annotations import classes_of, resolved_hints
from dispatchkit.report.coverage.dry_run import DryCall, Inner, dry_calls, with_type
from dispatchkit.report.coverage.rows import FAULTS, STRUCTURED, Row, RuleEntry, rank, typical
from dispatchkit.report.operations import Named, declared_operations

__all__ = ["Survey", "Verdict", "family", "outcome_of", "promised_types", "rule_entries"]

# Bucket, the step that decides, a note, and the rules that come to the call.
Verdict: TypeAlias = tuple[str, Step | None, str, tuple[Rule, ...]]
# An operation, the types of its arguments, how many are given by position, and which by name.
Request: TypeAlias = tuple[Overridable, Key, int, tuple[str, ...]]


def outcome_of(step: Step, cls: type) -> Outcome:
    """Return how a step answers for a type: a rule that names a superclass alone is inherited."""
    if step.source is not RULE or (step.rule is not None and cls in step.rule.types):
        return step.source
    return INHERITED


def family(operation: Overridable) -> str:
    """Return the widest kind of an operation but `kinds.all`."""
    return operation.kind.lineage()[-2:][0].name


class Survey:
    """Sorts the sample calls of the operations of a protocol for one type.

    Parameters
    ----------
    protocol : whose operations are sorted
    cls : a type that takes part in it
    closed : functions and kinds under which the author says it is closed, besides those that it declares
    supposed : operations that are taken to have a rule for every call
    """

    def __init__(
        self, protocol: DispatchProtocol, cls: type, closed: Named = (), supposed: Collection[Overridable] = ()
    ) -> None:
        self.protocol = protocol
        self.cls = cls
        self.closed = declared_operations(protocol, cls, "closed", closed)
        self.verdicts: dict[Request, Verdict] = {}
        self.supposed = supposed

    def row(self, operation: Overridable) -> Row:
        """Return the row of an operation."""
        place = (operation.name, operation.namespace, family(operation))
        calls = [(call, self.sort_call(operation, call)) for call in dry_calls(operation)]
        entries = rule_entries(self.protocol, self.cls, operation, [rule for _, one in calls for rule in one[3]])
        if not calls:
            return Row(*place, "no array argument")
        bucket = typical((call.form, not call.keywords, verdict[0]) for call, verdict in calls)
        _, step, note, _ = next(verdict for _, verdict in calls if verdict[0] == bucket)
        location = step.rule.location if step is not None and step.rule is not None else ""
        found = Counter(verdict[0] for _, verdict in sorted(calls, key=lambda one: rank(one[1][0])))
        return Row(*place, bucket, location, note, len(calls), dict(found), entries)

    def sort_call(self, operation: Overridable, call: DryCall) -> Verdict:
        """Return how a sample call of an operation ends."""
        verdict = self.sort(operation, with_type(call.key, self.cls), call.count, call.keywords, call)
        promised = operation in self.closed and not any(call.form)
        if promised and verdict[0] not in FAULTS and not self._keeps(verdict):
            return "plain result", *verdict[1:]
        return verdict

    def _keeps(self, verdict: Verdict) -> bool:
        """Return whether a call gives the type again, as far as annotations say."""
        bucket, step, _, _ = verdict
        if bucket not in STRUCTURED:
            return False
        if step is None or step.rule is None:
            return True
        promised = promised_types(step.rule)
        return not promised or any(issubclass(self.cls, one) or issubclass(one, self.cls) for one in promised)

    def sort(
        self, operation: Overridable, key: Key, count: int, keywords: tuple[str, ...], call: DryCall | None = None
    ) -> Verdict:
        """Return how a call ends; the body is run for `call`, or for the sample call that is most like it."""
        request = (operation, key, count, keywords)
        known = self.verdicts.get(request)
        if known is not None:
            return known
        self.verdicts[request] = ("refused", None, "", ())  # a body that comes back to itself is no help
        found = self.verdicts[request] = self._decide(operation, key, count, keywords, call)
        return found

    def _decide(
        self, operation: Overridable, key: Key, count: int, keywords: tuple[str, ...], call: DryCall | None
    ) -> Verdict:
        if operation in self.supposed:
            return RULE.bucket, None, "", ()
        chain = self.protocol.chain(operation, key)
        others = dict.fromkeys(type_name(cls) for cls in flatten(key) if cls not in (self.cls, type(None)))
        notes = [f"with {', '.join(others)}"] if others and self.cls in flatten(key) else []
        args, kwargs = [None] * count, dict.fromkeys(keywords)
        entered: list[Rule] = []
        for step in chain.steps:
            if step.source in (AMBIGUOUS, FOREIGN):
                return "refused", None, step.text, tuple(entered)
            if step.rule is not None:
                if step.rule.refusal(args, kwargs):
                    continue
                entered.append(step.rule)
            if step.source is Decompose.outcome:
                if not self._decomposes(operation, key, keywords, call):
                    continue
                notes.append("unless a rule on the way declines")
            return outcome_of(step, self.cls).bucket, step, ", ".join(notes), tuple(entered)
        return "refused", None, "; ".join(text for _, text in chain.skipped), tuple(entered)

    def _decomposes(self, operation: Overridable, key: Key, keywords: tuple[str, ...], call: DryCall | None) -> bool:
        """Return whether every call that an operation's body makes keeps the structure."""
        inner = self.inner(operation, key, keywords, call)
        if inner is None:
            return True
        if any(one.operation is operation for one in inner):
            return False
        return all(self.sort_inner(one)[0] in STRUCTURED for one in inner)

    def inner(
        self, operation: Overridable, key: Key, keywords: tuple[str, ...], call: DryCall | None
    ) -> Sequence[Inner] | None:
        """Return the calls that a body makes; None where it cannot be run without values."""
        if call is None:
            alike = [one for one in dry_calls(operation) if with_type(one.key, self.cls) == key]
            call = next((one for one in alike if one.keywords == keywords), next(iter(alike), None))
        if call is None or not call.samples or not hasattr(operation, "decomposed"):
            return None
        return call.inner(operation)

    def sort_inner(self, one: Inner) -> Verdict:
        """Return how a call inside of a body ends."""
        return self.sort(one.operation, with_type(one.key, self.cls), one.count, one.keywords)


def promised_types(rule: Rule) -> tuple[type, ...]:
    """Return the classes that the annotation of a rule's result names; none where there is none to be read."""
    try:
        hint = resolved_hints(rule.handler, skip=()).get("return")
        found = () if hint is None else tuple(classes_of(hint, Form.ONE, rule.location))
    except (RegistrationError, AttributeError):
        return ()
    return () if ANY in found else found


def rule_entries(
    protocol: DispatchProtocol, cls: type, operation: Overridable, entered: Iterable[Rule]
) -> tuple[RuleEntry, ...]:
    """Return all rules that a type has for an operation and its kinds, with how many calls come to each."""
    counted = Counter(map(id, entered))
    references = [*operation.rules, *(ref for kind in operation.kind.lineage() for ref in protocol.handlers.of(kind))]
    found = [rule for ref in references if (rule := ref()) is not None and rule.serves(cls, protocol.types.counts_as)]
    optional = [p for p in operation.parameters.signature.parameters.values() if p.default is not p.empty]
    entries = []
    for rule in found:
        takes = rule.takes.parameters.values()
        names = {p.name for p in takes}
        everything = any(p.kind is p.VAR_KEYWORD for p in takes)
        keywords = tuple(p.name for p in optional if everything or p.name in names)
        result = " or ".join(map(type_name, promised_types(rule)))
        entries.append(RuleEntry(rule.types_text, rule.location, keywords, result, counted[id(rule)]))
    return tuple(entries)
