"""Products, systems, sums and factors of structured matrices, on the methods of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.types.rules import array_of, axes_of, check_product, implements, permutation_of, plain_arrays, promote
from dispatchkit.types.structured.banded import BandedTensor, is_hermitian
from dispatchkit.types.structured.base import NO_MATRIX, StructuredTensor, check_system, floating, with_dtype
from dispatchkit.types.structured.diagonal import FEW, DiagonalTensor, ScalarTensor
from dispatchkit.types.structured.permutation import PermutationTensor
from dispatchkit.types.structured.systems import scipy_module
from dispatchkit.types.structured.written_out import FIXED_PRODUCT, implement_products_on_arrays

# Products and systems.


@implements(ops.matmul)
def matmul_structured_tensor(x1: StructuredTensor, x2: Tensor, /) -> Any:
    array = array_of(x2)
    if array is not None:
        product = x1.times_array(array)
        if product is not None:
            return wrap_array(Tensor, product)
    check_product(x1.shape, x2.shape)
    if x1.dtype != x2.dtype:
        x2 = promote(x2, x1.dtype)
        x1 = with_dtype(x1, x2.dtype)
        if x1 is NotImplemented:
            return x1
    if x2.ndim == 1:
        return x1.times_vector(x2)
    return x1.times(x2)


@implements(ops.matmul)
def matmul_tensor_structured(x1: Tensor, x2: StructuredTensor, /) -> Any:
    array = array_of(x1)
    if array is not None:
        product = x2.array_times(array)
        if product is not None:
            return wrap_array(Tensor, product)
    check_product(x1.shape, x2.shape)
    if x1.dtype != x2.dtype:
        x1 = promote(x1, x2.dtype)
        x2 = with_dtype(x2, x1.dtype)
        if x2 is NotImplemented:
            return x2
    if x1.ndim == 1:
        return x2.vector_times(x1)
    return x2.times_from_left(x1)


@implements(linalg.solve)
def solve_structured_tensor(x1: StructuredTensor, x2: Tensor, /) -> Any:
    array = array_of(x2)
    if array is not None:
        solution = x1.solve_array(array)
        if solution is not None:
            return wrap_array(Tensor, solution)
    check_system(x1.shape, x2.shape)
    if x1.dtype != x2.dtype or x1.dtype.kind in "biu":
        dtype = _dtype_of_solution(x1, x2)
        x1, x2 = with_dtype(x1, dtype), with_dtype(x2, dtype)
        if x1 is NotImplemented:
            return x1
    if 0 in (*x1.shape[:-1], *x2.shape[:-2]):  # no system, whatever numbers parts without the batch hold
        return ops.broadcast_to(x2, (*np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]), *x2.shape[-2:]))
    if x2.ndim == 1:
        return x1.solve_vector(x2)
    return x1.solve_columns(x2)


@implements(linalg.solve)
def solve_structured(x1: StructuredTensor, x2: StructuredTensor, /) -> Any:
    check_system(x1.shape, x2.shape)
    if 0 in x2.shape[:-2] and 0 not in x1.shape[:-2]:
        return decline(NO_MATRIX)
    dtype = _dtype_of_solution(x1, x2)
    x1, x2 = with_dtype(x1, dtype), with_dtype(x2, dtype)
    if x1 is NotImplemented or x2 is NotImplemented:
        return NotImplemented
    return linalg.inv(x1) @ x2


# What takes less time than the calls that lead to it.

RULES: dict[str, Callable[..., Any]] = {
    "times": matmul_structured_tensor,
    "from_left": matmul_tensor_structured,
    "solve": solve_structured_tensor,
}
ONE_SHAPE = "a.shape == x.shape and x.ndim == 1 and a.dtype is x.dtype"
implement_products_on_arrays(
    DiagonalTensor,
    "values",
    RULES,
    {
        "times": (ONE_SHAPE, "a * x"),
        "from_left": (ONE_SHAPE, "x * a"),
        "solve": (
            f"{ONE_SHAPE} is _double",
            "x / a if len(a) < FEW and a.tobytes() == m._regular else m._quotient(x, a)",
        ),
    },
    FEW=FEW,
)
OF_ONE_NUMBER = "x.ndim == 1 and len(x) == m.n and a.dtype is x.dtype"
implement_products_on_arrays(
    ScalarTensor,
    "value",
    RULES,
    {
        "times": (OF_ONE_NUMBER, "a * x"),
        "from_left": (OF_ONE_NUMBER, "x * a"),
        "solve": (f"{OF_ONE_NUMBER} is _double", "x / a if a else None"),
    },
)
ANYTHING = "True"
implement_products_on_arrays(
    PermutationTensor,
    "permutation",
    RULES,
    {"times": (ANYTHING, "x[ahead]"), "from_left": (ANYTHING, "x[back]"), "solve": ("_dtype is _double", "x[back]")},
    template=FIXED_PRODUCT,
)


def _dtype_of_solution(*arrays: Any) -> Any:
    """Return the dtype to which arrays promote, in which integers are float64."""
    return np.result_type(*(np.float64 if x.dtype.kind in "biu" else x.dtype for x in arrays))


# Sums.


@implements(ops.sum)
def sum_structured(x: StructuredTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    axes = axes_of("sum", x, axis)
    rows, columns = x.ndim - 2, x.ndim - 1
    if not axes & {rows, columns}:
        return decline("a sum over the batch alone")
    if columns in axes:
        along = x.shape[-1]
    else:
        along = x.shape[-2]
    # The dtype of sums is wider than that of small integers.
    ones = ops.ones((along,), dtype=ops.sum(ops.zeros((0,), dtype=x.dtype)).dtype, device=x.device)
    if columns in axes:
        line = ops.matmul(x, ones)
    else:
        line = ops.matmul(ones, x)
    line = ops.expand_dims(line, axis=-1 if columns in axes else -2)
    total = ops.sum(line, axis=tuple(axes - {columns if columns in axes else rows}), keepdims=True)
    if keepdims:
        return total
    return ops.squeeze(total, axis=tuple(axes))


@implements(ops.mean)
def mean_structured(x: StructuredTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    count = math.prod(x.shape[i] for i in axes_of("mean", x, axis))
    if not count:
        return decline("a mean of nothing")
    total = ops.sum(x, axis=axis, keepdims=keepdims)
    return ops.astype(total / count, floating(ops.zeros((), dtype=x.dtype)).dtype)


# Elements and axes.


@implements(linalg.diagonal)
def diagonal_structured(x: StructuredTensor, /, *, offset: int = 0) -> Any:
    rows, columns = x.shape[-2:]
    along = ops.arange(max(min(rows, rows + offset, columns, columns - offset), 0))
    return x.elements_at(along + max(-offset, 0), along + max(offset, 0))


@implements(linalg.trace)
def trace_structured(x: StructuredTensor, /, *, offset: int = 0, dtype: Any = None) -> Any:
    diagonal = linalg.diagonal(x, offset=offset)
    if diagonal is NotImplemented:
        return diagonal
    return ops.sum(diagonal, axis=-1, dtype=dtype)


@implements(ops.permute_dims)
def permute_dims_structured(x: StructuredTensor, /, axes: tuple[int, ...]) -> Any:
    wanted = permutation_of("permute_dims", x, axes)
    batch = tuple(range(x.ndim - 2))
    if wanted == (*batch, x.ndim - 1, x.ndim - 2):
        return ops.matrix_transpose(x)
    if wanted == tuple(range(x.ndim)):
        return x.map_linear(ops.clone)
    return decline("axes of the batch move")


@implements(ops.getitem)
def getitem_structured(x: StructuredTensor, key: Any, /) -> Any:
    keys = _each_axis(key if isinstance(key, tuple) else (key,), x.ndim)
    if keys is None:
        return decline("the index holds more than ints and slices")
    for i, length in zip(keys, x.shape, strict=True):
        if isinstance(i, int) and not -length <= i < length:
            raise IndexError(f"getitem: index {i} is out of range for an axis of length {length}")
    batch, matrix = tuple(keys[:-2]), keys[-2:]
    if any(i != slice(None) for i in batch):
        x = x.map_batch(lambda stacked: stacked[batch])
    if x is NotImplemented or matrix == [slice(None), slice(None)]:
        return x
    row, column = (range(length)[i] for i, length in zip(matrix, x.shape[-2:], strict=True))
    if isinstance(row, int) and column == range(x.shape[-1]):
        return x.line_at(row, -2)
    if isinstance(column, int) and row == range(x.shape[-2]):
        return x.line_at(column, -1)
    if isinstance(row, int) or isinstance(column, int):
        places = (ops.asarray(np.asarray(i, dtype=np.int64)) for i in (row, column))
        return x.elements_at(*ops.broadcast_arrays(*places))
    if row == column and row.step == 1:
        return x.principal(row.start, row.start + len(row))
    return decline("only single rows, single columns and square blocks on the diagonal are read")


def _each_axis(key: tuple[Any, ...], ndim: int) -> list[Any] | None:
    """Return the index of each axis, None where not all are ints and slices."""
    indices = [i for i in key if i is not Ellipsis]
    if len(key) - len(indices) > 1 or len(indices) > ndim:
        return None
    if not all(isinstance(i, (int, slice)) and not isinstance(i, bool) for i in indices):
        return None
    if Ellipsis in key:
        at = key.index(Ellipsis)
    else:
        at = len(key)
    return [*indices[:at], *[slice(None)] * (ndim - len(indices)), *indices[at:]]


BLOCK = 32  # rows of a block at least: of less, calls take longer than what they compute


@implements(linalg.cholesky)
def cholesky_banded(x: BandedTensor, /, *, upper: bool = False) -> Any:
    """Return the factor, which has the diagonals of one side: block by block, O(n b²) for b diagonals."""
    if not is_hermitian(x):
        return decline("the matrix is not Hermitian and finite")
    arrays = plain_arrays(x.bands)
    if arrays is not None and x.bands.ndim == 2 and (factor := _factor_by_lapack(arrays[0], x.lower)) is not None:
        return _of_side(factor, upper)
    device = x.bands.device
    n, width = x.shape[-1], max(x.lower, BLOCK)
    count = -(-n // width)
    places = ops.reshape(ops.arange(count * width, device=device), (count, width))
    diagonal = _block(x, places[:, :, None], places[:, None, :])
    below = _block(x, places[1:, :, None], places[:-1, None, :])
    above = _block(x, places[:-1, :, None], places[1:, None, :])
    below = (below + ops.conj(ops.matrix_transpose(above))) / 2
    factors, lower = [linalg.cholesky(diagonal[..., 0, :, :])], []
    for k in range(1, count):
        left = linalg.solve(factors[-1], ops.conj(ops.matrix_transpose(below[..., k - 1, :, :])))
        lower.append(ops.conj(ops.matrix_transpose(left)))
        factors.append(linalg.cholesky(diagonal[..., k, :, :] - ops.matmul(lower[-1], left)))
    lower.append(ops.zeros_like(factors[-1]))
    stacked = ops.concat([ops.stack(factors, axis=-3), ops.stack(lower, axis=-3)], axis=-2)
    columns = ops.arange(n, device=device)
    rows = columns % width + ops.arange(x.lower + 1, device=device)[:, None]
    bands = stacked[..., columns // width + 0 * rows, rows, columns % width + 0 * rows]
    return _of_side(BandedTensor(bands, lower=x.lower, upper=0), upper)


def _of_side(factor: BandedTensor, upper: bool) -> Any:
    if upper:
        return ops.conj(ops.matrix_transpose(factor))
    return factor


def _factor_by_lapack(bands: np.ndarray, lower: int) -> BandedTensor | None:
    """Return the lower factor of one Hermitian matrix by LAPACK; None without SciPy.

    Raises
    ------
    numpy.linalg.LinAlgError : if the matrix is not positive definite
    """
    try:
        cholesky_banded = scipy_module("linalg", "cholesky").cholesky_banded
    except ImportError:
        return None
    kept = min(lower + 1, bands.shape[-1])  # SciPy refuses diagonals that lie outside of the matrix altogether
    factor = np.zeros((lower + 1, bands.shape[-1]), np.result_type(bands, np.float32))
    try:
        factor[:kept] = cholesky_banded(bands[lower : lower + kept], lower=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(f"cholesky: matrix is not positive definite: its {error}") from None
    return BandedTensor(wrap_array(Tensor, factor), lower=lower, upper=0)


def _block(x: BandedTensor, rows: Tensor, columns: Tensor) -> Any:
    """Return elements at indices, those of the identity outside the matrix."""
    n = x.shape[-1]
    elements = floating(x.elements_at(ops.minimum(rows, n - 1) + 0 * columns, ops.minimum(columns, n - 1) + 0 * rows))
    unit = ops.astype(rows == columns, elements.dtype)
    return ops.where((rows < n) & (columns < n), elements, unit)
