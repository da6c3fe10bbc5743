"""What shape and dtype an operation gives for arrays of which no more is known: it is called with short ones."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.fallbacks.base import map_members
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Layout

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
    if operation.kind is kinds.random and not any(isinstance(arg, Layout) for arg in args):
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
            return wrap_array(base, _array([short.get(n, n) for n in value.shape], value.dtype))  # type: ignore[arg-type]
        if isinstance(value, Storage):
            if value.is_tracer:
                return value
            return wrap_array(type(value), _shorten(value.array, short))
        if isinstance(value, np.ndarray):
            return _shorten(value, short)
        if type(value) is int:
            return short.get(value, value)
        return value

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = operation.function(*map_members(args, small), **map_members(keywords, small))
    back = {length: before for before, length in short.items()}
    return map_members(result, lambda value: _layout_of(value, back))


def _long_axes(operation: Overridable, arguments: Any) -> list[int]:
    """Return the lengths of axes that are too long, and such integers where an array is made."""
    lengths: dict[int, None] = {}

    def note(value: Any) -> None:
        if isinstance(value, ARRAYS):
            lengths.update((length, None) for length in value.shape or () if length > LONGEST)
        elif operation.kind is kinds.creation and type(value) is int and value > LONGEST:
            lengths[value] = None

    map_members(arguments, note)
    return list(lengths)


def _layout_of(value: Any, back: Mapping[int, int]) -> Any:
    """Return the layout of an array of a result, lengths of axes put back where they are known."""
    if not isinstance(value, ARRAYS):
        return value
    known = all(length in back or length <= LONGEST for length in value.shape)
    return Layout(tuple(back.get(n, n) for n in value.shape) if known else None, value.dtype)


def _shorten(array: Any, long: Mapping[int, int]) -> Any:
    """Return an array with its long axes cut."""
    if long:
        return array[tuple(slice(long.get(length)) for length in array.shape)]
    return array


def _array(shape: list[int], dtype: Any) -> Any:
    """Return an array that most operations take: matrices are positive definite, integers are indices."""
    if dtype.kind in "biu":
        if dtype.kind != "b":
            return np.zeros(shape, dtype)
        return np.ones(shape, dtype)
    array = np.full(shape, 0.5, dtype)
    if len(shape) > 1:
        diagonal = np.arange(min(shape[-2:]))
        array[..., diagonal, diagonal] += shape[-1]
    return array
