"""`LowRankTensor`: a product of a tall matrix and a wide one; `LowRankUpdateTensor`: its sum with another matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import holds, wrap_array
from dispatchkit.graph.recording import no_grad
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.printing import summarised
from dispatchkit.types.rules import (
    ORDER_MATTERS,
    all_finite,
    bind_rule,
    check_product,
    enter,
    is_finite_array,
    is_plain,
    plain_arrays,
    promote,
)
from dispatchkit.types.structured.banded import BandedTensor
from dispatchkit.types.structured.base import (
    SINGULAR,
    StructuredTensor,
    det_by_logarithm,
    floating,
    held_arrays,
    in_one_dtype,
    same_size,
    wants_derivative,
)
from dispatchkit.types.structured.block_diagonal import BlockDiagonalTensor
from dispatchkit.types.structured.circulant import CirculantTensor
from dispatchkit.types.structured.diagonal import DiagonalTensor, ScalarTensor
from dispatchkit.types.structured.kept import kept
from dispatchkit.types.structured.kronecker import KroneckerTensor
from dispatchkit.types.structured.lazy import ProductTensor, SumTensor
from dispatchkit.types.structured.permutation import PermutationTensor
from dispatchkit.types.structured.shifted_kronecker import ShiftedKroneckerTensor
from dispatchkit.types.structured.toeplitz import ToeplitzTensor
from dispatchkit.types.structured.triangular import TriangularTensor

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
        self.left: Tensor
        if isinstance(left, Tensor):
            self.left = left
        else:
            self.left = ops.asarray(left)
        self.right: Tensor
        if isinstance(right, Tensor):
            self.right = right
        else:
            self.right = ops.asarray(right)
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

    def map_linear(self, function: Callable[[Any], Any]) -> LowRankTensor:
        """Return the structure with a linear function, such as scaling, applied to the elements."""
        return LowRankTensor(function(self.left), self.right)

    def map_batch(self, function: Callable[[Any], Any]) -> LowRankTensor:
        """Return the structure with a function of the axes of the batch applied, such as an index."""
        return LowRankTensor(*(function(factor) for factor in _in_one_batch(self.left, self.right)))

    def elements_at(self, rows: Tensor, columns: Tensor) -> Any:
        """Return the elements at indices, in range and of as many axes, which broadcast behind the batch."""
        return _each_by_its_own(self.left[..., rows, :], ops.matrix_transpose(self.right)[..., columns, :])

    def times(self, columns: Tensor) -> Any:
        """Return the product with a tensor of shape (..., N, K)."""
        return _finite(ops.matmul(self.left, ops.matmul(self.right, columns)))

    def times_from_left(self, rows: Tensor) -> Any:
        """Return the product of a tensor of shape (..., K, M) with the matrix."""
        return _finite(ops.matmul(ops.matmul(rows, self.left), self.right))

    def times_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the product with a vector or columns."""
        arrays = plain_arrays(self.left, self.right)
        if arrays is None or not _fit(arrays, x) or x.shape[0] != arrays[1].shape[1]:
            return None
        product: np.ndarray = arrays[0] @ (arrays[1] @ x)
        if is_finite_array(product):
            return product
        return None

    def array_times(self, x: np.ndarray) -> np.ndarray | None:
        """Return the product of a vector with the matrix."""
        arrays = plain_arrays(self.left, self.right)
        if arrays is None or not _fit(arrays, x) or x.ndim != 1 or x.size != arrays[0].shape[0]:
            return None
        product: np.ndarray = x @ arrays[0] @ arrays[1]
        if is_finite_array(product):
            return product
        return None

    def principal(self, start: int, stop: int) -> LowRankTensor:
        """Return the square submatrix of the rows and columns `start` to `stop`."""
        return LowRankTensor(self.left[..., start:stop, :], self.right[..., start:stop])

    @summarised
    def __repr__(self) -> str:
        return f"LowRankTensor(left={self.left!r}, right={self.right!r})"


