"""Array types that the tests of PyTorch and JAX share, as users write them."""

from __future__ import annotations

from typing import Any

import dispatchkit as dk
from dispatchkit.interop.bridges import dense_tensor
from dispatchkit.types import MetadataTensor, ScalarTensor


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Diagonal:
    """A diagonal matrix."""

    def __init__(self, values: Any) -> None:
        self.values = values if isinstance(values, dk.Tensor) else dk.asarray(values)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.values.shape[0], self.values.shape[0])

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def to_dense(self) -> Any:
        return self.values * dk.eye(self.shape[0])


@dk.implements(dk.add)
def add_diagonals(x1: Diagonal, x2: Diagonal, /) -> Diagonal:
    return Diagonal(x1.values + x2.values)


@dk.implements(dk.multiply)
def scale_diagonal(x1: Diagonal, x2: int | float | dk.Tensor, /) -> Any:
    return dk.decline("no number") if getattr(x2, "ndim", 0) else Diagonal(x1.values * x2)


@dk.implements(dk.multiply)
def scaled_diagonal(x1: int | float | dk.Tensor, x2: Diagonal, /) -> Any:
    return scale_diagonal(x2, x1)


def rows(values: Any, x: Any) -> Any:
    return values if x.ndim == 1 else values[:, None]


@dk.implements(dk.matmul)
def diagonal_times_matrix(x1: Diagonal, x2: dk.Tensor, /) -> Any:
    return rows(x1.values, x2) * x2


@dk.implements(dk.matmul)
def matrix_times_diagonal(x1: dk.Tensor, x2: Diagonal, /) -> Any:
    return x1 * x2.values


@dk.implements(dk.linalg.solve)
def solve_diagonal(x1: Diagonal, x2: dk.Tensor, /) -> Any:
    return x2 / rows(x1.values, x2)


@dk.implements(dk.matrix_transpose)
def transposed_diagonal(x: Diagonal, /) -> Diagonal:
    return x


@dk.implements(dk.sum)
def sum_of_diagonal(x: Diagonal, /) -> Any:
    return dk.sum(x.values)


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class LowRank:
    """The product of a tall matrix and a wide one."""

    def __init__(self, left: dk.Tensor, right: dk.Tensor) -> None:
        self.left, self.right = left, right

    @property
    def shape(self) -> tuple[int, int]:
        return (self.left.shape[0], self.right.shape[1])

    @property
    def dtype(self) -> Any:
        return self.left.dtype

    def to_dense(self) -> Any:
        return self.left @ self.right


@dk.implements(dk.matmul)
def low_rank_times_matrix(x1: LowRank, x2: dk.Tensor, /) -> Any:
    return x1.left @ (x1.right @ x2)


@dk.implements(dk.matmul)
def matrix_times_low_rank(x1: dk.Tensor, x2: LowRank, /) -> Any:
    return (x1 @ x2.left) @ x2.right


@dk.implements(dk.multiply)
def scale_low_rank(x1: LowRank, x2: int | float | dk.Tensor, /) -> Any:
    return dk.decline("no number") if getattr(x2, "ndim", 0) else LowRank(x1.left * x2, x1.right)


@dk.implements(dk.multiply)
def scaled_low_rank(x1: int | float | dk.Tensor, x2: LowRank, /) -> Any:
    return scale_low_rank(x2, x1)


@dk.implements(dk.matrix_transpose)
def transposed_low_rank(x: LowRank, /) -> LowRank:
    return LowRank(x.right.mT, x.left.mT)


class Named(dk.Tensor):
    """A subclass of `Tensor` with an attribute."""

    name: str


VALUES = [[2.0, 0.5, -1.0], [0.25, 3.0, 0.75], [-0.5, 1.0, 1.5]]


def made(make: Any) -> dict[str, Any]:
    """Return a square matrix of each kind, on arrays that `make` gives of nested lists."""
    named = Named(make(VALUES))
    named.name = "speed"
    return {
        "Tensor": dk.Tensor(make(VALUES)),
        "Named": named,
        "Diagonal": Diagonal(dk.Tensor(make([2.0, 3.0, 1.5]))),
        "LowRank": LowRank(dk.Tensor(make([[1.0], [2.0], [-1.0]])), dk.Tensor(make([[0.5, 1.0, 2.0]]))),
        "ScalarTensor": ScalarTensor(3, dk.Tensor(make(2.0))),
        "MetadataTensor": MetadataTensor(dk.Tensor(make(VALUES)), {"unit": "m", "path": ["a", "b"]}),
    }


KINDS = ["Tensor", "Named", "Diagonal", "LowRank", "ScalarTensor", "MetadataTensor"]


def dense(x: Any) -> dk.Tensor:
    """Return the matrix as a plain tensor."""
    with dk.densify(on="allow"):
        return dense_tensor("dense", x)
