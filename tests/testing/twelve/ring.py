"""A buffer that is read from a place on, around its end."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatchkit as dk


@dk.array_type(fallback=dk.fallback.dense)
class Ring:
    def __init__(self, buffer: Any, start: int = 0) -> None:
        self.buffer, self.start = dk.asarray(buffer), start

    @property
    def shape(self) -> Any:
        return self.buffer.shape

    @property
    def dtype(self) -> Any:
        return self.buffer.dtype

    def to_dense(self) -> Any:
        return dk.roll(self.buffer, -self.start)

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(key) is not int and key != (0,):
            raise TypeError("one element at a time")
        place = key if type(key) is int else key[0]
        self.buffer[(self.start + place) % len(self.buffer)] = value

    def __len__(self) -> int:
        return len(self.buffer)

    def __deepcopy__(self, memo: Any) -> Any:
        return Ring(dk.clone(self.buffer), self.start)


@dk.implements(dk.kinds.elementwise)
def each(op: Any, x: Ring, /) -> Any:
    return Ring(op(x.buffer), x.start)


@dk.implements(dk.add)
def add_rings(x1: Ring, x2: Ring, /) -> Any:
    if x1.shape != x2.shape:
        return dk.decline("other lengths")
    return Ring(x1.buffer + dk.roll(x2.buffer, x1.start - x2.start), x1.start)


@dk.implements(dk.roll)
def roll_ring(x: Ring, /, shift: Any) -> Any:
    if isinstance(shift, tuple) and len(shift) == 1:
        shift = shift[0]
    if type(shift) is not int or not len(x.buffer):
        return dk.decline("several axes")
    return Ring(dk.clone(x.buffer), (x.start - shift) % len(x.buffer))


@dk.implements(dk.getitem)
def getitem_ring(x: Ring, key: Any, /) -> Any:
    n = len(x.buffer)
    if type(key) is not int or not -n <= key < n:
        return dk.decline("no integer within")
    return dk.clone(x.buffer[(x.start + key) % n])


@dk.implements(dk.sum)
def sum_ring(x: Ring, /) -> Any:
    return dk.sum(x.buffer)


@dk.implements(dk.argmin)
def argmin_ring(x: Ring, /) -> Any:
    return dk.argmin(dk.roll(x.buffer, -x.start))


@dk.implements(dk.cumulative_sum)
def cumulative_ring(x: Ring, /) -> Any:
    return dk.cumulative_sum(dk.roll(x.buffer, -x.start))


@dk.implements(dk.flip)
def flip_ring(x: Ring, /) -> Any:
    return Ring(dk.flip(x.buffer), -x.start % max(len(x.buffer), 1))


def samples() -> list[Any]:
    return [Ring([1.0, -2.0, 4.0, 0.5], 1), Ring(np.asarray([3, 1, 2]), 2)]


FAULTS = [
    ("the start is lost", "exp", "Ring(op(x.buffer), x.start)", "Ring(op(x.buffer), 0)"),
    ("the other start is ignored", "add", "dk.roll(x2.buffer, x1.start - x2.start)", "x2.buffer"),
    ("the wrong way round", "roll", "(x.start - shift)", "(x.start + shift)"),
    ("an index of the buffer", "getitem", "x.buffer[(x.start + key) % n]", "x.buffer[key]"),
    ("a sum of the first", "sum", "return dk.sum(x.buffer)", "return dk.sum(x.buffer[1:])"),
    ("a place in the buffer", "argmin", "dk.argmin(dk.roll(x.buffer, -x.start))", "dk.argmin(x.buffer)"),
    (
        "from the start of the buffer",
        "cumulative_sum",
        "dk.cumulative_sum(dk.roll(x.buffer, -x.start))",
        "dk.cumulative_sum(x.buffer)",
    ),
    ("off by one", "flip", "-x.start % max", "(1 - x.start) % max"),
    ("writes beside", "setitem", "self.buffer[(self.start + place)", "self.buffer[(self.start + place + 1)"),
    ("shares the buffer", "", "Ring(dk.clone(self.buffer), self.start)", "Ring(self.buffer, self.start)"),
]
