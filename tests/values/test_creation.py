"""Creation functions on every dtype against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from tests.values.inputs import DTYPES

# Arguments that the function of this name takes here and in NumPy.
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("zeros", ((2, 0, 3),), {}),
    ("ones", (3,), {}),
    ("full", ((), 1), {}),
    ("eye", (3, 2), {"k": -1}),
    ("arange", (2,), {}),
    ("arange", (5, 0, -2), {}),
    ("arange", (3, 1), {}),
    ("linspace", (0, 4, 5), {}),
    ("linspace", (1, 4, 1), {}),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_values_dtype_and_shape(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], dtype: np.dtype[Any]) -> None:
    try:
        want = getattr(np, name)(*args, **kwargs, dtype=dtype)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error), match=f"dispatchkit.{name}: "):
            getattr(dk, name)(*args, **kwargs, dtype=dtype)
        return
    got = getattr(dk, name)(*args, **kwargs, dtype=dtype)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_in_the_likeness_of_another(dtype: np.dtype[Any]) -> None:
    x = dk.asarray(np.ones((2, 0, 3), dtype=dtype))
    for like in (dk.zeros_like, dk.ones_like, dk.empty_like):
        y = like(x)
        assert (y.shape, y.dtype) == (x.shape, dtype)
        assert like(x, dtype=dk.int16).dtype == dk.int16
    y = dk.full_like(dk.ones((2, 2), dtype=dtype), 1)
    assert (y.dtype, y.tolist()) == (dtype, np.ones((2, 2), dtype=dtype).tolist())
    assert dk.empty((2, 3), dtype=dtype).dtype == dtype


def test_default_dtypes() -> None:
    assert dk.full(2, True).dtype == dk.bool
    assert dk.full(2, 1).dtype == dk.arange(3).dtype == dk.int64
    assert (
        dk.full(2, 1.0).dtype == dk.arange(3.0).dtype == dk.linspace(0, 1, 2).dtype == dk.zeros(2).dtype == dk.float64
    )
    assert dk.full(2, 1j).dtype == dk.linspace(0, 1j, 2).dtype == dk.complex128
