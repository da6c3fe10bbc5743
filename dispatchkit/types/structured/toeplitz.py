"""`ToeplitzTensor`: a matrix with one element along each diagonal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from typing_extensions import override

from dispatchkit import linalg, ops
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.tensor import Tensor
from dispatchkit.types.structured.base import StructuredTensor, in_one_dtype
from dispatchkit.types.structured.circulant import CirculantTensor, filtered, fit_elementwise
from dispatchkit.types.structured.lazy import implement_lazy_inverse
from dispatchkit.types.structured.scalar import ScalarTensor
from dispatchkit.types.structured.toeplitz_systems import LogDeterminant, Solution, fast_length, one_by_one

__all__ = ["ToeplitzTensor"]

implements = tensor_protocol.implements


@tensor_protocol.array_type(fields=("column", "row"))
class ToeplitzTensor(StructuredTensor):
    """The M×N matrix with elements ``column[i - j]`` on and below the diagonal, and ``row[j - i]`` above it.

    Parameters
    ----------
    column : the first column, of shape (..., M); axes in front make a batch of matrices
    row : the first row, of shape (..., N), whose own first element is not used; without one the matrix is symmetric,
        of complex numbers Hermitian

    Raises
    ------
    ValueError : if a field is 0-D, the batches differ, or one field alone is empty

    Notes
    -----
    A product with a vector is a part of a convolution: O(n log n) by Fourier transforms. Sums, and functions of the
    elements, are Toeplitz matrices again. Systems with a symmetric positive definite matrix take O(n log n) for each
    step of conjugate gradients, preconditioned by T. Chan's circulant matrix, other systems O(n²) by Levinson's
    recursion (SciPy); a solution is taken only where its residual is as small as that of a stable method. Determinants
    take O(n²) by the same recursion, their derivatives two systems. Sources: G. H. Golub and C. F. Van Loan, Matrix
    Computations, 4th ed., section 4.7; T. F. Chan, SIAM J. Sci. Stat. Comput. 9 (1988) 766-771; I. Gohberg and A.
    Semencul, Mat. Issled. 7 (1972) 201-223.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> t = dk.types.ToeplitzTensor([4.0, 1.0, 0.5])
    >>> t @ dk.ones(3), dk.linalg.solve(t, dk.asarray([5.5, 6.0, 5.5]))
    (tensor([5.5000, 6.0000, 5.5000]), tensor([1.0000, 1.0000, 1.0000]))
    >>> dk.exp(-t * t).column, dk.types.ToeplitzTensor([1.0, 2.0], [1.0, 3.0]).to_dense()
    (tensor([1.1254e-07, 3.6788e-01, 7.7880e-01]), tensor([[1., 3.],
            [2., 1.]]))
    """

    def __init__(self, column: Any, row: Any = None) -> None:
        self.column: Tensor = column if isinstance(column, Tensor) else ops.asarray(column)
        self.row: Tensor | None = row if row is None or isinstance(row, Tensor) else ops.asarray(row)
        shapes = self.column.shape, self.column.shape if self.row is None else self.row.shape
        if not all(shapes) or shapes[0][:-1] != shapes[1][:-1] or (shapes[0][-1] == 0) != (shapes[1][-1] == 0):
            raise ValueError(
                f"ToeplitzTensor: column must have shape (..., M) and row (..., N), both or neither of them empty, "
                f"found {shapes[0]} and {shapes[1]}"
            )
        if self.row is not None:
            self.column, self.row = in_one_dtype((self.column, self.row))

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes: (..., M, N)."""
        return (*self.column.shape, self.first_row.shape[-1])

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self.column.dtype if self.row is None else np.result_type(self.column.dtype, self.row.dtype)

    @property
    def first_row(self) -> Tensor:
        """The field `row`, or the row that symmetry gives; its first element is not that of the matrix."""
        if self.row is not None:
            return self.row
        row: Tensor = ops.conj(self.column) if self.column.dtype.kind == "c" else self.column
        return row

    @property
    def diagonals(self) -> Tensor:
        """The elements of each diagonal, from the upper right corner to the lower left one: shape (..., M + N - 1)."""
        made: Tensor = ops.concat([ops.flip(self.first_row[..., 1:], axis=-1), self.column], axis=-1)
        return made

    def map_elements(self, function: Callable[..., Any], *others: ToeplitzTensor) -> ToeplitzTensor:
        """Return a function of the elements, and of those in the same place in other matrices of the same shape.

        Parameters
        ----------
        function : takes a tensor of stored elements of each matrix and returns one of their shape
        *others : Toeplitz matrices of the shape of this one
        """
        matrices = (self, *others)
        column = function(*(x.column for x in matrices))
        if all(x.row is None and x.dtype.kind != "c" for x in matrices) and column.dtype.kind != "c":
            return ToeplitzTensor(column)
        # The element that is not used stays out: the function may have no derivative there.
        row = function(*(x.first_row[..., 1:] for x in matrices))
        return ToeplitzTensor(column, ops.concat([column[..., :1], row], axis=-1))

    @override
    def map_linear(self, function: Callable[[Any], Any]) -> ToeplitzTensor:
        return self.map_elements(function)

    @override
    def map_batch(self, function: Callable[[Any], Any]) -> ToeplitzTensor:
        return ToeplitzTensor(function(self.column), None if self.row is None else function(self.row))

    @override
    def places(self) -> None:
        return None

    @override
    def elements_at(self, rows: Tensor, columns: Tensor) -> Tensor:
        found: Tensor = self.diagonals[..., rows - columns + self.shape[-1] - 1]
        return found

    @override
    def times(self, columns: Tensor) -> Any:
        n = fast_length(sum(self.shape[-2:]) - 1)
        diagonals = self.diagonals
        shape = (*diagonals.shape[:-1], n - diagonals.shape[-1])
        gap = ops.zeros(shape, dtype=diagonals.dtype, device=diagonals.device)
        upper = self.shape[-1] - 1
        kernel = ops.concat([self.column, gap, diagonals[..., :upper]], axis=-1)
        return filtered(self, columns, kernel, n)

    @override
    def solve_columns(self, columns: Tensor) -> Any:
        if 0 in self.shape[:-2] or 0 in columns.shape[:-2]:
            return decline("there is no system")
        try:
            return one_by_one(Solution.apply, (self.column, self.first_row), columns)[0]
        except (np.linalg.LinAlgError, ImportError) as error:
            return decline(str(error))

    @override
    def principal(self, start: int, stop: int) -> ToeplitzTensor:
        row = None if self.row is None else self.row[..., : stop - start]
        return ToeplitzTensor(self.column[..., : stop - start], row)

    def __repr__(self) -> str:
        row = "" if self.row is None else f", row={self.row!r}"
        return f"ToeplitzTensor({self.column!r}{row})"


