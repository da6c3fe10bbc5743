"""What an array type declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dispatchkit.protocol.types.fields import FieldRule

__all__ = ["REFUSE", "Declaration", "Fallback"]


@dataclass(frozen=True, slots=True, repr=False)
class Fallback:
    """Names of fallback strategies, tried in order; ``a | b`` tries `a`, then `b`.

    >>> from dispatchkit.protocol.fallbacks import fallback
    >>> fallback.decompose | fallback.dense
    fallback.decompose | fallback.dense
    """

    names: tuple[str, ...]

    def __or__(self, other: Fallback) -> Fallback:
        return Fallback(tuple(dict.fromkeys((*self.names, *other.names))))

    def __repr__(self) -> str:
        return " | ".join(f"fallback.{name}" for name in self.names)

    def __contains__(self, other: Fallback) -> bool:
        return set(self.names).issuperset(other.names)


REFUSE = Fallback(("refuse",))  # of a type that declares none


class Declaration(NamedTuple):
    """What a type declares; what is None is inherited from its superclasses."""

    fallback: Fallback | None = None
    priority: float | None = None
    fields: tuple[str, ...] | Mapping[str, Any] | None = None
    dense: str | Callable[[Any], Any] | None = None
    from_dense: str | Callable[[Any, Any], Any] | None = None
    rules: Mapping[str, FieldRule] | None = None
    closed: tuple[Any, ...] = ()
    impossible: tuple[Any, ...] = ()
