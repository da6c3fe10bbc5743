"""`CirculantTensor`: a matrix each row of which is the row above, moved on by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from types import NoneType
from typing import Any

import numpy as np

from dispatchkit import fft, linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.printing import summarised
from dispatchkit.types.levels import arguments, open_arguments
from dispatchkit.types.rules import (
    Number,
    all_finite,
    array_of,
    implements,
    implements_each,
    is_finite_array,
    is_nonzero_array,
    promote,
)
from dispatchkit.types.structured.base import StructuredTensor, floating, full_tensor
from dispatchkit.types.structured.kept import kept

SPREAD = "a Fourier transform spreads inf and nan over all elements"


@tensor_protocol.array_type(fields=("column",))
class CirculantTensor(StructuredTensor):
    """The n×n matrix with elements ``column[(i - j) % n]``.

    Parameters
    ----------
    column : the first column, of shape (..., n); axes in front make a batch of matrices

    Raises
    ------
    ValueError : if `column` is 0-D

    Notes
    -----
    The vectors of the Fourier transform are eigenvectors of every circulant matrix, and the transform of its column
    holds the eigenvalues. Products with vectors, systems of equations, determinants and functions of the matrix take
    O(n log n); sums, products, inverses, transposes and functions applied to the elements are circulant again. Source:
    G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 4.8.2.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> c = dk.types.CirculantTensor([3.0, 1.0])
    >>> c @ dk.asarray([1.0, 0.0])
    tensor([3., 1.])
    >>> c @ c
    CirculantTensor([10., 6.])
    >>> (c @ dk.linalg.inv(c)).column
    tensor([1., 0.])
    """

    def __init__(self, column: Any) -> None:
        self.column: Tensor
        if isinstance(column, Tensor):
            self.column = column
        else:
            self.column = ops.asarray(column)
        if self.column.ndim == 0:
            raise ValueError("CirculantTensor: column must have an axis, found a 0-D array")

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes: (..., n, n)."""
        return (*self.column.shape, self.column.shape[-1])

    dtype = property(attrgetter("column.dtype"), doc="Type of the elements, that of the column.")

    @property
    def spectrum(self) -> Tensor:
        """The eigenvalues in the order of the frequencies: of a real matrix those of `rfft`, else those of `fft`."""
        return _spectrum(floating(self.column), self.column.shape[-1])

    def apply(self, function: Callable[[Tensor], Tensor]) -> CirculantTensor:
        """Return a function of the matrix, such as its exponential: ``c.apply(dk.exp)``.

        Parameters
        ----------
        function : is given the eigenvalues as complex numbers, and gives those of the result; of a real matrix it gets
            one of each conjugate pair and must give conjugates for conjugates, as real power series do
        """
        return CirculantTensor(_back(function(self.spectrum), self.column.shape[-1], floating(self.column).dtype))

    def map_linear(self, function: Callable[[Any], Any]) -> CirculantTensor:
        """Return the structure with a linear function, such as scaling, applied to the elements."""
        return CirculantTensor(function(self.column))

    map_batch = map_linear

    def elements_at(self, rows: Tensor, columns: Tensor) -> Any:
        """Return the elements at indices, in range and of as many axes, which broadcast behind the batch."""
        return self.column[..., (rows - columns) % self.column.shape[-1]]

    def times(self, columns: Tensor) -> Any:
        """Return the product with a tensor of shape (..., N, K)."""
        return convolve_columns(self, columns, self.column, self.column.shape[-1])

    def times_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the product with a vector of real numbers."""
        spectrum = self._spectrum_for(x)
        if spectrum is None:
            return None
        product = np.fft.irfft(np.fft.rfft(x) * spectrum, x.size)
        if is_finite_array(product):
            return product
        return None

    def solve_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the solution for a vector of real numbers."""
        spectrum = self._spectrum_for(x)
        if spectrum is None or not is_nonzero_array(spectrum) or not is_finite_array(spectrum):
            return None
        solution = np.fft.irfft(np.fft.rfft(x) / spectrum, x.size)
        if is_finite_array(solution):
            return solution
        return None

    def _spectrum_for(self, x: np.ndarray) -> np.ndarray | None:
        """Return the spectrum of one matrix of real numbers, which is kept, for a vector; None of anything else."""
        column = array_of(self.column)
        if column is None or column.shape != x.shape or x.ndim != 1 or column.dtype != x.dtype:
            return None
        if x.dtype.char not in "fd" or not x.size:
            return None
        return kept(self, "spectrum", (column,), np.fft.rfft)

    def solve_columns(self, columns: Tensor) -> Any:
        """Return the solution of the system with right-hand sides of shape (..., N, K)."""
        return linalg.inv(CirculantTensor(promote(self.column, columns.dtype))).times(columns)

    @summarised
    def __repr__(self) -> str:
        return f"CirculantTensor({str(self.column).removeprefix('tensor(').removesuffix(')')})"


# Fourier transforms along the last axis.


def _spectrum(x: Tensor, n: int) -> Tensor:
    """Return the Fourier transform of vectors with zeros appended to length n, of real ones the first half."""
    if not n:
        return ops.astype(x, np.result_type(x.dtype, np.complex64))
    spectrum: Tensor
    if ops.isdtype(x.dtype, "complex floating"):
        spectrum = fft.fft(x, n=n)
    else:
        spectrum = fft.rfft(x, n=n)
    return spectrum


