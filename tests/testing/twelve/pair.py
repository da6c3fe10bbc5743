"""Numbers as a large part and a small rest."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatchkit as dk

KNOWN = (dk.Tensor, np.ndarray, int, float, complex)


@dk.array_type(fallback=dk.fallback.dense)
class Pair:
    def __init__(self, large: Any, rest: Any) -> None:
        self.large, self.rest = dk.asarray(large), dk.asarray(rest)

    @property
    def shape(self) -> Any:
        return self.large.shape

    @property
    def dtype(self) -> Any:
        return self.large.dtype

    def to_dense(self) -> Any:
        return self.large + self.rest

    def __eq__(self, other: object) -> Any:
        return dk.equal(self, other) if isinstance(other, (Pair, *KNOWN)) else NotImplemented

    __hash__ = object.__hash__

    def __neg__(self) -> Any:
        return Pair(-self.large, -self.rest)

    def __bool__(self) -> bool:
        return bool(self.large + self.rest)

    def __deepcopy__(self, memo: Any) -> Any:
        return Pair(dk.clone(self.large), dk.clone(self.rest))


@dk.implements(dk.negative)
def negative_pair(x: Pair, /) -> Any:
    return Pair(-x.large, -x.rest)


@dk.implements(dk.add)
def add_pairs(x1: Pair, x2: Pair, /) -> Any:
    return Pair(x1.large + x2.large, x1.rest + x2.rest)


@dk.implements(dk.subtract)
def subtract_pairs(x1: Pair, x2: Pair, /) -> Any:
    return Pair(x1.large - x2.large, x1.rest - x2.rest)


@dk.implements(dk.conj)
def conj_pair(x: Pair, /) -> Any:
    return Pair(dk.conj(x.large), dk.conj(x.rest))


@dk.implements(dk.real)
def real_pair(x: Pair, /) -> Any:
    return Pair(dk.real(x.large), dk.real(x.rest))


@dk.implements(dk.reshape)
def reshape_pair(x: Pair, /, shape: Any) -> Any:
    return Pair(dk.clone(dk.reshape(x.large, shape)), dk.clone(dk.reshape(x.rest, shape)))


@dk.implements(dk.exp)
def exp_pair(x: Pair, /) -> Any:
    return dk.exp(x.large + x.rest)


def samples() -> list[Any]:
    return [Pair([1.0, -2.0, 4.0], [0.25, 0.125, 0.5]), Pair(3.0, 0.5)]


FAULTS = [
    (
        "the rest keeps its sign",
        "negative",
        "@dk.implements(dk.negative)\ndef negative_pair(x: Pair, /) -> Any:\n    return Pair(-x.large, -x.rest)",
        "@dk.implements(dk.negative)\ndef negative_pair(x: Pair, /) -> Any:\n    return Pair(-x.large, x.rest * 1)",
    ),
    ("the rest of the left", "add", "x1.rest + x2.rest", "x1.rest * 2"),
    ("rests are added", "subtract", "x1.rest - x2.rest", "x1.rest + x2.rest"),
    (
        "of the large part alone",
        "conj",
        "Pair(dk.conj(x.large), dk.conj(x.rest))",
        "Pair(dk.conj(x.large), x.rest * 1)",
    ),
    ("nothing is taken", "real", "Pair(dk.real(x.large), dk.real(x.rest))", "Pair(x.large * 1, x.rest * 1)"),
    (
        "the rest in another order",
        "reshape",
        "dk.clone(dk.reshape(x.rest, shape))",
        "dk.flip(dk.reshape(x.rest, shape))",
    ),
    ("NumPy inside", "exp", "dk.exp(x.large + x.rest)", "dk.asarray(np.exp((x.large + x.rest).detach().numpy()))"),
    (
        "equality as a bool",
        "equal",
        "return dk.equal(self, other) if isinstance(other, (Pair, *KNOWN)) else NotImplemented",
        "return isinstance(other, Pair) and bool(dk.all(self.large == other.large))",
    ),
    (
        "a hash by value",
        "",
        "__hash__ = object.__hash__",
        "def __hash__(self) -> int:\n        return hash(str(self.large))",
    ),
    (
        "the operator does nothing",
        "negative",
        "return Pair(-self.large, -self.rest)",
        "return Pair(self.large * 1, self.rest * 1)",
    ),
]
