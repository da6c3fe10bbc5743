"""What predictions share that are made one after another: chains, layouts, and what was found of equal calls."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.fallbacks.base import map_members
from dispatchkit.protocol.layout import Layout
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.prediction.mistakes import mistake_in
from dispatchkit.protocol.prediction.stand_in import StandIn
from dispatchkit.protocol.prediction.tree import Prediction
from dispatchkit.protocol.resolution import build_chain

__all__ = ["Mark", "Memory"]

# A decomposition or conversion that is under way.
Mark: TypeAlias = "tuple[Overridable, Key]"
# Whose values are compared by what they print, since -0.0 == 0.0.
NUMBERS = (float, complex)
ATOMS = (int, bool, str, bytes, type(None), type(Ellipsis))


class Memory:
    """Keeps what is found of calls, for the predictions of one report.

    They are of calls outside of modes, made while nothing is registered and the budget of `densify` stays as it is.

    Parameters
    ----------
    supposed : operations that are taken to have a rule for every call with an array of a type, which gives that type
    """

    def __init__(self, supposed: Mapping[Overridable, type] | None = None) -> None:
        self.supposed = dict(supposed or {})
        self._chains: dict[Hashable, Chain] = {}
        self._calls: dict[Hashable, tuple[frozenset[Mark], Prediction, Any]] = {}
        self._layouts: dict[Hashable, Any] = {}
        self._bound: set[Hashable] = set()
        self._held: dict[int, Any] = {}
        self._stand_ins: dict[Hashable, int] = {}  # their numbers
        # Equal sets of many calls, each kept once.
        self._marks: dict[frozenset[Mark], frozenset[Mark]] = {}

    def supposing(self, supposed: Mapping[Overridable, type]) -> Memory:
        """Return a memory for the same calls with further rules taken to be there."""
        other = Memory({**self.supposed, **supposed})
        other._chains, other._layouts, other._bound, other._held = self._chains, self._layouts, self._bound, self._held
        return other

    def chain(self, operation: Overridable, key: Key, limited: bool = False) -> Chain:
        """Return who answers calls with these types; with `limited` inside a decomposition."""
        found = self._chains.get((operation, key, limited))
        if found is None:
            found = build_chain(operation, key, later_fallbacks=not limited)
            self._chains[operation, key, limited] = found
        return found

    def mistake(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Return what the signature of an operation does not allow in a call, "" where it allows it."""
        form = (operation, len(args), tuple(kwargs))
        if form in self._bound:
            return ""
        found = mistake_in(operation, args, kwargs)
        if not found:
            self._bound.add(form)
        return found

    def layouts(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what an operation gives, with layouts in the place of arrays; one without any at worst."""

        def layout(value: Any) -> Any:
            return value._layout if issubclass(type(value), StandIn) else value

        args, kwargs = map_members(args, layout), map_members(kwargs, layout)
        token = (operation, self._token(args), self._token(kwargs))
        if token not in self._layouts:
            try:
                self._layouts[token] = operation.layouts(args, kwargs)
            except Exception:  # noqa: BLE001  # where plain arrays give no result, the shape of one is not known
                self._layouts[token] = Layout()
        return self._layouts[token]

    def token(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], limited: bool) -> Hashable:
        """Return what equal calls have in common."""
        return (operation, limited, self._token(args), self._token(kwargs))

    def find(self, token: Hashable, running: set[Mark]) -> tuple[frozenset[Mark], Prediction, Any] | None:
        """Return what was found of an equal call, and on which marks it depends that they are not under way."""
        found = self._calls.get(token)
        return found if found is not None and running.isdisjoint(found[0]) else None

    def keep(self, token: Hashable, met: set[Mark], found: Prediction, result: Any) -> None:
        """Remember what was found of a call."""
        marks = frozenset(met)
        self._calls[token] = (self._marks.setdefault(marks, marks), found, result)

    def _token(self, value: Any) -> Hashable:
        cls = type(value)
        if issubclass(cls, StandIn):
            given = None if value._given is None else self._identity(value._given)
            field = None if value._field is None else self._token(value._field)
            found = (StandIn, value._classes, value._layout, value._origin, given, field)
            return self._stand_ins.setdefault(found, len(self._stand_ins))
        if cls is Layout:
            return value  # type: ignore[no-any-return]
        if cls in ATOMS:
            return (cls, value)
        if cls in NUMBERS:
            return (cls, repr(value))
        if cls is dict:
            return (dict, *((name, self._token(member)) for name, member in value.items()))
        if cls is list or issubclass(cls, tuple):
            return (cls, *map(self._token, value))
        if cls is slice:
            return (slice, self._token((value.start, value.stop, value.step)))
        return self._identity(value)

    def _identity(self, value: Any) -> Hashable:
        self._held[id(value)] = value  # so that no other object takes its place
        return ("is", id(value))