def _fit(factors: Sequence[np.ndarray], x: np.ndarray) -> bool:
    """Return whether factors are those of one matrix of floating-point numbers, and an array is of their dtype."""
    left, right = factors
    return left.ndim == right.ndim == 2 and x.ndim in {1, 2} and x.dtype == left.dtype and x.dtype.kind in "fc"


def _finite(product: Tensor) -> Any:
    """Return a product; a decline where the order of its factors matters, as they hold inf or nan, or overflow."""
    if all_finite(product):
        return product
    return decline(ORDER_MATTERS)


def _each_by_its_own(rows: Tensor, columns: Tensor) -> Tensor:
    """Return the products of rows with as many columns, which are given as rows."""
    arrays = plain_arrays(rows, columns)
    if arrays is not None:
        return ops.asarray(np.einsum("...i,...i->...", *arrays))
    products: Tensor = ops.matmul(rows[..., None, :], columns[..., :, None])[..., 0, 0]
    return products


def _in_one_batch(*tensors: Tensor) -> list[Tensor]:
    """Return matrices with their batches broadcast to one."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in tensors))
    return [ops.broadcast_to(x, (*batch, *x.shape[-2:])) for x in tensors]


@implements(linalg.trace)
def trace_low_rank(x: LowRankTensor, /, *, offset: int = 0, dtype: Any = None) -> Any:
    arrays = plain_arrays(x.left, x.right)
    if arrays is None or offset or dtype is not None or arrays[0].shape[-2] != arrays[1].shape[-1]:
        return decline("a sum of the elements of a diagonal")
    left, right = arrays
    if not left.ndim == right.ndim == 2:
        return wrap_array(Tensor, np.asarray(np.einsum("...ij,...ji->...", left, right)))
    if len(right) <= FEW_ROWS and len(left) >= MANY and right.strides[1] == right.itemsize and right.dtype.kind in "fc":
        # One sum of all would go through one of the factors against the order in which it lies in memory.
        return wrap_array(Tensor, np.asarray(sum(map(np.dot, left.T, right))))
    return wrap_array(Tensor, np.asarray(np.einsum("ij,ji->", left, right)))


FEW_ROWS, MANY = (
    16,
    500,
)  # of low rank, and of the matrix, for which a product for each row takes less time than one sum


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
    if all_finite(x1.right, x2.left, left, right):
        return LowRankTensor(left, right)
    return ProductTensor(x1, x2)


@implements(ops.matmul)
def matmul_low_rank_structured(x1: LowRankTensor, x2: StructuredTensor, /) -> Any:
    right = None
    if x1.shape[-1] == x2.shape[-2]:
        right = ops.matmul(x1.right, x2)
    if not isinstance(right, Tensor):
        return decline("the sizes do not fit")
    if all_finite(x1.left, right):
        return LowRankTensor(x1.left, right)
    return ops.matmul(x1.to_dense(), x2)


@implements(ops.matmul)
def matmul_structured_low_rank(x1: StructuredTensor, x2: LowRankTensor, /) -> Any:
    left = None
    if x1.shape[-1] == x2.shape[-2]:
        left = ops.matmul(x1, x2.left)
    if not isinstance(left, Tensor):
        return decline("the sizes do not fit")
    if all_finite(left, x2.right):
        return LowRankTensor(left, x2.right)
    return ops.matmul(x1, x2.to_dense())


@implements(ops.matrix_transpose)
def matrix_transpose_low_rank(x: LowRankTensor, /) -> LowRankTensor:
    return LowRankTensor(ops.matrix_transpose(x.right), ops.matrix_transpose(x.left))


@implements(ops.conj)
def conj_low_rank(x: LowRankTensor, /) -> LowRankTensor:
    return LowRankTensor(ops.conj(x.left), ops.conj(x.right))


@implements(linalg.matrix_norm)
def matrix_norm_low_rank(x: LowRankTensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if ord != "fro":
        return decline("only the Frobenius norm follows from products of the factors")
    if not all_finite(x.left, x.right):
        return decline(ORDER_MATTERS)
    left = ops.matmul(ops.conj(ops.matrix_transpose(x.left)), x.left)
    right = ops.matmul(x.right, ops.conj(ops.matrix_transpose(x.right)))
    square = ops.real(ops.sum(floating(left) * ops.matrix_transpose(right), axis=(-2, -1), keepdims=keepdims))
    if holds(square > 0, traced=True):
        return ops.sqrt(square)
    return decline("the norm of zero has no derivative here")


@tensor_protocol.array_type(fields=("base", "update"))
class LowRankUpdateTensor(StructuredTensor):
    """The square matrix ``base + update.left @ update.right``, as the sum of a matrix and a low rank gives it.

    Parameters
    ----------
    base : structured matrix of shape (..., N, N) with rules for `solve` and `slogdet`
    update : matrix of low rank r of the same size

    Raises
    ------
    ValueError : if the shapes differ

    Notes
    -----
    Systems are solved by Woodbury's formula, with a step of refinement where the residual shows that the formula
    cancels, because the base is small compared with the update; determinants follow from
    ``det(I + right @ base⁻¹ @ left) det(base)``. Both take what the base takes for r columns, O(N r²) and O(r³). Where
    the base has no inverse, or the residual is not small, the dense matrix answers. Source: G. H. Golub and C. F. Van
    Loan, Matrix Computations, 4th ed., section 2.1.4.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> low = dk.types.LowRankTensor([[1.0], [2.0]], [[1.0, 2.0]])
    >>> a = dk.types.ScalarTensor(2, 3.0) + low
    >>> dk.linalg.solve(a, dk.asarray([4.0, 5.0])), dk.linalg.det(a)
    (tensor([0.7500, 0.5000]), tensor(24.0000))
    """

    def __init__(self, base: StructuredTensor, update: LowRankTensor) -> None:
        if base.shape[-2:] != update.shape[-2:] or base.shape[-1] != base.shape[-2]:
            raise ValueError(
                f"LowRankUpdateTensor: base and update must be square and of one size, found {base.shape} and "
                f"{update.shape}"
            )
        np.broadcast_shapes(base.shape, update.shape)
        self.base, self.update = in_one_dtype((base, update))

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes: (..., N, N)."""
        return np.broadcast_shapes(self.base.shape, self.update.shape)

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return np.result_type(self.base.dtype, self.update.dtype)

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        dense: Tensor = self.base.to_dense() + self.update.to_dense()
        return dense

    def map_linear(self, function: Callable[[Any], Any]) -> Any:
        """Return the structure with a linear function, such as scaling, applied to the elements."""
        base = self.base.map_linear(function)
        if base is NotImplemented:
            return base
        return LowRankUpdateTensor(base, self.update.map_linear(function))

    def elements_at(self, rows: Tensor, columns: Tensor) -> Any:
        """Return the elements at indices, in range and of as many axes, which broadcast behind the batch."""
        base = self.base.elements_at(rows, columns)
        if base is NotImplemented:
            return base
        return base + self.update.elements_at(rows, columns)

    def times(self, columns: Tensor) -> Any:
        """Return the product with a tensor of shape (..., N, K)."""
        update = self.update.times(columns)
        if update is NotImplemented:
            return update
        return ops.matmul(self.base, columns) + update

    def times_from_left(self, rows: Tensor) -> Any:
        """Return the product of a tensor of shape (..., K, M) with the matrix."""
        update = self.update.times_from_left(rows)
        if update is NotImplemented:
            return update
        return ops.matmul(rows, self.base) + update

    def times_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the product with a vector or columns."""
        based = self.base.times_array(x)
        if based is None:
            return None
        updated = self.update.times_array(x)
        if updated is None or based.shape != updated.shape:
            return None
        return based + updated

    def solve_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the solution for a vector by factors that are kept; None where it is not stable at once."""
        factors = plain_arrays(self.update.left, self.update.right)
        of_base = held_arrays(self.base)
        if factors is None or of_base is None or not _fit(factors, x) or x.ndim != 1 or x.dtype.char not in "fd":
            return None
        direct = self.base.solve_array(x)
        if direct is None:
            return None
        try:
            spread, inverse, size = kept(self, "factors", (*factors, *of_base), self._factors)
        except np.linalg.LinAlgError:
            return None
        solution: np.ndarray = direct - spread @ (inverse @ (factors[1] @ direct))
        based, updated = self.base.times_array(solution), self.update.times_array(solution)
        if based is None or updated is None:
            return None
        residual = np.linalg.norm(x - based - updated)
        size = size * np.linalg.norm(solution) + np.linalg.norm(based) + np.linalg.norm(x)
        if residual <= np.finfo(x.dtype).eps * size:
            return solution
        return None

    def _factors(self, left: np.ndarray, right: np.ndarray, *of_base: np.ndarray) -> tuple[Any, Any, Any]:
        """Return the solution of the base for the left factor, the inverse of the capacity, and the update's size.

        Raises
        ------
        numpy.linalg.LinAlgError : if the formula cannot be used
        """
        spread = _spread(self)
        if spread is NotImplemented or not is_plain(spread):
            raise np.linalg.LinAlgError("the base has no inverse")
        capacity = right @ spread.array + np.eye(right.shape[0], dtype=right.dtype)
        size = np.linalg.norm(left) * np.linalg.norm(right)
        return spread.array, np.linalg.inv(capacity), size

    def solve_columns(self, columns: Tensor) -> Any:
        """Return the solution of the system with right-hand sides of shape (..., N, K)."""
        low = self.update
        if all_finite(columns):
            spread = _spread(self)
        else:
            spread = decline(ORDER_MATTERS)
        if spread is NotImplemented:
            return spread
        capacity = _capacity(low, spread)

        def woodbury(right: Tensor) -> Any:
            direct = self.base.solve_columns(promote(right, self.base.dtype))
            if direct is NotImplemented:
                return direct
            return direct - ops.matmul(spread, linalg.solve(capacity, ops.matmul(low.right, direct)))

        try:
            solution = woodbury(columns)
            if solution is NotImplemented or _is_stable(self, solution, columns, 1):
                return solution
            change = woodbury(columns - ops.matmul(self, solution))
            if change is NotImplemented:
                return change
            solution = solution + change
        except np.linalg.LinAlgError:
            return decline("the capacity matrix has no inverse")
        if _is_stable(self, solution, columns, 2 / 3):
            return solution
        return decline("the formula cancels")

    def principal(self, start: int, stop: int) -> Any:
        """Return the square submatrix of the rows and columns `start` to `stop`."""
        base = self.base.principal(start, stop)
        if base is NotImplemented:
            return base
        return LowRankUpdateTensor(base, self.update.principal(start, stop))

    @summarised
    def __repr__(self) -> str:
        return f"LowRankUpdateTensor(base={self.base!r}, update={self.update!r})"


