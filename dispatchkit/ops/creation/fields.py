"""Copies, casts and zeros of array types, field by field: what types without rules for them have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.typing import DType
from dispatchkit.declare.wrapping import holds
from dispatchkit.graph.storage import Storage
from dispatchkit.ops.creation.conversion import clone
from dispatchkit.ops.creation.creation import zeros_like
from dispatchkit.ops.creation.dtypes import astype
from dispatchkit.protocol.densify import known_layout
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline


def with_arrays(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a copy of an array type's instance with every array in its fields changed; None where not all are there.

    Arrays of NumPy are given to `change` as tensors, and are arrays again in the copy.
    """
    records = tensor_protocol.types

    def is_array(cls: type) -> bool:
        return records.participates(cls) or issubclass(cls, np.ndarray)

    def change_held(held: Any) -> Any:
        if not isinstance(held, np.ndarray):
            return change(held)
        result = change(tensor_namespace.asarray(held))
        if isinstance(result, Storage):
            return result.array
        return result

    return records.with_fields(value, change_held, is_array)


UNTOLD = "it has no attributes 'shape' and 'dtype'"
ELSEWHERE = "it holds arrays in other attributes than its fields"


def clone_fields(x: Any, /) -> Any:
    copy = with_arrays(x, clone)
    if copy is None:
        return decline(ELSEWHERE)
    return copy


def astype_fields(x: Any, dtype: DType, /, *, copy: bool = True, device: Any = None) -> Any:
    wanted, declared = numpy_dtype(dtype), known_layout(x)[1]
    if declared is None:
        return decline(UNTOLD)
    present = numpy_dtype(declared)
    if wanted != present and not (wanted.kind == present.kind and present.kind in "fc"):
        return decline("a cast of its fields to another kind of numbers is not one of its elements")

    faithful: list[Any] = []

    def cast(field: Any) -> Any:
        kept = numpy_dtype(field.dtype)
        target = kept
        if kept.kind == present.kind:
            target = wanted
        converted = astype(field, target, copy=copy, device=device)
        if not isinstance(field, Storage):
            faithful.append(type(converted) is type(field))
        elif not np.can_cast(kept, numpy_dtype(converted.dtype)):
            faithful.append(tensor_namespace.isfinite(converted) == tensor_namespace.isfinite(field))
        return converted

    converted = with_arrays(x, cast)
    if converted is None:
        return decline(ELSEWHERE)
    if not all(holds(condition, traced=True) for condition in faithful):
        return decline("a field overflows, or has no cast of its own, which says nothing of the elements")
    if numpy_dtype(converted.dtype) == wanted:
        return converted
    return decline("its dtype is not that of its fields")


def zeros_like_fields(x: Any, /, *, dtype: DType = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Return the array times zero, where the type has a rule for that: of which fields zeros are made, it knows."""
    if requires_grad:
        return decline("its gradient would be that of its fields")
    declared = known_layout(x)[1]
    if declared is None:
        return decline(UNTOLD)
    zero: float = {"b": False, "f": 0.0, "c": 0.0}.get(numpy_dtype(declared).kind, 0)  # its product has the dtype
    if not _has_product(x, zero):
        return decline("it has no rule for its product with a number, by which zeros are made")

    def without_sign(field: Any) -> Any:
        is_tensor = isinstance(field, Storage)
        if is_tensor and numpy_dtype(field.dtype).kind not in "fc":
            return field  # integers have no sign of zero, and may be the places of elements
        if is_tensor:
            return field + 0.0
        return with_arrays(field, without_sign)

    x = _finite_copy(x, zero)
    if x is NotImplemented:
        return x
    product = x * zero
    if type(product) is not type(x) or tuple(product.shape) != tuple(x.shape):
        return decline("its product with a number is of another type")
    zeros = with_arrays(product, without_sign)  # -0.0 becomes 0.0
    if dtype is None and device is None:
        return zeros
    if dtype is None:
        dtype = zeros.dtype
    return astype(zeros, dtype, device=device)


def _finite_copy(x: Any, zero: float) -> Any:
    """Return a copy outside of the graph; a decline where elements may be inf or NaN, of which no product is 0."""
    finite: list[Any] = []
    inner: list[Any] = []

    def outside(field: Any) -> Any:
        inside = field
        if isinstance(field, Storage):
            inside = inside.detach()
            finite.append(tensor_namespace.isfinite(field))
        else:
            inside = with_arrays(field, outside)
            inner.append(inside)
        return inside

    copy = with_arrays(x, outside)
    if copy is None or any(field is None for field in inner):
        return decline(ELSEWHERE)
    if not all(map(holds, finite)):
        return decline("it holds infinities or NaN, whose products with 0 are none")
    if not all(_has_product(field, zero) and type(field * zero) is type(field) for field in inner):
        return decline("it holds an array that need not be finite where its numbers are, such as an inverse")
    return copy


def _has_product(x: Any, number: float) -> bool:
    """Return whether a type has a rule for its product with a number."""
    operation = tensor_protocol.operation(tensor_namespace.multiply)
    steps = tensor_protocol.chain(operation, operation.parameters.key((x, number), {})).steps
    return bool(steps) and steps[0].rule is not None


def _declare_fields() -> None:
    for function, by_fields in ((clone, clone_fields), (astype, astype_fields), (zeros_like, zeros_like_fields)):
        tensor_protocol.operation(function).by_fields = by_fields
    tensor_protocol.operation(clone).by_fields_always = True


_declare_fields()
