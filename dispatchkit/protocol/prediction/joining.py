"""Predictions and results of which one of several comes true, as one."""

from __future__ import annotations

from typing import Any, TypeVar

from dispatchkit.protocol.fallbacks.base import map_members
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.layout import Layout
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.prediction.stand_in import StandIn, classes_of, make_stand_in

__all__ = ["changed", "merged", "names_of", "result_classes"]

T = TypeVar("T")


def changed(one: T, **changes: Any) -> T:
    """Return a copy of a record with other values."""
    made = object.__new__(type(one))
    for name in type(one).__slots__:  # type: ignore[attr-defined]  # records have them
        object.__setattr__(made, name, changes.get(name, getattr(one, name)))
    return made


def names_of(key: Key) -> tuple[str, ...]:
    """Return the names of the types of a call, those of several in one argument together."""
    return tuple(
        f"({', '.join(map(type_name, entry))})" if isinstance(entry, tuple) else type_name(entry)
        for entry in key
        if entry is not type(None)
    )


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
