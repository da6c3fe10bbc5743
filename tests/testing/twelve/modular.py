"""Whole numbers modulo another: a result is right if it is congruent to the dense one."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatchkit as dk


def congruent(x: Any, y: Any) -> Any:
    return dk.all((x.residues - y) % x.modulus == 0)


@dk.array_type(
    fallback=dk.fallback.dense,
    tests=dk.TypeTests(relation=congruent),
    fields={"residues": dk.field(), "modulus": dk.field(merge="error")},
)
class Modular:
    def __init__(self, residues: Any, modulus: int) -> None:
        self.residues, self.modulus = dk.asarray(residues) % modulus, modulus

    @property
    def shape(self) -> Any:
        return self.residues.shape

    @property
    def dtype(self) -> Any:
        return self.residues.dtype

    def to_dense(self) -> Any:
        return dk.clone(self.residues)

    def __len__(self) -> int:
        return len(self.residues)

    def __repr__(self) -> str:
        return f"{self.residues} mod {self.modulus}"


def same_modulus(*operands: Modular) -> int:
    if len({x.modulus for x in operands}) > 1:
        raise ValueError("two moduli")
    return operands[0].modulus


@dk.implements(dk.add)
def add_modular(x1: Modular, x2: Modular, /) -> Any:
    return Modular(x1.residues + x2.residues, same_modulus(x1, x2))


@dk.implements(dk.subtract)
def subtract_modular(x1: Modular, x2: Modular, /) -> Any:
    return Modular(x1.residues - x2.residues, same_modulus(x1, x2))


@dk.implements(dk.multiply)
def multiply_modular(x1: Modular, x2: Modular, /) -> Any:
    return Modular(x1.residues * x2.residues, same_modulus(x1, x2))


@dk.implements(dk.multiply)
def times(x: Modular, y: int, /) -> Any:
    return Modular(x.residues * y, x.modulus)


@dk.implements(dk.negative)
def negative_modular(x: Modular, /) -> Any:
    return Modular(-x.residues, x.modulus)


@dk.implements(dk.equal)
def equal_modular(x1: Modular, x2: Modular, /) -> Any:
    same_modulus(x1, x2)
    return x1.residues == x2.residues


@dk.implements(dk.less)
def less_modular(x1: Modular, x2: Modular, /) -> Any:
    return x1.residues < x2.residues


@dk.implements(dk.sum)
def sum_modular(x: Modular, /) -> Any:
    return Modular(dk.sum(x.residues), x.modulus)


@dk.implements(dk.argmax)
def argmax_modular(x: Modular, /) -> Any:
    return dk.argmax(x.residues)


@dk.implements(dk.max)
def max_modular(x: Modular, /) -> Any:
    return dk.max(x.residues)


def samples() -> list[Any]:
    return [Modular(np.asarray([3, 6, 1]), 7), Modular(np.asarray([[2, 4]]), 5)]


FAULTS = [
    (
        "two moduli are mixed",
        "add",
        "Modular(x1.residues + x2.residues, same_modulus(x1, x2))",
        "Modular(x1.residues + x2.residues, x1.modulus)",
    ),
    ("operands swapped", "subtract", "x1.residues - x2.residues", "x2.residues - x1.residues"),
    ("a square", "multiply", "x1.residues * x2.residues", "x1.residues * x1.residues"),
    ("one too many", "multiply", "Modular(x.residues * y, x.modulus)", "Modular(x.residues * (y + 1), x.modulus)"),
    ("no sign", "negative", "Modular(-x.residues, x.modulus)", "Modular(+x.residues, x.modulus)"),
    ("not equal", "equal", "x1.residues == x2.residues", "x1.residues != x2.residues"),
    ("on residues turned", "less", "x1.residues < x2.residues", "(-x1.residues) % x1.modulus < x2.residues"),
    ("one more", "sum", "Modular(dk.sum(x.residues), x.modulus)", "Modular(dk.sum(x.residues) + 1, x.modulus)"),
    ("the smallest", "argmax", "dk.argmax(x.residues)", "dk.argmin(x.residues)"),
    ("a number that passes everything", "max", "return dk.max(x.residues)", "return dk.asarray(12345)"),
]
