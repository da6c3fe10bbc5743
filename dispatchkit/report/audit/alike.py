"""Who answers every pair of types, decided once for types that declare the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.parameters import Key, flatten
from dispatchkit.protocol.specificity import has_rule
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
    """Who answers where no call comes to a rule of a type: the same for all types that declare the same.

    The call is decided once, for classes that stand for such types, whose names are then replaced.
    """

    def __init__(self, chains: Chains, types: Sequence[type]) -> None:
        self.chains = chains
        self.protocol = chains.protocol
        self.profiles = {cls: self._profile(cls) for cls in types}
        self.operations = {one.qualified_name: one for one in self.protocol.operations.values()}
        # The operations for which a type, or one that it is converted to, has a rule.
        self.converted = {cls: set(self._ruled(self._targets(cls))) for cls in types}
        self.ruled = {cls: self.converted[cls].union(self._ruled([cls])) for cls in types}
        self.fitting: dict[tuple[str, Key, type], bool] = {}
        self.stand_ins: dict[Any, type] = {}
        self.decided: dict[Any, Decision | None] = {}

    def _profile(self, cls: type) -> Any:
        """Return all that decides who answers for a type without rules; None where more than its declaration does."""
        types = self.protocol.types
        plain = types.base is None or issubclass(cls, types.base) or types.wrapped_always(cls)
        if plain or not types.participates(cls) or not types.is_generated(cls):
            return None
        if any(types.takes_default(one) or not types.is_generated(one) for one in self._targets(cls)):
            return None
        parts = types.fallback(cls).names
        fields = self._fields(cls)
        # Whether a body is answered field by field depends on there being fields, an unwrapping on their names.
        known = fields if fallback.rewrap in types.fallback(cls) else ("field",) if fields else ()
        return parts, types.priority(cls), types.to_dense(cls) is None, known

    def _targets(self, cls: type) -> list[type]:
        """Return the types that the fallback of a type may convert to."""
        if fallback.convert not in self.protocol.types.fallback(cls):
            return []
        return [target for _, target, _ in self.protocol.conversions.reachable(cls)]

    def _ruled(self, classes: Sequence[type]) -> Iterator[str]:
        """Yield the names of the operations for which one of some types has a rule, its own or its kind's."""
        counted = [self.protocol.types.counts_as(cls) for cls in classes]
        for name, operation in self.operations.items():
            if any(rule.serves(one) for rule in operation.rules_for_calls() for one in counted):
                yield name

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
        related = left is not right and (issubclass(left, right) or issubclass(right, left))
        if related or call.operation.by_fields is not None:
            return None
        themselves = {cls for cls in (left, right) if self.profiles[cls] is None}
        while not themselves.issuperset((left, right)):
            one = left if left in themselves else self._stand_in(left, LEFT)
            other = one if left is right else right if right in themselves else self._stand_in(right, RIGHT)
            template = self._template(call, one, other, names)
            if template is None:
                return None
            classes = {made: cls for made, cls in ((one, left), (other, right)) if made is not cls}
            met = [cls for cls in classes.values() if self._is_asked(cls, template, (left, right), classes)]
            if not met:
                return _for_types(template, left, right, classes, names)
            themselves.update(met)
        return None

    def _template(self, call: Call, one: type, other: type, names: Mapping[type, str]) -> Decision | None:
        """Return who answers a call for all types that two classes stand for."""
        key = (call, one, other)
        if key not in self.decided:
            base = self.protocol.types.base
            assert base is not None
            shown = [names.get(cls) or type_name(cls) for cls in (one, other, base)]
            given = call.values(one, other, base)
            found = decided(self.chains, call.operation, (one, other), given, call.text(*shown))
            # An ambiguity names the types of the call.
            self.decided[key] = None if any(step.rivals for step in found.chain.handlers) else found
        return self.decided[key]

    def _is_asked(self, cls: type, template: Decision, types: Sequence[type], classes: Mapping[type, type]) -> bool:
        """Return whether one of the calls on the way may come to a rule of a type that a class stands for."""
        ruled = self.ruled[cls]
        for name, key in template.calls:
            if name in ruled:
                converted = any(name in self.converted[one] for one in types)
                if key is None or converted or self._fits(name, _with(key, classes), cls):
                    return True
        return False

    def _fits(self, name: str, key: Key, cls: type) -> bool:
        """Return whether a type has a rule for calls with these types."""
        asked = (name, key, cls)
        if asked not in self.fitting:
            operation = self.operations[name]
            self.fitting[asked] = cls in flatten(key) and has_rule(operation, key, cls)
        return self.fitting[asked]


def _with(key: Key, classes: Mapping[type, type]) -> Key:
    """Return the types of a call with types in the place of the classes that stand for them."""
    return tuple(_with(one, classes) if isinstance(one, tuple) else classes.get(one, one) for one in key)


def _for_types(
    template: Decision, left: type, right: type, classes: Mapping[type, type], names: Mapping[type, str]
) -> Decision:
    """Return who answers a call of two types, from who answers that of the classes that stand for them."""
    words = {made.__name__: type_name(cls) for made, cls in classes.items()}
    steps = [
        None if step is None else _step_of(step, classes.get(step.cls, step.cls), _named_as(step.text, words))
        for step in (template.step, template.otherwise)
    ]
    return Decision(
        template.operation,
        (left, right),
        template.chain,
        steps[0],
        template.verdict,
        steps[1],
        _named_as(template.call, {made.__name__: names[cls] for made, cls in classes.items()}),
        _named_as(template.reason, words),
    )


def _step_of(step: Step, cls: type, text: str) -> Step:
    return Step(step.source, cls, step.call, text, step.rule, step.error, step.rivals, step.path, step.then)


# Names of the classes that stand for two types; no class has such a name.
LEFT, RIGHT = "<first>", "<second>"


def _named_as(text: str, words: Mapping[str, str]) -> str:
    for made, name in words.items():
        text = text.replace(made, name)
    return text
