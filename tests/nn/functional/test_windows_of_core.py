"""Windows of the compiled core: pools that give what Python's give."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.accelerator import core
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.nn.functional import adaptive_pooling, pooling, pooling_numpy
from dispatchkit.nn.functional.windows import plan_of

pytestmark = pytest.mark.skipif(core is None, reason="the compiled core is not in use")

F = dk.nn.functional
SPECIAL = np.asarray([np.nan, np.inf, -np.inf, -0.0, 0.0])


def numbers(shape: tuple[int, ...], dtype: Any, awkward: bool = False) -> Any:
    """Return numbers of which some are equal, and a few are none where that is asked for."""
    rng = np.random.default_rng(3)
    x = rng.integers(-4, 5, shape) / 2
    if awkward:
        x = np.where(rng.random(shape) < 0.1, rng.choice(SPECIAL, shape), x)
    return x.astype(dtype)


def python_of(function: Any) -> Any:
    """Return the function of Python that stands behind a loop."""
    return function.__self__


dtypes = st.sampled_from([np.float64, np.float32])
pairs = st.tuples(st.integers(1, 4), st.integers(1, 4))


@st.composite
def pools(draw: Any) -> tuple[Any, Any, Any]:
    """Draw images, and the windows over them that the operations make, with the operation."""
    lead = draw(st.sampled_from([(), (2,), (2, 3), (0, 2)]))
    height, width = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    kernel, stride, dilation = draw(pairs), draw(pairs), draw(pairs)
    padding = tuple(draw(st.integers(0, n // 2)) for n in kernel)
    op = draw(st.sampled_from([pooling.max_pool2d, pooling.avg_pool2d]))
    if op is pooling.avg_pool2d:
        dilation = 1, 1
    x = numbers((*lead, height, width), draw(dtypes), draw(st.booleans()))
    try:
        windows = pooling.windows_of(op, x, kernel, stride, padding, dilation, draw(st.booleans()))
    except ValueError:
        assume(False)
    return op, x, windows


def assert_same(y: Any, expected: Any) -> None:
    assert type(y) is type(expected) is np.ndarray
    assert y.dtype is expected.dtype
    assert y.shape == expected.shape
    # What is added up in another order differs by its rounding.
    np.testing.assert_allclose(y, expected, rtol=1e-5 if y.dtype == np.float32 else 1e-13, atol=1e-6)


@np.errstate(all="ignore")
@settings(deadline=None, max_examples=150)
@given(pools(), st.sampled_from([None, 3, -2]), st.booleans())
def test_averages_and_their_cotangents_are_those_of_python(drawn: Any, divisor: Any, include: bool) -> None:
    _, x, windows = drawn
    count = pooling._divisor(numpy_namespace, pooling.avg_pool2d, x, windows, include, divisor)
    average, spread = pooling._averages_of_numpy, pooling._spread
    y = average(x, windows.plan, count, windows)
    assert_same(y, python_of(average)(x, windows.plan, count, windows))
    g = numbers(y.shape, x.dtype)
    assert_same(
        spread(g, windows.plan, count, x.shape, windows), python_of(spread)(g, windows.plan, count, x.shape, windows)
    )


@settings(deadline=None, max_examples=150)
@given(pools())
def test_largest_elements_and_their_cotangents_are_those_of_python(drawn: Any) -> None:
    op, x, windows = drawn
    y = pooling._largest_by_core(x, windows.plan)
    expected = pooling._largest(numpy_namespace, op, x, windows)
    if y is None:  # a window has no element of the array
        assert np.isneginf(expected).any() or not x.size
        return
    np.testing.assert_array_equal(y, expected)
    g = numbers(y.shape, x.dtype)
    given_back = pooling._given_by_core
    assert_same(given_back(g, x, windows.plan, op, windows), python_of(given_back)(g, x, windows.plan, op, windows))


@np.errstate(all="ignore")
@settings(deadline=None, max_examples=100)
@given(
    st.tuples(st.integers(1, 9), st.integers(1, 9)), pairs, dtypes, st.booleans(), st.sampled_from([(), (2, 3), (0,)])
)
def test_adaptive_averages_are_those_of_python(shape: Any, lengths: Any, dtype: Any, awkward: bool, lead: Any) -> None:
    x = numbers((*lead, *shape), dtype, awkward)
    y = adaptive_pooling._averages_of(numpy_namespace, adaptive_pooling.adaptive_avg_pool2d, x, lengths)
    plan = pooling_numpy._plan_of_blocks(shape, lengths)
    found = pooling_numpy._averages_by_core(x, plan, None)
    if found is None:  # NumPy warns
        assert awkward
        return
    assert_same(found, y)
    g = numbers(y.shape, dtype)
    share = pooling_numpy._shares_of_blocks
    assert_same(share(g, plan, None, shape), python_of(share)(g, plan, None, shape))


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"])
def test_gradients_are_those_of_small_differences(name: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.permutation(150).reshape(2, 3, 5, 5) / 10
    op, weights = getattr(F, name), None
    value = dk.asarray(x, requires_grad=True)
    y = op(value, 2)
    weights = dk.asarray(rng.normal(size=y.shape))
    (y * weights).sum().backward()
    assert value.grad is not None
    gradient = value.grad.numpy()
    for place in [(0, 0, 0, 0), (1, 2, 3, 3), (0, 1, 2, 1), (1, 0, 4, 4)]:
        near = x.copy()
        near[place] += 1e-6
        difference = ((op(dk.asarray(near), 2) - op(dk.asarray(x), 2)) * weights).sum().item() / 1e-6
        assert abs(gradient[place] - difference) < 1e-6


def test_other_arrays_are_left_to_python() -> None:
    plan = plan_of((4, 2, 2, 2, 1, 0), (4, 2, 2, 2, 1, 0))
    x = np.arange(16.0).reshape(4, 4)
    assert pooling._largest_by_core(x, plan).tolist() == [[5.0, 7.0], [13.0, 15.0]]
    for other in (
        x.T,
        x.astype(np.float16),
        x.astype(int),
        x[:2].copy(),
        x[0].copy(),
        x.view(type("A", (np.ndarray,), {})),
    ):
        assert pooling._largest_by_core(other, plan) is None
        assert pooling_numpy._averages_by_core(other, plan, 4) is None
    for count in (0, 4.0, "4", 10**400, np.ones(3)):
        assert pooling_numpy._averages_by_core(x, plan, count) is None
    assert pooling._largest_by_core(x, None) is None


@pytest.mark.parametrize(
    "axes", [(), ((4, 2),) * 3, ((4, 2, 2),), ((4, 0),), ((4, -1),), (("4", 2),), (4,), ((10**30, 2),)]
)
def test_other_windows_have_no_plan(axes: Any) -> None:
    assert plan_of(*axes) is None


def test_long_windows_are_summed_precisely_by_python() -> None:
    x = np.full((1, 70), 0.1, np.float32)
    assert pooling_numpy._averages_by_core(x, plan_of((70, 1)), None) is None
    assert F.adaptive_avg_pool1d(dk.asarray(x), 1).tolist() == [[pytest.approx(0.1, abs=1e-8)]]


def test_where_numpy_would_warn_python_computes() -> None:
    x = np.full((2, 2), 1e308)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        F.avg_pool2d(dk.asarray(x), 2)
    x = np.asarray([[np.inf, -np.inf], [1.0, 1.0]])
    with np.errstate(invalid="ignore"):
        assert np.isnan(F.avg_pool2d(dk.asarray(x), 2).item())


def test_calls_keep_no_reference() -> None:
    given_back: Any = pooling._given_by_core
    x, y, plan = np.ones((2, 4, 4)), np.ones((2, 2, 2)), plan_of((4, 2, 2, 2, 1, 0), (4, 2, 2, 2, 1, 0))
    stretched = np.broadcast_to(np.float64(1), (2, 2, 2))
    counted = (x, y, plan, stretched)
    before = [sys.getrefcount(each) for each in counted]
    for _ in range(50):
        pooling._largest_by_core(x, plan)
        pooling_numpy._averages_by_core(x, plan, 4)
        for g in (y, stretched):
            pooling_numpy._shares_of_blocks(g, plan, None, (4, 4))
            given_back(g, x, plan, None, None)
    del g
    assert [sys.getrefcount(each) for each in counted] == before
