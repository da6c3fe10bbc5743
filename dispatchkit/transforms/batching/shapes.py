"""Rules for batches of operations that change shapes, join and part arrays."""

from __future__ import annotations

from math import prod
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.ops.shared.axes import normal_axes
from dispatchkit.transforms.batching.rules import Batch, along_axes, rule_for

__all__: list[str] = []


@rule_for("reshape")
def reshape(batch: Batch, x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if -1 in shape:
        known = prod(n for n in shape if n != -1)
        missing = prod(x.shape) // known if known else 0
        shape = tuple(missing if n == -1 else n for n in shape)
    if prod(shape) != prod(x.shape):
        raise ValueError(f"reshape: an array of shape {x.shape} cannot have the shape {shape}")
    return xp.reshape(x.value, (batch.size, *shape), copy=copy)


@rule_for("broadcast_to")
def broadcast_to(batch: Batch, x: Any, /, shape: Any) -> Any:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if len(x.shape) > len(shape):
        raise ValueError(f"broadcast_to: an array of shape {x.shape} does not broadcast to {shape}")
    return xp.broadcast_to(batch.aligned(x, len(shape)), (batch.size, *shape))


@rule_for("permute_dims")
def permute_dims(batch: Batch, x: Any, /, axes: Any) -> Any:
    if len(axes) != len(x.shape):
        raise ValueError(f"permute_dims: axes has {len(axes)} entries for an array of {len(x.shape)} axes")
    return xp.permute_dims(x.value, (0, *(one + 1 for one in normal_axes(tuple(axes), len(x.shape), "permute_dims"))))


@rule_for("t")
def t(batch: Batch, x: Any, /) -> Any:
    ndim = len(x.shape)
    if ndim > 2:
        return xp.t(x)  # raises, naming the shape as the function sees it
    return xp.matrix_transpose(x.value) if ndim == 2 else x.value


@rule_for("roll")
def roll(batch: Batch, x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    rolled = along_axes(batch, x, shift, axis=axis)
    return xp.reshape(rolled, x.value.shape) if axis is None else rolled


@rule_for("tile")
def tile(batch: Batch, x: Any, repetitions: Any, /) -> Any:
    repetitions = (repetitions,) if isinstance(repetitions, int) else tuple(repetitions)
    ndim = max(len(x.shape), len(repetitions))
    return xp.tile(batch.aligned(x, ndim), (1, *(1,) * (ndim - len(repetitions)), *repetitions))


@rule_for("tril", "triu", "matrix_transpose")
def on_matrices(batch: Batch, x: Any, /, **kwargs: Any) -> Any:
    if len(x.shape) < 2:
        raise ValueError(f"{batch.operation.name}: x needs at least 2 axes, found shape {x.shape}")
    return batch.operation.function(x.value, **kwargs)
