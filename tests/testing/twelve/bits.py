"""Booleans, eight in a byte; the bits beyond the last are zero."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatchkit as dk


@dk.array_type(fallback=dk.fallback.dense, fields=("data", "n"))
class Bits:
    def __init__(self, data: Any, n: int) -> None:
        self.data, self.n = np.asarray(data, dtype=np.uint8), n

    @classmethod
    def pack(cls, flags: Any) -> Any:
        return cls(np.packbits(np.asarray(flags, dtype=bool)), len(flags))

    @property
    def shape(self) -> Any:
        return (self.n,)

    @property
    def dtype(self) -> Any:
        return np.dtype(bool)

    def flags(self) -> Any:
        return np.unpackbits(self.data, count=self.n).astype(bool)

    def to_dense(self) -> Any:
        return dk.asarray(self.flags())

    def __len__(self) -> int:
        return self.n

    def __reduce__(self) -> Any:
        return Bits, (self.data, self.n)


def without_tail(data: Any, n: int) -> Any:
    return Bits.pack(np.unpackbits(data, count=n))


@dk.implements(dk.logical_and)
def and_bits(x1: Bits, x2: Bits, /) -> Any:
    return Bits(x1.data & x2.data, x1.n) if x1.n == x2.n else dk.decline("other lengths")


@dk.implements(dk.logical_or)
def or_bits(x1: Bits, x2: Bits, /) -> Any:
    return Bits(x1.data | x2.data, x1.n) if x1.n == x2.n else dk.decline("other lengths")


@dk.implements(dk.logical_xor)
def xor_bits(x1: Bits, x2: Bits, /) -> Any:
    return Bits(x1.data ^ x2.data, x1.n) if x1.n == x2.n else dk.decline("other lengths")


@dk.implements(dk.logical_not)
def not_bits(x: Bits, /) -> Any:
    return without_tail(~x.data, x.n)


@dk.implements(dk.any)
def any_bits(x: Bits, /) -> Any:
    return dk.asarray(bool(x.data.any()))


@dk.implements(dk.all)
def all_bits(x: Bits, /) -> Any:
    return dk.asarray(int(np.unpackbits(x.data, count=x.n).sum()) == x.n)


@dk.implements(dk.count_nonzero)
def count_bits(x: Bits, /) -> Any:
    return dk.asarray(int(np.unpackbits(x.data).sum()))


@dk.implements(dk.getitem)
def getitem_bits(x: Bits, key: Any, /) -> Any:
    if isinstance(key, slice):
        return Bits.pack(x.flags()[key])
    if type(key) is not int or not -x.n <= key < x.n:
        return dk.decline("no integer within")
    place = key % x.n
    return dk.asarray(bool(x.data[place // 8] >> (7 - place % 8) & 1))


@dk.implements(dk.concat)
def concat_bits(arrays: list[Bits], /) -> Any:
    return Bits.pack(np.concatenate([x.flags() for x in arrays]))


def samples() -> list[Any]:
    flags = [True, False, True, True, False, True, False, False, True, True]
    return [Bits.pack(flags), Bits.pack([True, True, True])]


FAULTS = [
    ("the left alone", "logical_and", "x1.data & x2.data", "x1.data & x1.data"),
    ("either, not both", "logical_or", "x1.data | x2.data", "x1.data ^ x2.data"),
    ("both, too", "logical_xor", "x1.data ^ x2.data", "x1.data | x2.data"),
    ("the tail is set", "logical_not", "without_tail(~x.data, x.n)", "Bits(~x.data, x.n)"),
    ("the first byte alone", "any", "x.data.any()", "x.data[0] > 200"),
    (
        "each byte has one",
        "all",
        "int(np.unpackbits(x.data, count=x.n).sum()) == x.n",
        "bool(x.data.all())",
    ),
    ("of bytes", "count_nonzero", "int(np.unpackbits(x.data).sum())", "int(np.count_nonzero(x.data))"),
    ("bits from the right", "getitem", "(7 - place % 8)", "(place % 8)"),
    (
        "bytes joined",
        "concat",
        "Bits.pack(np.concatenate([x.flags() for x in arrays]))",
        "Bits(np.concatenate([x.data for x in arrays]), sum(x.n for x in arrays))",
    ),
    ("a length of bytes", "", "return self.n\n\n    def __reduce__", "return len(self.data)\n\n    def __reduce__"),
]
