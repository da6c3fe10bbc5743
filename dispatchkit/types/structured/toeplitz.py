"""`ToeplitzTensor`: a matrix with one element along each diagonal."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dispatchkit import fft, linalg, ops
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.printing import summarised
from dispatchkit.types.levels import arguments, open_arguments
from dispatchkit.types.rules import bind_rule, enter, implements, is_finite_array, plain_arrays
from dispatchkit.types.structured.base import StructuredTensor, det_by_logarithm, in_one_dtype
from dispatchkit.types.structured.circulant import CirculantTensor, convolve_columns, fit_elementwise
from dispatchkit.types.structured.diagonal import ScalarTensor
from dispatchkit.types.structured.lazy import implement_lazy_inverse
from dispatchkit.types.structured.systems import log_determinant, scipy_module, solution


@cache
def fast_length(least: int) -> int:
    """Return a length at which Fourier transforms are fast: a product of twos and a few threes and fives."""
    return min(odd << max(-(-least // odd) - 1, 0).bit_length() for odd in (1, 3, 5, 9, 15, 25, 27, 45, 75))


# Rows of a system up to which Levinson's recursion takes less time than conjugate gradients.
SMALL = 600
RESIDUAL = 1e-13  # of a backward stable method, by the sizes of matrix and solution
FEW = 256  # rows, of which a product takes less time by its definition than by Fourier transforms
MOST_STEPS = 100  # of conjugate gradients; Levinson's recursion is as fast where more are needed


@dataclass(frozen=True)
class Diagonals:
    """A first column and a first row, for `solution` and `log_determinant`: each element is a diagonal."""

    axes = (1, 1)

    def solve(self, columns: np.ndarray, column: np.ndarray, row: np.ndarray) -> Any:
        return solve_columns(column, row, columns)

    def adjoint(self, column: Any, row: Any) -> tuple[Diagonals, tuple[Any, Any]]:
        return self, (ops.conj(ops.concat([column[..., :1], row[..., 1:]], axis=-1)), ops.conj(column))

    def times(self, columns: Any, column: Any, row: Any) -> Any:
        n = column.shape[-1]
        diagonals = ops.concat([ops.flip(row[..., 1:], axis=-1), column], axis=-1)
        return _convolve(diagonals[..., :, None], columns)[..., n - 1 : 2 * n - 1, :]

    def outer(self, left: Any, right: Any) -> tuple[Any, Any]:
        return _column_and_row(ops.sum(_correlate(ops.conj(right), left), axis=-1))

    def log_determinant(self, column: np.ndarray, row: np.ndarray) -> tuple[float, float]:
        return log_determinant_of(column, row)

    def inverse_sums(self, column: Any, row: Any) -> tuple[Any, Any]:
        """Return the sums of the diagonals of the transpose of the inverse.

        They follow from the first and the last column of the inverse by the formula of Gohberg and Semencul.
        """
        n = column.shape[-1]
        ends = np.zeros((n, 2))
        ends[0, 0] = ends[-1, -1] = 1
        solved = solution(self, ops.asarray(ends, dtype=column.dtype).to(like=column), column, row)
        first, last = solved[..., :1], ops.flip(solved[..., 1:], axis=-2)
        offsets = ops.arange(1 - n, n, dtype=column.dtype, device=column.device)
        places = ops.arange(n, dtype=column.dtype, device=column.device)[:, None]
        weighted = _correlate(places * first, last)[..., 0]
        sums = ((n - offsets) * _correlate(first, last)[..., 0] - 2 * weighted) / first[..., 0, :]
        return _column_and_row(sums)


def _column_and_row(diagonals: Any) -> tuple[Any, Any]:
    """Return first column and first row of numbers of diagonals; the row's first element, which is not used, is 0."""
    n = (diagonals.shape[-1] + 1) // 2
    above = ops.flip(diagonals[..., : n - 1], axis=-1)
    return diagonals[..., n - 1 :], ops.concat([0 * diagonals[..., :1], above], axis=-1)


def _convolve(x: Tensor, y: Tensor) -> Any:
    """Return the convolution of columns, one by one."""
    length = x.shape[-2] + y.shape[-2] - 1
    n = fast_length(length)
    if "c" in (x.dtype.kind, y.dtype.kind):
        return fft.ifft(fft.fft(x, n=n, axis=-2) * fft.fft(y, n=n, axis=-2), axis=-2)[..., :length, :]
    return fft.irfft(fft.rfft(x, n=n, axis=-2) * fft.rfft(y, n=n, axis=-2), n=n, axis=-2)[..., :length, :]


def _correlate(x: Tensor, y: Tensor) -> Any:
    """Return ``sum(conj(x[j]) * y[j + k])`` for k from 1 - n to n - 1, of columns, one by one."""
    return _convolve(ops.flip(ops.conj(x), axis=-2), y)


