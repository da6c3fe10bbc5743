"""The types that ship, a subclass of `Tensor` and the reference subject pass every check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.testing import TypeConformance, Wrapper
from dispatchkit.types import LazyTensor, LoraTensor, MetadataTensor, QuantizedTensor, ScalarTensor, SparseTensor, lazy
from tests.declared import LIBRARY, library_for
from tests.turns import LONG


class TestWrapper(TypeConformance):
    operations = LIBRARY

    def samples(self) -> list[Any]:
        return [Wrapper([1.0, 2.0], "m"), Wrapper([[1, 2], [3, 4]], "m"), Wrapper(0.5, "m")]

    def from_dense(self, x: Any) -> Any:
        return Wrapper(x, "m")


class TestMetadataTensor(TypeConformance):
    operations = LIBRARY
    metadata = ("metadata", "merge", "laws")

    def samples(self) -> list[Any]:
        return [self.from_dense([1.0, 2.0])]

    def from_dense(self, x: Any) -> Any:
        return MetadataTensor(x, {"unit": "m", "run": [1, 2]}, merge="error")


class TestScalarTensor(TypeConformance):
    operations = library_for(ScalarTensor, 0)

    def samples(self) -> list[Any]:
        return [ScalarTensor(3, dk.tensor(2.0)), ScalarTensor(2, 3)]


QUANTISED = QuantizedTensor.from_dense(dk.asarray([[1.0, -2.0], [0.25, 3.0]]))


class TestQuantizedTensor(TypeConformance):
    operations = library_for(QuantizedTensor, 1)

    def samples(self) -> list[Any]:
        return [QUANTISED, dk.astype(QUANTISED, dk.float32).mT]


class TestLoraTensor(TypeConformance):
    operations = library_for(LoraTensor, 2)

    def samples(self) -> list[Any]:
        left, right = dk.asarray([[1.0], [2.0]]), dk.asarray([[0.5, 1.0]])
        return [LoraTensor(QUANTISED, left, right, 0.5), LoraTensor(dk.ones((2, 3)), left, dk.ones((1, 3)))]


class TestSparseTensor(TypeConformance):
    operations = library_for(SparseTensor, 0)
    depth = 2 if LONG else 1

    def samples(self) -> list[Any]:
        made = SparseTensor.coo([2.0, 3.0, -1.0], [0, 1, 1], [1, 0, 2], shape=(2, 3))
        return [made, SparseTensor.csr(np.asarray([2.0, 3.0], "f"), [1, 0], [0, 1, 2], shape=(2, 2)).mT]


class TestLazyTensor(TypeConformance):
    operations = library_for(LazyTensor, 1)

    @pytest.fixture(autouse=True)
    def _blocks_of_two_elements(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lazy, "BLOCK", 2)

    def samples(self) -> list[Any]:
        return [self.from_dense([[1.0, 2.0, 0.5], [0.25, 3.0, -1.0]])]

    def from_dense(self, x: Any) -> Any:
        return LazyTensor(x) * 1 if dk.asarray(x).dtype.kind in "fc" else LazyTensor(x)


class Named(dk.Tensor):
    name = ""


class TestTensorSubclass(TypeConformance):
    operations = LIBRARY

    def samples(self) -> list[Any]:
        return [self.from_dense(dk.asarray([[1.0, 2.0], [3.0, 5.0]]))]

    def from_dense(self, x: Any) -> Any:
        made = Named(x)
        made.name = "width"
        return made
