"""What fallback strategies share."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, ClassVar, TypeAlias

from dispatchkit.marks import override
from dispatchkit.protocol.fallbacks.execution import ACTUAL, Execution
from dispatchkit.protocol.outcome import Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.steps import Step
from dispatchkit.protocol.types.declaration import Conversion

# Says how a fallback answers a call, by the methods of what carries it out.
Execute: TypeAlias = Callable[[Execution, tuple[Any, ...], dict[str, Any]], Any]


class FallbackStrategy:
    """One way to answer for a type that has no rule.

    A subclass in `strategies` is ``fallback.<name>``; chains, explanations, records, audits, coverage and the mypy
    plugin read all else here.

    Attributes
    ----------
    named : all strategies by name
    name : of the strategy
    outcome : what a call that it answers is in records, audits and coverage
    decomposes : whether it computes by further calls, in which the strategies that come after it are off
    implied : whether every type has it, before the strategies that it declares
    """

    named: ClassVar[dict[str, FallbackStrategy]] = {}
    name: ClassVar[str]
    outcome: ClassVar[Outcome]
    decomposes: ClassVar[bool] = False
    implied: ClassVar[bool] = False

    @override
    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.named[cls.name] = cls()

    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        """Return the step for calls of these types, or the reason why it cannot answer them.

        Parameters
        ----------
        operation : that is called
        key : types of its array arguments
        cls : the type that declared the strategy
        """
        raise NotImplementedError

    def executed_step(
        self, cls: type, execute: Execute, text: str, path: tuple[Conversion, ...] = (), then: Key | None = None
    ) -> Step:
        """Return a step that answers by further calls, and that predictions follow.

        Parameters
        ----------
        cls : the type that gives it
        execute : says how it answers, by the methods of an `Execution` alone
        text : its description
        path : the conversions that it makes, in order
        then : types of the call that it makes itself
        """

        def call(*args: Any, **kwargs: Any) -> Any:
            return execute(ACTUAL, args, kwargs)

        return Step(self.outcome, cls, call, text, path=path, then=then, execute=execute)


def replace_types(key: Key, classes: Container[type], target: type) -> Key:
    """Return the key of a call in which instances of some types have become of another, each type of several once."""
    replaced: list[Any] = []
    for entry in key:
        if isinstance(entry, tuple):
            replaced.append(tuple(dict.fromkeys(replace_types(entry, classes, target))))
        elif entry in classes:
            replaced.append(target)
        else:
            replaced.append(entry)
    return tuple(replaced)


def map_members(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with `change` made to it, of a list, tuple or dictionary to each member."""
    cls = type(value)
    if cls is tuple:
        return tuple([map_members(member, change) for member in value])
    if cls is list:
        return [map_members(member, change) for member in value]
    if cls is dict:
        return {name: map_members(member, change) for name, member in value.items()}
    if issubclass(cls, tuple):
        members = [map_members(member, change) for member in value]
        if hasattr(cls, "_fields"):
            return cls(*members)
        return tuple(members)
    return change(value)