def _capacity(low: LowRankTensor, spread: Tensor) -> Any:
    """Return ``I + right @ base⁻¹ @ left``, of shape (..., r, r)."""
    product = ops.matmul(low.right, spread)
    return product + ops.eye(low.rank, dtype=product.dtype, device=product.device)


def _spread(x: LowRankUpdateTensor) -> Any:
    """Return ``base⁻¹ @ left``; a decline where there are inf or nan, or the base has no inverse."""
    if not all_finite(x.update.left, x.update.right):
        return decline(ORDER_MATTERS)
    try:
        return x.base.solve_columns(promote(floating(x.update.left), x.base.dtype))
    except np.linalg.LinAlgError:
        return decline("the base has no inverse")


def _is_stable(x: LowRankUpdateTensor, solution: Tensor, columns: Tensor, power: float) -> bool:
    """Return whether the residual of a solution is that of a stable method, in a power of the precision."""
    with no_grad():
        based, updated = ops.matmul(x.base, solution), x.update.times(solution)
        if updated is NotImplemented:
            return False
        residual = linalg.vector_norm(columns - based - updated, axis=-2)
        low = linalg.matrix_norm(x.update.left) * linalg.matrix_norm(x.update.right)
        size = low[..., None] * linalg.vector_norm(solution, axis=-2)
        size = size + linalg.vector_norm(based, axis=-2) + linalg.vector_norm(columns, axis=-2)
    return holds(residual <= ops.finfo(solution.dtype).eps ** power * size, traced=power < 1)


