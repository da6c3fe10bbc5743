"""`TriangularTensor`: square matrices with zeros above or below the diagonal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.printing import summarised
from dispatchkit.types.rules import (
    all_finite,
    array_of,
    check_product,
    implements,
    is_finite_array,
    is_nonzero_array,
    plain_arrays,
    promote,
)
from dispatchkit.types.structured.base import (
    StructuredTensor,
    as_tensor,
    floating,
    implement_pairs,
    product_of_elements,
    same_size,
)
from dispatchkit.types.structured.diagonal import DiagonalTensor, det_by_diagonal, require_regular, slogdet_by_diagonal
from dispatchkit.types.structured.systems import scipy_module, solution


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

    dtype = property(attrgetter("data.dtype"), doc="Type of the elements.")

    def fits(self, other: TriangularTensor) -> bool:
        """Return whether another triangle has the shape of this one."""
        return bool(self.data.shape == other.data.shape)

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

    def map_linear(self, function: Callable[[Any], Any]) -> TriangularTensor:
        """Return the matrix with a linear function applied."""
        return TriangularTensor(function(self._free_of_warnings()), self.upper)

    def _free_of_warnings(self) -> Tensor:
        """Return the triangle; the other side, which is not read, is as it was given where all is finite."""
        if all_finite(self.data):
            return self.data
        return self.elements

    def map_batch(self, function: Callable[[Any], Any]) -> TriangularTensor:
        """Return the matrix with a function of the axes of the batch applied."""
        return TriangularTensor(function(self.data), self.upper)

    def zip_elements(self, other: TriangularTensor, function: Callable[[Any, Any], Any]) -> Any:
        """Return a function of two triangles of one side."""
        if self.upper != other.upper:
            return decline("the triangles are of different sides")
        if function in LINEAR:
            both = _both_sides(function, self, other)
            if both is not None:
                matrix: TriangularTensor = object.__new__(TriangularTensor)  # of a shape that was checked
                matrix.data, matrix.upper = both, self.upper
                return matrix
            return TriangularTensor(function(self._free_of_warnings(), other._free_of_warnings()), self.upper)
        return TriangularTensor(function(self.elements, other.elements), self.upper)

    def restricted(self, x: Tensor) -> TriangularTensor:
        """Return a triangle of a tensor."""
        return TriangularTensor(x, self.upper)

    def added_to(self, x: Tensor) -> Any:
        """Return a tensor with the triangle added."""
        return x + self.elements

    def elements_at(self, rows: Tensor, columns: Tensor) -> Any:
        """Return the elements at indices."""
        if self.upper:
            inside = rows <= columns
        else:
            inside = rows >= columns
        return ops.where(inside, self.data[..., rows, columns], ops.zeros((), dtype=self.dtype))

    def times(self, columns: Tensor) -> Tensor:
        """Return the product with a tensor."""
        if not all_finite(columns):
            return product_of_elements(self.elements, self.places(), columns)
        arrays = plain_arrays(self.data, columns)
        if arrays is not None and self.data.ndim == columns.ndim == 2 and columns.shape[-1] <= FEW:
            return ops.asarray(_product(arrays[0], arrays[1], self.upper))
        return ops.matmul(self.elements, columns)

    def times_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the product with a vector or a few columns."""
        triangle = array_of(self.data)
        if triangle is None or triangle.ndim != 2 or x.ndim not in {1, 2} or x.shape[0] != triangle.shape[0]:
            return None
        if x.dtype != triangle.dtype or (x.ndim == 2 and x.shape[1] > FEW) or not x.size:
            return None
        if not is_finite_array(x):
            return None
        if is_nonzero_array(x):  # BLAS passes over products with 0, also those of inf and nan
            product = _product_by_blas(triangle, x, self.upper)
            if product is not None:
                return product
        return _product(triangle, x, self.upper)

    def times_from_left(self, rows: Tensor) -> Tensor:
        """Return the product of a tensor with the matrix."""
        if not all_finite(rows):
            return super().times_from_left(rows)  # a decline may be one
        return ops.matmul(rows, self.elements)

    def solve_columns(self, columns: Tensor) -> Any:
        """Return the solution by substitution."""
        require_regular("solve", self, linalg.diagonal(self.data))
        return solution(_Triangle(self.upper), columns, promote(self.data, columns.dtype))

    def principal(self, start: int, stop: int) -> TriangularTensor:
        """Return the triangle of some of the rows and columns."""
        return TriangularTensor(self.data[..., start:stop, start:stop], self.upper)

    @summarised
    def __repr__(self) -> str:
        shown = repr(self.elements).replace("\n", "\n" + " " * len("TriangularTensor("))
        return f"TriangularTensor({shown}, upper={self.upper})"


# Functions that may be applied to numbers that are not read: they are defined everywhere.
LINEAR = (ops.add, ops.subtract)
FEW = 16  # columns, of which a product takes less than what is written to make the other side of a matrix zero
ROWS = 128  # of a block on the diagonal, whose other side is made zero


