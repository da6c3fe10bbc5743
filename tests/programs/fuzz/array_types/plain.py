"""The plain form of what a step gives, and the places where a structure has elements."""

from __future__ import annotations

import copy
import io
import pickle
import re
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import types

__all__ = ["IncomparableError", "copied", "pattern", "pickled", "plain", "saved", "with_other_garbage"]


class IncomparableError(Exception):
    """A result has no plain form to compare."""


def plain(value: Any) -> Any:
    """Return the plain tensor that a value stands for: dense, in base units, without names.

    Raises
    ------
    IncomparableError : where it stands for none
    """
    if isinstance(value, (dk.Tensor, bool, int, float, complex, np.generic, np.ndarray)):
        return value if isinstance(value, dk.Tensor) else dk.asarray(value)
    if isinstance(value, types.MetadataTensor):
        return plain(value.data)
    if isinstance(value, types.NamedTensor):
        return plain(value.data)
    if isinstance(value, types.QuantityTensor):
        return _in_base_units(plain(value.data), value.unit)
    if isinstance(value, types.UncertainTensor):
        return plain(value.value)
    if isinstance(value, types.MaskedTensor):
        return plain(value.filled(1))
    if isinstance(value, types.LazyTensor):
        return plain(value.evaluate())
    if hasattr(value, "to_dense"):
        dense = value.to_dense()
        if not isinstance(dense, dk.Tensor):
            raise TypeError(f"{type(value).__name__}.to_dense gave a {type(dense).__name__}")
        return dense
    raise IncomparableError(type(value))


def _in_base_units(x: Any, unit: Any) -> Any:
    """Return the numbers of a quantity in base units.

    Raises
    ------
    IncomparableError : where they are too large or too small for that
    """
    size = unit._base[0].value()
    if size == 1:
        return x
    if not 1e-30 < size < 1e30:
        raise IncomparableError(unit)
    factor = float(size)
    if x.dtype.kind != "c":
        return x * factor
    # Part by part: the product of an infinite complex number and a real one has NaN as the other part.
    parts = np.asarray(x.detach().numpy(), order="C", dtype=x.dtype.newbyteorder("="))
    real = parts.reshape((*parts.shape, 1)).view(parts.real.dtype) * factor
    return dk.asarray(real.view(parts.dtype).reshape(parts.shape))


def with_other_garbage(value: Any) -> Any:
    """Return a masked array with other numbers where elements are missing, which no result may depend on."""
    if isinstance(value, types.MetadataTensor):
        return types.MetadataTensor(with_other_garbage(value.data), value.metadata)
    if isinstance(value, types.NamedTensor):
        return types.NamedTensor(with_other_garbage(value.data), value.names)
    if isinstance(value, types.QuantityTensor):
        return types.QuantityTensor(with_other_garbage(value.data), value.unit)
    if not isinstance(value, types.MaskedTensor):
        return value
    other = dk.where(value.valid, value.data, dk.asarray(113 if value.dtype.kind != "b" else True, dtype=value.dtype))
    return types.MaskedTensor(other, value.valid)


def pattern(value: Any) -> Any:
    """Return where a value has elements that its structure does not say are zero."""
    if isinstance(value, (types.MetadataTensor, types.NamedTensor, types.QuantityTensor)):
        return pattern(value.data)
    if isinstance(value, types.StructuredTensor):
        return np.asarray(plain(filled_with_ones(value)).numpy() != 0)
    if isinstance(value, types.SparseTensor):
        return np.asarray(types.SparseTensor(dk.ones(value.values.shape), value.pattern).to_dense().numpy() != 0)
    return np.ones(tuple(value.shape), bool)


def filled_with_ones(value: Any) -> Any:
    """Return a structure whose fields hold ones."""
    fields = {name: getattr(value, name) for name in vars(value)}

    def ones(field: Any) -> Any:
        if isinstance(field, dk.Tensor):
            return dk.ones(field.shape)
        if isinstance(field, (tuple, list)):
            return tuple(ones(part) for part in field)
        return filled_with_ones(field) if isinstance(field, types.StructuredTensor) else field

    if isinstance(value, types.PermutationTensor):
        return value
    copy = object.__new__(type(value))
    for name, field in fields.items():
        object.__setattr__(copy, name, ones(field))
    return copy


def pickled(value: Any) -> Any:
    """Return what a pickle of a value gives."""
    return _unchanged(value, pickle.loads(pickle.dumps(value)))  # made here


def copied(value: Any) -> Any:
    """Return a copy of a value, as `copy.deepcopy` makes it."""
    return _unchanged(value, copy.deepcopy(value))


def saved(value: Any) -> Any:
    """Return what a file of a value gives."""
    file = io.BytesIO()
    dk.save(value, file)
    return _unchanged(value, dk.load(file))


def _unchanged(value: Any, other: Any) -> Any:
    """Return what a value became on its way; its dtype may have another byte order.

    Raises
    ------
    AssertionError : if it prints as something else
    """
    before, after = (re.sub(r",\s+dtype=[^,)]+", "", repr(each)) for each in (value, other))
    assert after == before, f"{after}, found {before} before"
    return other
