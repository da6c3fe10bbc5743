"""Reductions of sparse matrices, in which what is not stored counts as zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.types.rules import axes_of, axis_of, implements, implements_each
from dispatchkit.types.sparse.elementwise import at_pattern
from dispatchkit.types.sparse.matrix import SparseTensor, matmul_sparse_tensor
from dispatchkit.types.sparse_pattern import SparsePattern

NO_AXIS = "a reduction along no axis is the matrix itself"


def _with_kept(total: Any, x: SparseTensor, axes: set[int], keepdims: bool) -> Any:
    """Return the result of a reduction with the axes that it keeps."""
    if keepdims:
        return ops.reshape(total, tuple(1 if a in axes else x.shape[a] for a in (0, 1)))
    return total


# Sums.


@implements(ops.sum)
def sum_sparse(x: SparseTensor, /, *, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    axes = axes_of("sum", x, axis)
    if not axes:
        return SparseTensor(ops.sum(x.values[None], axis=0, dtype=dtype), x.pattern)
    if dtype is not None:
        x = SparseTensor(ops.astype(x.values, dtype), x.pattern)
    if len(axes) == 1 and ops.isdtype(x.dtype, "real floating"):
        if 0 in axes:
            pattern = x.pattern.transposed
        else:
            pattern = x.pattern
        ones = ops.ones((pattern.shape[1],), dtype=x.dtype, device=x.device)
        total = matmul_sparse_tensor(SparseTensor(x.values, pattern), ones)
    else:
        total = ops.sum(x.values, dtype=dtype)
    if total.ndim < 2 - len(axes):
        if 0 in axes:
            kept = x.pattern.columns
        else:
            kept = x.pattern.rows
        length = x.shape[1 if 0 in axes else 0]
        zeros = ops.zeros((length,), dtype=total.dtype, device=x.device)
        total = ops.index_put(zeros, kept, ops.astype(x.values, total.dtype), accumulate=True)
    return _with_kept(total, x, axes, keepdims)


@implements(ops.mean)
def mean_sparse(x: SparseTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    axes = axes_of("mean", x, axis)
    count = math.prod(x.shape[a] for a in axes)
    if not count or not axes:
        return decline("a mean of nothing is nan")
    return ops.sum(x, axis=axis, keepdims=keepdims) / count


def _squared(z: Any) -> Any:
    """Return the squares of magnitudes, by no root: their second derivatives are right at 0, too."""
    if z.dtype.kind == "c":
        return ops.real(z * ops.conj(z))
    return ops.square(z)


@implements(ops.var)
def var_sparse(x: SparseTensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    axes = axes_of("var", x, axis)
    count = math.prod(x.shape[a] for a in axes)
    if not axes or count <= correction:
        return decline("a variance of too few elements is nan")
    center = ops.mean(x, axis=axis, keepdims=True)
    parts = _squared(x.values - at_pattern(center, x.pattern))
    around = SparseTensor(parts, x.pattern)
    stored = SparseTensor(ops.ones(x.values.shape, dtype=parts.dtype, device=x.device), x.pattern)
    others = count - ops.sum(stored, axis=axis, keepdims=True)
    total = ops.sum(around, axis=axis, keepdims=True) + others * _squared(center)
    result = total / (count - correction)
    if keepdims:
        return result
    return ops.squeeze(result, axis=tuple(axes))


@implements(ops.std)
def std_sparse(x: SparseTensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    variance = var_sparse(x, axis=axis, correction=correction, keepdims=keepdims)
    if variance is NotImplemented:
        return NotImplemented
    # The derivative where all elements are equal is 0, as that of the dense matrix, and not that of a root at 0.
    varies = variance > 0
    return ops.where(varies, ops.sqrt(ops.where(varies, variance, 1.0)), 0 * variance)  # which is nan where that is


@implements(ops.count_nonzero)
def count_nonzero_sparse(x: SparseTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if not axes_of("count_nonzero", x, axis):
        return decline(NO_AXIS)
    counted = ops.astype(x.values != 0, np.int64)
    return ops.sum(SparseTensor(counted, x.pattern), axis=axis, keepdims=keepdims)


# Extremes and products.


@implements_each((ops.max, ops.min, ops.any, ops.all), SparseTensor)
def extreme_sparse(op: Any, x: SparseTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Reduce by a function that what stands there twice does not change."""
    axes = axes_of(op.__name__, x, axis)
    if not axes or 0 in x.shape:
        return decline(NO_AXIS if not axes else "there are no elements")
    if len(axes) == 2:
        elements = x.values
        if x.nnz < math.prod(x.shape):
            elements = _with_element(x, 0)
        total = op(elements)
    else:
        total = _along_lines(op, x, axes, 0)
    return _with_kept(total, x, axes, keepdims)


