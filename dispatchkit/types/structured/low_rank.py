"""`LowRankTensor`: a product of a tall matrix and a wide one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from typing_extensions import override

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.types.structured.base import (
    StructuredTensor,
    all_finite,
    check_product,
    floating,
    in_one_dtype,
    same_size,
)
from dispatchkit.types.structured.lazy import ProductTensor

__all__ = ["LowRankTensor"]

implements = tensor_protocol.implements


@tensor_protocol.array_type(fields=("left", "right"))
class LowRankTensor(StructuredTensor):
    """The matrix ``left @ right``, whose rank is at most the length r of the inner axis.

    Parameters
    ----------
    left : tensor of shape (..., M, r)
    right : tensor of shape (..., r, N)

    Raises
    ------
    ValueError : if the shapes do not fit

    Notes
    -----
    Products take O((M + N) r) for each column. A sum has the rank r1 + r2, a product the smaller of the two, and the
    sum with a structure that has an inverse is a `LowRankUpdateTensor`, which has one too. Source: G. H. Golub and C.
    F. Van Loan, Matrix Computations, 4th ed., section 2.1.4.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> a = dk.types.LowRankTensor([[1.0], [2.0]], [[3.0, 4.0]])
    >>> a @ dk.ones(2), (a + a).rank, (a @ a).rank
    (tensor([ 7., 14.]), 2, 1)
    >>> dk.linalg.solve(a + dk.types.ScalarTensor(2, 1.0), dk.ones(2))
    tensor([ 0.4167, -0.1667])
    """

    def __init__(self, left: Any, right: Any) -> None:
        self.left: Tensor = left if isinstance(left, Tensor) else ops.asarray(left)
        self.right: Tensor = right if isinstance(right, Tensor) else ops.asarray(right)
        shapes = self.left.shape, self.right.shape
        if self.left.ndim < 2 or self.right.ndim < 2 or shapes[0][-1] != shapes[1][-2]:
            raise ValueError(
                f"LowRankTensor: left must have shape (..., M, r) and right (..., r, N), found {shapes[0]} and "
                f"{shapes[1]}"
            )
        np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2])
        self.left, self.right = in_one_dtype((self.left, self.right), multiplied=True)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes: (..., M, N)."""
        batch = np.broadcast_shapes(self.left.shape[:-2], self.right.shape[:-2])
        return (*batch, self.left.shape[-2], self.right.shape[-1])

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return np.result_type(self.left.dtype, self.right.dtype)

    @property
    def rank(self) -> int:
        """Length of the inner axis, which the rank does not exceed."""
        return self.left.shape[-1]

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        dense: Tensor = ops.matmul(self.left, self.right)
        return dense

    @override
    def map_linear(self, function: Callable[[Any], Any]) -> LowRankTensor:
        return LowRankTensor(function(self.left), self.right)

    @override
    def map_batch(self, function: Callable[[Any], Any]) -> LowRankTensor:
        return LowRankTensor(*(function(factor) for factor in _in_one_batch(self.left, self.right)))

    @override
    def elements_at(self, rows: Tensor, columns: Tensor) -> Tensor:
        left, right = self.left[..., rows, :], ops.matrix_transpose(self.right)[..., columns, :]
        found: Tensor = ops.matmul(left[..., None, :], right[..., :, None])[..., 0, 0]
        return found

    @override
    def times(self, columns: Tensor) -> Any:
        return _finite(ops.matmul(self.left, ops.matmul(self.right, columns)))

    @override
    def times_from_left(self, rows: Tensor) -> Any:
        return _finite(ops.matmul(ops.matmul(rows, self.left), self.right))

    @override
    def principal(self, start: int, stop: int) -> LowRankTensor:
        return LowRankTensor(self.left[..., start:stop, :], self.right[..., start:stop])

    def __repr__(self) -> str:
        return f"LowRankTensor(left={self.left!r}, right={self.right!r})"


