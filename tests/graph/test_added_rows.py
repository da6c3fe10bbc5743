"""Sums at indices: rows are added as `numpy.add.at` adds them, many of them by SciPy's sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends import numpy as sums
from dispatchkit.backends.numpy import MANY_INDICES as MANY
from dispatchkit.backends.numpy import add_at

RNG = np.random.default_rng(0)
ROWS = MANY // 8


def added(shape: tuple[int, ...], key: Any, value: Any) -> tuple[Any, Any]:
    ours, wanted = np.ones(shape, value.dtype), np.ones(shape, value.dtype)
    add_at(ours, key, value)
    np.add.at(wanted, key, value)
    return ours, wanted


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "float16", "int64"])
@pytest.mark.parametrize("wrap", [lambda i: i, lambda i: (i,), lambda i: (i, ...), lambda i: i.reshape(4, -1)])
def test_rows_are_added_as_numpy_adds_them(dtype: str, wrap: Any) -> None:
    key = wrap(RNG.integers(-30, 30, ROWS))
    index = key[0] if isinstance(key, tuple) else key
    ours, wanted = added((30, 2, 4), key, RNG.integers(-9, 9, (*index.shape, 2, 4)).astype(dtype))
    np.testing.assert_array_equal(ours, wanted)


def test_other_indices_and_values_that_broadcast_are_left_to_numpy() -> None:
    rows = RNG.integers(0, 30, ROWS)
    for key, value in (
        ((slice(None), rows), RNG.standard_normal((3, ROWS))),
        ((rows, RNG.integers(0, 8, ROWS)), RNG.standard_normal(ROWS)),
        (rows, RNG.standard_normal((ROWS, 1))),
    ):
        np.testing.assert_allclose(*added((30, 8) if value.shape[0] != 3 else (3, 30), key, value), rtol=1e-12)


def test_an_index_out_of_range_is_an_error() -> None:
    for row in (30, -31):
        rows = np.full(ROWS, row)
        with pytest.raises(IndexError, match="out of bounds"):
            add_at(np.zeros((30, 8)), rows, np.zeros((ROWS, 8)))


def test_many_rows_are_added_by_a_matrix_and_without_scipy_by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    matrix_of = sums._sparse()

    def noted(*args: Any, **kwargs: Any) -> Any:
        used.append(args)
        return matrix_of(*args, **kwargs)

    monkeypatch.setattr(sums, "_sparse", lambda: noted)
    numbers = dk.asarray(RNG.integers(0, 30, ROWS).astype("int32"))  # which the compiled core leaves to Python
    grads = []
    for _ in range(2):
        table = dk.tensor(np.ones((30, 8)), requires_grad=True)
        dk.nn.functional.embedding(numbers, table).sum().backward()
        assert table.grad is not None
        grads.append(table.grad.numpy())
        assert len(used) == 1
        monkeypatch.setattr(sums, "_sparse", lambda: None)
    np.testing.assert_array_equal(*grads)
