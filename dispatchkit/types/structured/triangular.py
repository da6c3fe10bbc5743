"""`TriangularTensor`: square matrices with zeros above or below the diagonal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from typing_extensions import override

from dispatchkit import autograd, linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.chain import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.types.structured.base import (
    StructuredTensor,
    all_finite,
    as_tensor,
    check_product,
    floating,
    implement_pairs,
    product_of_elements,
    promoted,
    same_size,
    slogdet_of_diagonal,
)
from dispatchkit.types.structured.diagonal import DiagonalTensor


class Form(Protocol):
    """How an array holds a matrix."""

    def solve(self, data: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the solution for one matrix, as NumPy arrays."""

    def adjoint(self, data: Any) -> tuple[Any, Form]:
        """Return the array of the conjugate transpose, and its form."""

    def times(self, data: Any, columns: Any) -> Any:
        """Return the product of the matrix with columns."""

    def outer(self, left: Any, right: Any) -> Any:
        """Return the elements of ``left @ right.mT`` that the array holds."""


def scipy_linalg(operation: str) -> Any:
    """Return SciPy's module for linear algebra.

    Raises
    ------
    ImportError : if SciPy is not installed, naming the operation
    """
    try:
        from scipy import linalg  # noqa: PLC0415  # optional dependency
    except ImportError as error:
        raise ImportError(
            f'{operation}: this structure computes with SciPy, which is not installed: pip install "dispatchkit[scipy]"'
        ) from error
    return linalg


def solution(form: Form, data: Tensor, columns: Tensor) -> Tensor:
    """Return the solutions of systems.

    Parameters
    ----------
    form : of the array
    data : array of a batch of matrices, each of two axes
    columns : tensor of shape (..., n, k), of the dtype of the solution
    """
    batch = np.broadcast_shapes(data.shape[:-2], columns.shape[:-2])
    data = ops.broadcast_to(data, (*batch, *data.shape[-2:]))
    found: Tensor = _Solution.apply(data, ops.broadcast_to(columns, (*batch, *columns.shape[-2:])), form)
    return found


