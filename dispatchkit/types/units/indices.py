"""Rules of quantities whose elements are read and written by index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dispatchkit import ops
from dispatchkit.ops.indexing.indexing import part_of, parts_by, rows_by
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.types.levels import BASIC, is_simple_key
from dispatchkit.types.rules import takes_raw_index
from dispatchkit.types.units.conversion import convert_numbers
from dispatchkit.types.units.gradients import watch
from dispatchkit.types.units.quantity import QuantityTensor, assigned, compute_on_quantities, numbers_of, with_units
from dispatchkit.types.units.unit import UNCHANGED

new: Callable[[Any], Any] = object.__new__
setitem = ops.setitem


@tensor_protocol.implements(ops.getitem, QuantityTensor)
@takes_raw_index
def getitem_quantity(x: Any, key: Any, /) -> Any:
    if type(x) is not QuantityTensor or not is_simple_key(key):
        return compute_on_quantities(ops.getitem, x, key)
    return with_units(numbers_of(x)[key], x.unit)


@parts_by(QuantityTensor, getitem_quantity)
def part_of_quantity(x: QuantityTensor, key: Any, /) -> Any:
    numbers = x.data
    if type(numbers) is not Tensor or numbers._node is not None:
        watch(numbers)
    elements = part_of(Tensor, numbers, key)
    if type(elements) is not Tensor:
        return with_units(elements, x.unit)
    quantity = new(QuantityTensor)
    quantity.data, quantity.unit = elements, x.unit
    return quantity


@rows_by(QuantityTensor, getitem_quantity)
def rows_of_quantity(x: QuantityTensor) -> Iterator[Any]:
    unit = x.unit
    return (with_units(numbers, unit) for numbers in numbers_of(x))


@tensor_protocol.implements(ops.setitem, QuantityTensor)
@takes_raw_index
def setitem_quantity(x: Any, key: Any, value: Any, /) -> Any:
    if type(x) is type(value) is QuantityTensor and (type(key) in BASIC or is_simple_key(key)):
        numbers, elements = x.data, value.data
        if type(numbers) is not Tensor or numbers._node is not None:
            watch(numbers)
        if type(elements) is not Tensor or elements._node is not None:
            watch(elements)
        step: Any = None
        if x.unit is not value.unit:
            step = assigned.get((id(x.unit), id(value.unit)), UNCHANGED)
        alike = type(numbers) is type(elements) is Tensor and numbers.array.dtype == elements.array.dtype
        if alike and step is None:
            return setitem(numbers, key, elements)
        if alike and step is not UNCHANGED and numbers.array.dtype.kind == "f":
            return setitem(numbers, key, convert_numbers(elements, step))
    return compute_on_quantities(ops.setitem, x, key, value)