def _both_sides(function: Any, x1: TriangularTensor, x2: TriangularTensor) -> Tensor | None:
    """Return a linear function of both sides of triangles, of NumPy's arrays; None where there is something to warn of.

    What is wrong may lie on the side that is not read.
    """
    arrays = plain_arrays(x1.data, x2.data)
    if arrays is None:
        return None
    on_arrays: np.ufunc = np.subtract
    if function is ops.add:
        on_arrays = np.add
    try:
        both: Tensor = wrap_array(Tensor, _without_warnings(on_arrays, *arrays))
    except FloatingPointError:
        return None
    return both


@np.errstate(all="raise")
def _without_warnings(function: np.ufunc, x1: np.ndarray, x2: np.ndarray) -> Any:
    return function(x1, x2)


def _product(triangle: np.ndarray, x: np.ndarray, upper: bool) -> np.ndarray:
    """Return the product of one triangle with a vector or columns, by blocks of rows; the other side is not read."""
    n = triangle.shape[0]
    result = np.empty(x.shape, np.result_type(triangle, x))
    for start in range(0, n, ROWS):
        stop = min(start + ROWS, n)
        rows, beside = slice(start, stop), slice(0, start)
        if upper:
            beside = slice(stop, n)
        block = np.where(_mask(stop - start, upper), triangle[rows, rows], 0)
        result[rows] = block @ x[rows]
        if beside.start < beside.stop:
            result[rows] += triangle[rows, beside] @ x[beside]
    return result


def _product_by_blas(triangle: np.ndarray, x: np.ndarray, upper: bool) -> np.ndarray | None:
    """Return the product of one triangle with a vector or columns; None where BLAS has none for it."""
    functions = _blas(x.dtype.char)
    if functions is None or not triangle.flags.c_contiguous:
        return None
    of_vector, of_columns = functions
    # In the order of BLAS the array is its transpose, and columns are rows.
    product: np.ndarray
    if x.ndim == 1:
        product = of_vector(triangle.T, x, lower=upper, trans=1)
        return product
    product = of_columns(1.0, triangle.T, x.T, side=1, lower=upper)
    return product.T


@lru_cache(maxsize=8)
def _blas(kind: str) -> tuple[Any, Any] | None:
    """Return the functions of BLAS that multiply triangles by vectors and by columns; None where there are none."""
    if kind not in "fdFD":
        return None
    try:
        functions = scipy_module("linalg", "matmul").get_blas_funcs(("trmv", "trmm"), dtype=kind)
    except ImportError:
        return None
    return tuple(functions)


@lru_cache(maxsize=16)
def _mask(n: int, upper: bool) -> np.ndarray:
    """Return where a triangle has its elements."""
    lower = np.tri(n, dtype=bool)
    if upper:
        return lower.T
    return lower


def _triangle(x: Any, upper: bool) -> Any:
    if upper:
        return ops.triu(x)
    return ops.tril(x)


@dataclass(frozen=True)
class _Triangle:
    """An array that holds a triangle, for `solution`."""

    upper: bool
    axes = (2,)

    def solve(self, columns: np.ndarray, triangle: np.ndarray) -> Any:
        solve_triangular = scipy_module("linalg", "solve").solve_triangular
        return solve_triangular(triangle, columns, lower=not self.upper, check_finite=False)

    def adjoint(self, triangle: Any) -> tuple[_Triangle, tuple[Any]]:
        return _Triangle(not self.upper), (ops.conj(ops.matrix_transpose(triangle)),)

    def times(self, columns: Any, triangle: Any) -> Any:
        return _triangle(triangle, self.upper) @ columns

    def outer(self, left: Any, right: Any) -> tuple[Any]:
        return (_triangle(left @ ops.matrix_transpose(right), self.upper),)


implement_pairs(TriangularTensor)


@implements(ops.add, commutative=True)
def add_triangular_diagonal(x1: TriangularTensor, x2: DiagonalTensor, /) -> Any:
    if not same_size("add", x1, x2):
        return decline("a matrix with an axis of length 1 broadcasts over all elements")
    return TriangularTensor(x1.elements + x2, x1.upper)


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
    require_regular("inv", x, linalg.diagonal(x.data))
    unit = ops.eye(x.shape[-1], dtype=floating(x.data).dtype)
    return TriangularTensor(x.solve_columns(unit), x.upper)


@implements(linalg.diagonal)
def diagonal_triangular(x: TriangularTensor, /, *, offset: int = 0) -> Any:
    if offset:
        return decline("a part of it may lie on the other side")
    return linalg.diagonal(x.data)


implements(linalg.det, TriangularTensor)(det_by_diagonal)
implements(linalg.slogdet, TriangularTensor)(slogdet_by_diagonal)
