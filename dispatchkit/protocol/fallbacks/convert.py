"""`fallback.convert`: the nearest type that has a rule, along declared conversions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from typing_extensions import override

from dispatchkit.errors import AnswerError
from dispatchkit.protocol.chain import Step, decline, rule_steps
from dispatchkit.protocol.fallbacks.base import RUNNING, FallbackStrategy, Followed, Follower, replaced
from dispatchkit.protocol.handlers import function_name, location_of, type_name
from dispatchkit.protocol.outcome import Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.types.records import Conversion
from dispatchkit.wording import with_article


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
                then = replaced(then, {source}, target)
            if not operation.loses_change(key, paths) and _answers(operation, then, target, key):
                call = _converting(operation, key, paths)
                follow = partial(_follow, operation, key, target, paths)
                edges = tuple(edge for path in paths.values() for edge in path)
                return Step(self.outcome, cls, call, _path_text(paths), path=edges, then=then, follow=follow)
        return "no declared conversion leads to a type with a rule"


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


def _converting(operation: Overridable, key: Key, paths: Paths) -> Callable[..., Any]:
    types = operation.types

    def converted(name: str, value: Any) -> Any:
        for edge in paths.get(type(value), ()):
            value = edge.function(value)
            raw = edge.target is types.base and types.wrapped_always(type(value))
            if not (raw or isinstance(value, edge.target)):
                giver = f"the conversion {function_name(edge.function)} at {location_of(edge.function)}"
                result, wanted = (with_article(type_name(cls)) for cls in (type(value), edge.target))
                problem = f"returned {result}, not {wanted}"
                raise AnswerError(operation.qualified_name, giver, problem)
        return value

    def convert_fallback(*args: Any, **kwargs: Any) -> Any:
        running = RUNNING.get()
        if (operation, key) in running:
            return decline("the conversion comes back to where it started")
        args, kwargs = operation.parameters.replace(args, kwargs, converted)
        try:
            RUNNING.set(running | {(operation, key)})
            return operation.function(*args, **kwargs)
        finally:
            RUNNING.set(running)

    return convert_fallback


def _follow(
    operation: Overridable,
    key: Key,
    target: type,
    paths: Paths,
    follower: Follower,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Followed:
    """Follow a call in which the instances of some types were converted."""
    if follower.is_running(operation, key):
        return Followed(declines="the conversion comes back to where it started")

    def converted(name: str, value: Any) -> Any:
        return follower.like(value, (target,)) if follower.type_of(value) in paths else value

    args, kwargs = operation.parameters.replace(args, kwargs, converted)
    return follower.again(operation, args, kwargs, running=key)


def _path_text(paths: Paths) -> str:
    ways = [
        " -> ".join([type_name(path[0].source), *(type_name(edge.target) for edge in path)]) for path in paths.values()
    ]
    edges = [edge for path in paths.values() for edge in path]
    loss = ", with loss" if any(edge.lossy for edge in edges) else ""
    return f"convert: {', '.join(ways)} (cost {sum(edge.cost for edge in edges):g}{loss})"
