"""`MaskedTensor` of which nothing is missing passes every check."""

from __future__ import annotations

from typing import Any

import dispatchkit as dk
from dispatchkit.testing import TypeConformance
from dispatchkit.types import MaskedTensor
from tests.declared import LIBRARY


class TestMaskedTensor(TypeConformance):
    operations = LIBRARY
    depth = 1

    def samples(self) -> list[Any]:
        return [
            *(MaskedTensor([1.0, 2.0, -3.0]), MaskedTensor([[2.0, 1.0], [1.0, 3.0]]), MaskedTensor([3, 1, 2])),
            *(MaskedTensor(0.5), MaskedTensor(dk.ones((0, 2)))),
        ]

    def from_dense(self, x: Any) -> Any:
        return MaskedTensor(x)

    def to_dense(self, x: Any) -> Any:
        return x.data