# On arrays of NumPy.


def solve_columns(column: Any, row: Any, b: Any) -> Any:
    """Return the solution of a system, in double precision, with right-hand sides as columns.

    Raises
    ------
    numpy.linalg.LinAlgError : if no method gives a solution with a small residual
    ImportError : without SciPy
    """
    from scipy.linalg import solve_toeplitz  # noqa: PLC0415  # optional dependency

    dtype = np.result_type(column, row, b, np.float64)
    column, row, b = (np.asarray(x, dtype) for x in (column, row, b))
    if not b.size:
        return b.copy()
    if not all(map(is_finite_array, (column, row, b))):
        raise np.linalg.LinAlgError("the matrix or the right-hand side holds inf or nan")
    times = _Product(column, row)

    def by_recursion(times: _Product, b: Any) -> Any:
        return solve_toeplitz((column, row), b, check_finite=False)

    methods = [_by_conjugate_gradients, by_recursion]
    if b.shape[0] <= SMALL:
        methods.reverse()
    for method in methods:
        with np.errstate(all="ignore"):
            try:
                x = method(times, b)
            except np.linalg.LinAlgError:  # a leading minor is 0, with which the recursion ends
                continue
            if x is not None and times.solved_by(x, b):
                return x
    raise np.linalg.LinAlgError("neither conjugate gradients nor Levinson's recursion find an exact solution")


