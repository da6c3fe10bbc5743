"""`NamedTensor` passes every check."""

from __future__ import annotations

from typing import Any

import dispatchkit as dk
from dispatchkit.testing import TypeConformance
from dispatchkit.types import NamedTensor
from tests.declared import LIBRARY


class TestNamedTensor(TypeConformance):
    operations = LIBRARY
    depth = 1

    def samples(self) -> list[Any]:
        return [self.from_dense(data) for data in ([1.0, 2.0, -3.0], [[2.0, 1.0], [1.0, 3.0]], [3, 1, 2], 0.5)]

    def from_dense(self, x: Any) -> Any:
        x = dk.asarray(x)
        # The last axis is "a", so that arrays of fewer axes meet as they do without names.
        return NamedTensor(x, tuple("abcdefgh"[: x.ndim][::-1]))

    def to_dense(self, x: Any) -> Any:
        return x.data
