"""`DiagonalTensor`: numbers on the diagonal of a square matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.types.structured.base import (
    StructuredTensor,
    as_tensor,
    check_product,
    floating,
    require_finite,
    slogdet_of_diagonal,
)
from dispatchkit.types.structured.elementwise import implement_pairs

__all__ = ["DiagonalTensor"]

implements = tensor_protocol.implements


@tensor_protocol.array_type(fields=("values",))
class DiagonalTensor(StructuredTensor):
    """The matrices with given numbers on their diagonals and zeros elsewhere.

    Parameters
    ----------
    diagonal : tensor of shape (..., n), or what `asarray` makes one of; the axes in front are a batch

    Raises
    ------
    ValueError : if `diagonal` has no axis

    Notes
    -----
    Sums, products, inverses, powers, factors and eigenvectors are diagonal again or permutations, and take O(n); a
    product with a matrix scales its rows or columns. Source: the diagonal matrices of linear_operator and of Julia's
    LinearAlgebra.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> d = dk.types.DiagonalTensor([1.0, 2.0, 4.0])
    >>> d @ d + d, dk.linalg.inv(d)
    (DiagonalTensor([ 2.,  6., 20.]), DiagonalTensor([1.0000, 0.5000, 0.2500]))
    >>> dk.linalg.slogdet(d)
    SlogdetResult(sign=tensor(1.), logabsdet=tensor(2.0794))
    """

    def __init__(self, diagonal: Any) -> None:
        self.values = as_tensor("DiagonalTensor", "diagonal", diagonal, 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes: (..., n, n)."""
        return (*self.values.shape, self.values.shape[-1])

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self.values.dtype

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        return self.added_to(ops.zeros(self.shape, dtype=self.dtype, device=self.values.device))

    def map_elements(self, function: Callable[[Any], Any]) -> DiagonalTensor:
        """Return the matrix with a function applied to the diagonal."""
        return DiagonalTensor(function(self.values))

    map_batch = map_elements

    def zip_elements(self, other: DiagonalTensor, function: Callable[[Any, Any], Any]) -> DiagonalTensor:
        """Return a function of two diagonals."""
        return DiagonalTensor(function(self.values, other.values))

    def restricted(self, x: Tensor) -> DiagonalTensor:
        """Return the diagonal of a tensor."""
        return DiagonalTensor(linalg.diagonal(x))

    def added_to(self, x: Tensor) -> Tensor:
        """Return a tensor with the numbers added on its diagonal."""
        index = ops.arange(self.shape[-1], device=x.device)
        added: Tensor = ops.index_put(x, (..., index, index), self.values, accumulate=True)
        return added

    def elements_at(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return the elements at indices."""
        here: Tensor = ops.where(rows == columns, self.values[..., rows], ops.zeros((), dtype=self.dtype))
        return here

    def times(self, columns: Tensor) -> Tensor:
        """Return a tensor with its rows scaled."""
        scaled: Tensor = self.values[..., :, None] * columns
        return scaled

    def times_from_left(self, rows: Tensor) -> Tensor:
        """Return a tensor with its columns scaled."""
        scaled: Tensor = rows * self.values[..., None, :]
        return scaled

    def solve_columns(self, columns: Tensor) -> Tensor:
        """Return a tensor with its rows divided."""
        _require_regular("solve", self)
        solution: Tensor = columns / self.values[..., :, None]
        return solution

    def principal(self, start: int, stop: int) -> DiagonalTensor:
        """Return the matrix of some of the rows and columns."""
        return DiagonalTensor(self.values[..., start:stop])

    def __repr__(self) -> str:
        return f"DiagonalTensor({repr(self.values).removeprefix('tensor(')}"


implement_pairs(DiagonalTensor)


def _require_regular(name: str, x: DiagonalTensor) -> None:
    if not holds(x.values != 0, traced=True):
        raise np.linalg.LinAlgError(f"{name}: singular matrix: a DiagonalTensor with 0 on its diagonal")


@implements(ops.matmul)
def matmul_diagonals(x1: DiagonalTensor, x2: DiagonalTensor, /) -> DiagonalTensor:
    check_product(x1.shape, x2.shape)
    return DiagonalTensor(x1.values * x2.values)


@implements(ops.matrix_transpose)
def matrix_transpose_diagonal(x: DiagonalTensor, /) -> DiagonalTensor:
    return x


@implements(linalg.diagonal)
def diagonal_of_diagonal(x: DiagonalTensor, /, *, offset: int = 0) -> Tensor:
    n = x.shape[-1]
    return ops.clone(x.values) if offset == 0 else ops.zeros((*x.shape[:-2], max(n - abs(offset), 0)), dtype=x.dtype)


@implements(linalg.inv)
def inv_diagonal(x: DiagonalTensor, /) -> DiagonalTensor:
    _require_regular("inv", x)
    return DiagonalTensor(1 / x.values)


@implements(linalg.det)
def det_diagonal(x: DiagonalTensor, /) -> Tensor:
    return ops.prod(floating(x.values), axis=-1)


@implements(linalg.slogdet)
def slogdet_diagonal(x: DiagonalTensor, /) -> Any:
    return slogdet_of_diagonal(x.values)


# Factors.


@implements(linalg.cholesky)
def cholesky_diagonal(x: DiagonalTensor, /, *, upper: bool = False) -> Any:
    if ops.isdtype(x.dtype, "complex floating"):
        return decline("of complex numbers the dense algorithm looks at the real part alone")
    if not holds(ops.logical_not(x.values <= 0), traced=True):
        raise np.linalg.LinAlgError("cholesky: matrix is not positive definite: a DiagonalTensor with numbers <= 0")
    return DiagonalTensor(ops.sqrt(floating(x.values)))


@implements(linalg.eigvalsh)
def eigvalsh_diagonal(x: DiagonalTensor, /) -> Tensor:
    require_finite("eigvalsh", x, x.values)
    return ops.sort(ops.real(floating(x.values)), axis=-1)


@implements(linalg.svdvals)
def svdvals_diagonal(x: DiagonalTensor, /) -> Tensor:
    require_finite("svdvals", x, x.values)
    return ops.sort(ops.abs(floating(x.values)), axis=-1, descending=True)
