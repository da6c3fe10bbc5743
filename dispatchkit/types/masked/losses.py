"""Rules of losses and of normalization, which leave out what is missing, and of the norms that they are made of."""

from __future__ import annotations

from functools import reduce
from math import inf
from typing import Any

from dispatchkit import linalg, ops
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.types.levels import arguments, map_results, open_arguments
from dispatchkit.types.masked.array import MaskedTensor, safe
from dispatchkit.types.rules import Number, implements, implements_each

# Orders of norms of matrices that are sums of elements.
BY_ELEMENTS = ("fro", 1, -1, inf, -inf)


@implements(kinds.loss, MaskedTensor)
def loss_masked(op: Any, x: Any, target: Any, /, *args: Any, reduction: str = "mean", **kwargs: Any) -> Any:
    """Reduce the losses of the elements that are there; the mean is that of these."""
    if "ignore_index" in tensor_protocol.operation(op).parameters.signature.parameters:
        return loss_of_classes_masked(op, x, target, *args, reduction=reduction, **kwargs)
    opened, kwargs, arrays = open_arguments(op, (x, target, *args), kwargs, MaskedTensor, lambda array: safe(op, array))
    if reduction not in ("none", "mean", "sum"):
        op(*opened, reduction=reduction, **kwargs)  # raises unless it is one of the loss
    losses = op(*opened, reduction="none", **kwargs)
    valid = reduce(lambda valid, array: array.valid & valid, arrays, True)
    result = map_results(losses, lambda data: MaskedTensor(data, valid))
    if reduction == "none" or not isinstance(result, MaskedTensor):
        return result
    if reduction == "mean":
        return ops.mean(result)
    total = ops.sum(result)
    if reduction == "batchmean":
        return total / len(x)
    return total


def loss_of_classes_masked(
    op: Any, x: Any, target: Any, /, *args: Any, reduction: str, ignore_index: int = -100, **kwargs: Any
) -> Any:
    """Leave out the places whose class is missing, as those of the number that does not count."""
    if any(isinstance(value, MaskedTensor) for value in (x, *args, *kwargs.values())):
        return decline("the score or the weight of a class may be missing, which has no loss; only classes may be")
    if len(x.shape) == target.ndim:
        return decline("the probability of a class may be missing, which has no loss; classes by number may be")
    # Unsigned integers hold no -100.
    numbers = ops.where(target.valid, ops.astype(target.data, ops.int64), ignore_index)
    losses = op(x, numbers, *args, reduction=reduction, ignore_index=ignore_index, **kwargs)
    valid = target.valid
    if reduction != "none":
        valid = ops.any(valid)
    return map_results(losses, lambda data: MaskedTensor(data, valid))


def by_formula(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Compute as the operation's body says, by means and sums of what is there."""
    plain = (Tensor, MaskedTensor, Number, type(None))
    if not all(isinstance(value, plain) for _, value in arguments(op, args, kwargs)):
        return decline("an argument is of another array type")
    body: Any = tensor_protocol.operation(op).decomposition()
    return body(*args, **kwargs)


implements(kinds.normalization, MaskedTensor)(by_formula)
implements_each((linalg.norm,), MaskedTensor)(by_formula)


@implements(linalg.matrix_norm)
def matrix_norm_masked(x: MaskedTensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if ord not in BY_ELEMENTS:
        return decline("singular values need every element, and some may be missing; write x.filled(value)")
    if ord == "fro":
        return linalg.vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    return by_formula(linalg.matrix_norm, x, keepdims=keepdims, ord=ord)
