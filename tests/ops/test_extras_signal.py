"""`convolve` and `interp` against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk

MODES: Any = ["full", "same", "valid"]
lengths = st.one_of(st.integers(1, 12), st.integers(100, 300))


def drawn(n: int, dtype: str) -> Any:
    rng = np.random.default_rng(n)
    return (9 * (rng.normal(size=n) + (1j * rng.normal(size=n) if dtype[0] == "c" else 0))).astype(dtype)


@given(lengths, lengths, st.sampled_from(MODES), st.sampled_from(["float64", "float32", "complex128", "int64", "int8"]))
def test_any_lengths_give_what_numpy_gives(m: int, n: int, mode: Any, dtype: str) -> None:
    a, b = drawn(m, dtype), drawn(n, dtype)
    expected = np.convolve(a, b, mode)
    found = dk.convolve(a, b, mode=mode)
    assert found.dtype == expected.dtype
    # Of integers the sums wrap around, exactly alike; of other numbers they are rounded.
    precision = {"float32": 1e-6, "float64": 1e-15, "complex128": 1e-15}.get(dtype, 0)
    scale = float(np.sum(np.abs(a)) * np.max(np.abs(b)))
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=scale * precision)


def test_dtypes_are_promoted_and_layouts_read() -> None:
    a, b = drawn(9, "float32")[::-2], drawn(3, "complex128")[::-1]
    found = dk.convolve(a, b)
    assert found.dtype == np.complex128
    np.testing.assert_allclose(found.numpy(), np.convolve(a, b))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_stays_where_it_has_a_part(mode: Any, value: float) -> None:
    a, b = drawn(40, "float64"), drawn(5, "float64")
    a[17] = value
    np.testing.assert_allclose(dk.convolve(a, b, mode=mode).numpy(), np.convolve(a, b, mode))
    np.testing.assert_allclose(dk.convolve(b, a, mode=mode).numpy(), np.convolve(b, a, mode))


@pytest.mark.parametrize("mode", MODES)
def test_complex_gradients_agree_with_differences(mode: Any) -> None:
    leaves = [dk.tensor(drawn(n, "complex128") / 9, requires_grad=True) for n in (4, 2)]
    assert dk.autograd.gradcheck(lambda a, b: dk.convolve(a, b, mode=mode), leaves)
    assert dk.autograd.gradcheck(lambda a, b: dk.convolve(dk.real(b), a, mode=mode), leaves)
    assert dk.autograd.gradgradcheck(lambda a, b: dk.convolve(a, b, mode=mode), leaves, atol=1e-4)


def test_gradients_of_long_vectors() -> None:
    a, b, g = drawn(500, "float64"), drawn(200, "float64"), drawn(301, "float64")
    leaves = [dk.tensor(x, requires_grad=True) for x in (a, b)]
    dk.convolve(*leaves, mode="valid").backward(dk.asarray(g))
    assert leaves[0].grad is not None
    np.testing.assert_allclose(leaves[0].grad.numpy(), np.convolve(g, b[::-1]), rtol=1e-9, atol=1e-9)
    assert leaves[1].grad is not None
    np.testing.assert_allclose(leaves[1].grad.numpy(), np.convolve(a[::-1], g, "valid"), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((np.ones((2, 2)), np.ones(2)), {}, r"convolve: x1 must be a vector with elements, found shape \(2, 2\)"),
        ((np.ones(2), np.ones(0)), {}, r"convolve: x2 must be a vector with elements, found shape \(0,\)"),
        ((2.0, np.ones(2)), {}, r"convolve: x1 must be a vector with elements, found shape \(\)"),
        ((np.ones(2), np.ones(2)), {"mode": "wrap"}, r"convolve: mode must be 'full', 'same' or 'valid', found 'wrap'"),
    ],
)
def test_convolve_names_what_is_wrong(args: Any, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dk.convolve(*args, **kwargs)


POINTS, VALUES = np.array([-1.0, 0.0, 0.5, 2.0]), np.array([3.0, -1.0, 4.0, 0.5])
PLACES: dict[str, Any] = {
    "between, at and beyond points": np.array([[-1.0, 0.0, 0.25], [2.0, -7.0, 9.0]]),
    "not finite": np.array([np.nan, np.inf, -np.inf]),
    "0-D": np.array(0.25),
    "a number": 0.25,
    "empty": np.zeros((0, 2)),
    "integers": np.arange(-2, 4),
    "not contiguous": np.linspace(-2, 3, 12).reshape(3, 4).T[::-1],
}
FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "ends": {"left": 10.0, "right": -10.0},
    "left": {"left": 10},
    "period": {"period": 2.5},
    "negative period": {"period": -4.0, "left": 3.0},
}


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("form", FORMS)
def test_interpolation_is_that_of_numpy(places: str, form: str) -> None:
    x = PLACES[places]
    if places == "not finite" and "period" in form:
        x = x[:1]
    expected = np.interp(x, POINTS, VALUES, **FORMS[form])
    found = dk.interp(x, POINTS, VALUES, **FORMS[form])
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.lists(st.floats(-1, 6), max_size=4))
def test_points_may_repeat(steps: list[int], places: list[float]) -> None:
    points = np.sort(np.array(steps, dtype=float))
    values = np.arange(len(steps)) ** 2.0
    x = np.array([*places, *points])
    np.testing.assert_allclose(dk.interp(x, points, values).numpy(), np.interp(x, points, values), atol=1e-12)


def test_interpolation_of_complex_values_and_in_single_precision() -> None:
    x = PLACES["between, at and beyond points"]
    found = dk.interp(x, POINTS, VALUES * 1j, left=1 + 1j)
    np.testing.assert_allclose(found.numpy(), np.interp(x, POINTS, VALUES * 1j, left=1 + 1j))
    assert dk.interp(*(one.astype("float32") for one in (x, POINTS, VALUES))).dtype == dk.float32
    z = dk.tensor(VALUES * 1j, requires_grad=True)
    assert dk.autograd.gradcheck(lambda z: dk.interp(x, POINTS, z), (z,))


def test_slopes_are_those_to_the_right() -> None:
    x = dk.tensor([-2.0, -1.0, -0.5, 0.0, 2.0, 3.0], requires_grad=True)
    dk.interp(x, POINTS, VALUES).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [0, -4, -4, 10, 0, 0])


@pytest.mark.parametrize(
    ("points", "values", "kwargs", "message"),
    [
        (
            POINTS,
            VALUES[:2],
            {},
            r"interp: points and values must be vectors .* found shapes \(4,\) and \(2,\)",
        ),
        (
            POINTS[None],
            VALUES[None],
            {},
            r"interp: points and values must be vectors of one length, found",
        ),
        (POINTS[:0], VALUES[:0], {}, r"interp: points has no elements"),
        (POINTS, VALUES, {"period": 0}, r"interp: period must not be 0"),
    ],
)
def test_interp_names_what_is_wrong(points: Any, values: Any, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dk.interp(1.0, points, values, **kwargs)


@pytest.mark.parametrize(("x", "points", "name"), [(1j * POINTS, POINTS, "x"), (POINTS, 1j * POINTS, "points")])
def test_interp_wants_places_in_order(x: Any, points: Any, name: str) -> None:
    with pytest.raises(TypeError, match=f"interp: {name} must hold real numbers, .*, found complex128"):
        dk.interp(x, points, VALUES)
