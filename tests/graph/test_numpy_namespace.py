"""Where NumPy departs from the standard, and the namespace that bodies receive does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dispatchkit as dk

INF = math.inf


@pytest.mark.parametrize("imag", [0.0, 0.5, 2.0, 4.0, 1e150])
def test_tanh_at_complex_infinities(imag: float) -> None:
    for real in (INF, -INF):
        for sign in (1.0, -1.0):
            z = complex(real, sign * imag)
            for y in (dk.tanh(dk.asarray(z)).item(), dk.tanh(dk.asarray([z, 1.0]))[0].item()):
                assert y.real == math.copysign(1.0, real)
                assert y.imag == 0.0
                assert math.copysign(1.0, y.imag) == sign


def test_tanh_is_numpys_elsewhere() -> None:
    for x in (np.array([0.5, INF, -INF]), np.array([1 + 2j, -0.5j, complex(math.nan, 1)]), np.array([1, 2])):
        np.testing.assert_array_equal(dk.tanh(dk.asarray(x)).numpy(), np.tanh(x))
