"""`ShiftedKroneckerTensor`: a Kronecker product of symmetric matrices and a multiple of the identity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dispatchkit import autograd, func, linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.errors import AutogradError
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.printing import summarised
from dispatchkit.types.rules import all_finite, bind_rule, implements
from dispatchkit.types.structured.base import (
    StructuredTensor,
    det_by_logarithm,
    floating,
    in_one_dtype,
    product_of_elements,
)
from dispatchkit.types.structured.diagonal import ScalarTensor
from dispatchkit.types.structured.kronecker import KroneckerTensor, is_finite, is_hermitian, plain, products_of
from dispatchkit.types.structured.lazy import implement_lazy_inverse

ORDER = 2  # to which derivatives of determinants are computed


@tensor_protocol.array_type(fields=("product", "shift"))
class ShiftedKroneckerTensor(StructuredTensor):
    """The matrix ``product + shift * I``, as the sum of a `KroneckerTensor` and a `ScalarTensor` gives it.

    Parameters
    ----------
    product : Kronecker product of square matrices
    shift : number or 0-D tensor

    Raises
    ------
    ValueError : if the product is not square

    Notes
    -----
    The eigenvectors are those of the product, whatever the shift is, so that systems and determinants take O(Σ m_i³)
    for the eigenvectors of the factors of m_i rows, which must be symmetric or Hermitian, and O(n Σ m_i) for n = Π m_i.
    Derivatives do not pass through those of the eigenvectors, so they are right where eigenvalues are equal, too.
    Solutions have derivatives of every order; determinants have two, and a third raises. Sources: as for
    `KroneckerTensor`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> a = dk.types.DiagonalTensor([1.0, 3.0])
    >>> shifted = dk.types.KroneckerTensor(a, a) + dk.types.ScalarTensor(4, 1.0)
    >>> type(shifted).__name__, dk.linalg.solve(shifted, dk.ones(4))
    ('ShiftedKroneckerTensor', tensor([0.5000, 0.2500, 0.2500, 0.1000]))
    """

    def __init__(self, product: KroneckerTensor, shift: Any) -> None:
        if any(f.shape[-1] != f.shape[-2] for f in product.factors):
            raise ValueError(
                f"ShiftedKroneckerTensor: the factors must be square, found {[f.shape for f in product.factors]}"
            )
        self.product: KroneckerTensor = product
        self.shift: Any = shift
        if hasattr(shift, "dtype"):  # a number is weak
            self.product, self.shift = in_one_dtype((product, shift))

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes: (..., n, n)."""
        return self.product.shape

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        if not self.shape[-1]:
            return self._diagonal.dtype
        return np.result_type(self.product.dtype, self._diagonal.dtype)

    @property
    def _diagonal(self) -> ScalarTensor:
        return ScalarTensor(self.shape[-1], self.shift)

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        dense: Tensor = self.product.to_dense() + self._diagonal
        return dense

    def map_linear(self, function: Callable[[Any], Any]) -> ShiftedKroneckerTensor:
        """Return the structure with a linear function, such as scaling, applied to the elements."""
        return ShiftedKroneckerTensor(self.product.map_linear(function), function(self.shift))

    def elements_at(self, rows: Tensor, columns: Tensor) -> Any:
        """Return the elements at indices, in range and of as many axes, which broadcast behind the batch."""
        return self.product.elements_at(rows, columns) + ops.where(rows == columns, self.shift, 0)

    def times(self, columns: Tensor) -> Any:
        """Return the product with a tensor of shape (..., N, K)."""
        if not all_finite(columns):
            return product_of_elements(self.to_dense(), self.places(), columns)
        return self.product.times(columns) + self.shift * columns

    def places(self) -> Tensor | None:
        """Return where the matrix has elements of its own, booleans of its shape; None for everywhere."""
        places, diagonal = self.product.places(), self._diagonal.places()
        if places is None or diagonal is None:
            return None
        return ops.logical_or(places, diagonal.to(like=places))

    def solve_columns(self, columns: Tensor) -> Any:
        """Return the solution of the system with right-hand sides of shape (..., N, K)."""
        if not _by_eigenvectors(self) or not is_finite(self.product, columns):
            return decline("some factor is not symmetric, or there are inf or nan")
        vectors, values = _eigen(self)
        if not holds(values != 0, traced=True):
            return decline("some eigenvalue is 0")
        factors = [ops.astype(plain(f), np.result_type(f.dtype, columns.dtype)) for f in self.product.factors]
        return _ShiftedSolution.apply(columns, floating(self.shift), values, *vectors.factors, *factors)

    @summarised
    def __repr__(self) -> str:
        return f"ShiftedKroneckerTensor({self.product!r}, shift={self.shift!r})"