def add_base_and_low_rank(x1: Any, x2: LowRankTensor, /) -> Any:
    if x1.shape[-1] != x1.shape[-2] or x1.shape[-2:] != x2.shape[-2:]:
        return decline("the matrices are not square, or axes of length 1 broadcast")
    return LowRankUpdateTensor(x1, x2)


def add_update_and_base(x1: LowRankUpdateTensor, x2: Any, /) -> Any:
    return _with_base(x1, x2, x1.update)


def _with_base(x: LowRankUpdateTensor, other: StructuredTensor, update: LowRankTensor) -> Any:
    """Return the sum with another matrix that has an inverse, where it has one with the base."""
    if x.shape[-2:] != other.shape[-2:]:
        return decline("axes of length 1 broadcast")
    base = x.base + other
    if isinstance(base, SumTensor):
        return decline("the sum of the bases is lazy")
    return LowRankUpdateTensor(base, update)


for _base in (
    *(ScalarTensor, DiagonalTensor, BandedTensor, TriangularTensor, PermutationTensor, BlockDiagonalTensor),
    *(KroneckerTensor, ShiftedKroneckerTensor, ToeplitzTensor, CirculantTensor),
):
    enter(ops.add, _base, LowRankTensor, commutative=True)(add_base_and_low_rank)
    enter(ops.add, LowRankUpdateTensor, _base, commutative=True)(add_update_and_base)


