"""The memory of arrays: whether a result shares that of an argument where the dense result has its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.parameters import ArrayParameter
from dispatchkit.tensor import Tensor
from dispatchkit.testing.comparing.differences import members

types = tensor_protocol.types
SETITEM = tensor_protocol.operation(xp.setitem)


def is_typed(value: Any) -> bool:
    """Return whether a value is an instance of an array type, which plain tensors and numbers are not."""
    return type(value) is not types.base and types.participates(type(value))


def shared_memory(
    arguments: Iterable[tuple[ArrayParameter, Any]], dense: Iterable[Any], result: Any, expected: Any
) -> tuple[str, str] | None:
    """Return that assigning to elements of a result, or of an argument, changes the other, as dense results do not.

    A result without axes counts as a number: whether it is a view of an element is no concern of a type.

    Parameters
    ----------
    arguments : the arrays of the call, each with its parameter
    dense : the arrays of the call on dense forms
    result, expected : of the call, and of that on dense forms
    """
    plain = arrays_in(list(dense))
    if any(_overlap(array, other) for array, _ in arrays_in(expected) for other, _ in plain):
        return None
    for p, value in arguments:
        if not is_typed(value):
            continue
        held = arrays_in(value)
        for part in members(result):
            if not getattr(part, "shape", ()):
                continue
            pairs = ((array, other) for array, written in arrays_in(part) for other, read in held if written or read)
            if part is not value and any(_overlap(*pair) for pair in pairs):
                text = f"a {type_name(type(part))} that shares memory with '{p.name}'"
                return text, "memory of its own, as the dense result has"
    return None


def arrays_in(value: Any, assignable: bool = True) -> list[tuple[Any, bool]]:
    """Return the NumPy arrays in a value without those of metadata, each with whether elements can be assigned."""
    if isinstance(value, (tuple, list)):
        return [entry for member in value for entry in arrays_in(member, assignable)]
    if is_typed(value) and not isinstance(value, Tensor):
        count = None
        if fallback.rewrap in types.fallback(type(value)):
            count = 1
        names = types.fields_of(value)[:count]
        return arrays_in([getattr(value, name) for name in names], _is_assignable(type(value)))
    array = value
    if isinstance(value, Storage):
        array = value.array
    if isinstance(array, np.ndarray) and array.size:
        return [(array, assignable)]
    return []


def _overlap(array: Any, other: Any) -> bool:
    return np.may_share_memory(array, other) and np.shares_memory(array, other)


def _is_assignable(cls: type) -> bool:
    """Return whether elements of the instances of an array type can be assigned."""
    return bool(tensor_protocol.chain(SETITEM, (cls, (int,), int)).steps)
