"""Who answers every pair of types, decided once for types that declare the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.types.array_types import DENSE
from dispatchkit.protocol.types.declaration import Declaration
from dispatchkit.report.audit.pairs import Call, Chains, Decision, decided

__all__ = ["decisions"]


def decisions(
    chains: Chains, calls: Sequence[Call], types: Sequence[type], names: Mapping[type, str]
) -> Iterator[Decision]:
    """Yield who answers, for every ordered pair of types and every call of two arrays."""
    base = chains.protocol.types.base
    alike = _Alike(chains, calls, types)
    for left in types:
        for right in types:
            filler = left if base is None else base
            for call in calls:
                found = alike.decision(call, left, right, names)
                if found is None:
                    text = call.text(names[left], names[right], names.get(filler) or type_name(filler))
                    given = call.values(left, right, filler)
                    found = decided(chains, call.operation, (left, right), given, text)
                yield found


class _Alike:
    """Who answers where neither of two types has a rule: the same for all types that declare the same.

    The call is decided once, for two classes that stand for them, whose names are then replaced.
    """

    def __init__(self, chains: Chains, calls: Sequence[Call], types: Sequence[type]) -> None:
        self.chains = chains
        self.protocol = protocol = chains.protocol
        operations = {call.operation for call in calls}
        self.profiles = {cls: self._profile(cls) for cls in types}
        self.ruled: dict[type, set[Overridable]] = {cls: set() for cls in types}
        # Types with rules of any sort: what their bodies call may come to one.
        self.with_rules: set[type] = set()
        for rule in [*protocol.operations.rules(), *protocol.handlers.of_kinds()]:
            target = rule.target
            own = {target} if isinstance(target, Overridable) else {o for o in operations if target in o.kind.lineage()}
            for cls, ruled in self.ruled.items():
                if rule.serves(cls, protocol.types.counts_as):
                    ruled |= own
                    self.with_rules.add(cls)
        self.stand_ins: dict[Any, type] = {}
        self.decided: dict[Any, Decision] = {}

    def _profile(self, cls: type) -> Any:
        """Return all that decides who answers for a type without rules; None where more than its declaration does."""
        types = self.protocol.types
        plain = types.base is None or issubclass(cls, types.base) or types.wrapped_always(cls)
        if plain or not types.participates(cls) or not types.is_generated(cls):
            return None
        if any(self.protocol.conversions.reachable(cls)):
            return None
        parts = types.fallback(cls).names
        fields = types.field_names(cls) if fallback.rewrap in types.fallback(cls) else ()
        return parts, types.priority(cls), types.to_dense(cls) is None, fields

    def _stand_in(self, cls: type, name: str) -> type:
        """Return the class that stands for all types that declare what one does."""
        profile = self.profiles[cls]
        made = self.stand_ins.get((profile, name))
        if made is None:
            _, priority, bare, fields = profile
            declared = self.protocol.types.fallback(cls)
            made = type(name, (), {} if bare else {DENSE: lambda self: self})
            # The declaration is kept on the class, and goes with it.
            self.protocol.types.records.declare(made, Declaration(declared, priority, fields))
            self.stand_ins[profile, name] = made
        return made

    def decision(self, call: Call, left: type, right: type, names: Mapping[type, str]) -> Decision | None:
        """Return who answers a call; None where the types themselves have to be asked."""
        operation = call.operation
        profiles = self.profiles[left], self.profiles[right]
        related = left is not right and (issubclass(left, right) or issubclass(right, left))
        if None in profiles or related or operation in self.ruled[left] or operation in self.ruled[right]:
            return None
        key = (call, *profiles, left is right)
        template = self.decided.get(key)
        one = self._stand_in(left, LEFT)
        other = one if left is right else self._stand_in(right, RIGHT)
        base = self.protocol.types.base
        assert base is not None
        follows = (
            self.chains.follows
            and operation.decomposition() is not None
            and not self.with_rules.isdisjoint((left, right))
        )
        if follows and any(fallback.decompose in self.protocol.types.fallback(cls) for cls in (left, right)):
            return None
        if template is None:
            text = call.text(LEFT, LEFT if left is right else RIGHT, names.get(base) or type_name(base))
            given = call.values(one, other, base)
            template = self.decided[key] = decided(self.chains, operation, (one, other), given, text)
        classes = {one: left, other: right}
        words = {LEFT: names[left], RIGHT: names[right]}
        steps = [
            None if step is None else _step_of(step, classes.get(step.cls, step.cls), _named_as(step.text, words))
            for step in (template.step, template.otherwise)
        ]
        return Decision(
            operation,
            (left, right),
            template.chain,
            steps[0],
            template.verdict,
            steps[1],
            _named_as(template.call, words),
            _named_as(template.reason, words),
        )


def _step_of(step: Step, cls: type, text: str) -> Step:
    return Step(step.source, cls, step.call, text, step.rule, step.error, step.rivals, step.path, step.then)


# Names of the classes that stand for two types; no class has such a name.
LEFT, RIGHT = "<first>", "<second>"


def _named_as(text: str, words: Mapping[str, str]) -> str:
    return text.replace(LEFT, words[LEFT]).replace(RIGHT, words[RIGHT])
