"""What fallback strategies share."""

from __future__ import annotations

from collections.abc import Container
from contextvars import ContextVar
from typing import Any, ClassVar

from typing_extensions import override

from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.outcome import Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key

__all__ = ["RUNNING", "FallbackStrategy", "replaced"]


class FallbackStrategy:
    """One way to answer for a type that has no rule.

    A module of this package that defines a subclass makes it ``fallback.<name>``; chains, explanations, records,
    audits, coverage and the mypy plugin read all else here.

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
RUNNING: ContextVar[frozenset[tuple[Overridable, Key]]] = ContextVar("dispatchkit.decomposing", default=frozenset())


def replaced(key: Key, classes: Container[type], target: type) -> Key:
    """Return the key of a call in which instances of some types have become of another, each type of several once."""
    return tuple(
        tuple(dict.fromkeys(replaced(entry, classes, target)))
        if isinstance(entry, tuple)
        else (target if entry in classes else entry)
        for entry in key
    )
