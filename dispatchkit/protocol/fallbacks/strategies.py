"""The fallback strategies of the library: refuse, dense, rewrap, decompose, each_field and convert."""

from __future__ import annotations

import itertools
from collections.abc import Container, Sequence
from typing import Any, TypeAlias

from dispatchkit.errors import RegistrationError
from dispatchkit.marks import override
from dispatchkit.protocol.fallbacks.base import Execute, FallbackStrategy, replace_types
from dispatchkit.protocol.fallbacks.execution import Execution, WrapperFields
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.outcome import Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key, flatten
from dispatchkit.protocol.ranking import rule_steps
from dispatchkit.protocol.steps import Step
from dispatchkit.protocol.types.array_types import undeclared_fields
from dispatchkit.protocol.types.declaration import Conversion


class Refuse(FallbackStrategy):
    """Answer nothing."""

    name = "refuse"

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        return "its fallback is to refuse"


class Dense(FallbackStrategy):
    """Make plain arrays of every argument whose type allows it, and call again."""

    name = "dense"
    outcome = Outcome("dense", "by becoming dense")

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        types = operation.types
        if types.to_dense(cls) is None:
            return "cannot become dense: it has no to_dense()"
        makers = {
            other: maker
            for other in flatten(key)
            if (other is cls or self.name in types.fallback(other).names)
            and (maker := types.to_dense(other)) is not None
            and other is not types.base
        }
        if operation.loses_change(key, makers):
            return f"{operation.name} would change a dense copy, and the change be lost"

        skipped: list[str] = []

        def why_skipped() -> str:
            """Return why nothing else of the type answers, once the chain is there."""
            if not skipped and (known := operation.chains.get(key)) is not None:
                skipped.append("; ".join(step.text for step in known.skipped if step.cls is cls))
            return "".join(skipped)

        def execute(execution: Execution, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            def as_dense(name: str, value: Any) -> Any:
                maker = makers.get(execution.type_of(value))
                if maker is None:
                    return value
                return execution.dense_copy(operation, value, maker, why_skipped)

            args, kwargs = operation.parameters.replace(args, kwargs, as_dense)
            return execution.call(operation, args, kwargs)

        names = ", ".join(map(type_name, makers))
        return self.executed_step(
            cls, execute, f"dense: to_dense() of {names}", then=_plain_key(operation, key, makers)
        )


class Rewrap(FallbackStrategy):
    """Compute on the first field and put the result in its place."""

    name = "rewrap"
    outcome = Outcome("rewrap", "on its first field, rebuilt with the others", structured=True)

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        types = operation.types
        names = types.field_names(cls)
        if not names and types.declared_value(cls, "fields") is None:
            raise undeclared_fields(cls)
        if not names:
            return "cannot be rewrapped: it has no fields"
        wrapper = WrapperFields(types, cls, names)

        def execute(execution: Execution, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            values = operation.parameters.values(args, kwargs)
            sources = [value for _, value in values if execution.type_of(value) is cls]
            fields = {id(source): execution.field(operation, source, wrapper) for source in sources}

            def first_field(name: str, value: Any) -> Any:
                return fields.get(id(value), value)

            inner = execution.type_of(first_field("", sources[0]))
            rebuild = execution.rebuilding(operation, sources, inner, args, kwargs, wrapper)
            args, kwargs = operation.parameters.replace(args, kwargs, first_field)
            return rebuild(execution.call(operation, args, kwargs))

        then = _plain_key(operation, key, {cls})
        return self.executed_step(cls, execute, f"rewrap: on field '{names[0]}'", then=then)


def _plain_key(operation: Overridable, key: Key, classes: Container[type]) -> Key | None:
    """Return the key of a call with plain arrays in the place of some types; None in a protocol that knows none."""
    base = operation.types.base
    if base is None:
        return None
    return replace_types(key, classes, base)


class Decompose(FallbackStrategy):
    """Run the operation's body, whose inner calls reach the types again."""

    name = "decompose"
    outcome = Outcome("decompose", "by running the operation's body on it", structured=True)
    decomposes = True

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        body = operation.decomposition()
        if body is None:
            return f"{operation.name} does not decompose: its body is one call"

        def execute(execution: Execution, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return execution.body(operation, key, body, args, kwargs)

        return self.executed_step(cls, execute, f"decompose: the body of {operation.name}")


class EachField(FallbackStrategy):
    """Compute an operation that says how on the fields; every type has this strategy, before those it declares."""

    name = "each_field"
    implied = True
    outcome = Outcome("each_field", "on each of its fields", structured=True)

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        by_fields = operation.by_fields
        if by_fields is None:
            return f"{operation.name} is not computed on each field alone"
        answers = {"dense", "rewrap"}.intersection(operation.types.fallback(cls).names)
        if not operation.by_fields_always and not answers:
            return f"{operation.name} may need more than its fields, and dense or rewrap is not declared"
        try:
            names = operation.types.field_names(cls)
        except RegistrationError:
            names = ()
        if not names:
            return "has no fields that are known"

        return Step(self.outcome, cls, by_fields, f"each field: {operation.name} of {', '.join(names)}")


class Convert(FallbackStrategy):
    """Convert to the nearest type that has a rule, along declared conversions."""

    name = "convert"
    outcome = Outcome("convert", "by a declared conversion")

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        if operation.loses_change(key, {cls}):
            return f"{operation.name} would change what it converts to, and the change be lost"
        types = operation.types
        present = types.participating(key)
        others = [other for other in present if other is not cls and self.name in types.fallback(other).names]
        for target, paths in _plans(operation, [cls, *others]):
            then = key
            for source in paths:
                then = replace_types(then, {source}, target)
            if not operation.loses_change(key, paths) and _answers(operation, then, target, key):
                execute = _converting(operation, key, target, paths)
                edges = tuple(edge for path in paths.values() for edge in path)
                return self.executed_step(cls, execute, _path_text(paths), path=edges, then=then)
        return "no declared conversion leads to a type with a rule"


COMES_BACK = "the conversion comes back to where it started"
# The conversions of each type that is converted.
Paths: TypeAlias = "dict[type, tuple[Conversion, ...]]"


def _plans(operation: Overridable, classes: Sequence[type]) -> list[tuple[type, Paths]]:
    """Return what types can be converted to, each alone or several to one type, the cheapest first."""
    reachable = {
        cls: {target: (cost, path) for cost, target, path in operation.protocol.conversions.reachable(cls)}
        for cls in classes
    }
    plans: list[tuple[float, type, Paths]] = [
        (cost, target, {cls: path}) for cls, targets in reachable.items() for target, (cost, path) in targets.items()
    ]
    for target in dict.fromkeys([*classes, *(target for targets in reachable.values() for target in targets)]):
        joining = {cls: paths[target] for cls, paths in reachable.items() if cls is not target and target in paths}
        if len(joining) > 1:
            total = sum(cost for cost, _ in joining.values())
            plans.append((total, target, {cls: path for cls, (_, path) in joining.items()}))
    plans.sort(key=lambda plan: plan[0])
    return [(target, paths) for _, target, paths in plans]


def _answers(operation: Overridable, key: Key, target: type, before: Key) -> bool:
    """Return whether a type answers calls of these types, by another rule than declined those of the types before."""
    types = operation.types
    left = types.participating(key)
    if target is types.base or not left:
        return all(types.takes_default(cls) for cls in left)
    own_method = types.own_method(target) is not None and not types.is_generated(target)
    if own_method or types.takes_default(target):
        return True
    rules = {id(step.rule) for step in rule_steps(operation, key, target)}
    declined = (id(step.rule) for cls in types.participating(before) for step in rule_steps(operation, before, cls))
    return bool(rules) and not rules.issubset(declined)


def _converting(operation: Overridable, key: Key, target: type, paths: Paths) -> Execute:
    """Return what answers a call by conversions of some types."""

    def execute(execution: Execution, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        def convert(name: str, value: Any) -> Any:
            path = paths.get(execution.type_of(value))
            if path is None:
                return value
            return execution.converted(operation, value, path, target)

        def call_converted() -> Any:
            return execution.call(operation, *operation.parameters.replace(args, kwargs, convert))

        return execution.once(operation, key, COMES_BACK, call_converted)

    return execute


def _path_text(paths: Paths) -> str:
    ways = []
    for path in paths.values():
        names = [type_name(edge.target) for edge in path]
        ways.append(" -> ".join([type_name(path[0].source), *names]))
    edges = list(itertools.chain(*paths.values()))
    loss = ""
    if any(edge.lossy for edge in edges):
        loss = ", with loss"
    return f"convert: {', '.join(ways)} (cost {sum(edge.cost for edge in edges):g}{loss})"