def _back(spectrum: Tensor, n: int, dtype: Any) -> Tensor:
    """Return the vectors of length n, real or complex as `dtype` is, that have a Fourier transform."""
    if not n:
        return ops.astype(ops.real(spectrum), dtype)
    if ops.isdtype(dtype, "complex floating"):
        back = fft.ifft
    else:
        back = fft.irfft
    return ops.astype(back(spectrum, n=n), dtype, copy=False)


def convolve_columns(matrix: StructuredTensor, columns: Tensor, kernel: Tensor, n: int) -> Any:
    """Return columns of shape (..., N, K), convolved with kernels of shape (..., n) around a circle of length n.

    The first rows of the matrix are kept.
    """
    if 0 in matrix.shape[-2:]:
        shape = *np.broadcast_shapes(matrix.shape[:-2], columns.shape[:-2]), matrix.shape[-2], columns.shape[-1]
        return ops.zeros(shape, dtype=np.result_type(matrix.dtype, columns.dtype), device=columns.device)
    if np.result_type(matrix.dtype, columns.dtype).kind not in "fc":
        return decline("Fourier transforms give floating-point numbers")
    if not all_finite(columns, kernel):
        return decline(SPREAD)
    dtype = np.result_type(matrix.dtype, columns.dtype)
    lines = ops.astype(ops.matrix_transpose(columns), dtype, copy=False)
    product = _spectrum(lines, n) * _spectrum(ops.astype(kernel, dtype, copy=False), n)[..., None, :]
    return ops.matrix_transpose(_back(product, n, dtype)[..., : matrix.shape[-2]])


def _all_eigenvalues(x: CirculantTensor) -> Any:
    if x.column.shape[-1]:
        return fft.fft(floating(x.column))
    return _spectrum(floating(x.column), 0)


# Functions of the elements, and of pairs of elements in the same place.


@implements(kinds.elementwise, CirculantTensor)
def elementwise_circulant(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    if not fit_elementwise([value for _, value in arguments(op, args, kwargs)], CirculantTensor):
        return decline("the elements of another array are not those of a circulant matrix")
    args, kwargs, _ = open_arguments(op, args, kwargs, CirculantTensor, lambda x: x.column)
    return CirculantTensor(op(*args, **kwargs))


def fit_elementwise(values: Sequence[Any], structure: Any) -> bool:
    """Return whether all arguments are numbers, 0-D tensors, or matrices of one size and structure."""
    return len({x.shape[-2:] for x in values if isinstance(x, structure)}) == 1 and all(
        x.ndim == 0 if isinstance(x, (Tensor, np.ndarray)) else isinstance(x, (structure, Number, np.generic, NoneType))
        for x in values
    )


implements_each((ops.add,), CirculantTensor, CirculantTensor)(elementwise_circulant)


# Products and linear algebra.


@implements(ops.matmul)
def matmul_circulants(x1: CirculantTensor, x2: CirculantTensor, /) -> Any:
    if x1.shape[-1] != x2.shape[-1]:
        return decline("the sizes differ")
    product = convolve_columns(x1, x2.column[..., None], x1.column, x1.shape[-1])
    if product is NotImplemented:
        return product
    return CirculantTensor(product[..., 0])


@implements(ops.matrix_transpose)
def matrix_transpose_circulant(x: CirculantTensor, /) -> CirculantTensor:
    return CirculantTensor(ops.roll(ops.flip(x.column, axis=-1), 1, axis=-1))


@implements(linalg.inv)
def inv_circulant(x: CirculantTensor, /) -> Any:
    if not all_finite(x.column):
        return decline(SPREAD)
    if not holds(x.spectrum != 0, traced=True):
        raise np.linalg.LinAlgError("inv: singular matrix: a CirculantTensor with the eigenvalue 0")
    return x.apply(ops.reciprocal)


@implements(linalg.slogdet)
def slogdet_circulant(x: CirculantTensor, /) -> Any:
    if not all_finite(x.column):
        return decline(SPREAD)
    eigenvalues = _all_eigenvalues(x)
    if not holds(eigenvalues != 0, traced=True):
        return decline("some matrix is singular")
    magnitudes = ops.abs(eigenvalues)
    sign = ops.prod(eigenvalues / magnitudes, axis=-1)
    if x.dtype.kind != "c":
        sign = ops.round(ops.real(sign))
    return linalg.SlogdetResult(sign, ops.sum(ops.log(magnitudes), axis=-1))


@implements(linalg.det)
def det_circulant(x: CirculantTensor, /) -> Any:
    if not all_finite(x.column):
        return decline(SPREAD)
    determinant: Tensor = ops.prod(_all_eigenvalues(x), axis=-1)
    if x.dtype.kind == "c":
        return determinant
    return ops.real(determinant)


@implements(linalg.svdvals)
def svdvals_circulant(x: CirculantTensor, /) -> Any:
    if not all_finite(x.column):
        return decline(SPREAD)
    return ops.sort(ops.abs(_all_eigenvalues(x)), axis=-1, descending=True)


@implements(linalg.eigvals)
def eigvals_circulant(x: CirculantTensor, /) -> Any:
    if not all_finite(x.column):
        return decline(SPREAD)
    return _all_eigenvalues(x)


@implements(ops.sum)
def sum_circulant(x: CirculantTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if x.ndim != 2 or axis not in (None, 0, 1, -1, -2):
        return decline("the sums of a batch are not one number each")
    n, line = x.shape[-1], ops.sum(x.column)
    if axis is None:
        shape = {True: (1, 1), False: ()}
    else:
        shape = {True: (1, n) if axis % 2 == 0 else (n, 1), False: (n,)}
    return full_tensor(shape[keepdims], line * n if axis is None else line)
