"""Sums along every axis are as exact as sums of elements that lie one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.numpy_sums import ROWS, SMALL, total

REDUCTIONS = ("sum", "mean", "var", "std", "nansum", "nanmean", "nanvar", "nanstd")
# A few roundings of each dtype.
CLOSE = {"float16": 1e-3, "float32": 1e-6, "complex64": 1e-6}
LONG = 300_000


def data(*shape: int, dtype: str = "float32") -> Any:
    centre = 1.0 if dtype == "float16" else 100.0
    x = np.random.default_rng(0).normal(centre, 1.0, shape)
    return (x + 1j * x[::-1] if dtype == "complex64" else x).astype(dtype)


def distance(found: Any, expected: Any) -> float:
    """Return the largest difference, in parts of the largest element."""
    return float(np.abs(np.asarray(found) - expected).max() / np.abs(expected).max())


def wide(x: Any) -> Any:
    return x.astype("complex128" if x.dtype.kind == "c" else "float64")


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_along_a_leading_axis_is_as_exact_as_along_the_last(name: str, dtype: str) -> None:
    x = data(30_000 if dtype == "float16" else LONG, 3, dtype=dtype)
    found = getattr(dk, name)(x, axis=0)
    assert found.dtype == (x.real.dtype if name[-3:] in ("var", "std") else x.dtype)
    assert distance(found, getattr(np, name)(wide(x), axis=0)) < CLOSE[dtype]


@pytest.mark.parametrize("name", ["nansum", "nanmean", "nanvar", "nanstd"])
def test_what_is_left_of_many_rows_is_summed_exactly(name: str) -> None:
    x = data(LONG, 3)
    x[::7] = np.nan
    assert distance(getattr(dk, name)(x, axis=0), getattr(np, name)(wide(x), axis=0)) < CLOSE["float32"]


@pytest.mark.parametrize("axis", [(0, 1, 2), (0, 1), (0, -1), (3, 1), None])
def test_several_axes(axis: Any) -> None:
    x = data(16, 128, 96, 3)
    for name in ("sum", "mean", "var"):
        for kept in (False, True):
            expected = getattr(np, name)(wide(x), axis=axis, keepdims=kept)
            found = getattr(dk, name)(x, axis=axis, keepdims=kept)
            assert found.shape == expected.shape
            assert distance(found, expected) < CLOSE["float32"]


@pytest.mark.parametrize(
    ("layout", "axis"),
    [
        (lambda x: x.T, 1),
        (lambda x: x[::-1, ::2], 0),
        (lambda x: x[:, :3], None),
        (lambda x: x[:, None, :3], (0, 2)),
        (lambda x: np.broadcast_to(x[0], (LONG, 4)), 0),
        (lambda x: np.asfortranarray(x), 0),
    ],
    ids=["transposed", "reversed", "columns", "new axis", "broadcast", "Fortran's"],
)
def test_layouts(layout: Any, axis: Any) -> None:
    x = layout(data(LONG, 4))
    assert distance(dk.sum(x, axis=axis), wide(x).sum(axis)) < 5e-6
    assert distance(dk.sum(dk.asarray(x), axis=axis), wide(x).sum(axis)) < 5e-6


def test_the_gradient_of_a_bias_is_exact() -> None:
    bias = dk.tensor(np.zeros(4, "float32"), requires_grad=True)
    factor = data(LONG, 4)
    (dk.asarray(factor) + bias).backward(factor)
    assert bias.grad is not None
    assert distance(bias.grad, wide(factor).sum(0)) < CLOSE["float32"]


def test_norms_and_einsum_sum_as_exactly() -> None:
    x = data(LONG, 3)
    assert distance(dk.linalg.norm(x, axis=0), np.linalg.norm(wide(x), axis=0)) < CLOSE["float32"]
    assert distance(dk.linalg.vector_norm(x, axis=0, ord=1), np.abs(wide(x)).sum(0)) < CLOSE["float32"]
    assert distance(dk.einsum("ij->j", x), wide(x).sum(0)) < CLOSE["float32"]


def test_half_precision_does_not_stop_growing() -> None:
    ones = np.ones((5000, 2), "float16")
    assert dk.sum(ones, axis=0).tolist() == [5000.0, 5000.0]
    assert dk.mean(ones, axis=0).tolist() == [1.0, 1.0]
    assert dk.sum(ones[:3], axis=0).dtype == np.float16


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32", "complex128"])
@pytest.mark.parametrize("n", [0, 1, ROWS, 4 * ROWS + 1, SMALL - 1, SMALL + 1, 3 * ROWS * ROWS + 5])
def test_shape_and_dtype_are_numpys(n: int, dtype: str) -> None:
    x = (np.arange(n * 6).reshape(n, 2, 3) % 5).astype(dtype)
    for axis in (0, -3, 1, (0, 1), (2, 0), (), None):
        for wanted in (None, "float64"):
            for kept in (True, False):
                if wanted and dtype == "complex128":
                    continue
                expected = np.sum(x, axis=axis, dtype=wanted, keepdims=kept)
                found = total(x, axis=axis, dtype=wanted, keepdims=kept)
                assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("axis", "text"), [(3, "axis 3 is out of bounds"), ((0, -4), "axis -4 is"), ((1, 1), "axis")])
def test_wrong_axes_are_numpys_errors(axis: Any, text: str) -> None:
    for n in (2, SMALL):
        with pytest.raises(ValueError, match=text):
            total(np.ones((n, 2, 3)), axis=axis)