def _by_eigenvectors(x: ShiftedKroneckerTensor) -> bool:
    return x.shape[-1] > 0 and is_finite(x.product) and is_hermitian(x.product)


def _eigen(x: ShiftedKroneckerTensor) -> tuple[KroneckerTensor, Tensor]:
    """Return eigenvectors, and eigenvalues in their order, outside the graph."""
    results = [linalg.eigh(plain(f).detach()) for f in x.product.factors]
    values = products_of([f.eigenvalues for f in results]) + floating(x.shift).detach()
    return KroneckerTensor(*(f.eigenvectors for f in results)), values


class _ShiftedSolution(autograd.Function):
    """``solve(A, b)``, whose derivatives are solutions again: ``dx = solve(A, db - dA @ x)``."""

    generate_vmap_rule = True

    @staticmethod
    def forward(columns: Tensor, shift: Tensor, values: Tensor, *matrices: Tensor) -> Any:
        vectors = KroneckerTensor(*matrices[: len(matrices) // 2])
        back = ops.conj(ops.matrix_transpose(vectors))
        return vectors @ ((back @ columns) / values[..., None])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output, *inputs[1:])
        ctx.save_for_forward(output, *inputs[1:])

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        y, shift, values, *matrices = ctx.saved_tensors
        vectors, factors = _halves(matrices)
        adjoints = [ops.conj(ops.matrix_transpose(f)) for f in factors]
        right = _ShiftedSolution.apply(g, ops.conj(shift), ops.conj(values), *vectors, *adjoints)
        _, pull = func.vjp(lambda *fields: _times(fields, y), shift, *factors)
        shift_g, *factors_g = (-gradient for gradient in pull(right))
        return right, shift_g, None, *[None] * len(vectors), *factors_g

    @staticmethod
    def jvp(ctx: Any, columns_t: Any, shift_t: Any, values_t: Any, *matrices_t: Any) -> Any:
        y, shift, values, *matrices = ctx.saved_tensors
        vectors, factors = _halves(matrices)
        tangents = [
            ops.zeros_like(x) if t is None else t
            for x, t in zip((shift, *factors), (shift_t, *_halves(matrices_t)[1]), strict=True)
        ]
        _, change = func.jvp(lambda *fields: _times(fields, y), (shift, *factors), tuple(tangents))
        if columns_t is None:
            right = -change
        else:
            right = columns_t - change
        return _ShiftedSolution.apply(right, shift, values, *vectors, *factors)


def _halves(matrices: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return eigenvectors and factors."""
    count = len(matrices) // 2
    return matrices[:count], matrices[count:]


def _times(fields: Sequence[Tensor], columns: Tensor) -> Any:
    """Return the product of the matrix that has a shift and factors with columns."""
    shift, *factors = fields
    return KroneckerTensor(*factors).times(columns) + shift * columns


# Sums.


@implements(ops.add, commutative=True)
def add_kronecker_and_scalar(x1: KroneckerTensor, x2: ScalarTensor, /) -> Any:
    if any(f.shape[-1] != f.shape[-2] for f in x1.factors) or x1.shape[-2:] != x2.shape:
        return decline("some factor is not square, or the sizes differ")
    return ShiftedKroneckerTensor(x1, x2.value)


@implements(ops.add, commutative=True)
def add_shifted_and_scalar(x1: ShiftedKroneckerTensor, x2: ScalarTensor, /) -> Any:
    if x1.shape[-2:] != x2.shape:
        return decline("the sizes differ")
    return ShiftedKroneckerTensor(x1.product, x1.shift + x2.value)


# Linear algebra.


@implements(ops.matrix_transpose)
def matrix_transpose_shifted(x: ShiftedKroneckerTensor, /) -> ShiftedKroneckerTensor:
    return ShiftedKroneckerTensor(ops.matrix_transpose(x.product), x.shift)


@implements(linalg.eigvalsh)
def eigvalsh_shifted(x: ShiftedKroneckerTensor, /) -> Any:
    if not _by_eigenvectors(x):
        return decline("some factor is not symmetric, or there are inf or nan")
    return ops.sort(products_of([linalg.eigvalsh(plain(f)) for f in x.product.factors]) + x.shift, axis=-1)


@implements(linalg.slogdet)
def slogdet_shifted(x: ShiftedKroneckerTensor, /) -> Any:
    if not _by_eigenvectors(x):
        return decline("some factor is not symmetric, or there are inf or nan")
    vectors, values = _eigen(x)
    if not holds(values != 0, traced=True):
        return decline("some eigenvalue is 0")
    sign = ops.astype(ops.prod(ops.sign(values), axis=-1), floating(ops.zeros((), dtype=x.dtype)).dtype)
    return linalg.SlogdetResult(sign, ops.sum(ops.log(ops.abs(values)), axis=-1) + _change(x, vectors, values))


def _change(x: ShiftedKroneckerTensor, vectors: KroneckerTensor, values: Tensor) -> Any:
    """Return 0, with the first and second derivatives of the logarithm of the determinant.

    In the basis of the eigenvectors the matrix is diagonal, A = Λ; of a change E the logarithm of the determinant is
    ``tr(Λ⁻¹ E) - tr(Λ⁻¹ E Λ⁻¹ E) / 2`` to the second order, where E is made of the factors in that basis.
    """
    factors = [plain(f) for f in x.product.factors]
    if not any(f.requires_grad or f.is_tracer for f in map(floating, (*factors, x.shift))):
        return 0.0
    turned = [
        ops.matmul(ops.conj(ops.matrix_transpose(q)), ops.matmul(f, q))
        for f, q in zip(factors, vectors.factors, strict=True)
    ]
    diagonal = products_of([linalg.diagonal(f) for f in turned])
    change = diagonal + x.shift - values
    squares = KroneckerTensor(*(f * ops.matrix_transpose(f) for f in turned))
    weights = (1 / values)[..., None]
    second = (squares @ weights)[..., 0] * weights[..., 0] + (change * change - diagonal * diagonal) / values**2
    logarithm = ops.sum(change / values - second / 2 + _Vanishing.apply(second, 0), axis=-1)
    real = logarithm
    if logarithm.dtype.kind == "c":
        real = ops.real(logarithm)
    return real - real.detach()


class _Vanishing(autograd.Function):
    """0, as all derivatives are to the order that determinants have; the next one raises, which would be 0 as well."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, order: int) -> Any:
        return ops.zeros_like(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.order = inputs[1]
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return _Vanishing.jvp(ctx, g, None), None

    @staticmethod
    def jvp(ctx: Any, x_t: Any, order: Any) -> Any:
        if ctx.order == ORDER:
            raise AutogradError(
                "slogdet and det: derivatives by a ShiftedKroneckerTensor are computed to the second order; for more, "
                "call them with x.to_dense()"
            )
        (x,) = ctx.saved_tensors
        return _Vanishing.apply(x, ctx.order + 1)


implements(linalg.det, ShiftedKroneckerTensor)(bind_rule(slogdet_shifted, det_by_logarithm))
implement_lazy_inverse(ShiftedKroneckerTensor)
