"""`fallback.convert`: the nearest type that has a rule, along declared conversions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from typing_extensions import override

from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.fallbacks.base import RUNNING, FallbackStrategy, Followed, Follower, replaced
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.outcome import Colours, Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.specificity import rule_steps
from dispatchkit.protocol.types.conversions import Conversion

__all__ = ["LOSSY", "Convert"]

# A path of conversions of which one loses something.
LOSSY = Outcome(
    order=90,
    meaning="by a declared conversion that loses something",
    share="lossy",
    colours=Colours("#ffc9e6", "#e85aad", "#5e103e", "#bf4b8a"),
)


class Convert(FallbackStrategy):
    """Convert to the nearest type that has a rule, along declared conversions."""

    name = "convert"
    outcome = Outcome(
        order=80,
        meaning="by a declared conversion",
        how="convert",
        share="convert",
        bucket="converted",
        letter="v",
        colours=Colours("#e2e5a9", "#a8ad3a", "#3a3d0b", "#8f9430"),
    )

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        if operation.loses_change(key, {cls}):
            return f"{operation.name} would change what it converts to, and the change be lost"
        for _, target, path in operation.protocol.conversions.reachable(cls):
            then = replaced(key, {cls}, target)
            if _answers(operation, then, target):
                call = _converting(operation, key, cls, path)
                follow = partial(_follow, operation, key, cls, target)
                return Step(self.outcome, cls, call, _path_text(path), path=path, then=then, follow=follow)
        return "no declared conversion leads to a type with a rule"


def _answers(operation: Overridable, key: Key, target: type) -> bool:
    types = operation.types
    left = types.participating(key)
    if target is types.base or not left:
        return all(types.takes_default(cls) for cls in left)
    own_method = types.own_method(target) is not None and not types.is_generated(target)
    return own_method or bool(rule_steps(operation, key, target)) or types.takes_default(target)


def _converting(operation: Overridable, key: Key, cls: type, path: tuple[Conversion, ...]) -> Callable[..., Any]:
    def converted(name: str, value: Any) -> Any:
        if type(value) is cls:
            for edge in path:
                value = edge.function(value)
        return value

    def convert_fallback(*args: Any, **kwargs: Any) -> Any:
        running = RUNNING.get()
        if (operation, key) in running:
            return decline("the conversion comes back to where it started")
        args, kwargs = operation.parameters.replace(args, kwargs, converted)
        token = RUNNING.set(running | {(operation, key)})
        try:
            return operation.function(*args, **kwargs)
        finally:
            RUNNING.reset(token)

    return convert_fallback


def _follow(
    operation: Overridable,
    key: Key,
    cls: type,
    target: type,
    follower: Follower,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Followed:
    """Follow a call in which the instances of a type were converted."""
    if follower.is_running(operation, key):
        return Followed(declines="the conversion comes back to where it started")

    def converted(name: str, value: Any) -> Any:
        return follower.like(value, (target,)) if follower.type_of(value) is cls else value

    args, kwargs = operation.parameters.replace(args, kwargs, converted)
    return follower.again(operation, args, kwargs, running=key)


def _path_text(path: tuple[Conversion, ...]) -> str:
    names = [type_name(path[0].source), *(type_name(edge.target) for edge in path)]
    loss = ", with loss" if any(edge.lossy for edge in path) else ""
    return f"convert: {' -> '.join(names)} (cost {sum(edge.cost for edge in path):g}{loss})"
