"""Elementwise functions of structured matrices, which keep the structure where they map zeros to zero."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from types import NotImplementedType
from typing import Any

import numpy as np

from dispatchkit import ops, special
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.types.structured.base import (
    Number,
    StructuredTensor,
    converted,
    promoted,
    same_size,
)

implements = tensor_protocol.implements

__all__ = ["ZERO_PRESERVING", "ZERO_PRESERVING_PAIRS", "implement_pairs"]


@implements(ops.subtract)
def subtract_structured(x1: StructuredTensor, x2: StructuredTensor, /) -> Any:
    return _less(x1, x2, ops.add)


@implements(ops.negative)
def negative_structured(x: StructuredTensor, /) -> Any:
    return x.map_linear(ops.negative)


@implements(ops.positive)
def positive_structured(x: StructuredTensor, /) -> Any:
    return x.map_linear(ops.positive)


@implements(ops.multiply)
def multiply_structured(x1: StructuredTensor, x2: Number | Tensor, /) -> Any:
    if not (holds(ops.isfinite(x2), traced=True) if isinstance(x2, Tensor) else cmath.isfinite(x2)):
        return decline("zeros do not stay zero")
    if getattr(x2, "ndim", 0):
        own = _restricted(x1, x2)
        return own if own is NotImplemented else x1 * own
    matrix = converted(x1, np.result_type(x1.dtype, getattr(x2, "dtype", x2)))
    return matrix if matrix is NotImplemented else matrix.map_linear(lambda elements: elements * x2)


@implements(ops.multiply)
def multiply_by_structured(x1: Number | Tensor, x2: StructuredTensor, /) -> Any:
    return multiply_structured(x2, x1)


@implements(ops.divide)
def divide_structured(x1: StructuredTensor, x2: Number | Tensor, /) -> Any:
    length: Any = abs(x2)
    if not holds(length > 0, traced=True):
        return decline("zeros do not stay zero")
    if getattr(x2, "ndim", 0):
        own = _restricted(x1, x2)
        if own is NotImplemented:
            return own
        return (x1 * own.map_elements(ops.ones_like)).zip_elements(own, ops.divide)
    matrix = converted(x1, (ops.zeros((), dtype=x1.dtype) / x2).dtype)
    return matrix if matrix is NotImplemented else matrix.map_linear(lambda elements: elements / x2)


@implements(ops.divide)
def divide_by_structured(x1: Tensor, x2: StructuredTensor, /) -> NotImplementedType:
    return decline("zeros are divided by")  # type: ignore[no-any-return]  # typeshed has no type for it


def _restricted(x: StructuredTensor, other: Any) -> Any:
    """Return the elements of another operand in the places where a structure has its own."""
    shape = np.broadcast_shapes(x.shape, other.shape)
    if shape[-2:] != x.shape[-2:]:
        return decline(f"a tensor of shape {other.shape} broadcasts it")
    return x.restricted(ops.broadcast_to(other, (*other.shape[:-2], *shape[-2:])))


@implements(ops.add)
def add_structured_to_tensor(x1: Tensor, x2: StructuredTensor, /) -> Any:
    if x1.shape[-2:] != x2.shape[-2:]:
        return decline(f"a tensor of shape {x1.shape} broadcasts")
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return x2.added_to(ops.broadcast_to(promoted(x1, x2.dtype), (*batch, *x2.shape[-2:])))


@implements(ops.add)
def add_tensor_to_structured(x1: StructuredTensor, x2: Tensor, /) -> Any:
    return add_structured_to_tensor(x2, x1)


@implements(ops.subtract)
def subtract_structured_from_tensor(x1: Tensor, x2: StructuredTensor, /) -> Any:
    return _less(x1, x2, add_structured_to_tensor)


@implements(ops.subtract)
def subtract_tensor_from_structured(x1: StructuredTensor, x2: Tensor, /) -> Any:
    return _less(x1, x2, add_tensor_to_structured)


def _less(x1: Any, x2: Any, add: Callable[[Any, Any], Any]) -> Any:
    """Return the difference of two operands as the sum of one and the negative of the other, in one dtype."""
    dtype = np.result_type(x1.dtype, x2.dtype)
    if dtype == np.bool_:
        return decline("booleans have no negative")
    x1, x2 = converted(x1, dtype), converted(x2, dtype)
    if x1 is NotImplemented or x2 is NotImplemented:
        return NotImplemented
    negative = -x2
    if isinstance(x2, StructuredTensor) and not isinstance(negative, StructuredTensor):
        return decline("its negative has no structure")
    return add(x1, negative)


ZERO_PRESERVING = (
    *(ops.abs, ops.sign, ops.square, ops.floor, ops.ceil, ops.trunc, ops.round, ops.conj, ops.real, ops.imag),
    *(ops.sqrt, ops.cbrt, ops.expm1, ops.log1p, ops.sin, ops.tan, ops.asin, ops.atan),
    *(ops.sinh, ops.tanh, ops.asinh, ops.atanh, ops.relu, special.erf, ops.isnan, ops.isinf),
)
ZERO_PRESERVING_PAIRS = (
    *(ops.add, ops.subtract, ops.multiply, ops.less, ops.greater, ops.not_equal),
    *(ops.logical_and, ops.logical_or, ops.logical_xor, ops.bitwise_and, ops.bitwise_or, ops.bitwise_xor),
)


def _register_zero_preserving() -> None:
    for function in ZERO_PRESERVING:

        def on_elements(x: StructuredTensor, /, function: Any = function) -> Any:
            return x.map_elements(function)

        on_elements.__name__ = on_elements.__qualname__ = f"{function.__name__}_structured"
        implements(function, StructuredTensor)(on_elements)


_register_zero_preserving()


@implements(ops.pow)
def pow_structured(x1: StructuredTensor, x2: Number, /) -> Any:
    if isinstance(x2, complex) or not x2 > 0:
        return decline("zeros do not stay zero")
    return x1.map_elements(lambda elements: elements**x2)


def implement_pairs(cls: type[StructuredTensor]) -> None:
    """Register the elementwise functions of two matrices of a structure that defines `zip_elements`."""
    for function in ZERO_PRESERVING_PAIRS:

        def on_pairs(x1: StructuredTensor, x2: StructuredTensor, /, function: Any = function) -> Any:
            if not same_size(function.__name__, x1, x2):
                return decline("a matrix with an axis of length 1 broadcasts over all elements")
            return x1.zip_elements(x2, function)

        on_pairs.__name__ = on_pairs.__qualname__ = f"{function.__name__}_of_pairs"
        implements(function, cls, cls)(on_pairs)
