"""Fallback strategies: what they share, and how they are joined."""

from __future__ import annotations

from collections.abc import Container
from contextvars import ContextVar
from typing import TYPE_CHECKING, ClassVar

from dispatchkit.protocol.chain import Chain, Passed
from dispatchkit.protocol.outcome import Outcome
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.specificity import Step

if TYPE_CHECKING:
    from dispatchkit.protocol.overridable import Overridable

__all__ = ["IMPLIED", "RUNNING", "Fallback", "FallbackStrategy", "replaced"]

# The strategies that every type has, before those that it declares, for the operations that name them.
IMPLIED: list[FallbackStrategy] = []


class Fallback:
    """One or several ways to answer, tried in order; ``a | b`` tries `a`, then `b`.

    >>> from dispatchkit.protocol.fallbacks import fallback
    >>> fallback.decompose | fallback.dense
    fallback.decompose | fallback.dense
    """

    def __init__(self, *parts: FallbackStrategy) -> None:
        self.parts = parts

    def __or__(self, other: Fallback) -> Fallback:
        return Fallback(*self.parts, *(part for part in other.parts if part not in self.parts))

    def __repr__(self) -> str:
        return " | ".join(f"fallback.{part.name}" for part in self.parts)

    def __contains__(self, other: Fallback) -> bool:
        return all(part in self.parts for part in other.parts)

    def extend(self, chain: Chain, key: Key, cls: type, limited: bool) -> None:
        """Add the steps of this fallback to a chain, and to what was passed those that cannot answer.

        Parameters
        ----------
        chain : to extend
        key : types of the call
        cls : the type that declared the fallback
        limited : whether what comes after decomposition is off
        """
        parts = self.parts
        if limited:
            last = next((place for place, part in enumerate(parts) if part.decomposes), -1)
            parts = parts[: last + 1]
        if chain.operation.by_fields is not None:
            parts = (*(part for part in IMPLIED if part not in parts), *parts)
        for part in parts:
            made = part.step(chain.operation, key, cls)
            chain.entries.append(Passed(cls, made) if isinstance(made, str) else made)


class FallbackStrategy:
    """One way to answer for a type that has no rule.

    A module of this package that defines a subclass makes it ``fallback.<name>``; chains, explanations, records,
    audits, coverage and the mypy plugin read all else here.

    Attributes
    ----------
    name : of the strategy
    outcome : what a call that it answers is in records, audits and coverage
    decomposes : whether it computes by further calls, in which the strategies that come after it are off
    """

    name: ClassVar[str]
    outcome: ClassVar[Outcome]
    decomposes: ClassVar[bool] = False

    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        """Return the step for calls of these types, or the reason why it cannot answer them.

        Parameters
        ----------
        operation : that is called
        key : types of its array arguments
        cls : the type that declared the strategy
        """
        raise NotImplementedError


# The decompositions and conversions under way in this context: one that comes back to itself would never end.
RUNNING: ContextVar[frozenset[tuple[Overridable, Key]]] = ContextVar("dispatchkit.decomposing", default=frozenset())


def replaced(key: Key, classes: Container[type], target: type) -> Key:
    """Return the key of a call in which instances of some types have become of another, each type of several once."""
    return tuple(
        tuple(dict.fromkeys(replaced(entry, classes, target)))
        if isinstance(entry, tuple)
        else (target if entry in classes else entry)
        for entry in key
    )
