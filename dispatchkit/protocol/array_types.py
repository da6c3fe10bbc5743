"""What a protocol knows of types: who takes part, who merely mixes, and what each counts as."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from dispatchkit.protocol.fallbacks import Fallback, fallback
from dispatchkit.protocol.handlers import WIDENING
from dispatchkit.protocol.parameters import Key, flatten
from dispatchkit.protocol.type_registry import RESULTS, Records

__all__ = ["Population"]


class Population:
    """The types of a protocol.

    Attributes
    ----------
    method : name of the method by which types take part
    records : what each type has declared
    base : the plain array type, asked last; None where the protocol has none
    wrap : makes an instance of the base type of a raw array or scalar
    advice : what messages tell people who pass something that is no array
    """

    def __init__(self, method: str) -> None:
        self.method = method
        self.records = Records(method)
        self.base: type | None = None
        self.wrap: Callable[..., Any] = _same
        self.advice = ""
        self._arrays: tuple[type, ...] = ()
        self._companions: tuple[type, ...] = (int, float, complex)

    def set_base(
        self,
        base: type,
        arrays: tuple[type, ...],
        scalars: tuple[type, ...],
        wrap: Callable[..., Any],
        advice: str,
    ) -> None:
        """Name the plain array type: the last that is asked, and the default of its subclasses.

        Parameters
        ----------
        base : the class
        arrays : raw array types that count as the base type and reach handlers wrapped
        scalars : further scalar types that mix with arrays
        wrap : makes an instance of the base type of a raw array or scalar; of a Python number with the arrays that it
            is promoted with as a second argument
        advice : what messages tell people who pass something else
        """
        self.base, self.wrap, self.advice = base, wrap, advice
        self._arrays = arrays
        self._companions = (*self._companions, *arrays, *scalars)

    def mixing(self, classes: tuple[type, ...]) -> None:
        """Add raw array types that count as the base type and reach handlers wrapped."""
        new = tuple(cls for cls in classes if cls not in self._arrays)
        self._arrays, self._companions = (*self._arrays, *new), (*self._companions, *new)

    def participating(self, key: Key) -> tuple[type, ...]:
        """Return the distinct types of a key that take part in the protocol."""
        return tuple(cls for cls in flatten(key) if self.records.participates(cls))

    def is_companion(self, cls: type) -> bool:
        """Return whether values of a type mix with arrays without taking part: scalars and raw arrays."""
        return issubclass(cls, self._companions) and not self.records.participates(cls)

    def admits(self, cls: type) -> bool:
        """Return whether an array argument may be of this type."""
        return self.is_companion(cls) or self.records.participates(cls)

    def is_stranger(self, cls: type) -> bool:
        """Return whether values of this type are neither arrays nor mix with them."""
        return not self.admits(cls)

    def leaves(self, cls: type, method: str) -> bool:
        """Return whether an operator leaves values of a type to Python, which asks their method next.

        None has none but for comparisons, and is a mistake of which the operation can say more.
        """
        return self.is_stranger(cls) and (cls is not type(None) or hasattr(cls, method))

    def wrapped_always(self, cls: type) -> bool:
        """Return whether values of a type reach handlers as instances of the base type."""
        return self.is_companion(cls) and issubclass(cls, self._arrays) and not issubclass(cls, (int, float, complex))

    def counts_as(self, cls: type) -> tuple[type, ...]:
        """Return what a value of a type counts as in signatures, the nearest first."""
        if not self.is_companion(cls):
            return cls.__mro__
        own = cls.__mro__[:-1]
        wider = [w for abstract, wide in WIDENING.items() if issubclass(cls, abstract) for w in wide if w not in own]
        base = () if self.base is None else (self.base,)
        return (*own, *dict.fromkeys(wider), *base, object)

    def priority(self, cls: type) -> float:
        """Return the declared priority of a type, 0 where none is declared."""
        declared: float | None = self.records.declared(cls, "priority")
        return 0 if declared is None else declared

    def fallback(self, cls: type) -> Fallback:
        """Return the declared fallback of a type, `refuse` where none is declared."""
        declared: Fallback | None = self.records.declared(cls, "fallback")
        return fallback.refuse if declared is None else declared

    def takes_default(self, cls: type) -> bool:
        """Return whether a type is computed as the base type is."""
        return self.base is not None and issubclass(cls, self.base)

    def is_plain(self, cls: type) -> bool:
        """Return whether the dense form of an array may be of this type."""
        if self.base is None:
            return cls is not type(None)
        return self.takes_default(cls) or self.is_companion(cls)

    def results_of(self, cls: type) -> type:
        """Return the class of what is computed with a type by default: itself, unless it names another."""
        named: type | None = getattr(cls, RESULTS, None)
        return cls if named is None else named

    def map_arrays(self, value: Any, change: Callable[[Any], Any], *also: type) -> Any:
        """Return a result with `change` made to each array in it; tuples keep their type."""
        if isinstance(value, (tuple, list)):
            members = [self.map_arrays(member, change, *also) for member in value]
            return type(value)(*members) if hasattr(value, "_fields") else type(value)(members)
        plain = self.base is None and isinstance(value, numbers.Number)
        if plain or isinstance(value, also) or self.records.participates(type(value)):
            return change(value)
        return value


def _same(value: Any, beside: Any = ()) -> Any:
    return value
