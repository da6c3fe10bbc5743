"""Products with tensors, systems, sums and elements of structured matrices, on the methods of their class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.types.structured.base import (
    NO_MATRIX,
    StructuredTensor,
    axes_of,
    axis_of,
    check_product,
    check_system,
    converted,
    floating,
    promoted,
)

implements = tensor_protocol.implements

__all__: list[str] = []

# Products and systems.


@implements(ops.matmul)
def matmul_structured_tensor(x1: StructuredTensor, x2: Tensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    x2 = promoted(x2, x1.dtype)
    x1 = converted(x1, x2.dtype)
    if x1 is NotImplemented or x2.ndim > 1:
        return x1 if x1 is NotImplemented else x1.times(x2)
    product = x1.times(x2[:, None])
    return product if product is NotImplemented else product[..., 0]


@implements(ops.matmul)
def matmul_tensor_structured(x1: Tensor, x2: StructuredTensor, /) -> Any:
    check_product(x1.shape, x2.shape)
    x1 = promoted(x1, x2.dtype)
    x2 = converted(x2, x1.dtype)
    if x2 is NotImplemented or x1.ndim > 1:
        return x2 if x2 is NotImplemented else x2.times_from_left(x1)
    product = x2.times_from_left(x1[None, :])
    return product if product is NotImplemented else product[..., 0, :]


@implements(linalg.solve)
def solve_structured_tensor(x1: StructuredTensor, x2: Tensor, /) -> Any:
    check_system(x1.shape, x2.shape)
    dtype = _dtype_of_solution(x1, x2)
    x1, x2 = converted(x1, dtype), converted(x2, dtype)
    if x1 is NotImplemented:
        return x1
    if 0 in (*x1.shape[:-1], *x2.shape[:-2]):  # no system, whatever numbers parts without the batch hold
        return ops.broadcast_to(x2, (*np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]), *x2.shape[-2:]))
    if x2.ndim > 1:
        return x1.solve_columns(x2)
    solution = x1.solve_columns(x2[:, None])
    return solution if solution is NotImplemented else solution[..., 0]


@implements(linalg.solve)
def solve_structured(x1: StructuredTensor, x2: StructuredTensor, /) -> Any:
    check_system(x1.shape, x2.shape)
    if 0 in x2.shape[:-2] and 0 not in x1.shape[:-2]:
        return decline(NO_MATRIX)
    dtype = _dtype_of_solution(x1, x2)
    x1, x2 = converted(x1, dtype), converted(x2, dtype)
    return NotImplemented if x1 is NotImplemented or x2 is NotImplemented else linalg.inv(x1) @ x2


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
    along = x.shape[-1] if columns in axes else x.shape[-2]
    # The dtype of sums is wider than that of small integers.
    ones = ops.ones((along,), dtype=ops.sum(ops.zeros((0,), dtype=x.dtype)).dtype, device=x.device)
    line = ops.matmul(x, ones) if columns in axes else ops.matmul(ones, x)
    line = ops.expand_dims(line, axis=-1 if columns in axes else -2)
    found = ops.sum(line, axis=tuple(axes - {columns if columns in axes else rows}), keepdims=True)
    return found if keepdims else ops.squeeze(found, axis=tuple(axes))


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
def trace_structured(x: StructuredTensor, /, *, offset: int = 0) -> Any:
    return ops.sum(linalg.diagonal(x, offset=offset), axis=-1)


@implements(ops.permute_dims)
def permute_dims_structured(x: StructuredTensor, /, axes: tuple[int, ...]) -> Any:
    wanted = tuple(axis_of("permute_dims", x, axis) for axis in axes)
    if sorted(wanted) != list(range(x.ndim)):
        raise ValueError(f"permute_dims: axes {tuple(axes)} are no permutation of {tuple(range(x.ndim))}")
    batch = tuple(range(x.ndim - 2))
    if wanted == (*batch, x.ndim - 1, x.ndim - 2):
        return ops.matrix_transpose(x)
    return x.map_linear(ops.clone) if wanted == tuple(range(x.ndim)) else decline("axes of the batch move")


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
    if isinstance(row, int) or isinstance(column, int):
        places = (ops.asarray(np.asarray(i, dtype=np.int64)) for i in (row, column))
        return x.elements_at(*ops.broadcast_arrays(*places))
    if row == column and row.step == 1:
        return x.principal(row.start, row.start + len(row))
    return decline("only single rows, single columns and square blocks on the diagonal are read")


def _each_axis(key: tuple[Any, ...], ndim: int) -> list[Any] | None:
    """Return the index of each axis, None where not all are ints and slices."""
    given = [i for i in key if i is not Ellipsis]
    if len(key) - len(given) > 1 or len(given) > ndim:
        return None
    if not all(isinstance(i, (int, slice)) and not isinstance(i, bool) for i in given):
        return None
    at = key.index(Ellipsis) if Ellipsis in key else len(key)
    return [*given[:at], *[slice(None)] * (ndim - len(given)), *given[at:]]
