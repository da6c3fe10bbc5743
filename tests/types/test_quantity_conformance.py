"""`QuantityTensor` passes every check, with a unit and without one."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.testing import TypeConformance, tensors
from dispatchkit.types import QuantityTensor
from tests.declared import LIBRARY
from tests.turns import some_of


class TestWithAUnit(TypeConformance):
    # Of the functions a quick run takes one half with a unit, the other half without one.
    operations = some_of(LIBRARY, 2, 0)
    depth = 1
    tests = dk.TypeTests(refuses=(dk.errors.UnitError,))

    def samples(self) -> Any:
        shapes = st.sampled_from([(), (1,), (3,), (2, 2), (0, 2)])
        data = tensors(shape=shapes, dtype=st.sampled_from(["float64", "float32", "int64"]))
        return st.builds(QuantityTensor, data, st.just("m"))

    def from_dense(self, x: Any) -> Any:
        return QuantityTensor(x, "m")

    def to_dense(self, x: Any) -> Any:
        return x.magnitude


class TestWithoutAUnit(TypeConformance):
    operations = some_of(LIBRARY, 2, 1)
    depth = 1
    tests = dk.TypeTests(refuses=(dk.errors.UnitError,))  # numbers without a unit are no angles

    def samples(self) -> list[Any]:
        return [QuantityTensor([1.0, 2.0]), QuantityTensor([[2.0, 1.0], [1.0, 3.0]])]

    def from_dense(self, x: Any) -> Any:
        return QuantityTensor(x)
