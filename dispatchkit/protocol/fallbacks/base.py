"""What fallback strategies share."""

from __future__ import annotations

from collections.abc import Callable, Container
from contextvars import ContextVar
from typing import Any, ClassVar, NamedTuple

from dispatchkit.marks import override
from dispatchkit.protocol.blocks import state_variable
from dispatchkit.protocol.outcome import ANSWERS, Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.steps import Step


class Followed(NamedTuple):
    """What comes of an answer, found without calling a function of a user.

    Attributes
    ----------
    result : what it gives, with stand-ins for arrays
    verdict : whether it answers, declines, raises, or depends on values, as `outcome` has these texts
    reason : why it declines, what it raises, or on what its answer depends
    nobody : whether what it raises is that nobody answers
    inner : predictions of the calls that it makes
    """

    result: Any = None
    verdict: str = ANSWERS
    reason: str = ""
    nobody: bool = False
    inner: tuple[Any, ...] = ()


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


# The current decompositions and conversions of this context: one that reaches itself again would never end.
RUNNING: ContextVar[frozenset[tuple[Overridable, Key]]] = state_variable("decompositions", frozenset())


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
    if cls is list:
        return [map_members(member, change) for member in value]
    if cls is dict:
        if value:
            return {name: map_members(member, change) for name, member in value.items()}
        return {}
    if issubclass(cls, tuple):
        members = [map_members(member, change) for member in value]
        if hasattr(cls, "_fields"):
            return cls(*members)
        return tuple(members)
    return change(value)