@tensor_protocol.converts()
def toeplitz_of_circulant(x: CirculantTensor) -> ToeplitzTensor:
    return ToeplitzTensor(x.column, ops.matrix_transpose(x).column)


# Functions of the elements, and of pairs of elements in the same place.


@implements(kinds.elementwise, ToeplitzTensor)
def elementwise_toeplitz(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    found: list[Any] = []

    def taken(name: str, value: Any) -> Any:
        found.append(toeplitz_of_circulant(value) if isinstance(value, CirculantTensor) else value)
        return value

    tensor_protocol.map_arguments(op, args, kwargs, taken)
    if not fit_elementwise(found, ToeplitzTensor):
        return decline("the elements of another array are not those of a Toeplitz matrix")

    def on_elements(*elements: Tensor) -> Any:
        parts, given = iter(elements), iter(found)

        def opened(name: str, value: Any) -> Any:
            return next(parts) if isinstance(next(given), ToeplitzTensor) else value

        changed, options = tensor_protocol.map_arguments(op, args, kwargs, opened)
        return op(*changed, **options)

    first, *others = (x for x in found if isinstance(x, ToeplitzTensor))
    return first.map_elements(on_elements, *others)


def _register_sum(left: type[StructuredTensor], right: type[StructuredTensor]) -> None:
    def added(x1: Any, x2: Any, /) -> Any:
        return elementwise_toeplitz(ops.add, x1, x2)

    implements(ops.add, left, right)(added)


_register_sum(ToeplitzTensor, ToeplitzTensor)
_register_sum(ToeplitzTensor, CirculantTensor)
_register_sum(CirculantTensor, ToeplitzTensor)
implements(kinds.elementwise, ToeplitzTensor, CirculantTensor)(elementwise_toeplitz)
implements(kinds.elementwise, CirculantTensor, ToeplitzTensor)(elementwise_toeplitz)


@implements(ops.add)
def add_toeplitz_and_scalar(x1: ToeplitzTensor, x2: ScalarTensor, /) -> Any:
    if x1.shape[-2:] != x2.shape:
        return decline("the sizes differ")
    return ToeplitzTensor(ops.concat([x1.column[..., :1] + x2.value, x1.column[..., 1:]], axis=-1), x1.row)


@implements(ops.add)
def add_scalar_and_toeplitz(x1: ScalarTensor, x2: ToeplitzTensor, /) -> Any:
    return add_toeplitz_and_scalar(x2, x1)


@implements(ops.matrix_transpose)
def matrix_transpose_toeplitz(x: ToeplitzTensor, /) -> ToeplitzTensor:
    if x.row is None and x.dtype.kind != "c":
        return x
    return ToeplitzTensor(ops.concat([x.column[..., :1], x.first_row[..., 1:]], axis=-1), x.column)


# Linear algebra.


@implements(linalg.slogdet)
def slogdet_toeplitz(x: ToeplitzTensor, /) -> Any:
    if x.dtype.kind != "f" or x.shape[-1] != x.shape[-2] or 0 in x.shape:
        return decline("the recursion takes square matrices of real numbers")
    try:
        return linalg.SlogdetResult(*one_by_one(LogDeterminant.apply, (x.column, x.first_row)))
    except np.linalg.LinAlgError as error:
        return decline(str(error))


@implements(linalg.det)
def det_toeplitz(x: ToeplitzTensor, /) -> Any:
    found = slogdet_toeplitz(x)
    return found if found is NotImplemented else found.sign * ops.exp(found.logabsdet)


implement_lazy_inverse(ToeplitzTensor)
