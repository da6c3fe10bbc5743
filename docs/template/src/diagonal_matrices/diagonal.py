"""The type and its rules."""

from __future__ import annotations

import dispatchkit as dk

__all__ = ["Diagonal"]


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Diagonal(dk.ArrayMethods):
    """A square matrix with zeros off its diagonal.

    Parameters
    ----------
    d : the diagonal, of shape (n,)

    Raises
    ------
    ValueError : if it is no vector

    Examples
    --------
    >>> import dispatchkit as dk
    >>> Diagonal([1.0, 2.0]) @ dk.ones(2)
    tensor([1., 2.])
    """

    def __init__(self, d: dk.Tensor | list[float]) -> None:
        self.d = dk.asarray(d)
        if self.d.ndim != 1:
            raise ValueError(f"Diagonal: expected a vector, found shape {self.d.shape}")

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (n, n)."""
        return self.d.size, self.d.size

    @property
    def dtype(self) -> object:
        """The dtype of the diagonal."""
        return self.d.dtype

    def to_dense(self) -> dk.Tensor:
        """Return the matrix as a plain tensor."""
        return dk.diag(self.d)

    def __repr__(self) -> str:
        return f"Diagonal({self.d.tolist()})"


@dk.implements(dk.add)
def add(x1: Diagonal, x2: Diagonal, /) -> object:
    if x1.shape != x2.shape:
        return dk.decline("the sizes differ")
    return Diagonal(x1.d + x2.d)


@dk.implements(dk.matmul)
def matmul(x1: Diagonal, x2: dk.Tensor, /) -> object:
    if x2.ndim != 1 or x2.size != x1.d.size:
        return dk.decline("it takes one vector of its size")
    return x1.d * x2


@dk.implements(dk.matmul)
def rmatmul(x1: dk.Tensor, x2: Diagonal, /) -> object:
    if x1.ndim == 0 or x1.shape[-1] != x2.d.size:
        return dk.decline("the last axis must have the size of the matrix")
    return x1 * x2.d


@dk.implements(dk.linalg.solve)
def solve(x1: Diagonal, x2: dk.Tensor, /) -> object:
    if x2.ndim != 1 or x2.size != x1.d.size:
        return dk.decline("it takes one vector of its size")
    return x2 / x1.d
