"""`BandedTensor`: square matrices that are zero but for some diagonals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.printing import summarised
from dispatchkit.types.rules import all_finite, array_of, check_product, implements, plain_arrays
from dispatchkit.types.sparse_pattern import kernels
from dispatchkit.types.structured.base import (
    StructuredTensor,
    as_tensor,
    det_by_logarithm,
    floating,
    implement_pairs,
)
from dispatchkit.types.structured.diagonal import DiagonalTensor, det_by_diagonal, slogdet_by_diagonal
from dispatchkit.types.structured.kept import kept
from dispatchkit.types.structured.lazy import implement_lazy_inverse
from dispatchkit.types.structured.systems import log_determinant, scipy_module, solution


@tensor_protocol.array_type(fields=("bands", "lower", "upper"))
class BandedTensor(StructuredTensor):
    """Square matrices with zeros but on `lower` diagonals below the main one and `upper` above it.

    Parameters
    ----------
    bands : tensor of shape (..., lower + upper + 1, n), or what `asarray` makes one of, as SciPy's `solve_banded` takes
        it: ``bands[upper + i - j, j]`` is the element in row i and column j; what lies outside the matrix is not read
    lower, upper : number of diagonals below and above the main one

    Raises
    ------
    ValueError : if `lower` or `upper` is negative, or `bands` has another number of rows

    Notes
    -----
    For k diagonals a product with a vector takes O(n k) and a system O(n k²) (LAPACK's `gbsv` by SciPy). A sum has the
    diagonals of both matrices, a product the sum of their numbers. The inverse has no zeros: `inv` gives an
    `InverseTensor`. Source: SciPy, `scipy.linalg.solve_banded`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> t = dk.types.BandedTensor([[0.0, 1.0, 1.0], [4.0, 4.0, 4.0], [1.0, 1.0, 0.0]], lower=1, upper=1)
    >>> t @ dk.ones(3), dk.linalg.solve(t, dk.asarray([5.0, 6.0, 5.0]))
    (tensor([5., 6., 5.]), tensor([1., 1., 1.]))
    >>> (t @ t).lower, type(dk.linalg.inv(t)).__name__
    (2, 'InverseTensor')
    """

    def __init__(self, bands: Any, *, lower: int, upper: int) -> None:
        self.bands = as_tensor("BandedTensor", "bands", bands, 2)
        self.lower, self.upper = lower, upper
        if lower < 0 or upper < 0 or self.bands.shape[-2] != lower + upper + 1:
            raise ValueError(
                f"BandedTensor: {lower} lower and {upper} upper diagonals are lower + upper + 1 rows of bands, found "
                f"shape {self.bands.shape}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes: (..., n, n)."""
        return (*self.bands.shape[:-2], self.bands.shape[-1], self.bands.shape[-1])

    dtype = property(attrgetter("bands.dtype"), doc="Type of the elements.")

    @property
    def elements(self) -> Tensor:
        """The bands, with zeros in the places outside the matrix."""
        bands: Tensor = _inside(self.bands, self.lower, self.upper)
        return bands

    def to_dense(self) -> Tensor:
        """Return the matrix as a plain tensor."""
        dense: Tensor = self.added_to(ops.zeros(self.shape, dtype=self.dtype, device=self.bands.device))
        return dense

    def map_elements(self, function: Callable[[Any], Any]) -> BandedTensor:
        """Return the matrix with a function applied to the bands."""
        return BandedTensor(function(self.elements), lower=self.lower, upper=self.upper)

    def map_batch(self, function: Callable[[Any], Any]) -> BandedTensor:
        """Return the matrix with a function of the axes of the batch applied."""
        return BandedTensor(function(self.bands), lower=self.lower, upper=self.upper)

    def zip_elements(self, other: BandedTensor, function: Callable[[Any, Any], Any]) -> BandedTensor:
        """Return a function of two matrices, with the diagonals of both."""
        lower, upper = max(self.lower, other.lower), max(self.upper, other.upper)
        widened = [_widen(x.elements, lower - x.lower, upper - x.upper) for x in (self, other)]
        return BandedTensor(function(*widened), lower=lower, upper=upper)

    def restricted(self, x: Tensor) -> BandedTensor:
        """Return the bands of a tensor."""
        rows, columns, inside = _places(self.shape[-1], self.lower, self.upper)
        bands = x[..., np.where(inside, rows, columns), columns]
        return BandedTensor(bands, lower=self.lower, upper=self.upper)

    def added_to(self, x: Tensor) -> Any:
        """Return a tensor with the bands added."""
        rows, columns, inside = _places(self.shape[-1], self.lower, self.upper)
        index = (..., np.where(inside, rows, columns), columns)
        return ops.index_put(x, index, self.elements, accumulate=True)

    def elements_at(self, rows: Tensor, columns: Tensor) -> Any:
        """Return the elements at indices."""
        band = self.upper + rows - columns
        inside = (band >= 0) & (band <= self.lower + self.upper)
        chosen = self.bands[..., ops.where(inside, band, 0), columns + 0 * band]
        return ops.where(inside, chosen, ops.zeros((), dtype=self.dtype, device=chosen.device))

    def times(self, columns: Tensor) -> Any:
        """Return the product with a tensor, a diagonal at a time."""
        arrays = plain_arrays(self.bands, columns)
        if arrays is not None:
            return ops.asarray(_product(arrays[0][..., None], arrays[1], self.lower, self.upper))
        return _times(self.elements, columns, self.lower, self.upper)

    def times_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the product with a vector or columns."""
        bands = array_of(self.bands)
        if bands is None or bands.ndim != 2 or x.ndim not in {1, 2} or x.shape[0] != bands.shape[1]:
            return None
        if x.dtype != bands.dtype:
            return None
        product = _product_by_scipy(bands, x, self.lower, self.upper)
        if product is None and x.ndim == 1:
            return _product(bands, x, self.lower, self.upper)
        return product

    def solve_array(self, x: np.ndarray) -> np.ndarray | None:
        """Return the solution by factors that are kept."""
        bands = array_of(self.bands)
        if bands is None or bands.ndim != 2 or x.ndim not in {1, 2} or x.shape[0] != bands.shape[1] or not x.size:
            return None
        if x.dtype != bands.dtype or x.dtype.char not in "fdFD":
            return None
        try:
            factors, swaps, solve = kept(self, "factors", (bands,), self._factors)
        except (np.linalg.LinAlgError, ImportError):
            return None
        found, _ = solve(factors, self.lower, self.upper, x, swaps)
        solution: np.ndarray = found
        return solution

    def _factors(self, bands: np.ndarray) -> tuple[Any, Any, Any]:
        """Return LAPACK's factors of one matrix, its swaps of rows, and the function that solves systems by them.

        Raises
        ------
        numpy.linalg.LinAlgError : if the matrix is singular
        ImportError : without SciPy
        """
        elements = np.zeros((bands.shape[0] + self.lower, bands.shape[1]), bands.dtype, order="F")
        for row, offset in enumerate(_offsets(self.lower, self.upper)):
            columns = slice(max(-offset, 0), max(bands.shape[1] - max(offset, 0), 0))
            elements[self.lower + row, columns] = bands[row, columns]
        factor, solve = scipy_module("linalg", "solve").get_lapack_funcs(("gbtrf", "gbtrs"), (elements,))
        factors, swaps, info = factor(elements, self.lower, self.upper, overwrite_ab=True)
        if info:
            raise np.linalg.LinAlgError("singular matrix")
        return factors, swaps, solve

    def solve_columns(self, columns: Tensor) -> Any:
        """Return the solution by factors with as many diagonals."""
        return solution(Bands(self.lower, self.upper), columns, ops.astype(self.elements, columns.dtype))

    def principal(self, start: int, stop: int) -> BandedTensor:
        """Return the matrix of some of the rows and columns."""
        return BandedTensor(self.bands[..., start:stop], lower=self.lower, upper=self.upper)

    @summarised
    def __repr__(self) -> str:
        shown = repr(self.elements).replace("\n", "\n" + " " * len("BandedTensor("))
        return f"BandedTensor({shown}, lower={self.lower}, upper={self.upper})"


def _places(n: int, lower: int, upper: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row and column of each place of the bands, and whether it lies inside the matrix."""
    columns = np.tile(np.arange(n), (lower + upper + 1, 1))
    rows = columns + np.arange(-upper, lower + 1)[:, None]
    return rows, columns, (rows >= 0) & (rows < n)


def _inside(bands: Any, lower: int, upper: int) -> Any:
    inside = _places(bands.shape[-1], lower, upper)[2]
    zero = ops.zeros((), dtype=bands.dtype, device=bands.device)
    return ops.where(ops.asarray(inside).to(like=bands), bands, zero)


def _widen(bands: Any, lower: int, upper: int) -> Any:
    if not lower and not upper:
        return bands
    return ops.pad(bands, [*[(0, 0)] * (bands.ndim - 2), (upper, lower), (0, 0)])


def _offsets(lower: int, upper: int) -> Sequence[int]:
    """Return for each row of the bands how far the elements' rows lie below their columns."""
    return range(-upper, lower + 1)


def _shift(x: Any, offset: int, axis: int) -> Any:
    """Return an array moved along an axis, with zeros where nothing moves in."""
    length = x.shape[axis]
    kept = max(length - abs(offset), 0)
    index: list[Any] = [slice(None)] * -axis
    if offset >= 0:
        index[0] = slice(0, kept)
    else:
        index[0] = slice(length - kept, length)
    widths = [(0, 0)] * x.ndim
    if offset >= 0:
        widths[axis] = length - kept, 0
    else:
        widths[axis] = 0, length - kept
    if offset:
        return ops.pad(x[(..., *index)], widths)
    return x


def _times(bands: Any, columns: Any, lower: int, upper: int) -> Any:
    terms = [
        _shift(bands[..., row, :, None] * columns, offset, -2) for row, offset in enumerate(_offsets(lower, upper))
    ]
    return sum(terms[1:], terms[0])


def _product(bands: np.ndarray, x: np.ndarray, lower: int, upper: int) -> np.ndarray:
    """Return the product of bands with columns: of shapes (..., k, n, 1) and (..., n, m), or (k, n) and (n,).

    What the bands hold outside the matrix is not read.
    """
    behind: tuple[Any, ...] = (slice(None),) * (bands.ndim > 2)
    n, last = bands.shape[bands.ndim - 1 - len(behind)], x.shape[x.ndim - len(behind) :]
    batch = np.broadcast_shapes(bands.shape[:-3], x.shape[:-2])
    result = np.zeros((*batch, n, *last), np.result_type(bands, x))
    terms = np.empty_like(result)
    for row, offset in enumerate(_offsets(lower, upper)):
        count, start = n - abs(offset), max(-offset, 0)
        if count > 0:
            columns = slice(start, start + count), *behind
            rows = slice(start + offset, start + offset + count), *behind
            term = terms[..., slice(0, count), *behind]
            np.multiply(bands[..., row, *columns], x[..., *columns], out=term)
            result[..., *rows] += term
    return result


def _product_by_scipy(bands: np.ndarray, x: np.ndarray, lower: int, upper: int) -> np.ndarray | None:
    """Return the product of bands with a vector or columns by a kernel of SciPy's; None where it has none."""
    tools = kernels()
    if tools is None or x.dtype.char not in "fdFD" or not x.dtype.isnative or not x.size:
        return None
    shape, offsets = (x.shape[0], x.shape[0]), np.arange(upper, -lower - 1, -1, dtype=np.int32)
    result = np.zeros(x.shape, x.dtype)
    bands = np.ascontiguousarray(bands)
    if x.ndim == 1:
        tools.dia_matvec(*shape, *bands.shape, offsets, bands, np.ascontiguousarray(x), result)
    elif hasattr(tools, "dia_matvecs"):
        tools.dia_matvecs(*shape, *bands.shape, offsets, bands, x.shape[1], np.ascontiguousarray(x), result)
    else:
        return None
    return result


def _transpose(bands: Any, lower: int, upper: int) -> Any:
    rows = [_shift(bands[..., row, :], offset, -1) for row, offset in enumerate(_offsets(lower, upper))]
    return ops.stack(rows[::-1], axis=-2)


@dataclass(frozen=True)
class Bands:
    """An array that holds bands, for `solution`."""

    lower: int
    upper: int
    axes = (2,)

    def solve(self, columns: np.ndarray, bands: np.ndarray) -> Any:
        solve_banded = scipy_module("linalg", "solve").solve_banded
        if bands.shape[-1] == 1 and not bands[self.upper, 0]:
            raise np.linalg.LinAlgError("singular matrix")  # SciPy divides by the one element
        return solve_banded((self.lower, self.upper), bands, columns, check_finite=False)

    def log_determinant(self, bands: np.ndarray) -> tuple[Any, Any]:
        """Return sign and logarithm of the determinant, from LAPACK's factors."""
        padded = np.concatenate([np.zeros((self.lower, bands.shape[-1]), bands.dtype), bands])
        (factor,) = scipy_module("linalg", "slogdet").get_lapack_funcs(("gbtrf",), (padded,))
        factors, swaps, _ = factor(padded, self.lower, self.upper)
        diagonal = factors[self.lower + self.upper]
        sizes = np.abs(diagonal)
        if not sizes.all():
            return 0, -np.inf
        odd = np.count_nonzero(swaps != np.arange(diagonal.size)) % 2
        return (-1) ** odd * np.prod(np.sign(diagonal)), np.sum(np.log(sizes))

    def inverse_sums(self, bands: Any) -> tuple[Any]:
        unit = ops.eye(bands.shape[-1], dtype=bands.dtype, device=bands.device)
        form, adjoint = self.adjoint(bands)
        return self.outer(solution(form, unit, *adjoint), unit)

    def adjoint(self, bands: Any) -> tuple[Bands, tuple[Any]]:
        return Bands(self.upper, self.lower), (ops.conj(_transpose(bands, self.lower, self.upper)),)

    def times(self, columns: Any, bands: Any) -> Any:
        return _times(_inside(bands, self.lower, self.upper), columns, self.lower, self.upper)

    def outer(self, left: Any, right: Any) -> tuple[Any]:
        rows = [ops.sum(_shift(left, -offset, -2) * right, axis=-1) for offset in _offsets(self.lower, self.upper)]
        return (ops.stack(rows, axis=-2),)


implement_pairs(BandedTensor)
implement_lazy_inverse(BandedTensor)


@tensor_protocol.converts()
def banded_of_diagonal(x: DiagonalTensor) -> BandedTensor:
    return BandedTensor(x.values[..., None, :], lower=0, upper=0)


@implements(ops.matmul)
def matmul_banded(x1: BandedTensor, x2: BandedTensor, /) -> BandedTensor:
    check_product(x1.shape, x2.shape)
    left, right = x1.elements, x2.elements
    rows: dict[int, Any] = {}
    for i, first in enumerate(_offsets(x1.lower, x1.upper)):
        for j, second in enumerate(_offsets(x2.lower, x2.upper)):
            product = _shift(left[..., i, :], -second, -1) * right[..., j, :]
            if first + second in rows:
                rows[first + second] = rows[first + second] + product
            else:
                rows[first + second] = product
    return BandedTensor(
        ops.stack([rows[offset] for offset in sorted(rows)], axis=-2), lower=max(rows), upper=-min(rows)
    )


@implements(ops.matrix_transpose)
def matrix_transpose_banded(x: BandedTensor, /) -> BandedTensor:
    return BandedTensor(_transpose(x.elements, x.lower, x.upper), lower=x.upper, upper=x.lower)


@implements(linalg.slogdet)
def slogdet_banded(x: BandedTensor, /) -> Any:
    if not (x.lower and x.upper):
        return slogdet_by_diagonal(x)
    return log_determinant(Bands(x.lower, x.upper), floating(x.elements))


@implements(linalg.det)
def det_banded(x: BandedTensor, /) -> Any:
    if not (x.lower and x.upper):
        return det_by_diagonal(x)
    return det_by_logarithm(slogdet_banded, x)


@implements(linalg.eigvalsh)
def eigvalsh_banded(x: BandedTensor, /) -> Any:
    """Return the eigenvalues in O(n² k); their derivative takes the eigenvectors, which are dense."""
    elements = floating(x.elements)
    if not is_hermitian(x) or elements.requires_grad or elements.is_tracer:
        return decline("the matrix is not Hermitian and finite, or derivatives are asked for")
    array = np.asarray(elements)
    values = np.empty((*array.shape[:-2], array.shape[-1]), array.real.dtype)
    for index in np.ndindex(array.shape[:-2]):
        # Diagonals that lie outside the matrix altogether are refused.
        kept = array[index][x.upper : x.upper + array.shape[-1]]
        values[index] = scipy_module("linalg", "eigvalsh").eig_banded(
            kept, lower=True, check_finite=False, eigvals_only=True
        )
    return ops.asarray(values).to(like=elements)


def is_hermitian(x: BandedTensor) -> bool:
    """Return whether the matrices have rows, finite elements, and equal their conjugate transposes."""
    if x.lower != x.upper or not x.shape[-1]:
        return False
    arrays = plain_arrays(x.bands)
    if arrays is not None:
        return _mirrored(arrays[0], x.lower)
    elements = x.elements
    if not all_finite(elements):
        return False
    return holds(ops.conj(ops.matrix_transpose(x).elements) == elements, traced=True)


def _mirrored(bands: np.ndarray, width: int) -> bool:
    """Return whether all elements are finite, and each diagonal is the conjugate of that on the other side."""
    n = bands.shape[-1]
    # The difference of equal numbers is 0 where they are finite, so that it need not be asked for.
    differ: Any = np.not_equal
    is_complex = bands.dtype.kind == "c"
    if bands.dtype.kind in "fc":
        differ = np.subtract
    with np.errstate(invalid="ignore", over="ignore"):
        for k in range(min(width, n - 1) + 1):
            below, above = bands[..., width + k, : n - k], bands[..., width - k, k:]
            if is_complex:
                below = below.conj()
            if np.count_nonzero(differ(below, above)):  # of a hundred in a quarter of the time of `any`
                return False
    return True
