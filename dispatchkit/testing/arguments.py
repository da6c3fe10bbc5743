"""Arguments other than arrays: further values for those that a sample has, and mistaken ones.

A negative axis, the last of several, an index that counts from the end, a flag the other way round: what declared
samples leave out, and where handlers of structured types go wrong.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dispatchkit.declare.samples import Draw, Sample
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form

__all__ = ["mistakes", "variations"]

AXES = {"axis", "axes", "dim", "source", "destination"}
MOST = 10  # variations of a call


def variations(operation: Overridable, sample: Sample, shape: tuple[int, ...]) -> Iterator[Sample]:
    """Yield a call with further values of the arguments that are no arrays, for instances of a shape."""
    yield from _each(operation, sample, lambda p, given: _values(p, given, len(shape)), MOST)
    for key in _keys(shape):
        yield from _with_key(operation, sample, key)


def mistakes(operation: Overridable, sample: Sample, shape: tuple[int, ...]) -> Iterator[Sample]:
    """Yield a call with arguments beyond the shape: axes and indices that no array of it has."""
    ndim = len(shape)

    def beyond(p: inspect.Parameter, given: Any) -> list[Any]:
        return [ndim, -ndim - 1] if p.name == "axis" and not isinstance(given, (tuple, list)) else []

    yield from _each(operation, sample, beyond, MOST)
    if ndim and 0 not in shape:
        zeros = (0,) * (ndim - 1)
        for key in ((*zeros, shape[-1]), (*zeros, -shape[-1] - 1), shape[0]):
            yield from _with_key(operation, sample, key)


def _each(operation: Overridable, sample: Sample, values: Any, most: int) -> Iterator[Sample]:
    """Yield a sample with each of some values for each argument that is no array, one at a time."""
    signature = operation.parameters.signature
    arrays = {p.name for p in operation.parameters.arrays}
    try:
        bound = signature.bind(*sample.args, **sample.kwargs)
    except TypeError:
        return
    count = 0
    for p in signature.parameters.values():
        if p.name in arrays or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or p.name in ("device", "requires_grad"):
            continue
        given = bound.arguments.get(p.name, p.default)
        for value in values(p, given):
            if count < most and (value is not given and repr(value) != repr(given)):
                count += 1
                changed = inspect.BoundArguments(signature, bound.arguments.copy())
                changed.arguments[p.name] = value
                ordered = {name: changed.arguments[name] for name in signature.parameters if name in changed.arguments}
                changed = inspect.BoundArguments(signature, ordered)
                yield replace(sample, args=changed.args, kwargs=changed.kwargs)


def _values(p: inspect.Parameter, given: Any, ndim: int) -> list[Any]:
    """Return values for an argument, by what it is called and what it is."""
    if p.name in AXES and (given is None or isinstance(given, (int, tuple))):
        several = [(0, -1)] if ndim > 1 else [(0,)]
        return [-1, 0, -ndim, *(several if not isinstance(given, int) or p.name == "axis" else [])]
    if p.name == "shape" and isinstance(given, tuple):
        return [(-1,), (-1, 1)]
    if isinstance(given, bool):
        return [not given]
    if isinstance(given, int):
        return [-1, 1, 2, 0]
    if p.name == "dtype":
        return [np.dtype(np.float32), np.dtype(np.complex128)]
    if p.name == "correction":
        return [1.0]
    return []


def _keys(shape: tuple[int, ...]) -> list[Any]:
    """Return indices for an array of a shape."""
    if not shape or 0 in shape:
        return [(), ...]
    last = tuple(n - 1 for n in shape)
    first = (0,) * len(shape)
    keys: list[Any] = [first, last, (-1,) * len(shape), (*first[:-1], -1), 0, -1, slice(None, None, -1), (..., 0), None]
    if len(shape) > 1:
        keys += [(0, -shape[1]), (slice(None), -1), (-1, slice(1))]
    return [*keys, np.array([0, -1]), [-1, 0]]


def _with_key(operation: Overridable, sample: Sample, key: Any) -> Iterator[Sample]:
    """Yield a call with another index, where it has one and no array in it."""
    named = [p for p in operation.parameters.arrays if p.form is Form.INDEX]
    if named and named[0].position == 1 and len(sample.args) > 1 and not isinstance(sample.args[1], Draw):
        yield replace(sample, args=(sample.args[0], key, *sample.args[2:]))