def _solved_each(form: Form, data: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the solutions of a batch of systems, one after the other."""
    found = np.empty(columns.shape, np.result_type(data, columns))
    for index in np.ndindex(columns.shape[:-2]):
        found[index] = form.solve(data[index], columns[index]) if columns[index].size else 0
    return found


class _Solution(autograd.Function):
    """``solve(A, b)``: with ``w = solve(A^H, g)`` the cotangents are ``-w @ y^H``, as far as A holds it, and ``w``."""

    @staticmethod
    @override
    def forward(data: Tensor, columns: Tensor, form: Form) -> Tensor:
        return ops.asarray(_solved_each(form, np.asarray(data.detach()), np.asarray(columns.detach()))).to(like=columns)

    @staticmethod
    @override
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.form = inputs[2]
        ctx.save_for_backward(inputs[0], output)
        ctx.save_for_forward(inputs[0], output)

    @staticmethod
    @override
    def backward(ctx: Any, g: Tensor) -> Any:
        data, y = ctx.saved_tensors
        adjoint, form = ctx.form.adjoint(data)
        right = _Solution.apply(adjoint, g, form)
        return -ctx.form.outer(right, ops.conj(y)), right, None

    @staticmethod
    @override
    def jvp(ctx: Any, data_t: Tensor | None, columns_t: Tensor | None, form: Any) -> Any:
        data, y = ctx.saved_tensors
        right = ops.zeros_like(y) if columns_t is None else columns_t
        if data_t is not None:
            right = right - ctx.form.times(data_t, y)
        return _Solution.apply(data, right, ctx.form)

    @staticmethod
    @override
    def vmap(info: Any, in_dims: Any, data: Tensor, columns: Tensor, form: Form) -> Any:
        front = [
            ops.broadcast_to(x, (info.batch_size, *x.shape)) if axis is None else ops.moveaxis(x, axis, 0)
            for x, axis in zip((data, columns), in_dims[:2], strict=True)
        ]
        return _Solution.apply(*front, form), 0


implements = tensor_protocol.implements


@tensor_protocol.array_type(fields=("data", "upper"))
class TriangularTensor(StructuredTensor):
    """The lower or upper triangles of square matrices, with zeros on the other side.

    Parameters
    ----------
    data : tensor of shape (..., n, n), or what `asarray` makes one of; the other triangle is not read
    upper : whether the triangle is the upper one

    Raises
    ------
    ValueError : if the matrices are not square

    Notes
    -----
    A system takes O(n²), by substitution (SciPy), a determinant O(n). Sums and products of matrices of one side, also
    with diagonal ones, and inverses are triangular. Source: LAPACK, `trtrs`; the triangular matrices of
    linear_operator.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> t = dk.types.TriangularTensor([[2.0, 7.0], [1.0, 4.0]])
    >>> t @ t
    TriangularTensor(tensor([[ 4.,  0.],
                             [ 6., 16.]]), upper=False)
    >>> dk.linalg.solve(t, dk.asarray([2.0, 5.0])), dk.linalg.det(t)
    (tensor([1., 1.]), tensor(8.))
    """

    def __init__(self, data: Any, upper: bool = False) -> None:
        self.data = as_tensor("TriangularTensor", "data", data, 2)
        self.upper = bool(upper)
        if self.data.shape[-1] != self.data.shape[-2]:
            raise ValueError(f"TriangularTensor: data must be square, found shape {self.data.shape}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes: (..., n, n)."""
        return self.data.shape

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self.data.dtype

    @property
    def elements(self) -> Tensor:
        """The triangle, with zeros on the other side."""
        triangle: Tensor = _triangle(self.data, self.upper)
        return triangle

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        return self.elements

    def map_elements(self, function: Callable[[Any], Any]) -> TriangularTensor:
        """Return the matrix with a function applied to the triangle."""
        return TriangularTensor(function(self.elements), self.upper)

    def map_batch(self, function: Callable[[Any], Any]) -> TriangularTensor:
        """Return the matrix with a function of the axes of the batch applied."""
        return TriangularTensor(function(self.data), self.upper)

    def zip_elements(self, other: TriangularTensor, function: Callable[[Any, Any], Any]) -> Any:
        """Return a function of two triangles of one side."""
        if self.upper != other.upper:
            return decline("the triangles are of different sides")
        return TriangularTensor(function(self.elements, other.elements), self.upper)

    def restricted(self, x: Tensor) -> TriangularTensor:
        """Return a triangle of a tensor."""
        return TriangularTensor(x, self.upper)

    def added_to(self, x: Tensor) -> Tensor:
        """Return a tensor with the triangle added."""
        added: Tensor = x + self.elements
        return added

    def elements_at(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return the elements at indices."""
        inside = rows <= columns if self.upper else rows >= columns
        here: Tensor = ops.where(inside, self.data[..., rows, columns], ops.zeros((), dtype=self.dtype))
        return here

    def times(self, columns: Tensor) -> Tensor:
        """Return the product with a tensor."""
        if not all_finite(columns):
            return product_of_elements(self.elements, self.places(), columns)
        return ops.matmul(self.elements, columns)

    def times_from_left(self, rows: Tensor) -> Tensor:
        """Return the product of a tensor with the matrix."""
        if not all_finite(rows):
            return super().times_from_left(rows)  # type: ignore[no-any-return]  # a decline may be one
        return ops.matmul(rows, self.elements)

    def solve_columns(self, columns: Tensor) -> Tensor:
        """Return the solution by substitution."""
        _require_regular("solve", self)
        return solution(_Triangle(self.upper), promoted(self.data, columns.dtype), columns)

    def principal(self, start: int, stop: int) -> TriangularTensor:
        """Return the triangle of some of the rows and columns."""
        return TriangularTensor(self.data[..., start:stop, start:stop], self.upper)

    def __repr__(self) -> str:
        shown = repr(self.elements).replace("\n", "\n" + " " * len("TriangularTensor("))
        return f"TriangularTensor({shown}, upper={self.upper})"


def _triangle(x: Any, upper: bool) -> Any:
    return ops.triu(x) if upper else ops.tril(x)


@dataclass(frozen=True)
class _Triangle:
    """An array that holds a triangle, for `solution`."""

    upper: bool

    def solve(self, data: np.ndarray, columns: np.ndarray) -> np.ndarray:
        solve_triangular = scipy_linalg("solve").solve_triangular
        found: np.ndarray = solve_triangular(data, columns, lower=not self.upper, check_finite=False)
        return found

    def adjoint(self, data: Any) -> tuple[Any, _Triangle]:
        return ops.conj(ops.matrix_transpose(data)), _Triangle(not self.upper)

    def times(self, data: Any, columns: Any) -> Any:
        return _triangle(data, self.upper) @ columns

    def outer(self, left: Any, right: Any) -> Any:
        return _triangle(left @ ops.matrix_transpose(right), self.upper)


implement_pairs(TriangularTensor)


def _require_regular(name: str, x: TriangularTensor) -> None:
    if not holds(linalg.diagonal(x.data) != 0, traced=True):
        raise np.linalg.LinAlgError(f"{name}: singular matrix: a TriangularTensor with 0 on its diagonal")


@implements(ops.add)
def add_triangular_diagonal(x1: TriangularTensor, x2: DiagonalTensor, /) -> Any:
    if not same_size("add", x1, x2):
        return decline("a matrix with an axis of length 1 broadcasts over all elements")
    return TriangularTensor(x1.elements + x2, x1.upper)


@implements(ops.add)
def add_diagonal_triangular(x1: DiagonalTensor, x2: TriangularTensor, /) -> Any:
    return add_triangular_diagonal(x2, x1)


@implements(ops.matmul)
def matmul_triangular_diagonal(x1: TriangularTensor, x2: DiagonalTensor, /) -> TriangularTensor:
    return TriangularTensor(x1.elements @ x2, x1.upper)


@implements(ops.matmul)
def matmul_diagonal_triangular(x1: DiagonalTensor, x2: TriangularTensor, /) -> TriangularTensor:
    return TriangularTensor(x1 @ x2.elements, x2.upper)


@implements(ops.matmul)
def matmul_triangular(x1: TriangularTensor, x2: TriangularTensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    if x1.upper != x2.upper:
        return decline("the product of a lower and an upper triangle has no zeros")
    product = x1.elements @ x2.elements
    if not all_finite(product):
        product = product_of_elements(x1.elements, x1.places(), x2.elements, x2.places())
    return TriangularTensor(product, x1.upper)


@implements(ops.matrix_transpose)
def matrix_transpose_triangular(x: TriangularTensor, /) -> TriangularTensor:
    return TriangularTensor(ops.matrix_transpose(x.data), not x.upper)


@implements(linalg.inv)
def inv_triangular(x: TriangularTensor, /) -> TriangularTensor:
    _require_regular("inv", x)
    unit = ops.eye(x.shape[-1], dtype=floating(x.data).dtype)
    return TriangularTensor(x.solve_columns(unit), x.upper)


@implements(linalg.det)
def det_triangular(x: TriangularTensor, /) -> Tensor:
    return ops.prod(floating(linalg.diagonal(x.data)), axis=-1)


@implements(linalg.slogdet)
def slogdet_triangular(x: TriangularTensor, /) -> Any:
    return slogdet_of_diagonal(linalg.diagonal(x.data))
