"""Half precision holds no number beyond 65504: norms, spreads and averages of larger squares and sums are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

F = dk.nn.functional
# The squares and the sums of these are not numbers of half precision, and the results are.
LARGE = np.array([[300.0, -400.0, 1200.0, 25.0], [1000.0, 1000.0, -1000.0, 1000.0]])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "vector_norm": dk.linalg.vector_norm,
    "vector_norm of order 3": lambda x: dk.linalg.vector_norm(x, ord=3, axis=1),
    "vector_norm of order 6": lambda x: dk.linalg.vector_norm(x / 100, ord=6, keepdims=True),
    "matrix_norm": dk.linalg.matrix_norm,
    "norm": dk.linalg.norm,
    "std": lambda x: dk.std(x, axis=1, correction=1),
    "normalize": lambda x: F.normalize(x, axis=1),
    "avg_pool2d": lambda x: F.avg_pool2d(x[None] * 50, 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_double_precision(name: str) -> None:
    found = FUNCTIONS[name](dk.asarray(LARGE, dtype=dk.float16))
    expected = FUNCTIONS[name](dk.asarray(LARGE))
    assert found.dtype == dk.float16
    np.testing.assert_allclose(found.numpy().astype(float), expected.numpy(), rtol=2e-3)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_double_precision(name: str) -> None:
    def slope(x: Any) -> Any:
        return dk.func.grad(lambda x: dk.sum(FUNCTIONS[name](x)))(x)

    found, expected = slope(dk.asarray(LARGE, dtype=dk.float16)), slope(dk.asarray(LARGE))
    assert found.dtype == dk.float16
    np.testing.assert_allclose(found.numpy().astype(float), expected.numpy(), rtol=1e-2, atol=1e-3)


@pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning")
@pytest.mark.parametrize("name", ["vector_norm", "std", "normalize"])
def test_types_take_the_same_way(name: str) -> None:
    x = dk.asarray(LARGE, dtype=dk.float16)
    masked = dk.types.MaskedTensor(x, dk.ones(x.shape, dtype=dk.bool))
    found = FUNCTIONS[name](masked)
    np.testing.assert_allclose(found.data.numpy().astype(float), FUNCTIONS[name](dk.asarray(LARGE)).numpy(), rtol=2e-3)
