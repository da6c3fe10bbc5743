"""A wrapper with a source, which results have from their arguments."""

from __future__ import annotations

from typing import Any

import dispatchkit as dk


class SourceError(ValueError):
    """Two sources meet."""


def merge(name: str, values: Any) -> Any:
    raise SourceError(f"two sources: {values[0]} and {values[1]}")


@dk.array_type(
    fallback=dk.fallback.rewrap,
    tests=dk.TypeTests(refuses=[SourceError]),
    fields={"data": dk.field(), "source": dk.field(merge=merge)},
)
class Tagged:
    def __init__(self, data: Any, source: str = "") -> None:
        self.data, self.source = dk.asarray(data), source

    @property
    def shape(self) -> Any:
        return self.data.shape

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def to_dense(self) -> Any:
        return self.data

    def __contains__(self, value: Any) -> bool:
        return bool(dk.any(self.data == value))

    def __reversed__(self) -> Any:
        return iter([Tagged(self.data[-1 - place], self.source) for place in range(len(self.data))])

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]  # it writes into itself
        added = dk.add(self, other)
        self.data[...] = added.data
        return self

    def __rsub__(self, other: Any) -> Any:
        return dk.subtract(other, self)

    def __setstate__(self, state: Any) -> None:
        vars(self).update(state)


def source_of(*operands: Tagged) -> str:
    if len({x.source for x in operands}) > 1:
        raise SourceError("two sources")
    return operands[0].source


@dk.implements(dk.add)
def add_tagged(x1: Tagged, x2: Tagged, /) -> Any:
    return Tagged(x1.data + x2.data, source_of(x1, x2))


@dk.implements(dk.subtract)
def subtract_tagged(x1: Tagged, x2: Tagged, /) -> Any:
    return Tagged(x1.data - x2.data, source_of(x1, x2))


@dk.implements(dk.sum)
def sum_tagged(x: Tagged, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return Tagged(dk.sum(x.data, axis=axis, keepdims=keepdims), x.source)


@dk.implements(dk.sqrt)
def sqrt_tagged(x: Tagged, /) -> Any:
    return Tagged(dk.sqrt(x.data), x.source)


@dk.implements(dk.tanh)
def tanh_tagged(x: Tagged, /) -> Any:
    return Tagged(dk.tanh(x.data), x.source)


def samples() -> list[Any]:
    return [Tagged([1.0, 2.0, 4.0], "a"), Tagged([[2.0, 0.5]], "b")]


FAULTS = [
    (
        "two sources are mixed",
        "add",
        "Tagged(x1.data + x2.data, source_of(x1, x2))",
        "Tagged(x1.data + x2.data, x1.source)",
    ),
    ("operands swapped", "subtract", "x1.data - x2.data", "x2.data - x1.data"),
    ("keepdims is ignored", "sum", "dk.sum(x.data, axis=axis, keepdims=keepdims)", "dk.sum(x.data, axis=axis)"),
    ("the source is lost", "sqrt", "Tagged(dk.sqrt(x.data), x.source)", "Tagged(dk.sqrt(x.data))"),
    ("detached", "tanh", "dk.tanh(x.data)", "dk.tanh(x.data.detach())"),
    ("contains nothing", "", "return bool(dk.any(self.data == value))", "return False"),
    ("reversed in order", "", "self.data[-1 - place]", "self.data[place]"),
    ("in place beside", "add", "self.data[...] = added.data", "self.data[...] = added.data + 1"),
    ("reflected as it is", "subtract", "return dk.subtract(other, self)", "return dk.subtract(self, other)"),
    ("loaded without its source", "", "vars(self).update(state)", "vars(self).update({**state, 'source': ''})"),
]
