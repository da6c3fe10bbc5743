"""Predictions and results of which one of several comes true, as one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Any, TypeVar

from dispatchkit.protocol.fallbacks.base import map_members
from dispatchkit.protocol.layout import Layout
from dispatchkit.protocol.outcome import REFUSED
from dispatchkit.protocol.prediction.stand_in import NotFollowed, StandIn, classes_of, make_stand_in
from dispatchkit.protocol.prediction.tree import Prediction

__all__ = ["changed", "joined", "merged", "narrowed", "result_classes"]

T = TypeVar("T")

# Combinations of types that are looked at where arguments may be of several.
MOST = 16


def changed(one: T, **changes: Any) -> T:
    """Return a copy of a record with other values."""
    made = object.__new__(type(one))
    for name in type(one).__slots__:  # type: ignore[attr-defined]  # records have them
        object.__setattr__(made, name, changes.get(name, getattr(one, name)))
    return made


def merged(protocol: Any, results: list[Any]) -> Any:
    """Return what stands for one of several results."""
    first, *others = [one for one in results if one is not None] or [None]
    for other in others:
        first = _either(protocol, first, other)
    return first


def _either(protocol: Any, one: Any, other: Any) -> Any:
    if issubclass(type(one), StandIn) and issubclass(type(other), StandIn):
        unknown = not one._classes or not other._classes
        classes = () if unknown else tuple(dict.fromkeys((*one._classes, *other._classes)))
        layout = one._layout if one._layout == other._layout else Layout()
        return make_stand_in(protocol, classes, layout, one._origin or other._origin)
    if type(one) is type(other) and isinstance(one, (tuple, list)) and len(one) == len(other):
        members = [_either(protocol, a, b) for a, b in zip(one, other, strict=True)]
        return type(one)(*members) if hasattr(one, "_fields") else type(one)(members)
    return one if one is other else make_stand_in(protocol, (), origin="one of several calls")


def result_classes(result: Any) -> tuple[type, ...]:
    """Return the classes of the arrays in a result; empty where one is not known."""
    found: list[tuple[type, ...]] = []
    map_members(result, lambda value: found.append(classes_of(value)))
    return () if any(not classes for classes in found) else tuple(dict.fromkeys(cls for one in found for cls in one))


def narrowed(
    protocol: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield a call with stand-ins of one type each.

    Raises
    ------
    NotFollowed : if the type of one is not known
    """
    several: dict[int, StandIn] = {}

    def note(value: Any) -> None:
        if issubclass(type(value), StandIn) and len(value._classes) != 1:
            several[id(value)] = value

    for value in (*args, *kwargs.values()):
        map_members(value, note)
    if not several:
        yield args, kwargs
        return
    unknown = next((one for one in several.values() if not one._classes), None)
    if unknown is not None:
        raise NotFollowed(f"the type of {unknown!r}")
    for combination in islice(product(*(one._classes for one in several.values())), MOST):
        chosen = dict(zip(several, combination, strict=True))

        def narrow(value: Any, chosen: dict[int, type] = chosen) -> Any:
            cls = chosen.get(id(value))
            return value if cls is None else make_stand_in(protocol, (cls,), value._layout, value._origin)

        yield map_members(args, narrow), map_members(kwargs, narrow)


def joined(found: list[Prediction]) -> Prediction:
    """Return what is certain of a call with arguments that may be of several types."""
    first = found[0]
    if all(one.outcome is REFUSED and not one.depends_on_values for one in found):
        return first
    certain = next((one.depends_on_values for one in found if one.depends_on_values), "")
    if not certain and any(one.error for one in found):
        certain = f"{first.call} depends on the type of an inner result"
    answered = next((one for one in found if one.outcome is not REFUSED), first)
    results = tuple(dict.fromkeys(cls for one in found for cls in one.results))
    return changed(answered, depends_on_values=certain, error="", results=results)
