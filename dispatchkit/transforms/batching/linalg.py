"""Rules for batches of linear algebra: most functions take stacks of matrices as they are."""

from __future__ import annotations

from typing import Any

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.ops.shared.axes import normal_axes
from dispatchkit.protocol.kinds import kinds
from dispatchkit.transforms.batching.rules import BY_KIND, Batch, ndim_of, rule_for

__all__: list[str] = []


def of_matrices(batch: Batch, *args: Any, **kwargs: Any) -> Any:
    """Compute on the last two axes of one array; the batch is one more axis before them."""
    arrays = batch.operation.parameters.values(args, kwargs)
    (_, x), *others = arrays
    if any(batch.holds(other) for _, other in others) or not batch.holds(x):
        return NotImplemented
    if len(x.shape) < 2:
        raise ValueError(f"{batch.operation.name}: x must be a matrix or a stack of them, found shape {x.shape}")
    return batch.operation.function(x.value, *args[1:], **kwargs)


def _stacks(batch: Batch, *arrays: Any) -> list[Any]:
    """Return arrays with batches aligned before axes that broadcast."""
    most = max(map(ndim_of, arrays))
    return [batch.aligned(x, most) for x in arrays]


@rule_for("matmul")
def matmul(batch: Batch, x1: Any, x2: Any, /) -> Any:
    n1, n2 = ndim_of(x1), ndim_of(x2)
    if not n1 or not n2:
        raise ValueError(f"matmul: {'x1' if not n1 else 'x2'} is 0-D; multiply numbers with *")
    if n1 == 2 and n2 == 1 and not batch.holds(x1):
        return x2.value @ x1.mT
    if n1 == 1 and not batch.holds(x2) and n2 <= 2:
        return x1.value @ x2
    row, column = n1 == 1, n2 == 1
    first = xp.expand_dims(x1, axis=0) if row else x1
    second = xp.expand_dims(x2, axis=1) if column else x2
    y = xp.matmul(*_stacks(batch, first, second))
    if row:
        y = xp.squeeze(y, axis=-1 if column else -2)
        return xp.squeeze(y, axis=-1) if column else y
    return xp.squeeze(y, axis=-1) if column else y


@rule_for("dot", "mm", "mv", "bmm", "linalg.outer")
def by_their_bodies(batch: Batch, x1: Any, x2: Any, /) -> Any:
    """Leave products of fixed numbers of axes to their bodies, which count them without the batch."""
    return NotImplemented


@rule_for("linalg.solve")
def solve(batch: Batch, x1: Any, x2: Any, /) -> Any:
    if len(x1.shape) < 2:
        raise ValueError(f"solve: x1 must be a matrix or a stack of them, found shape {x1.shape}")
    vector = ndim_of(x2) == 1
    second = xp.expand_dims(x2, axis=1) if vector else x2
    y = xp.linalg.solve(*_stacks(batch, x1, second))
    return xp.squeeze(y, axis=-1) if vector else y


@rule_for("vecdot", "linalg.cross")
def of_vectors(batch: Batch, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    least = min(ndim_of(x1), ndim_of(x2))
    if not -least <= axis < 0:
        raise ValueError(f"{batch.operation.name}: axis must be from {-least} to -1, found {axis}")
    return batch.operation.function(*_stacks(batch, x1, x2), axis=axis)


@rule_for("tensordot")
def tensordot(batch: Batch, x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Sum over paired axes by a product of matrices, one pair for each element of the batch."""
    n1, n2 = ndim_of(x1), ndim_of(x2)
    if isinstance(axes, int):
        axes = (range(n1 - axes, n1), range(axes))
    first, second = ([one] if isinstance(one, int) else list(one) for one in axes)
    summed1, summed2 = normal_axes(tuple(first), n1, "tensordot"), normal_axes(tuple(second), n2, "tensordot")
    shape1, shape2 = x1.shape, x2.shape
    if [shape1[i] for i in summed1] != [shape2[i] for i in summed2]:
        raise ValueError(f"tensordot: the paired axes of shapes {shape1} and {shape2} differ in length")
    free1 = [i for i in range(n1) if i not in summed1]
    free2 = [i for i in range(n2) if i not in summed2]
    length = 1
    for i in summed1:
        length *= shape1[i]
    left = xp.reshape(xp.permute_dims(x1, (*free1, *summed1)), (_size(shape1, free1), length))
    right = xp.reshape(xp.permute_dims(x2, (*summed2, *free2)), (length, _size(shape2, free2)))
    y = xp.matmul(left, right)
    return y.value.reshape((batch.size, *(shape1[i] for i in free1), *(shape2[i] for i in free2)))


def _size(shape: tuple[int, ...], axes: list[int]) -> int:
    size = 1
    for i in axes:
        size *= shape[i]
    return size


@rule_for("linalg.vector_norm")
def vector_norm(batch: Batch, x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    axes = tuple(one + 1 for one in normal_axes(axis, len(x.shape), "vector_norm"))
    if not axes:
        return xp.abs(x.value) if ord != 0 else xp.astype(x.value != 0, x.dtype)
    return xp.linalg.vector_norm(x.value, axis=axes, keepdims=keepdims, ord=ord)


BY_KIND[kinds.linalg] = of_matrices