def _finite(product: Tensor) -> Any:
    """Return a product; a decline where the order of its factors matters, as they hold inf or nan, or overflow."""
    return product if all_finite(product) else decline("with inf or nan the order of the products matters")


def _in_one_batch(*tensors: Tensor) -> list[Tensor]:
    """Return matrices with their batches broadcast to one."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in tensors))
    return [ops.broadcast_to(x, (*batch, *x.shape[-2:])) for x in tensors]


@implements(ops.add)
def add_low_ranks(x1: LowRankTensor, x2: LowRankTensor, /) -> Any:
    if not same_size("add", x1, x2):
        return decline("axes of length 1 broadcast")
    left = ops.concat(_in_one_batch(x1.left, x2.left), axis=-1)
    return LowRankTensor(left, ops.concat(_in_one_batch(x1.right, x2.right), axis=-2))


@implements(ops.matmul)
def matmul_low_ranks(x1: LowRankTensor, x2: LowRankTensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    inner = ops.matmul(x1.right, x2.left)
    left, right = x1.left, x2.right
    if x1.rank <= x2.rank:
        right = ops.matmul(inner, right)
    else:
        left = ops.matmul(left, inner)
    # With inf or nan the order of the products matters. A decline would come to the two rules below, which rival.
    return LowRankTensor(left, right) if all_finite(x1.right, x2.left, left, right) else ProductTensor(x1, x2)


@implements(ops.matmul)
def matmul_low_rank_structured(x1: LowRankTensor, x2: StructuredTensor, /) -> Any:
    right = ops.matmul(x1.right, x2) if x1.shape[-1] == x2.shape[-2] else None
    if not isinstance(right, Tensor):
        return decline("the sizes do not fit")
    return LowRankTensor(x1.left, right) if all_finite(x1.left, right) else ops.matmul(x1.to_dense(), x2)


@implements(ops.matmul)
def matmul_structured_low_rank(x1: StructuredTensor, x2: LowRankTensor, /) -> Any:
    left = ops.matmul(x1, x2.left) if x1.shape[-1] == x2.shape[-2] else None
    if not isinstance(left, Tensor):
        return decline("the sizes do not fit")
    return LowRankTensor(left, x2.right) if all_finite(left, x2.right) else ops.matmul(x1, x2.to_dense())


@implements(ops.matrix_transpose)
def matrix_transpose_low_rank(x: LowRankTensor, /) -> LowRankTensor:
    return LowRankTensor(ops.matrix_transpose(x.right), ops.matrix_transpose(x.left))


@implements(ops.conj)
def conj_low_rank(x: LowRankTensor, /) -> LowRankTensor:
    return LowRankTensor(ops.conj(x.left), ops.conj(x.right))


@implements(linalg.matrix_power)
def matrix_power_low_rank(x: LowRankTensor, n: int, /) -> Any:
    if n < 1 or x.shape[-1] != x.shape[-2] or not all_finite(x.left, x.right):
        return decline("only positive powers of finite square matrices have low rank")
    inner = linalg.matrix_power(ops.matmul(x.right, x.left), n - 1)
    return LowRankTensor(x.left, ops.matmul(inner, x.right))


@implements(linalg.matrix_norm)
def matrix_norm_low_rank(x: LowRankTensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if ord != "fro":
        return decline("only the Frobenius norm follows from products of the factors")
    if not all_finite(x.left, x.right):
        return decline("with inf or nan the order of the products matters")
    left = ops.matmul(ops.conj(ops.matrix_transpose(x.left)), x.left)
    right = ops.matmul(x.right, ops.conj(ops.matrix_transpose(x.right)))
    square = ops.real(ops.sum(floating(left) * ops.matrix_transpose(right), axis=(-2, -1), keepdims=keepdims))
    return ops.sqrt(square) if holds(square > 0, traced=True) else decline("the norm of zero has no derivative here")
