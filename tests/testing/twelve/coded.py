"""A vector as codes into a dictionary of values."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatchkit as dk


@dk.array_type(fallback=dk.fallback.dense, fields={"values": dk.field(), "codes": dk.field(discrete=True)})
class Coded:
    def __init__(self, values: Any, codes: Any) -> None:
        self.values, self.codes = dk.asarray(values), np.asarray(codes)

    @property
    def shape(self) -> Any:
        return self.codes.shape

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def to_dense(self) -> Any:
        return self.values[self.codes]

    def __len__(self) -> int:
        return len(self.codes)

    def __reduce__(self) -> Any:
        return Coded, (self.values, self.codes)


def used(x: Coded) -> Any:
    """Return how often each value is used, a decline where one is not."""
    counts = np.bincount(x.codes, minlength=len(x.values))
    return counts if counts.size and counts.all() else None


@dk.implements(dk.kinds.elementwise)
def each(op: Any, x: Coded, /) -> Any:
    return Coded(op(x.values), x.codes)


@dk.implements(dk.getitem)
def getitem_coded(x: Coded, key: Any, /) -> Any:
    if isinstance(key, slice):
        kept, codes = np.unique(x.codes[key], return_inverse=True)
        return Coded(x.values[kept], codes)
    if type(key) is int:
        return dk.clone(x.values[int(x.codes[key])])
    return dk.decline("an index that is neither an integer nor a slice")


@dk.implements(dk.flip)
def flip_coded(x: Coded, /) -> Any:
    return Coded(dk.clone(x.values), x.codes[::-1].copy())


@dk.implements(dk.sum)
def sum_coded(x: Coded, /) -> Any:
    counts = used(x)
    if counts is None or x.dtype.kind != "f":
        return dk.decline("values that are not used, or no floating-point numbers")
    return dk.sum(x.values * dk.asarray(counts, dtype=x.dtype))


@dk.implements(dk.max)
def max_coded(x: Coded, /) -> Any:
    if used(x) is None:
        return dk.decline("values that are not used")
    return dk.max(x.values)


@dk.implements(dk.equal)
def equal_coded(x1: Coded, x2: Coded, /) -> Any:
    return dk.equal(x1.values[x1.codes], x2.values[x2.codes])


@dk.implements(dk.multiply)
def times(x: Coded, y: float, /) -> Any:
    return Coded(x.values * y, x.codes)


@dk.implements(dk.astype)
def astype_coded(x: Coded, dtype: Any, /, *, copy: bool = True) -> Any:
    return Coded(dk.astype(x.values, dtype, copy=copy), x.codes.copy() if copy else x.codes)


def samples() -> list[Any]:
    return [Coded([1.5, -2.0, 4.0], [0, 2, 2, 1, 0]), Coded(np.asarray([3, 7]), [1, 0, 1])]


SKIP = ("vmap",)  # codes and branches are none for batches
FAULTS = [
    ("codes in order", "exp", "Coded(op(x.values), x.codes)", "Coded(op(x.values), np.sort(x.codes))"),
    ("the step is ignored", "getitem", "x.codes[key], return", "x.codes[key.start : key.stop], return"),
    ("an index of a value", "getitem", "x.values[int(x.codes[key])]", "x.values[key]"),
    ("nothing is turned", "flip", "x.codes[::-1].copy()", "x.codes"),
    ("each value once", "sum", "x.values * dk.asarray(counts, dtype=x.dtype)", "x.values"),
    ("the first value", "max", "dk.max(x.values)", "x.values[0] * 1"),
    ("the codes of the left", "equal", "x2.values[x2.codes]", "x2.values[x1.codes]"),
    ("a sum", "multiply", "x.values * y", "x.values + y"),
    ("the length of the dictionary", "", "return len(self.codes)", "return len(self.values)"),
    ("pickled as a list", "", "(self.values, self.codes)", "(self.values.tolist(), self.codes)"),
]
