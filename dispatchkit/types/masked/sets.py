"""What `MaskedTensor` answers of places and sets: an element that is missing is nowhere, and no other's equal."""

from __future__ import annotations

from typing import Any

from dispatchkit import ops
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.types.masked.array import MaskedTensor, parts, safe, with_value
from dispatchkit.types.rules import implements, implements_each


@implements_each((ops.nonzero, ops.argwhere), MaskedTensor)
def places_masked(op: Any, x: MaskedTensor, /) -> Any:
    """Return the places of what is there and not 0."""
    return op(with_value(x, 0))


@implements(ops.isin, MaskedTensor)
def isin_masked(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Look for what is there among what is there."""
    others = [type(x) for x in (x1, x2) if not isinstance(x, (MaskedTensor, Tensor))]
    if any(map(tensor_protocol.types.participates, others)):
        return decline("the other array is of a type of its own")
    data, valid = parts(x1)
    sought, known = parts(x2)
    if known is not True and known.is_tracer:  # how many are known may differ within a batch
        sought, known = ops.reshape(sought, (-1,)), ops.reshape(known, (-1,))
        found = ops.any((ops.expand_dims(data, axis=-1) == sought) & known, axis=-1) != invert
    else:
        if known is not True:
            sought = sought[known]
        found = ops.isin(data, sought, invert=invert)
    if valid is True:
        return found
    return MaskedTensor(found, ops.clone(valid))


@implements(ops.unique_all)
def unique_all_masked(x: MaskedTensor, /) -> Any:
    """Return the distinct elements in order, and one missing element for all that are missing, last."""
    data, valid = (ops.reshape(part, (-1,)) for part in (x.data, x.valid))
    (there,), (missing,) = ops.nonzero(valid), ops.nonzero(~valid)
    result = ops.unique_all(data[there])
    values, indices, inverse, counts = result
    places = ops.full(tuple(data.shape), len(values), dtype=inverse.dtype)
    places = ops.index_put(places, (there,), inverse)
    filled = MaskedTensor(values)
    indices = there[indices]
    if len(missing):
        filled = ops.concat([filled, MaskedTensor(data[missing[:1]], False)])
        indices = ops.concat([indices, missing[:1]])
        counts = ops.concat([counts, ops.asarray([len(missing)], dtype=counts.dtype)])
    places = ops.reshape(places, tuple(x.shape))
    return result._replace(values=filled, indices=indices, inverse_indices=places, counts=counts)


@implements(ops.unique_values)
def unique_values_masked(x: MaskedTensor, /) -> Any:
    return unique_all_masked(x).values


@implements(ops.unique_counts)
def unique_counts_masked(x: MaskedTensor, /) -> Any:
    found = unique_all_masked(x)
    return ops.unique_counts(found.values.data)._replace(values=found.values, counts=found.counts)


@implements(ops.unique_inverse)
def unique_inverse_masked(x: MaskedTensor, /) -> Any:
    found = unique_all_masked(x)
    result = ops.unique_inverse(found.values.data)
    return result._replace(values=found.values, inverse_indices=found.inverse_indices)


@implements(ops.bincount, MaskedTensor)
def bincount_masked(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """Count what is there."""
    if weights is None:
        return ops.bincount(x.data[x.valid], minlength=minlength)
    if getattr(x, "shape", None) != getattr(weights, "shape", None):
        return decline("weights are of the shape of what is counted")
    (data, known), (shares, there) = parts(x), parts(weights)
    both = known & there
    return ops.bincount(data[both], shares[both], minlength)


@implements(ops.searchsorted, MaskedTensor)
def searchsorted_masked(x1: Any, x2: Any, /, *, side: Any = "left", sorter: Any = None) -> Any:
    """Return the places of what is there."""
    if any(isinstance(x, MaskedTensor) for x in (x1, sorter)):
        return decline("what is missing has no place in an order; write x.filled(value)")
    return MaskedTensor(ops.searchsorted(x1, safe(ops.searchsorted, x2), side=side, sorter=sorter), ops.clone(x2.valid))
