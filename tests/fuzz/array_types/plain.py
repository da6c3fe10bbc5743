"""The plain form of what a step gives, and the places where a structure has elements."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import types

__all__ = ["IncomparableError", "pattern", "plain", "with_other_garbage"]


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
        return plain(value.data) * float(value.unit._base[0])
    if isinstance(value, types.UncertainTensor):
        return plain(value.value)
    if isinstance(value, types.MaskedTensor):
        return plain(value.filled(1))
    if isinstance(value, types.LazyTensor):
        return value.evaluate()
    if hasattr(value, "to_dense"):
        dense = value.to_dense()
        if not isinstance(dense, dk.Tensor):
            raise TypeError(f"{type(value).__name__}.to_dense gave a {type(dense).__name__}")
        return dense
    raise IncomparableError(type(value))


def with_other_garbage(value: Any) -> Any:
    """Return a masked array with other numbers where elements are missing, which no result may depend on."""
    if not isinstance(value, types.MaskedTensor):
        return value
    other = dk.where(value.valid, value.data, dk.asarray(113 if value.dtype.kind != "b" else True, dtype=value.dtype))
    return types.MaskedTensor(other, value.valid)


def pattern(value: Any) -> Any:
    """Return where a value has elements that its structure does not say are zero."""
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