@implements(ops.add, commutative=True)
def add_update_and_low_rank(x1: LowRankUpdateTensor, x2: LowRankTensor, /) -> Any:
    if x1.shape[-2:] != x2.shape[-2:]:
        return decline("axes of length 1 broadcast")
    return LowRankUpdateTensor(x1.base, x1.update + x2)


@implements(ops.add)
def add_updates(x1: LowRankUpdateTensor, x2: LowRankUpdateTensor, /) -> Any:
    if x1.shape[-2:] == x2.shape[-2:]:
        return _with_base(x1, x2.base, x1.update + x2.update)
    return NotImplemented


@implements(ops.matrix_transpose)
def matrix_transpose_update(x: LowRankUpdateTensor, /) -> LowRankUpdateTensor:
    return LowRankUpdateTensor(ops.matrix_transpose(x.base), ops.matrix_transpose(x.update))


@implements(linalg.diagonal)
def diagonal_update(x: LowRankUpdateTensor, /, *, offset: int = 0) -> Any:
    return linalg.diagonal(x.base, offset=offset) + linalg.diagonal(x.update, offset=offset)


@implements(linalg.inv)
def inv_update(x: LowRankUpdateTensor, /) -> Any:
    low = x.update
    spread = _spread(x)
    if spread is NotImplemented:
        return spread
    inverse = linalg.inv(x.base)
    right = linalg.solve(_capacity(low, spread), ops.matmul(low.right, inverse))
    return LowRankUpdateTensor(inverse, LowRankTensor(-spread, right))


@implements(linalg.slogdet)
def slogdet_update(x: LowRankUpdateTensor, /) -> Any:
    low = x.update
    spread = _spread(x)
    if spread is NotImplemented:
        return spread
    small = _capacity(low, spread)
    if wants_derivative(small) and not holds(linalg.slogdet(small.detach()).sign != 0, traced=True):
        return decline(SINGULAR)
    base, capacity = linalg.slogdet(x.base), linalg.slogdet(small)
    return linalg.SlogdetResult(base.sign * capacity.sign, base.logabsdet + capacity.logabsdet)


implements(linalg.det, LowRankUpdateTensor)(bind_rule(slogdet_update, det_by_logarithm))