@implements(ops.prod)
def prod_sparse(x: SparseTensor, /, *, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    axes = axes_of("prod", x, axis)
    if not axes or 0 in x.shape:
        return decline(NO_AXIS if not axes else "there are no elements")
    if dtype is not None:
        x = SparseTensor(ops.astype(x.values, dtype), x.pattern)

    def product(values: Any, axis: Any = None) -> Any:
        return ops.prod(values, axis=axis, dtype=dtype)

    if len(axes) == 2:
        total = product(x.values)
        if x.nnz != math.prod(x.shape):
            total = total * 0
        return _with_kept(total, x, axes, keepdims)
    return _with_kept(_along_lines(product, x, axes, 1), x, axes, keepdims)


def _with_element(x: SparseTensor, value: int) -> Any:
    """Return the stored elements and one more."""
    return ops.concat([x.values, ops.full((1,), value, dtype=x.dtype, device=x.device)])


def _along_lines(op: Callable[..., Any], x: SparseTensor, axes: set[int], neutral: int) -> Any:
    """Return a reduction of each row or column, computed together for those that store about as many elements.

    Parameters
    ----------
    op : reduces an array along an axis
    x : matrix
    axes : the one along which it is reduced
    neutral : what fills up the stored elements of a line; a product with what is not stored is zero
    """
    if 0 in axes:
        pattern = x.pattern.transposed
    else:
        pattern = x.pattern
    counts = np.bincount(pattern.rows, minlength=pattern.shape[0])
    stored, full = np.flatnonzero(counts), counts == pattern.shape[1]
    values = _with_element(x, neutral)
    # A place more, so that a line that does not store all of its elements has a zero among them.
    widths = np.where(full, counts, 2 ** np.ceil(np.log2(counts + 1)).astype(int))
    parts = []
    for width in np.unique(widths[stored]):
        lines = stored[widths[stored] == width]
        places, numbers, _ = pattern.of_rows(lines)
        within = np.arange(len(places)) - np.repeat(np.cumsum(counts[lines]) - counts[lines], counts[lines])
        filled = np.full((len(lines), width), x.nnz)
        filled[numbers, within] = places
        part = op(values[filled], axis=1)
        if neutral:
            part = ops.where(ops.asarray(full[lines]).to(like=part), part, part * 0)
        parts.append((lines, part))
    empty = op(ops.zeros((1, 1), dtype=x.dtype, device=x.device), axis=1)
    result = ops.zeros((pattern.shape[0],), dtype=empty.dtype, device=x.device)
    for lines, part in parts:
        result = ops.index_put(result, lines, part)
    return result


# Where the extremes are.


@implements_each((ops.argmax, ops.argmin), SparseTensor)
def argextreme_sparse(op: Any, x: SparseTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the first place of the largest or smallest element; nan, as in NumPy, is both."""
    axes = axes_of(op.__name__, x, axis)
    if 0 in x.shape or x.values.is_tracer or x.dtype.kind == "c":
        return decline("there are no elements, or they are not known")
    values = np.asarray(x.values.detach().numpy())
    if values.dtype.kind == "b":
        values = values.astype(np.int8)
    if len(axes) == 2:
        keys = x.pattern.keys
        lines = SparsePattern([0] * len(keys), keys, (1, math.prod(x.shape)))
    elif 0 in axes:
        lines = x.pattern.transposed
    else:
        lines = x.pattern
    # The smallest of the largest is the largest of the smallest of what has the other sign; the least integer has none.
    extreme: Any = np.minimum
    if op is ops.argmax:
        extreme = np.maximum
    first = _first_extremes(values, lines, extreme)
    if len(axes) == 1:
        result = ops.asarray(first).to(like=x.values)
    else:
        result = ops.asarray(first[0]).to(like=x.values)
    return _with_kept(result, x, axes, keepdims)


def _first_extremes(values: np.ndarray, pattern: SparsePattern, extreme: np.ufunc) -> np.ndarray:
    """Return the column of the first extreme element of each row.

    Parameters
    ----------
    values : of the stored elements
    pattern : where they are
    extreme : `np.maximum` or `np.minimum`
    """
    rows, columns = pattern.rows.astype(np.int64), pattern.columns.astype(np.int64)
    order = np.lexsort((columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    lines, starts, counts = np.unique(rows, return_index=True, return_counts=True)
    result = np.zeros(pattern.shape[0], np.int64)
    if not len(lines):
        return result
    best = extreme.reduceat(values, starts)
    zero = np.zeros((), values.dtype)
    best = np.where(counts < pattern.shape[1], extreme(best, zero), best)
    each = np.repeat(best, counts)
    far = np.int64(pattern.shape[1])
    is_best = (values == each) | (np.isnan(values) & np.isnan(each))
    stored = np.minimum.reduceat(np.where(is_best, columns, far), starts)
    within = np.arange(len(rows)) - np.repeat(starts, counts)
    gap = np.minimum.reduceat(np.where(columns != within, within, far), starts)
    gap = np.where(gap == far, counts, gap)  # the first column that is not stored
    gap = np.where((best == 0) & (counts < far), gap, far)
    result[lines] = np.minimum(stored, gap)
    return result


# Norms.


def floating(x: Any) -> Any:
    """Return an array of floating-point or complex numbers."""
    if x.dtype.kind in "fc":
        return x
    return ops.astype(x, np.float64)


@implements(linalg.matrix_norm)
def matrix_norm_sparse(x: SparseTensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if ord == "fro" and x.nnz:
        return _with_kept(linalg.vector_norm(floating(x.values)), x, {0, 1}, keepdims)
    if ord not in (1, -1, math.inf, -math.inf) or 0 in x.shape:
        return decline("it needs singular values")
    sums = floating(ops.sum(ops.abs(x), axis=0 if abs(ord) == 1 else 1))
    if ord > 0:
        return _with_kept(ops.max(sums), x, {0, 1}, keepdims)
    return _with_kept(ops.min(sums), x, {0, 1}, keepdims)


@implements(linalg.norm)
def norm_sparse(x: SparseTensor, /, *, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None and ord is not None:
        return matrix_norm_sparse(x, keepdims=keepdims, ord=ord)
    if ord is not None or not x.nnz:
        return decline("other norms of vectors")
    if axis is None:
        return matrix_norm_sparse(x, keepdims=keepdims)
    return linalg.vector_norm(SparseTensor(floating(x.values), x.pattern), axis=axis, keepdims=keepdims)


# Products along an axis.


@implements(ops.tensordot)
def tensordot_sparse(x1: SparseTensor, x2: Any, /, *, axes: Any = 2) -> Any:
    if not 1 <= getattr(x2, "ndim", 0) <= 2:
        return decline("the result has more axes")
    pair = axes
    if axes == 1:
        pair = ([1], [0])
    if not isinstance(pair, (tuple, list)) or [np.size(part) for part in pair] != [1, 1]:
        return decline("only one axis of each is contracted")
    first, second = (int(np.ravel(part)[0]) for part in pair)
    left = x1
    if axis_of("tensordot", x1, first) != 1:
        left = ops.matrix_transpose(x1)
    right = x2
    if axis_of("tensordot", x2, second) != 0:
        right = ops.matrix_transpose(x2)
    return ops.matmul(left, right)


@implements(ops.vecdot)
def vecdot_sparse(x1: SparseTensor, x2: Any, /, *, axis: int = -1) -> Any:
    if not isinstance(x2, Tensor) or axis != -1 or x2.shape != x1.shape[1:]:
        return decline("only rows are multiplied with a vector")
    if x1.dtype.kind == "c":
        values = ops.conj(x1.values)
    else:
        values = x1.values
    return ops.matmul(SparseTensor(values, x1.pattern), x2)


# Distinct elements.


@implements(ops.unique_values)
def unique_values_sparse(x: SparseTensor, /) -> Any:
    return ops.unique_values(_with_one_zero(x))


@implements(ops.unique_counts)
def unique_counts_sparse(x: SparseTensor, /) -> Any:
    result = ops.unique_counts(_with_one_zero(x))
    more = max(x.shape[0] * x.shape[1] - x.nnz - 1, 0)
    counts = ops.where(result.values == 0, result.counts + more, result.counts)
    return result._replace(counts=ops.astype(counts, result.counts.dtype))


def _with_one_zero(x: SparseTensor) -> Any:
    """Return what is stored, and one zero if there is any element that is not."""
    if x.nnz == x.shape[0] * x.shape[1]:
        return x.values
    return ops.concat([x.values, ops.zeros((1,), dtype=x.dtype, device=x.device)])
