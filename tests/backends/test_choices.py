"""Choices between the elements of large NumPy arrays, and sums of numbers given by their logarithms."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.numpy_choices import BLOCK, MANY

INF, NAN = np.inf, np.nan
COUNTS = [MANY, BLOCK + 3]
NUMBERS: list[Any] = [0, 0.0, -0.0, 1.5, -2, INF, NAN, 1e300, 2**70, True, np.float32(3.0), np.float64(3.0)]


def numbers(count: int, dtype: str, seed: int = 0) -> Any:
    x = np.random.default_rng(seed).standard_normal(count) * 20
    if np.dtype(dtype).kind == "f":
        for place, value in enumerate([NAN, -NAN, INF, -INF, 0.0, -0.0]):
            x[place::31] = value
        x[seed::37] = INF
    else:
        x = np.rint(x)
    return x.astype(dtype)


def chosen(condition: Any, x1: Any, x2: Any) -> list[Any]:
    """Return the bytes and dtype of what is chosen, or the warning, by this library and by NumPy."""
    found: list[Any] = []
    for choose in (numpy_namespace.where, np.where):
        try:
            y = choose(condition, x1, x2)
            found.append((y.dtype, y.shape, y.tobytes()))
        except (RuntimeWarning, OverflowError) as error:
            found.append(type(error))
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "float16", "complex64", ">f8"])
@pytest.mark.parametrize("count", COUNTS)
def test_chosen_elements_have_the_bits_of_numpys(dtype: str, count: int) -> None:
    x, other = numbers(count, dtype), numbers(count, dtype, 1)
    condition = np.random.default_rng(2).random(count) > 0.5
    operands = [(x, other), (x, x[::-1]), (x, np.float64(1.0) * other), (x, x[:1]), (1.5, 2.5)]
    operands += [pair for number in NUMBERS for pair in ((x, number), (number, x))]
    for x1, x2 in operands:
        found, wanted = chosen(condition, x1, x2)
        assert found == wanted, (x1, x2)


def test_conditions_of_any_layout_choose_as_numpys() -> None:
    x, other = numbers(4 * MANY, "float64").reshape(4, -1), numbers(4 * MANY, "float64", 1).reshape(4, -1)
    bytes_of_any_value = np.arange(4 * MANY).astype(np.uint8).view(bool).reshape(4, -1)
    for condition in (x > 0, (x.T > 0).T, x[:, ::-1] > 0, x[:1] > 0, x.astype(bool), bytes_of_any_value):
        for x1, x2 in ((x, other), (x, 0), (0, x), (x.T.copy().T, other)):
            found, wanted = chosen(condition, x1, x2)
            assert found == wanted


def test_gradients_flow_to_what_was_chosen_of_many() -> None:
    x, other = (dk.tensor(numbers(MANY, "float64", seed), requires_grad=True) for seed in (0, 1))
    condition = np.random.default_rng(2).random(MANY) > 0.5
    dk.where(dk.asarray(condition), x, other).backward(dk.ones(MANY))
    assert x.grad is not None
    assert other.grad is not None
    npt.assert_array_equal(x.grad.numpy(), condition)
    npt.assert_array_equal(other.grad.numpy(), ~condition)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("count", [3, *COUNTS])
def test_sums_of_exponentials_are_numpys(dtype: str, count: int) -> None:
    x, other = numbers(count, dtype), numbers(count, dtype, 1)
    other[::5] = x[::5]
    close = {"float64": 1e-14, "float32": 1e-6}.get(dtype, 1e-2)
    for x1, x2 in ((x, other), (x, 0.0), (0, x), (x, INF), (-INF, x), (x, NAN), (x, x[::-1]), (x, other[:1])):
        with np.errstate(invalid="ignore"):
            wanted = np.logaddexp(x1, x2)
        with warnings.catch_warnings(action="error"):
            found = numpy_namespace.logaddexp(x1, x2)
        npt.assert_allclose(found, wanted, rtol=close, atol=close, strict=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "bool"])
@pytest.mark.parametrize("count", [3, 2000, *COUNTS])
def test_rectified_numbers_are_numpys(dtype: str, count: int) -> None:
    x = numbers(count, dtype)
    for given in (x, x[::-1], np.stack([x, x]), np.stack([x, x]).T):
        npt.assert_array_equal(dk.relu(dk.asarray(given)).numpy(), np.maximum(given, 0), strict=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("slope", [0.01, 1e-40, 0.0, -0.5, 1.0, 2.0, 1])
def test_negative_numbers_are_multiplied_by_any_slope(dtype: str, slope: float) -> None:
    x = numbers(COUNTS[0], dtype)
    with np.errstate(invalid="ignore"):
        wanted = np.where(x > 0, x, x * slope)
        leaf = dk.tensor(x, requires_grad=True)
        y = dk.nn.functional.leaky_relu(leaf, slope)
    npt.assert_array_equal(y.detach().numpy(), wanted, strict=True)
    npt.assert_array_equal(np.signbit(y.detach().numpy()), np.signbit(wanted))
    y.backward(dk.ones_like(y))
    assert leaf.grad is not None
    npt.assert_array_equal(leaf.grad.numpy(), np.where(x > 0, 1, slope).astype(dtype), strict=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape", [(40, 50), (3, 1000), (3, 1100), (20000, 2), (70001,), (3, 0), (2000, 1), (2, 4, 80), (300, 4)]
)
def test_sums_of_rows_and_norms_are_those_of_exact_sums(dtype: str, shape: tuple[int, ...]) -> None:
    x = (np.random.default_rng(0).random(shape) + 0.5).astype(dtype)
    close = 1e-6 if dtype == "float32" else 1e-14
    for axis in (None, -1, len(shape) - 1, 0):
        for keepdims in (False, True):
            found = dk.sum(dk.asarray(x), axis=axis, keepdims=keepdims).numpy()
            wanted = x.astype("longdouble").sum(axis=axis, keepdims=keepdims)
            npt.assert_allclose(found, wanted.astype(dtype), rtol=close, strict=True)
            found = dk.linalg.vector_norm(dk.asarray(x), axis=axis, keepdims=keepdims).numpy()
            wanted = np.sqrt((x.astype("longdouble") ** 2).sum(axis=axis, keepdims=keepdims))
            npt.assert_allclose(found, wanted.astype(dtype), rtol=close, strict=True)


def test_sums_of_rows_hold_infinities_and_nan() -> None:
    x = np.ones((4, 500), dtype="float32")
    x[0, 3], x[1, 4], x[2, :2] = NAN, INF, (INF, -INF)
    with np.errstate(invalid="ignore"):
        npt.assert_array_equal(dk.sum(dk.asarray(x), axis=1).numpy(), [NAN, INF, NAN, 500])
    npt.assert_array_equal(dk.linalg.vector_norm(dk.asarray(x), axis=1).numpy()[:3], [NAN, INF, INF])


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 3, 3), (0, 3), (2, 0, 2), (1, 1), (70, 60)])
def test_triangles_of_small_and_large_matrices_are_numpys(shape: tuple[int, ...]) -> None:
    for dtype in ("float32", "float64", "int8", "bool", "complex64"):
        x = (np.random.default_rng(0).random(shape) * 5).astype(dtype)
        for k in (-5, -1, 0, 1, 2, 9):
            for ours, theirs in ((dk.tril, np.tril), (dk.triu, np.triu)):
                npt.assert_array_equal(ours(dk.asarray(x), k=k).numpy(), theirs(x, k), strict=True)
    with pytest.raises(ValueError, match="matrices"):
        dk.tril(dk.ones(3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [5, 5000, 70001])
def test_silu_and_its_gradient_are_those_of_the_formula(dtype: str, count: int) -> None:
    x = np.linspace(-30, 30, count).astype(dtype)
    close: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-14}
    if dtype == "float32":
        close = {"rtol": 1e-5, "atol": 1e-6}
    share = 1 / (1 + np.exp(-x.astype("longdouble")))
    leaf = dk.tensor(x, requires_grad=True)
    y = dk.nn.functional.silu(leaf)
    npt.assert_allclose(y.detach().numpy(), (x * share).astype(dtype), **close, strict=True)
    npt.assert_allclose(dk.nn.functional.silu(dk.asarray(x)).numpy(), y.detach().numpy(), **close)
    y.backward(dk.ones_like(y))
    assert leaf.grad is not None
    npt.assert_allclose(leaf.grad.numpy(), share * (1 + x * (1 - share)), **close)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(3, 4), (40, 50)])
def test_shares_of_few_and_many_are_those_of_the_formula(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype) * 10
    x[0, 0], x[-1, -1] = -INF, 500.0
    wide = x.astype("longdouble")
    e = np.exp(wide - wide.max(axis, keepdims=True))
    wanted = e / e.sum(axis, keepdims=True)
    eps = float(np.finfo(dtype).eps)
    for order in (x, np.asfortranarray(x)):
        shares = dk.softmax(dk.asarray(order), axis=axis).numpy()
        npt.assert_allclose(shares, wanted.astype(dtype), rtol=64 * eps, atol=1e-37)
        with np.errstate(divide="ignore"):
            logarithms = np.log(wanted).astype(dtype)
            npt.assert_allclose(
                dk.log_softmax(dk.asarray(order), axis=axis).numpy(), logarithms, rtol=64 * eps, atol=8 * eps
            )
    with pytest.raises(ValueError, match="axis 2 is out of bounds"):
        dk.softmax(dk.asarray(x), axis=2)


@pytest.mark.parametrize("shift", [0, 1, -2, 7])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements_are_shifted_as_by_numpy(axis: int, shift: int) -> None:
    for x in (np.arange(12.0).reshape(3, 4), np.zeros((0, 3)), np.arange(12).reshape(3, 4).T):
        y = numpy_namespace.roll(x, shift, axis=axis)
        npt.assert_array_equal(y, np.roll(x, shift, axis))
        assert not np.may_share_memory(x, y)
