"""Permutation matrices with a factor for each row."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatchkit as dk


@dk.array_type(fallback=dk.fallback.dense, fields={"places": dk.field(discrete=True), "factors": dk.field()})
class Permutation:
    def __init__(self, places: Any, factors: Any) -> None:
        self.places, self.factors = np.asarray(places), dk.asarray(factors)

    @property
    def shape(self) -> Any:
        return (len(self.places), len(self.places))

    @property
    def dtype(self) -> Any:
        return self.factors.dtype

    def to_dense(self) -> Any:
        return dk.where(np.eye(len(self.places), dtype=bool)[self.places], self.factors[:, None], 0)

    def is_finite(self) -> bool:
        return bool(dk.all(dk.isfinite(self.factors)))

    def __len__(self) -> int:
        return len(self.places)

    @property
    def mT(self) -> Any:  # the standard's name
        return dk.matrix_transpose(self)


@dk.implements(dk.matrix_transpose)
def transposed(x: Permutation, /) -> Any:
    inverse = np.argsort(x.places)
    return Permutation(inverse, x.factors[inverse])


@dk.implements(dk.matmul)
def product(x1: Permutation, x2: Permutation, /) -> Any:
    if len(x1) != len(x2) or not x1.is_finite() or not x2.is_finite():
        return dk.decline("other sizes, or no numbers")
    return Permutation(x2.places[x1.places], x1.factors * x2.factors[x1.places])


@dk.implements(dk.matmul)
def times_vector(x1: Permutation, x2: dk.Tensor, /) -> Any:
    if x2.ndim != 1 or len(x2) != len(x1) or not bool(dk.all(dk.isfinite(x2))) or not x1.is_finite():
        return dk.decline("no vector")
    return x1.factors * x2[x1.places]


@dk.implements(dk.negative)
def negative_permutation(x: Permutation, /) -> Any:
    return Permutation(x.places.copy(), -x.factors) if x.dtype.kind != "f" else dk.decline("minus zero")


@dk.implements(dk.linalg.inv)
def inverse(x: Permutation, /) -> Any:
    if not bool(dk.all(x.factors != 0)) or x.dtype.kind != "f" or not x.is_finite():
        return dk.decline("singular")
    places = np.argsort(x.places)
    return Permutation(places, 1 / x.factors[places])


@dk.implements(dk.sum)
def sum_permutation(x: Permutation, /, *, axis: Any = None) -> Any:
    if axis in (1, -1):
        return dk.clone(x.factors) if x.dtype.kind == "f" else dk.decline("no floats")
    return dk.sum(x.factors) if axis is None else dk.decline("columns")


@dk.implements(dk.linalg.trace)
def trace_permutation(x: Permutation, /) -> Any:
    return (
        dk.sum(x.factors * dk.asarray(x.places == np.arange(len(x)), dtype=x.dtype))
        if x.is_finite()
        else dk.decline("inf")
    )


@dk.implements(dk.linalg.det)
def det_permutation(x: Permutation, /) -> Any:
    if x.dtype.kind != "f" or not x.is_finite():
        return dk.decline("no floats")
    sign = round(float(np.linalg.det(np.eye(len(x))[x.places])))
    return sign * dk.prod(x.factors)


@dk.implements(dk.abs)
def abs_permutation(x: Permutation, /) -> Any:
    return Permutation(x.places.copy(), dk.abs(x.factors))


def samples() -> list[Any]:
    return [Permutation([1, 2, 0], [1.0, -2.0, 4.0]), Permutation([0, 1], [0.5, 3.0])]


FAULTS = [
    (
        "factors stay in place",
        "matrix_transpose",
        "Permutation(inverse, x.factors[inverse])",
        "Permutation(inverse, x.factors * 1)",
    ),
    (
        "composed the wrong way",
        "matmul",
        "Permutation(x2.places[x1.places], x1",
        "Permutation(x1.places[x2.places], x1",
    ),
    ("the vector stays", "matmul", "x1.factors * x2[x1.places]", "x1.factors * x2"),
    ("factors are not inverted", "linalg.inv", "1 / x.factors[places]", "x.factors[places] * 1"),
    ("an inverse of zero", "linalg.inv", "if not bool(dk.all(x.factors != 0)) or x.dtype", "if x.dtype"),
    ("rows in the order of columns", "sum", "dk.clone(x.factors) if", "x.factors[x.places] if"),
    (
        "the sum of factors",
        "linalg.trace",
        "x.factors * dk.asarray(x.places == np.arange(len(x)), dtype=x.dtype)",
        "x.factors",
    ),
    ("no sign", "linalg.det", "sign * dk.prod(x.factors)", "dk.abs(dk.prod(x.factors))"),
    (
        "places are turned",
        "abs",
        "Permutation(x.places.copy(), dk.abs(x.factors))",
        "Permutation(x.places[::-1].copy(), dk.abs(x.factors))",
    ),
    ("mT is the matrix", "matrix_transpose", "return dk.matrix_transpose(self)", "return self"),
]
