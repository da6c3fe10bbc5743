"""The dry survey: how each function would answer for a type, from the registry and the bodies alone."""

from __future__ import annotations

from typing import Any

from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.protocol.chain import Chain, Step
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import Decompose
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.outcome import AMBIGUOUS, FOREIGN, INHERITED, RULE, Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key, flatten
from dispatchkit.report.coverage.dry_run import inner_calls
from dispatchkit.report.coverage.rows import BUCKETS, STRUCTURED, Row

__all__ = ["Survey", "outcome_of"]


def outcome_of(step: Step, cls: type) -> Outcome:
    """Return how a step answers for a type: a rule that names a superclass alone is inherited."""
    if step.source is not RULE or (step.rule is not None and cls in step.rule.types):
        return step.source
    return INHERITED


class Survey:
    """Sorts the operations of a protocol for one type.

    Parameters
    ----------
    protocol : whose operations are sorted
    cls : a type that takes part in it
    """

    def __init__(self, protocol: DispatchProtocol, cls: type) -> None:
        self.protocol = protocol
        self.cls = cls
        self.rank = {bucket: place for place, bucket in enumerate(BUCKETS)}
        self.calls: dict[tuple[Overridable, Key], tuple[str, Step | None, str]] = {}

    def row(self, operation: Overridable) -> Row:
        """Return the row of an operation."""
        bucket, step, note = self.sort(operation)
        location = step.rule.location if step is not None and step.rule is not None else ""
        return Row(operation.name, operation.namespace, operation.kind.family.name, bucket, location, note)

    def sort(self, operation: Overridable) -> tuple[str, Step | None, str]:
        """Return bucket, deciding step and note of an operation."""
        found = [self.sort_key(operation, key) for key in self.keys(operation)]
        return min(found, key=lambda one: self.rank[one[0]], default=("no array argument", None, ""))

    def keys(self, operation: Overridable) -> list[Key]:
        """Return the types of the calls to try: the type alone, then among plain tensors and numbers."""
        arrays = [p for p in operation.parameters.arrays if p.form is not Form.INDEX]
        if not arrays:
            return []
        base = self.protocol.types.base
        alone = self._key(operation, {p.name for p in arrays}, self.cls)
        if len(arrays) == 1 or base is None:
            return [alone]
        return [alone, *(self._key(operation, {p.name}, other) for other in (base, float, int) for p in arrays)]

    def _key(self, operation: Overridable, own: set[str], other: type) -> Key:
        entries: list[Any] = []
        for p in operation.parameters.arrays:
            cls = self.cls if p.name in own else other
            if p.form is Form.INDEX:
                entries.append((int,))
            else:
                entries.append((cls,) if p.form in (Form.SEQUENCE, Form.STAR) else cls)
        return tuple(entries)

    def sort_key(self, operation: Overridable, key: Key) -> tuple[str, Step | None, str]:
        """Return bucket, deciding step and note of calls with arguments of these types."""
        known = self.calls.get((operation, key))
        if known is None:
            self.calls[operation, key] = ("refused", None, "")  # a body that comes back to itself is no help
            known = self.calls[operation, key] = self._decide(operation, key)
        return known

    def _decide(self, operation: Overridable, key: Key) -> tuple[str, Step | None, str]:
        chain = self.protocol.chain(operation, key)
        others = [type_name(cls) for cls in flatten(key) if cls not in (self.cls, int, type(None))]
        notes = [f"with {', '.join(others)}"] if others else []
        for step in chain.steps:
            if step.source in (AMBIGUOUS, FOREIGN):
                return "refused", None, step.text
            if step.rule is not None and step.rule.refusal(_shortest_call(operation), {}):
                continue
            if step.rule is not None and not step.rule.takes_everything(operation.parameters):
                notes.append("not with every argument")
            if step.source is Decompose.outcome:
                if not self._decomposes(operation):
                    continue
                notes.append("unless a rule on the way declines")
            return outcome_of(step, self.cls).bucket, step, ", ".join(notes)
        return "refused", None, _reason(chain)

    def _decomposes(self, operation: Overridable) -> bool:
        """Return whether every call that an operation's body makes keeps the structure."""
        if not isinstance(operation, DeclaredOperation):
            return True
        calls = inner_calls(operation, self.cls)
        if any(inner is operation for inner, _ in calls):
            return False
        return all(self.sort_key(inner, key)[0] in STRUCTURED for inner, key in calls)


def _shortest_call(operation: Overridable) -> list[None]:
    """Return as many arguments as a call must have by position."""
    parameters = operation.parameters.signature.parameters.values()
    return [None for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _reason(chain: Chain) -> str:
    return "; ".join(text for _, text in chain.skipped)