@np.errstate(all="ignore")
def _solve_few(column: np.ndarray, row: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """Return the solution for one right-hand side by Levinson's recursion; None where its residual is not small.

    Of few rows transforms, by which the residual is computed elsewhere, take longer than the recursion.
    """
    solve_toeplitz = scipy_module("linalg", "solve").solve_toeplitz
    try:
        x: np.ndarray = solve_toeplitz((column, row), b, check_finite=False)
    except np.linalg.LinAlgError:  # a leading minor is 0, with which the recursion ends
        return None
    diagonals = np.concatenate([row[:0:-1], column])
    residual = b - np.convolve(diagonals, x, "valid")
    bound = RESIDUAL * (float(np.abs(diagonals).sum()) * math.sqrt(x @ x) + math.sqrt(b @ b))
    if math.isfinite(bound) and residual @ residual <= bound**2:
        return x
    return None


class _Product:
    """The product with one Toeplitz matrix."""

    def __init__(self, column: Any, row: Any) -> None:
        n = column.size
        self.hermitian = np.array_equal(row[1:], column[1:].conj()) and not np.imag(column[0])
        self.column, self.length = column, fast_length(2 * n - 1)
        self.kind = column.dtype.kind
        gap = np.zeros(self.length - 2 * n + 1, column.dtype)
        self.spectrum = self.transform(np.concatenate([column, gap, row[:0:-1]]), self.length)
        self.size = np.abs(column).sum() + np.abs(row[1:]).sum()

    def transform(self, x: Any, n: int) -> Any:
        if self.kind == "c":
            return np.fft.fft(x, n)
        return np.fft.rfft(x, n)

    def back(self, spectrum: Any, n: int) -> Any:
        if self.kind == "c":
            return np.fft.ifft(spectrum, n)
        return np.fft.irfft(spectrum, n)

    def __call__(self, x: Any) -> Any:
        """Return the product with the last axis of an array."""
        return self.back(self.transform(x, self.length) * self.spectrum, self.length)[..., : x.shape[-1]]

    def solved_by(self, x: Any, b: Any) -> bool:
        """Return whether the residual of each column is that of a backward stable method."""
        residual = np.linalg.norm(b - self(x.T).T, axis=0)
        bound = self.size * np.linalg.norm(x, axis=0) + np.linalg.norm(b, axis=0)
        return bool(np.all(residual <= RESIDUAL * bound))


def _by_conjugate_gradients(times: _Product, b: Any) -> Any:
    """Return the solution, preconditioned by T. Chan's circulant; None where the matrix shows not to be positive."""
    from scipy.sparse.linalg import LinearOperator, cg  # noqa: PLC0415  # optional dependency

    c, n = times.column, b.shape[0]
    if not times.hermitian:
        return None
    j = np.arange(n)
    nearest = ((n - j) * c + j * np.roll(c[::-1], 1).conj()) / n
    eigenvalues = times.transform(nearest, n).real
    if not np.all(eigenvalues > 0):
        return None
    matrix = LinearOperator((n, n), matvec=times, dtype=b.dtype)

    def precondition(x: Any) -> Any:
        return times.back(times.transform(x, n) / eigenvalues, n)

    inverse = LinearOperator((n, n), matvec=precondition, dtype=b.dtype)
    solutions = [cg(matrix, column, rtol=1e-14, maxiter=MOST_STEPS, M=inverse)[0] for column in b.T]
    return np.stack(solutions, axis=1)


def log_determinant_of(column: Any, row: Any) -> tuple[float, float]:
    """Return sign and logarithm of the absolute value of the determinant of a real matrix.

    Raises
    ------
    numpy.linalg.LinAlgError : if a leading minor is 0 or so small that the recursion would lose digits
    """
    n, symmetric = column.size, np.array_equal(row[1:], column[1:])
    if not n:
        return 1.0, 0.0
    column, row = np.asarray(column, np.float64), np.asarray(row, np.float64)
    # Of the leading matrix T_k: T_k @ forward = (pivot, 0, ..., 0), T_k @ backward[::-1] = (0, ..., 0, pivot).
    forward = np.zeros(n)
    forward[0] = 1.0
    backward = forward
    if not symmetric:
        backward = forward.copy()
    down, right = column[::-1].copy(), row[::-1].copy()
    pivot, sign, logarithm = column[0], 1.0, 0.0
    for k in range(1, n + 1):
        if pivot == 0 or not np.isfinite(pivot):
            raise np.linalg.LinAlgError("a leading minor is zero, or an element is inf or nan")
        sign, logarithm = sign * np.sign(pivot), logarithm + np.log(abs(pivot))
        if k == n:
            break
        alpha = down[n - 1 - k : n - 1] @ forward[:k] / pivot
        beta = alpha
        if not symmetric:
            beta = right[n - 1 - k : n - 1] @ backward[:k] / pivot
        if abs(1 - alpha * beta) < 1e-4 and not (symmetric and abs(alpha) < 1):
            raise np.linalg.LinAlgError("a leading minor is nearly zero, and the recursion would lose digits")
        change = 0.0
        if not symmetric:
            change = beta * forward[k - 1 :: -1]
        forward[1 : k + 1] -= alpha * backward[k - 1 :: -1]
        if not symmetric:
            backward[1 : k + 1] -= change
        pivot *= 1 - alpha * beta
    return float(sign), float(logarithm)


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
    elements, are Toeplitz matrices again. Systems of more than 600 rows with a symmetric positive definite matrix
    take O(n log n) for each step of conjugate gradients, preconditioned by T. Chan's circulant matrix, other systems
    O(n²) by Levinson's recursion (SciPy); a solution is taken only where its residual is as small as that of a stable
    method. Determinants take O(n²) by the same recursion, their derivatives two systems. Sources: G. H. Golub and C. F.
    Van Loan, Matrix Computations, 4th ed., section 4.7; T. F. Chan, SIAM J. Sci. Stat. Comput. 9 (1988) 766-771;
    I. Gohberg and A. Semencul, Mat. Issled. 7 (1972) 201-223.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> t = dk.types.ToeplitzTensor([4.0, 1.0, 0.5])
    >>> t @ dk.ones(3), dk.isclose(dk.linalg.solve(t, dk.asarray([5.5, 6.0, 5.5])), 1.0)
    (tensor([5.5000, 6.0000, 5.5000]), tensor([ True,  True,  True]))
    >>> dk.exp(-t * t).column, dk.types.ToeplitzTensor([1.0, 2.0], [1.0, 3.0]).to_dense()
    (tensor([1.1254e-07, 3.6788e-01, 7.7880e-01]), tensor([[1., 3.],
            [2., 1.]]))
    """

    def __init__(self, column: Any, row: Any = None) -> None:
        self.column: Tensor
        if isinstance(column, Tensor):
            self.column = column
        else:
            self.column = ops.asarray(column)
        self.row: Tensor | None
        if row is None or isinstance(row, Tensor):
            self.row = row
        else:
            self.row = ops.asarray(row)
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
        if self.row is None:
            return self.column.dtype
        return np.result_type(self.column.dtype, self.row.dtype)

    @property
    def first_row(self) -> Tensor:
        """The field `row`, or the row that symmetry gives; its first element is not that of the matrix."""
        if self.row is not None:
            return self.row
        row: Tensor
        if self.column.dtype.kind == "c":
            row = ops.conj(self.column)
        else:
            row = self.column
        return row

    @property
    def diagonals(self) -> Tensor:
        """The elements of each diagonal, from the upper right corner to the lower left one: shape (..., M + N - 1)."""
        diagonals: Tensor = ops.concat([ops.flip(self.first_row[..., 1:], axis=-1), self.column], axis=-1)
        return diagonals

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

    def map_batch(self, function: Callable[[Any], Any]) -> ToeplitzTensor:
        """Return the structure with a function of the axes of the batch applied, such as an index."""
        row = None
        if self.row is not None:
            row = function(self.row)
        return ToeplitzTensor(function(self.column), row)

    def places(self) -> None:
        """Return where the matrix has elements of its own, booleans of its shape; None for everywhere."""
        return

    def elements_at(self, rows: Tensor, columns: Tensor) -> Any:
        """Return the elements at indices, in range and of as many axes, which broadcast behind the batch."""
        return self.diagonals[..., rows - columns + self.shape[-1] - 1]

    def times(self, columns: Tensor) -> Any:
        """Return the product with a tensor of shape (..., N, K)."""
        n = fast_length(sum(self.shape[-2:]) - 1)
        diagonals = self.diagonals
        shape = (*diagonals.shape[:-1], n - diagonals.shape[-1])
        gap = ops.zeros(shape, dtype=diagonals.dtype, device=diagonals.device)
        upper = self.shape[-1] - 1
        kernel = ops.concat([self.column, gap, diagonals[..., :upper]], axis=-1)
        return convolve_columns(self, columns, kernel, n)

    def solve_columns(self, columns: Tensor) -> Any:
        """Return the solution of the system with right-hand sides of shape (..., N, K)."""
        if 0 in self.shape[:-2] or 0 in columns.shape[:-2]:
            return decline("there is no system")
        try:
            return solution(Diagonals(), columns, self.column, self.first_row)
        except (np.linalg.LinAlgError, ImportError) as error:
            return decline(str(error))

    def solve_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the solution for one right-hand side, of few rows."""
        arrays = plain_arrays(self.column, self.first_row)
        if arrays is None or not 0 < x.size <= FEW:
            return None
        column, row = arrays
        fits = x.shape == column.shape == row.shape and x.ndim == 1
        if not fits or not x.dtype == column.dtype == row.dtype == np.float64:
            return None
        try:
            return _solve_few(column, row, x)
        except ImportError:
            return None

    def principal(self, start: int, stop: int) -> ToeplitzTensor:
        """Return the square submatrix of the rows and columns `start` to `stop`."""
        row = None
        if self.row is not None:
            row = self.row[..., : stop - start]
        return ToeplitzTensor(self.column[..., : stop - start], row)

    @summarised
    def __repr__(self) -> str:
        row = ""
        if self.row is not None:
            row = f", row={self.row!r}"
        return f"ToeplitzTensor({self.column!r}{row})"


@tensor_protocol.converts()
def toeplitz_of_circulant(x: CirculantTensor) -> ToeplitzTensor:
    return ToeplitzTensor(x.column, ops.matrix_transpose(x).column)


# Functions of the elements, and of pairs of elements in the same place.


@implements(kinds.elementwise, ToeplitzTensor)
def elementwise_toeplitz(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    values = [value for _, value in arguments(op, args, kwargs)]
    if any(isinstance(x, CirculantTensor) for x in values):
        args, kwargs, _ = open_arguments(op, args, kwargs, CirculantTensor, toeplitz_of_circulant)
        return elementwise_toeplitz(op, *args, **kwargs)
    if not fit_elementwise(values, ToeplitzTensor):
        return decline("the elements of another array are not those of a Toeplitz matrix")

    def on_elements(*elements: Tensor) -> Any:
        parts = iter(elements)
        opened, options, _ = open_arguments(op, args, kwargs, ToeplitzTensor, lambda _: next(parts))
        return op(*opened, **options)

    first, *others = (x for x in values if isinstance(x, ToeplitzTensor))
    return first.map_elements(on_elements, *others)


for _pair in ((ToeplitzTensor, ToeplitzTensor), (ToeplitzTensor, CirculantTensor), (CirculantTensor, ToeplitzTensor)):
    enter(ops.add, *_pair)(bind_rule(ops.add, elementwise_toeplitz))
implements(kinds.elementwise, ToeplitzTensor, CirculantTensor)(elementwise_toeplitz)
implements(kinds.elementwise, CirculantTensor, ToeplitzTensor)(elementwise_toeplitz)


@implements(ops.add, commutative=True)
def add_toeplitz_and_scalar(x1: ToeplitzTensor, x2: ScalarTensor, /) -> Any:
    if x1.shape[-2:] != x2.shape:
        return decline("the sizes differ")
    return ToeplitzTensor(ops.concat([x1.column[..., :1] + x2.value, x1.column[..., 1:]], axis=-1), x1.row)


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
        return log_determinant(Diagonals(), x.column, x.first_row)
    except np.linalg.LinAlgError as error:
        return decline(str(error))


implements(linalg.det, ToeplitzTensor)(bind_rule(slogdet_toeplitz, det_by_logarithm))
implement_lazy_inverse(ToeplitzTensor)
