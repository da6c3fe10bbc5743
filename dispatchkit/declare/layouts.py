"""Shape and dtype of what an operation gives, found on small arrays in the place of those without known values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from dispatchkit.declare.wrapping import wrapped
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.fallbacks.base import map_members
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.layout import Layout
from dispatchkit.protocol.overridable import Overridable

__all__ = ["is_cheap", "layouts"]

# Axes that are longer stand as one of these lengths, of which no sum and no product is another one.
LONGEST = 16
LENGTHS = (17, 37, 53)
ARRAYS: Any = (Layout, Storage, np.ndarray)


def is_cheap(operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Return whether a call makes no large array, and draws no random numbers."""
    if operation.kind is kinds.random:
        return False
    if operation.kind is not kinds.creation:
        return True
    counts: list[int] = []
    map_members((args, dict(kwargs)), lambda value: counts.append(abs(value)) if type(value) is int else None)
    return math.prod(count for count in counts if count) <= 4096


def layouts(operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return the result of a call with a `Layout` in the place of each array, among the arguments, too.

    Long axes are shortened alike everywhere, so that no array is large, and the lengths of the result put back.

    Raises
    ------
    Exception : whatever the operation raises for such arrays
    """
    keywords = dict(kwargs)
    if operation.kind is kinds.random and not any(isinstance(one, Layout) for one in args):
        return Layout()
    long = _long_axes(operation, (args, keywords))
    if len(long) > len(LENGTHS):
        return Layout()
    short = dict(zip(long, LENGTHS, strict=False))
    base = operation.types.base

    def small(value: Any) -> Any:
        if isinstance(value, Layout):
            if value.shape is None or value.dtype is None:
                raise ValueError("an array of unknown shape")
            return wrapped(base, _array([short.get(n, n) for n in value.shape], value.dtype))  # type: ignore[arg-type]
        if isinstance(value, Storage):
            return value if value.lifted else wrapped(type(value), _shortened(value.array, short))
        if isinstance(value, np.ndarray):
            return _shortened(value, short)
        return short.get(value, value) if type(value) is int else value

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = operation.function(*map_members(args, small), **map_members(keywords, small))
    back = {length: before for before, length in short.items()}
    return map_members(result, lambda value: _described(value, back))


def _long_axes(operation: Overridable, arguments: Any) -> list[int]:
    """Return the lengths of axes that are too long, and such integers where an array is made."""
    found: dict[int, None] = {}

    def note(value: Any) -> None:
        if isinstance(value, ARRAYS):
            found.update((length, None) for length in value.shape or () if length > LONGEST)
        elif operation.kind is kinds.creation and type(value) is int and value > LONGEST:
            found[value] = None

    map_members(arguments, note)
    return list(found)


def _described(value: Any, back: Mapping[int, int]) -> Any:
    """Return the layout of an array of a result, lengths of axes put back where they are known."""
    if not isinstance(value, ARRAYS):
        return value
    known = all(length in back or length <= LONGEST for length in value.shape)
    return Layout(tuple(back.get(n, n) for n in value.shape) if known else None, value.dtype)


def _shortened(array: Any, long: Mapping[int, int]) -> Any:
    """Return an array with its long axes cut."""
    return array[tuple(slice(long.get(length)) for length in array.shape)] if long else array


def _array(shape: list[int], dtype: Any) -> Any:
    """Return an array that most operations take: matrices are positive definite, integers are indices."""
    if dtype.kind in "biu":
        return np.zeros(shape, dtype) if dtype.kind != "b" else np.ones(shape, dtype)
    made = np.full(shape, 0.5, dtype)
    if len(shape) > 1:
        count = min(shape[-2:])
        made[..., np.arange(count), np.arange(count)] += shape[-1]
    return made
