"""Decimal numbers as whole numbers and a count of digits."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatchkit as dk


@dk.array_type(fallback=dk.fallback.dense, tests=dk.TypeTests(relation=1e-6))
class Fixed:
    def __init__(self, units: Any, digits: int) -> None:
        self.units, self.digits = np.asarray(units, dtype=np.int64), digits

    @property
    def shape(self) -> Any:
        return self.units.shape

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float64)

    def to_dense(self) -> Any:
        return dk.asarray(self.units / 10.0**self.digits)

    def in_digits(self, digits: int) -> Any:
        return self.units * 10 ** (digits - self.digits)

    def __len__(self) -> int:
        return len(self.units)

    def __repr__(self) -> str:
        return f"Fixed({self.units.tolist()}, {self.digits})"


def common(x1: Fixed, x2: Fixed) -> tuple[Any, Any, int]:
    digits = max(x1.digits, x2.digits)
    return x1.in_digits(digits), x2.in_digits(digits), digits


@dk.implements(dk.add)
def add_fixed(x1: Fixed, x2: Fixed, /) -> Any:
    first, second, digits = common(x1, x2)
    return Fixed(first + second, digits)


@dk.implements(dk.subtract)
def subtract_fixed(x1: Fixed, x2: Fixed, /) -> Any:
    first, second, digits = common(x1, x2)
    return Fixed(first - second, digits)


@dk.implements(dk.multiply)
def multiply_fixed(x1: Fixed, x2: Fixed, /) -> Any:
    return Fixed(x1.units * x2.units, x1.digits + x2.digits)


@dk.implements(dk.multiply)
def times(x: Fixed, y: int, /) -> Any:
    return Fixed(x.units * y, x.digits)


@dk.implements(dk.negative)
def negative_fixed(x: Fixed, /) -> Any:
    return Fixed(-x.units, x.digits)


@dk.implements(dk.sum)
def sum_fixed(x: Fixed, /, *, axis: Any = None) -> Any:
    return Fixed(x.units.sum(axis), x.digits)


@dk.implements(dk.equal)
def equal_fixed(x1: Fixed, x2: Fixed, /) -> Any:
    first, second, _ = common(x1, x2)
    return dk.asarray(first == second)


@dk.implements(dk.less)
def less_fixed(x1: Fixed, x2: Fixed, /) -> Any:
    first, second, _ = common(x1, x2)
    return dk.asarray(first < second)


@dk.implements(dk.sort)
def sort_fixed(x: Fixed, /, *, axis: int = -1, descending: bool = False) -> Any:
    units = np.sort(x.units, axis=axis)
    return Fixed(np.flip(units, axis) if descending else units, x.digits)


def samples() -> list[Any]:
    return [Fixed([150, -225, 1000], 2), Fixed([[5, 17], [-3, 8]], 1)]


SKIP = ("vmap",)  # codes and branches are none for batches
FAULTS = [
    ("digits are ignored", "add", "first + second, digits)", "x1.units + x2.units, x1.digits)"),
    ("digits of the right", "subtract", "first - second, digits)", "first - second, x2.digits)"),
    ("digits of the left", "multiply", "x1.digits + x2.digits)", "x1.digits * 2)"),
    ("a rounded half", "multiply", "x.units * y, x.digits)", "x.units * (y // 2 * 2), x.digits)"),
    ("a digit less", "negative", "Fixed(-x.units, x.digits)", "Fixed(-x.units // 10, x.digits - 1)"),
    ("another axis", "sum", "x.units.sum(axis)", "x.units.sum(None if axis is None else 0)"),
    ("units are compared", "equal", "dk.asarray(first == second)", "dk.asarray(x1.units == x2.units)"),
    ("or equal", "less", "dk.asarray(first < second)", "dk.asarray(first <= second)"),
    ("always ascending", "sort", "np.flip(units, axis) if descending else units", "units"),
    ("no text", "", 'f"Fixed({self.units.tolist()}, {self.digits})"', 'f"Fixed({self.unit}, {self.digits})"'),
]
