"""What is differentiated in a value: its floating-point arrays, in containers and in the fields of array types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import is_inexact, is_raw
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tree import Item, container_items, leaves


def is_array(value: Any) -> bool:
    """Return whether a value is a tensor or a raw array."""
    return isinstance(value, (Storage, np.ndarray, np.generic)) or (
        is_raw(value) and not tensor_protocol.types.participates(type(value))
    )


def is_floating(value: Any) -> bool:
    """Return whether a leaf holds real or complex floating-point numbers."""
    return is_array(value) and is_inexact(value.dtype)


def items_of(value: Any) -> Sequence[Item] | None:
    """Return the parts of a container, or of an instance of a declared type, with their keys; None for a leaf."""
    if value is None or is_array(value):
        return None
    items = container_items(value)
    if items is None:
        return tensor_protocol.types.items_of(value)
    return items


def constants_in(value: Any) -> frozenset[str]:
    """Return the keys of the parts of a container that are not differentiated, whatever they hold."""
    if isinstance(value, (list, tuple, Mapping)):
        return frozenset()
    return tensor_protocol.types.constants_of(type(value))


def variables_of(value: Any) -> Sequence[Item] | None:
    """Return the parts that may be differentiated with their keys; None for what has no parts."""
    items = items_of(value)
    if not items or not (constants := constants_in(value)):
        return items
    return [(key, part) for key, part in items if key not in constants]


def variables_in(value: Any) -> Iterator[Any]:
    """Yield the arrays of a container that are differentiated."""
    return filter(is_floating, leaves(variables_of, value))


def beside_fields(value: Any) -> str:
    """Return what to declare where an array type holds floating-point arrays in no field; "" where it does not."""
    if is_array(value) or not tensor_protocol.types.participates(type(value)):
        return ""
    fields = tensor_protocol.types.fields_of(value)
    others = [
        name
        for name, held in getattr(value, "__dict__", {}).items()
        if name not in fields and any(map(is_floating, leaves(container_items, held)))
    ]
    if not others:
        return ""
    listed = ", ".join(map(repr, (*fields, *others)))
    return f", whose {others[0]!r} is no field; declare it: array_type(fields=({listed}{'' if ',' in listed else ','}))"
