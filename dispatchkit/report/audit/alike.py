"""Who answers every pair of types, decided once for types that declare the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dispatchkit.errors import RegistrationError
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
    alike = _Alike(chains, types)
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
    """Who answers where no call comes to a rule of two types: the same for all types that declare the same.

    The call is decided once, for two classes that stand for them, whose names are then replaced.
    """

    def __init__(self, chains: Chains, types: Sequence[type]) -> None:
        self.chains = chains
        self.protocol = protocol = chains.protocol
        self.profiles = {cls: self._profile(cls) for cls in types}
        everything = list(protocol.operations.values())
        self.ruled: dict[type, set[str]] = {cls: set() for cls in types}
        for rule in protocol.rules():
            target = rule.target
            own = [target] if isinstance(target, Overridable) else [o for o in everything if target in o.kind.lineage()]
            for cls, ruled in self.ruled.items():
                if rule.serves(protocol.types.counts_as(cls)):
                    ruled.update(operation.qualified_name for operation in own)
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
        fields = self._fields(cls)
        # Whether a body is answered field by field depends on there being fields, an unwrapping on their names.
        known = fields if fallback.rewrap in types.fallback(cls) else ("field",) if fields else ()
        return parts, types.priority(cls), types.to_dense(cls) is None, known

    def _fields(self, cls: type) -> tuple[str, ...]:
        try:
            return self.protocol.types.field_names(cls)
        except RegistrationError:
            return ()

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
        name = operation.qualified_name
        if (
            None in profiles
            or related
            or operation.by_fields is not None
            or name in self.ruled[left]
            or name in self.ruled[right]
        ):
            return None
        key = (call, *profiles, left is right)
        template = self.decided.get(key)
        one = self._stand_in(left, LEFT)
        other = one if left is right else self._stand_in(right, RIGHT)
        base = self.protocol.types.base
        assert base is not None
        if template is None:
            text = call.text(LEFT, LEFT if left is right else RIGHT, names.get(base) or type_name(base))
            given = call.values(one, other, base)
            template = self.decided[key] = decided(self.chains, operation, (one, other), given, text)
        if not (template.calls.isdisjoint(self.ruled[left]) and template.calls.isdisjoint(self.ruled[right])):
            return None  # what a body calls comes to a rule
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
