"""`UncertainTensor` passes every check."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit import TypeTests
from dispatchkit.testing import TypeConformance
from dispatchkit.types import UncertainTensor
from tests.declared import LIBRARY


class TestUncertainTensor(TypeConformance):
    operations = LIBRARY
    depth = 1
    # `x.std` is the standard deviations of the elements, where `dk.std` is that of all of them together.
    skip = ("methods:std",)
    # Of what has no derivative, such as the factors of a singular matrix.
    tests = TypeTests(refuses=(np.linalg.LinAlgError,))

    def samples(self) -> list[Any]:
        return [UncertainTensor([1.0, 2.0], 0.1), UncertainTensor([[2.0, 1.0], [1.0, 3.0]], 0.1)]

    def to_dense(self, x: Any) -> Any:
        return x.value
