"""What is tried everywhere: plain tensors, structured matrices, a unit, metadata, a subclass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dispatchkit as dk

__all__ = ["Diagonal", "LowRank", "Named", "Quantity", "makers"]


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
@dataclass
class Diagonal:
    """A diagonal matrix, as a user writes it: a few rules, the rest on the dense form."""

    d: dk.Tensor

    @property
    def shape(self) -> tuple[int, int]:
        n = int(self.d.shape[0])
        return (n, n)

    @property
    def dtype(self) -> Any:
        return self.d.dtype

    def to_dense(self) -> Any:
        return dk.diag(self.d)


@dk.implements(dk.add)
def add_diagonals(x1: Diagonal, x2: Diagonal, /) -> Any:
    return Diagonal(x1.d + x2.d)


@dk.implements(dk.multiply)
def scale_diagonal(x1: Diagonal, x2: float, /) -> Any:
    return Diagonal(x1.d * x2)


@dk.implements(dk.multiply)
def diagonal_scaled(x1: float, x2: Diagonal, /) -> Any:
    return Diagonal(x1 * x2.d)


@dk.implements(dk.matmul)
def multiply_diagonals(x1: Diagonal, x2: Diagonal, /) -> Any:
    return Diagonal(x1.d * x2.d)


@dk.implements(dk.matmul)
def apply_diagonal(x1: Diagonal, x2: dk.Tensor, /) -> Any:
    return x1.d * x2 if x2.ndim == 1 else x1.d[:, None] * x2


@dk.implements(dk.linalg.solve)
def solve_diagonal(x1: Diagonal, x2: dk.Tensor, /) -> Any:
    return x2 / x1.d if x2.ndim == 1 else x2 / x1.d[:, None]


@dk.implements(dk.sum)
def sum_diagonal(x: Diagonal, /, *, axis: Any = None) -> Any:
    return x.d.sum() if axis is None else x.d if axis in (0, 1, -1, -2) else dk.decline("no such axis")


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
@dataclass
class LowRank:
    """A product of a tall and a wide matrix."""

    u: dk.Tensor
    v: dk.Tensor

    @property
    def shape(self) -> tuple[int, int]:
        return (int(self.u.shape[0]), int(self.v.shape[1]))

    @property
    def dtype(self) -> Any:
        return dk.result_type(self.u, self.v)

    def to_dense(self) -> Any:
        return self.u @ self.v


@dk.implements(dk.matmul)
def apply_low_rank(x1: LowRank, x2: dk.Tensor, /) -> Any:
    return x1.u @ (x1.v @ x2)


@dk.implements(dk.multiply)
def scale_low_rank(x1: LowRank, x2: float, /) -> Any:
    return LowRank(x1.u * x2, x1.v)


@dk.implements(dk.multiply)
def low_rank_scaled(x1: float, x2: LowRank, /) -> Any:
    return LowRank(x1 * x2.u, x2.v)


@dk.implements(dk.matrix_transpose)
def transpose_low_rank(x: LowRank, /) -> Any:
    return LowRank(x.v.mT, x.u.mT)


@dk.array_type(fallback=dk.fallback.rewrap)
@dataclass
class Quantity:
    """Numbers in a unit, which results keep; it has no dense form, since that would lose the unit."""

    value: dk.Tensor
    unit: str

    @property
    def shape(self) -> Any:
        return self.value.shape

    @property
    def dtype(self) -> Any:
        return self.value.dtype


class Named(dk.Tensor):
    """A tensor with a name."""

    name: str = ""


M = np.array([[2.0, 0.5, 0.0], [0.5, 1.5, 0.25], [0.0, 0.25, 1.25]])


def makers() -> dict[str, tuple[Any, np.ndarray[Any, Any]]]:
    """Return instances of the types by name, each with the array of its elements."""
    named = Named(M)
    named.name = "n"
    u = np.array([[1.25, 0.25, 0.5], [0.5, 1.0, 0.0], [0.25, 0.0, 1.5]])
    return {
        "Tensor": (dk.asarray(M), M),
        "ScalarTensor": (dk.types.ScalarTensor(3, 2.0), 2.0 * np.eye(3)),
        "Diagonal": (Diagonal(dk.asarray([2.0, 1.5, 1.25])), np.diag([2.0, 1.5, 1.25])),
        "LowRank": (LowRank(dk.asarray(u), dk.asarray(u.T.copy())), u @ u.T),
        "Quantity": (Quantity(dk.asarray(M), "m"), M),
        "MetadataTensor": (dk.types.MetadataTensor(M, {"unit": "m"}), M),
        "Subclass": (named, M),
    }
