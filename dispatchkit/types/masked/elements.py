"""Masked arrays in elementwise functions and in products; what has no rule is refused."""

from __future__ import annotations

from typing import Any

from dispatchkit import linalg, ops
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.types.levels import map_results
from dispatchkit.types.masked.masked import MaskedTensor, open_arguments, parts, safe, validity_of, with_value

__all__: list[str] = []

implements = tensor_protocol.implements


@implements(kinds.creation, MaskedTensor)
@implements(kinds.elementwise, MaskedTensor)
def elementwise_masked(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    args, kwargs, valid = open_arguments(op, args, kwargs, safe)
    result, met = op(*args, **kwargs), True
    for other in valid:
        met = other & met
    return map_results(result, lambda data: MaskedTensor(data, met))


@implements(kinds.conversion, MaskedTensor)
def convert_masked(op: Any, x: MaskedTensor, /, *args: Any, **kwargs: Any) -> Any:
    return MaskedTensor(op(x.data, *args, **kwargs), ops.clone(x.valid))


@implements(ops.where, MaskedTensor)
def where_masked(condition: Any, x1: Any, x2: Any, /) -> Any:
    chosen = condition.data if isinstance(condition, MaskedTensor) else condition
    known = condition.valid if isinstance(condition, MaskedTensor) else True
    data, valid = zip(*[parts(x) for x in (x1, x2)], strict=True)
    result = ops.where(chosen, *data)
    return map_results(result, lambda array: MaskedTensor(array, ops.where(chosen, *valid) & known))


@implements(kinds.product, MaskedTensor)
def multiply_masked(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    if op is linalg.cross:
        return decline("each element of a cross product needs two others; write x.filled(value)")

    def validity(name: str, value: Any) -> Any:
        return ops.astype(validity_of(value), ops.float64)

    zeroed, options, _ = open_arguments(op, args, kwargs, lambda _, x: with_value(x, 0))
    pairs, more = tensor_protocol.map_arguments(op, args, kwargs, validity)
    result = op(*zeroed, **options)
    return map_results(result, lambda data: MaskedTensor(data, op(*pairs, **more) > 0.5))


@implements(linalg.vector_norm, MaskedTensor)
def vector_norm_masked(
    x: MaskedTensor,
    /,
    *,
    axis: Any = None,
    keepdims: bool = False,
    ord: float = 2,  # the operation's name
) -> Any:
    if ord <= 0:
        return decline("zeros in the places of missing elements would count")
    result = linalg.vector_norm(with_value(x, 0), axis=axis, keepdims=keepdims, ord=ord)
    return MaskedTensor(result, ops.any(x.valid, axis=axis, keepdims=keepdims))


@implements(kinds.all, MaskedTensor)
def refuse_masked(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    return decline("it needs every element, and some may be missing; write x.filled(value)")
