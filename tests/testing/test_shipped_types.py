"""The types that ship, a subclass of `Tensor` and the reference subject pass every check."""

from __future__ import annotations

from typing import Any

import dispatchkit as dk
from dispatchkit.testing import TypeConformance, Wrapper
from dispatchkit.types import MetadataTensor, ScalarTensor

# Other tests declare operations, with wrong derivatives too.
LIBRARY = [o.function for name, o in dk.tensor_protocol.operations.items() if name.startswith("dispatchkit.")]


class TestWrapper(TypeConformance):
    operations = LIBRARY

    def samples(self) -> list[Any]:
        return [Wrapper([1.0, 2.0], "m"), Wrapper([[1, 2], [3, 4]], "m"), Wrapper(0.5, "m")]

    def from_dense(self, x: Any) -> Any:
        return Wrapper(x, "m")


class TestMetadataTensor(TypeConformance):
    operations = LIBRARY
    metadata = ("metadata", "merge")

    def samples(self) -> list[Any]:
        return [self.from_dense([1.0, 2.0])]

    def from_dense(self, x: Any) -> Any:
        return MetadataTensor(x, {"unit": "m", "run": [1, 2]}, merge="error")


class TestScalarTensor(TypeConformance):
    operations = LIBRARY

    def samples(self) -> list[Any]:
        return [ScalarTensor(3, dk.tensor(2.0)), ScalarTensor(2, 3)]


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
