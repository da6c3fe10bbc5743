"""A matrix as the product of a column and a row."""

from __future__ import annotations

from typing import Any

import dispatchkit as dk


@dk.array_type(fallback=dk.fallback.dense)
class Outer:
    def __init__(self, u: Any, v: Any) -> None:
        self.u, self.v = dk.asarray(u), dk.asarray(v)

    @property
    def shape(self) -> Any:
        return (self.u.size, self.v.size)

    @property
    def dtype(self) -> Any:
        return dk.result_type(self.u, self.v)

    def to_dense(self) -> Any:
        return self.u[:, None] * self.v

    @property
    def T(self) -> Any:  # NumPy's name
        return Outer(dk.clone(self.v), dk.clone(self.u))

    def __iter__(self) -> Any:
        return (self.u[i] * self.v for i in range(self.u.size))


def is_real(*arrays: Any) -> bool:
    return all(bool(dk.all(dk.isfinite(x))) for x in arrays)


@dk.implements(dk.matrix_transpose)
def transposed(x: Outer, /) -> Any:
    return Outer(dk.clone(x.v), dk.clone(x.u))


@dk.implements(dk.conj)
def conj_outer(x: Outer, /) -> Any:
    return Outer(dk.conj(x.u), dk.conj(x.v))


@dk.implements(dk.negative)
def negative_outer(x: Outer, /) -> Any:
    return Outer(-x.u, dk.clone(x.v))


@dk.implements(dk.abs)
def abs_outer(x: Outer, /) -> Any:
    return Outer(dk.abs(x.u), dk.abs(x.v))


@dk.implements(dk.multiply)
def times(x1: Outer, x2: Outer, /) -> Any:
    if x1.shape != x2.shape:
        return dk.decline("other shapes")
    return Outer(x1.u * x2.u, x1.v * x2.v)


@dk.implements(dk.sum)
def sum_outer(x: Outer, /, *, axis: Any = None) -> Any:
    if x.dtype.kind != "f" or not is_real(x.u, x.v):
        return dk.decline("no finite floating-point numbers")
    if axis in (0, -2):
        return dk.sum(x.u) * x.v
    if axis in (1, -1):
        return x.u * dk.sum(x.v)
    return dk.sum(x.u) * dk.sum(x.v) if axis is None else dk.decline("several axes")


@dk.implements(dk.matmul)
def product(x1: Outer, x2: Outer, /) -> Any:
    if x1.shape[1] != x2.shape[0] or not is_real(x1.u, x1.v, x2.u, x2.v):
        return dk.decline("other lengths")
    return Outer(x1.u * dk.sum(x1.v * x2.u), dk.clone(x2.v))


@dk.implements(dk.linalg.trace)
def trace_outer(x: Outer, /) -> Any:
    if x.shape[0] != x.shape[1] or x.dtype.kind != "f":
        return dk.decline("not square")
    return dk.sum(x.u * x.v)


@dk.implements(dk.linalg.diagonal)
def diagonal_outer(x: Outer, /) -> Any:
    n = min(x.shape)
    return x.u[:n] * x.v[:n]


def samples() -> list[Any]:
    return [Outer([1.0, -2.0], [0.5, 3.0]), Outer([1.0, 2.0, 4.0], [2.0, -1.0])]


SKIP = ("vmap",)  # codes and branches are none for batches
FAULTS = [
    (
        "nothing is transposed",
        "matrix_transpose",
        "return Outer(dk.clone(x.v), dk.clone(x.u))",
        "return Outer(dk.clone(x.u), dk.clone(x.v))",
    ),
    ("of the column alone", "conj", "Outer(dk.conj(x.u), dk.conj(x.v))", "Outer(dk.conj(x.u), x.v * 1)"),
    ("both signs change", "negative", "Outer(-x.u, dk.clone(x.v))", "Outer(-x.u, -x.v)"),
    ("of the column alone", "abs", "Outer(dk.abs(x.u), dk.abs(x.v))", "Outer(dk.abs(x.u), x.v * 1)"),
    ("the row of the left", "multiply", "x1.v * x2.v)", "x1.v * x1.v)"),
    ("axes swapped", "sum", "if axis in (0, -2):", "if axis in (1, -2):"),
    ("the row of the left", "matmul", "dk.clone(x2.v))", "dk.clone(x1.v))"),
    ("a mean", "linalg.trace", "return dk.sum(x.u * x.v)", "return dk.mean(x.u * x.v)"),
    (
        "T is no transpose",
        "t",
        "return Outer(dk.clone(self.v), dk.clone(self.u))",
        "return Outer(dk.clone(self.u), dk.clone(self.v))",
    ),
    ("iteration over columns", "", "(self.u[i] * self.v for i", "(self.v[i % self.v.size] * self.u for i"),
]
