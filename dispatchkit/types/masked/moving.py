"""Masked arrays whose elements move: shapes, indices and assignments."""

from __future__ import annotations

from typing import Any

from dispatchkit import linalg, ops
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.types.levels import arguments, map_results
from dispatchkit.types.masked.masked import MaskedTensor, parts, validity_of

__all__: list[str] = []

implements = tensor_protocol.implements


# Structure: data and validity go the same way; the zeros that an operation adds are no missing elements.
ADDS_ZEROS = (ops.diag, ops.tril, ops.triu, ops.pad)
PLACES = ("key", "indices", "repeats")


@implements(kinds.manipulation, MaskedTensor)
@implements(kinds.indexing, MaskedTensor)
def move_masked(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    if any(isinstance(value, MaskedTensor) for name, value in arguments(op, args, kwargs) if name in PLACES):
        return decline("what is missing cannot be an index")
    if op is ops.setitem:
        return decline("what is missing cannot be written into a plain array")
    adds = op in ADDS_ZEROS

    def validity(name: str, value: Any) -> Any:
        if name in PLACES or value is None:
            return value
        return ~validity_of(value) if adds else validity_of(value)

    opened, options = tensor_protocol.map_arguments(op, args, kwargs, lambda _, value: parts(value)[0])
    result = op(*opened, **options)
    if not all(tensor_protocol.types.participates(type(one)) for one in _listed(result)):
        return result
    flags, more = tensor_protocol.map_arguments(op, args, kwargs, validity)
    more.pop("constant_values", None)
    found = iter(_listed(op(*flags, **more)))
    return map_results(result, lambda data: MaskedTensor(data, ~next(found) if adds else next(found)))


@implements(linalg.diagonal)
def diagonal_masked(x: MaskedTensor, /, *, offset: int = 0) -> MaskedTensor:
    return MaskedTensor(linalg.diagonal(x.data, offset=offset), linalg.diagonal(x.valid, offset=offset))


@implements(ops.setitem, MaskedTensor)
def assign_masked(x: Any, key: Any, value: Any, /) -> Any:
    if not isinstance(x, MaskedTensor) or any(isinstance(one, MaskedTensor) for one in (key, *_members(key))):
        return decline("an index is a plain array")
    data, valid = parts(value)
    ops.setitem(x.data, key, data)
    ops.setitem(x.valid, key, valid)
    return None


def _members(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else ()


def _listed(result: Any) -> list[Any]:
    return [one for part in result for one in _listed(part)] if isinstance(result, (list, tuple)) else [result]
