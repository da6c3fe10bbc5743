"""Intervals: a result is right if it contains the dense results of all numbers that its arguments stand for."""

from __future__ import annotations

from typing import Any

import dispatchkit as dk
from dispatchkit.testing import Relation


def contains(x: Any, y: Any) -> Any:
    slack = 1e-9 * (1 + dk.abs(y))
    return dk.all((x.low <= y + slack) & (y - slack <= x.high))


def ends(x: Any) -> list[Any]:
    return [x.low, x.high]


@dk.array_type(fallback=dk.fallback.dense, tests=dk.TypeTests(relation=Relation(contains, ends)))
class Span:
    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = dk.asarray(low), dk.asarray(high)

    @property
    def shape(self) -> Any:
        return self.low.shape

    @property
    def dtype(self) -> Any:
        return self.low.dtype

    def to_dense(self) -> Any:
        return (self.low + self.high) / 2

    def __len__(self) -> int:
        return len(self.low)


@dk.implements(dk.add)
def add_spans(x1: Span, x2: Span, /) -> Any:
    return Span(x1.low + x2.low, x1.high + x2.high)


@dk.implements(dk.subtract)
def subtract_spans(x1: Span, x2: Span, /) -> Any:
    return Span(x1.low - x2.high, x1.high - x2.low)


@dk.implements(dk.negative)
def negative_span(x: Span, /) -> Any:
    return Span(-x.high, -x.low)


@dk.implements(dk.multiply)
def multiply_spans(x1: Span, x2: Span, /) -> Any:
    first, second = dk.minimum(x1.low * x2.low, x1.low * x2.high), dk.maximum(x1.low * x2.low, x1.low * x2.high)
    third, fourth = dk.minimum(x1.high * x2.low, x1.high * x2.high), dk.maximum(x1.high * x2.low, x1.high * x2.high)
    return Span(dk.minimum(first, third), dk.maximum(second, fourth))


@dk.implements(dk.maximum)
def maximum_spans(x1: Span, x2: Span, /) -> Any:
    return Span(dk.maximum(x1.low, x2.low), dk.maximum(x1.high, x2.high))


@dk.implements(dk.exp)
def exp_span(x: Span, /) -> Any:
    return Span(dk.exp(x.low), dk.exp(x.high))


@dk.implements(dk.less)
def less_spans(x1: Span, x2: Span, /) -> Any:
    return x1.high < x2.low


@dk.implements(dk.sum)
def sum_span(x: Span, /) -> Any:
    return Span(dk.sum(x.low), dk.sum(x.high))


@dk.implements(dk.floor)
def floor_span(x: Span, /) -> Any:
    return Span(dk.floor(x.low), dk.floor(x.high))


@dk.implements(dk.sign)
def sign_span(x: Span, /) -> Any:
    return dk.sign(x.low + x.high)


def samples() -> list[Any]:
    return [Span([1.0, -2.0, 4.0], [1.5, 3.0, 4.5]), Span([0.25, -3.0], [0.5, -2.5])]


FAULTS = [
    ("the lower end twice", "add", "x1.high + x2.high", "x1.low + x2.high"),
    (
        "ends not crossed",
        "subtract",
        "Span(x1.low - x2.high, x1.high - x2.low)",
        "Span(x1.low - x2.low, x1.high - x2.high)",
    ),
    ("ends not swapped", "negative", "Span(-x.high, -x.low)", "Span(-x.low, -x.high)"),
    (
        "two products of four",
        "multiply",
        "Span(dk.minimum(first, third), dk.maximum(second, fourth))",
        "Span(first, second)",
    ),
    ("the upper end of the left", "maximum", "dk.maximum(x1.high, x2.high)", "x1.high * 1"),
    (
        "the middle alone",
        "exp",
        "Span(dk.exp(x.low), dk.exp(x.high))",
        "Span(dk.exp(x.to_dense()), dk.exp(x.to_dense()))",
    ),
    ("always false", "less", "return x1.high < x2.low", "return dk.zeros_like(x1.low, dtype=bool)"),
    ("a plain sum of lower ends", "sum", "Span(dk.sum(x.low), dk.sum(x.high))", "Span(dk.sum(x.low), dk.sum(x.low))"),
    ("a plain sign of the lower end turned", "sign", "dk.sign(x.low + x.high)", "-dk.sign(x.low + x.high)"),
    (
        "the upper end rounded up and down",
        "floor",
        "Span(dk.floor(x.low), dk.floor(x.high))",
        "Span(dk.floor(x.high), dk.floor(x.low))",
    ),
]
