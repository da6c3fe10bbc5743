"""What is computed with sparse matrices."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from dispatchkit import autograd, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.types.sparse.matrix import SparsePattern, SparseTensor, scipy_array

__all__: list[str] = []

implements = tensor_protocol.implements
Number = int | float | complex


# Products.


class SparseProduct(autograd.Function):
    """A sparse matrix, given by values and pattern, times a vector or a matrix."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Any, x: Any, pattern: SparsePattern) -> Any:
        known = all(not part.is_tracer and isinstance(part.array, np.ndarray) for part in (values, x))
        # SciPy leaves zeros that are stored as COO out of products with matrices; IEEE's of 0 and inf is nan.
        if pattern.format == "coo" and x.ndim > 1 and not holds(ops.isfinite(x), traced=True):
            known = False
        if known and values.dtype.char in "fdFD":
            try:
                product = scipy_array(values.numpy(), pattern) @ x.numpy()
                # SciPy gives a number for one row.
                return ops.asarray(np.reshape(product, (pattern.shape[0], *x.shape[1:])))
            except ImportError:
                pass  # the way without SciPy
        parts = x[pattern.columns]
        parts = parts * (values if x.ndim == 1 else values[:, None])
        zeros = ops.zeros((pattern.shape[0], *x.shape[1:]), dtype=parts.dtype, device=parts.device)
        return ops.index_put(zeros, pattern.rows, parts, accumulate=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        values, x, ctx.pattern = inputs
        ctx.save_for_backward(values, x)
        ctx.save_for_forward(values, x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        values, x = ctx.saved_tensors
        pattern, of_values, of_x = ctx.pattern, None, None
        if ctx.needs_input_grad[0]:
            parts = g[pattern.rows] * ops.conj(x[pattern.columns])
            of_values = parts if x.ndim == 1 else ops.sum(parts, axis=-1)
        if ctx.needs_input_grad[1]:
            of_x = SparseProduct.apply(ops.conj(values), g, pattern.transposed())
        return of_values, of_x, None

    @staticmethod
    def jvp(ctx: Any, of_values: Any, of_x: Any, _: Any) -> Any:
        values, x = ctx.saved_tensors
        parts = [SparseProduct.apply(values, of_x, ctx.pattern)] if of_x is not None else []
        if of_values is not None:
            parts.append(SparseProduct.apply(of_values, x, ctx.pattern))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _check_inner(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    if not left or not right or left[-1] != right[-2:][0]:
        raise ValueError(f"matmul: arrays of shapes {left} and {right} cannot be multiplied")


@implements(ops.matmul)
def matmul_sparse_tensor(x1: SparseTensor, x2: Tensor, /) -> Any:
    _check_inner(x1.shape, x2.shape)
    dtype = np.result_type(x1.dtype, x2.dtype)
    values, x = ops.astype(x1.values, dtype, copy=False), ops.astype(x2, dtype, copy=False)
    if x.ndim <= 2:
        return SparseProduct.apply(values, x, x1.pattern)
    front = ops.moveaxis(x, -2, 0)
    columns = ops.reshape(front, (x1.shape[1], math.prod(front.shape[1:])))
    y = SparseProduct.apply(values, columns, x1.pattern)
    return ops.moveaxis(ops.reshape(y, (x1.shape[0], *front.shape[1:])), 0, -2)


@implements(ops.matmul)
def matmul_tensor_sparse(x1: Tensor, x2: SparseTensor, /) -> Any:
    _check_inner(x1.shape, x2.shape)
    y = matmul_sparse_tensor(_transposed(x2), x1 if x1.ndim == 1 else ops.matrix_transpose(x1))
    return y if x1.ndim == 1 else ops.matrix_transpose(y)


@implements(ops.matmul)
def matmul_sparse(x1: SparseTensor, x2: SparseTensor, /) -> SparseTensor:
    _check_inner(x1.shape, x2.shape)
    order = np.argsort(x2.pattern.rows, kind="stable")  # of the elements of x2, row by row
    starts = np.searchsorted(x2.pattern.rows[order], np.arange(x2.shape[0] + 1))
    counts = np.diff(starts)[x1.pattern.columns]
    left = np.repeat(np.arange(x1.nnz), counts)
    within = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = order[np.repeat(starts[x1.pattern.columns], counts) + within]
    shape = (x1.shape[0], x2.shape[1])
    keys = x1.pattern.rows[left].astype(np.int64) * shape[1] + x2.pattern.columns[right]
    return _gathered(x1.pattern, keys, x1.values[left] * x2.values[right], shape)


def _gathered(pattern: SparsePattern, keys: Any, parts: Any, shape: tuple[int, int]) -> SparseTensor:
    """Return the matrix whose elements are sums of parts, each with the number of its element."""
    unique, places = np.unique(keys, return_inverse=True)
    zeros = ops.zeros((len(unique),), dtype=parts.dtype, device=parts.device)
    return SparseTensor(ops.index_put(zeros, places, parts, accumulate=True), pattern.of_keys(unique, shape))


@implements(ops.matrix_transpose)
def matrix_transpose_sparse(x: SparseTensor, /) -> SparseTensor:
    return _transposed(x)


def _transposed(x: SparseTensor) -> SparseTensor:
    return SparseTensor(x.values, x.pattern.transposed())


@implements(ops.permute_dims)
def permute_dims_sparse(x: SparseTensor, /, axes: tuple[int, ...]) -> Any:
    if sorted(a % 2 for a in axes if -2 <= a < 2) != [0, 1]:
        raise ValueError(f"permute_dims: axes {tuple(axes)} are no permutation of (0, 1)")
    return x if axes[0] % 2 == 0 else _transposed(x)


# Elementwise.


@implements(ops.multiply)
def scale_sparse(x1: SparseTensor, x2: Number | Tensor, /) -> Any:
    if isinstance(x2, Tensor) and (x2.ndim > 2 or np.broadcast_shapes(x1.shape, x2.shape) != x1.shape):
        return decline("the product has another shape")
    if not (holds(ops.isfinite(x2), traced=True) if isinstance(x2, Tensor) else cmath.isfinite(x2)):
        return decline("0 times inf or nan is nan where nothing is stored")
    if isinstance(x2, Tensor) and x2.ndim:
        x2 = ops.broadcast_to(x2, x1.shape)[x1.pattern.rows, x1.pattern.columns]
    return SparseTensor(x1.values * x2, x1.pattern)


@implements(ops.multiply)
def scale_by_sparse(x1: Number | Tensor, x2: SparseTensor, /) -> Any:
    return scale_sparse(x2, x1)


@implements(ops.multiply)
def multiply_sparse(x1: SparseTensor, x2: SparseTensor, /) -> Any:
    if x1.shape != x2.shape:
        return decline("the shapes differ")
    if not holds(ops.isfinite(x1.values), traced=True) or not holds(ops.isfinite(x2.values), traced=True):
        return decline("0 times inf or nan is nan where nothing is stored")
    if x1.pattern == x2.pattern:
        return SparseTensor(x1.values * x2.values, x1.pattern)
    keys, left, right = np.intersect1d(x1.pattern.keys, x2.pattern.keys, assume_unique=True, return_indices=True)
    return SparseTensor(x1.values[left] * x2.values[right], x1.pattern.of_keys(keys, x1.shape))


@implements(ops.divide)
def divide_sparse(x1: SparseTensor, x2: Number, /) -> Any:
    if not abs(x2) > 0:
        return decline("0 / 0 is nan where nothing is stored")
    return SparseTensor(x1.values / x2, x1.pattern)


@implements(ops.add)
def add_sparse(x1: SparseTensor, x2: SparseTensor, /) -> Any:
    if x1.shape != x2.shape:
        return decline("the shapes differ")
    if x1.pattern == x2.pattern:
        return SparseTensor(x1.values + x2.values, x1.pattern)
    keys = np.concatenate([x1.pattern.keys, x2.pattern.keys])
    return _gathered(x1.pattern, keys, ops.concat([x1.values, x2.values]), x1.shape)


@implements(ops.subtract)
def subtract_sparse(x1: SparseTensor, x2: SparseTensor, /) -> Any:
    return add_sparse(x1, _minus(x2, x1))


def _minus(x: SparseTensor, other: Any) -> SparseTensor:
    """Return minus a matrix, in the dtype that it has with another array."""
    return SparseTensor(-ops.astype(x.values, np.result_type(x.dtype, other.dtype)), x.pattern)


NOT_ZERO = "what is not stored does not stay zero"


@implements(ops.add)
def add_sparse_to_tensor(x1: SparseTensor, x2: Number | Tensor, /) -> Any:
    if not isinstance(x2, Tensor) or x2.shape[-2:] != x1.shape:
        return decline(NOT_ZERO)
    total = ops.astype(x2, np.result_type(x1.dtype, x2.dtype))
    return ops.index_put(total, (..., x1.pattern.rows, x1.pattern.columns), x1.values, accumulate=True)


@implements(ops.add)
def add_tensor_to_sparse(x1: Number | Tensor, x2: SparseTensor, /) -> Any:
    return add_sparse_to_tensor(x2, x1)


@implements(ops.subtract)
def subtract_sparse_from_tensor(x1: Number | Tensor, x2: SparseTensor, /) -> Any:
    return add_sparse_to_tensor(_minus(x2, x1), x1) if isinstance(x1, Tensor) else decline(NOT_ZERO)


@implements(ops.subtract)
def subtract_tensor_from_sparse(x1: SparseTensor, x2: Number | Tensor, /) -> Any:
    if not isinstance(x2, Tensor):
        return decline(NOT_ZERO)
    return add_sparse_to_tensor(x1, -ops.astype(x2, np.result_type(x1.dtype, x2.dtype)))


def _register_zero_preserving() -> None:
    """Register the elementwise functions that map 0 to 0: they act on the stored values alone."""
    for function in (
        *(ops.negative, ops.positive, ops.abs, ops.sign, ops.square),
        *(ops.floor, ops.ceil, ops.trunc, ops.round, ops.conj, ops.real, ops.imag),
        *(ops.sqrt, ops.expm1, ops.log1p, ops.sin, ops.tan, ops.asin),
        *(ops.atan, ops.sinh, ops.tanh, ops.asinh, ops.atanh),
    ):

        def on_values(x: SparseTensor, /, function: Any = function) -> SparseTensor:
            return SparseTensor(function(x.values), x.pattern)

        on_values.__name__ = on_values.__qualname__ = f"{function.__name__}_sparse"
        implements(function, SparseTensor)(on_values)


_register_zero_preserving()


# Reductions.


@implements(ops.sum)
def sum_sparse(x: SparseTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    axes = _axes("sum", axis)
    if not axes:
        return decline("a sum along no axis is the matrix itself")
    total = ops.sum(x.values)
    if len(axes) == 1:
        kept = x.pattern.columns if 0 in axes else x.pattern.rows
        length = x.shape[1 if 0 in axes else 0]
        zeros = ops.zeros((length,), dtype=total.dtype, device=x.device)
        total = ops.index_put(zeros, kept, ops.astype(x.values, total.dtype), accumulate=True)
    return ops.reshape(total, tuple(1 if a in axes else x.shape[a] for a in (0, 1))) if keepdims else total


@implements(ops.mean)
def mean_sparse(x: SparseTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    axes = _axes("mean", axis)
    count = math.prod(x.shape[a] for a in axes)
    if not count or not axes:
        return decline("a mean of nothing is nan")
    return ops.sum(x, axis=axis, keepdims=keepdims) / count


def _axes(name: str, axis: Any) -> set[int]:
    axes = (0, 1) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    for a in axes:
        if not -2 <= a < 2:
            raise IndexError(f"{name}: axis {a} is out of range for a SparseTensor, which has 2 axes")
    if len({a % 2 for a in axes}) < len(axes):
        raise ValueError(f"{name}: axis {axis} holds an axis twice")
    return {a % 2 for a in axes}
