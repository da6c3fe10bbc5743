"""Loops of the compiled core over arrays: they give what the functions of Python give in whose place they stand."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from fractions import Fraction
from math import exp, pi, sqrt
from typing import Any, NamedTuple

import hypothesis.extra.numpy as arrays_of
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.accelerator import computed_by, core
from dispatchkit.backends import numpy as numpy_backend
from dispatchkit.backends import numpy_special, numpy_sums
from dispatchkit.nn.functional import activations_numpy, smooth_numpy
from dispatchkit.ops import special
from dispatchkit.ops.elementwise import exponential
from dispatchkit.ops.indexing import selecting
from dispatchkit.ops.searching import ranks_numpy

pytestmark = pytest.mark.skipif(core is None, reason="the compiled core is not in use")

SPECIAL = [0.0, -0.0, 1.0, -3.0, 3.0, 6.0, 1e-310, 1e300, -1e300, 750.0, -750.0, np.inf, -np.inf, np.nan]


class Loop(NamedTuple):
    """A function whose place a loop takes, and what it is called with behind arrays of one shape."""

    name: str
    function: Any
    takes: int
    rest: tuple[Any, ...] = ()


def _ndtr(x: Any) -> Any:
    return special.scipy_function("ndtr")(x)


EXACT = [
    Loop("hardswish", activations_numpy.hardswish, 1),
    Loop("hardswish_slope", activations_numpy.hardswish_slope, 2),
    Loop("sigmoid", exponential._sigmoid_of_numpy, 1),
    Loop("sigmoid_slope", exponential._sigmoid_slope, 2),
    Loop("silu", smooth_numpy.silu, 1),
    Loop("silu_slope", smooth_numpy.silu_slope, 2),
    Loop("elu_slope", activations_numpy.elu_slope, 2, (1.5, 0.5)),
    Loop("softplus_slope", smooth_numpy.softplus_slope, 2, (20.0,)),
    Loop("error_function_slope", special._erf_slope, 2),
    Loop("cumulative_sum", numpy_sums.cumulative_sum, 1, (-1, False)),
]
CLOSE = [
    Loop("gelu_by", smooth_numpy.gelu_by, 1, (_ndtr,)),
    Loop("gelu_slope_by", smooth_numpy.gelu_slope_by, 2, (_ndtr, 40.0)),
    Loop("error_function", special._erf_of_doubles, 1, (lambda x: special.scipy_function("erf")(x),)),
]
shapes = arrays_of.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)
dtypes = st.sampled_from([np.float64, np.float32])
elements = st.one_of(st.floats(-40, 40), st.sampled_from(SPECIAL))


def python_of(function: Any) -> Callable[..., Any]:
    """Return the function of Python that stands behind a loop."""
    behind: Callable[..., Any] = function.__self__
    return behind


def outcome(function: Callable[..., Any], *args: Any) -> tuple[Any, list[str]]:
    """Return what a call gives, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = function(*args)
    return y, sorted({str(warning.message).split(" encountered")[0] for warning in caught})


def assert_same(y: Any, expected: Any, rtol: float = 0.0) -> None:
    assert type(y) is type(expected)
    assert y.dtype is expected.dtype
    assert y.shape == expected.shape
    if rtol:
        np.testing.assert_allclose(y, expected, rtol=rtol, atol=1e-300)
    else:
        np.testing.assert_array_equal(y, expected)
        numbers = ~np.isnan(y)
        np.testing.assert_array_equal(np.signbit(y[numbers]), np.signbit(expected[numbers]))


def arrays(data: st.DataObject, count: int, dtype: Any) -> list[Any]:
    """Draw arrays of a shape, contiguous, in another order, or every second element of longer ones."""
    shape = data.draw(shapes)
    made = []
    for _ in range(count):
        x = data.draw(arrays_of.arrays(np.float64, shape, elements=elements))
        with np.errstate(all="ignore"):
            x = x.astype(dtype)
        order = data.draw(st.sampled_from(["C", "F", "steps", "stretched"]))
        if order == "F":
            x = np.asfortranarray(x)
        elif order == "steps":
            x = np.repeat(x, 2, axis=-1)[..., ::2]
        elif order == "stretched" and x.size:
            x = np.broadcast_to(x.reshape(-1)[0], shape)
        made.append(x)
    return made


@pytest.mark.parametrize("loop", EXACT, ids=lambda loop: loop.name)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_loop_gives_what_python_gives(loop: Loop, data: st.DataObject) -> None:
    args = (*arrays(data, loop.takes, data.draw(dtypes)), *loop.rest)
    y, warned = outcome(loop.function, *args)
    expected, expected_warnings = outcome(python_of(loop.function), *args)
    assert_same(y, expected)
    assert warned == expected_warnings


@pytest.mark.parametrize("loop", CLOSE, ids=lambda loop: loop.name)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_loop_of_its_own_polynomials_is_close_to_scipy(loop: Loop, data: st.DataObject) -> None:
    pytest.importorskip("scipy")
    args = (*arrays(data, loop.takes, np.float64), *loop.rest)
    y, warned = outcome(loop.function, *args)
    expected, expected_warnings = outcome(python_of(loop.function), *args)
    # SciPy's own errors grow with the square of the distance.
    assert_same(y, expected, rtol=2e-12)
    assert warned == expected_warnings


def test_far_from_zero_gelu_is_as_precise_as_its_dtype() -> None:
    x = np.asarray([-8.0, -12.5, -20.3, -37.0])
    expected = [_gelu_by_continued_fraction(each) for each in x.tolist()]
    np.testing.assert_allclose(smooth_numpy.gelu_by(x, None), expected, rtol=3e-15)


def _gelu_by_continued_fraction(x: float) -> float:
    """Return GELU far below 0, where what lies beyond is the density divided by a + 1 / (a + 2 / (a + ...))."""
    a = Fraction(-x)
    tail = a
    for k in range(60, 0, -1):
        tail = a + Fraction(k) / tail
    exponent = a * a / 2
    nearest = float(exponent)
    density = exp(-nearest) * (1 - float(exponent - Fraction(nearest)))
    return x * density / sqrt(2 * pi) / float(tail)


@np.errstate(all="ignore")
def test_in_single_precision_gelu_is_that_of_python_to_few_digits() -> None:
    x = np.concatenate([np.linspace(-13, 13, 40_001), [0.0, -0.0, 40.5, -40.5, 3e38, -3e38, np.inf, -np.inf, np.nan]])
    x = x.astype(np.float32)
    g = np.linspace(-2, 2, x.size, dtype=np.float32)
    y, expected = smooth_numpy.gelu(x), python_of(smooth_numpy.gelu)(x)
    np.testing.assert_allclose(y, expected, rtol=2e-6, atol=1e-38)
    slope, expected = smooth_numpy.gelu_slope(g, x), python_of(smooth_numpy.gelu_slope)(g, x)
    np.testing.assert_allclose(slope, expected, rtol=0, atol=2e-6)


def test_single_precision_gives_the_same_bits_of_the_error_function() -> None:
    x = np.linspace(-6, 6, 5000, dtype=np.float32)
    np.testing.assert_array_equal(numpy_special.erf(x), python_of(numpy_special.erf)(x))


def refused(*args: Any) -> Any:
    """Stand where Python computes, which is not to happen."""
    raise AssertionError("left to Python")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loop", [*EXACT, *CLOSE], ids=lambda loop: loop.name)
def test_contiguous_numbers_are_computed_by_the_loop(loop: Loop, dtype: Any) -> None:
    if dtype is np.float32 and loop.name.startswith("gelu"):
        pytest.skip("only in double precision")
    first = computed_by(loop.name)(refused)
    x = np.linspace(-2, 2, 30000, dtype=dtype).reshape(300, 100)
    assert first(*[x] * loop.takes, *loop.rest).shape == x.shape
    with pytest.raises(AssertionError, match="left to Python"):
        first(*[x.astype(np.float16)] * loop.takes, *loop.rest)


@pytest.mark.parametrize("loop", EXACT, ids=lambda loop: loop.name)
def test_where_numpy_would_raise_python_does(loop: Loop) -> None:
    x = np.asarray([1e308, 1e308, -np.inf, np.inf, 5e-324])
    for args in ([x] * loop.takes, [x[::-1].copy()] * loop.takes):
        found = []
        for function in (loop.function, python_of(loop.function)):
            with np.errstate(all="raise"):
                try:
                    found.append(function(*args, *loop.rest).tolist())
                except FloatingPointError as error:
                    found.append(str(error).split(" encountered")[0])
        np.testing.assert_array_equal(*found)


@settings(deadline=None)
@given(data=st.data(), backward=st.booleans())
def test_sums_up_to_each_element_are_those_of_numpy(data: st.DataObject, backward: bool) -> None:
    (x,) = arrays(data, 1, data.draw(dtypes))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    y, warned = outcome(numpy_sums.cumulative_sum, x, axis, backward)
    expected, expected_warnings = outcome(python_of(numpy_sums.cumulative_sum), x, axis, backward)
    assert_same(y, expected)
    assert warned == expected_warnings


@pytest.mark.parametrize("axis", [2, -3, 10**30])
def test_an_axis_out_of_bounds_is_for_python_to_name(axis: int) -> None:
    with pytest.raises((np.exceptions.AxisError, OverflowError)):
        numpy_sums.cumulative_sum(np.ones((2, 3)), axis, False)
    with pytest.raises((IndexError, ValueError, OverflowError)):
        dk.cumulative_sum(dk.ones((2, 3)), axis=axis)


@settings(deadline=None)
@given(data=st.data(), dtype=st.sampled_from([np.float64, np.float32]))
def test_rows_are_added_at_their_places(data: st.DataObject, dtype: Any) -> None:
    rows, width = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 4))
    places = data.draw(arrays_of.arrays(np.int64, shapes, elements=st.integers(-rows, rows - 1)))
    g = np.random.default_rng(0).normal(size=(*places.shape, width)).astype(dtype)
    add = numpy_backend.rows_added
    assert_same(add(g, places, (rows, width)), python_of(add)(g, places, (rows, width)))
    stretched = np.broadcast_to(g.dtype.type(0.5), g.shape)
    assert_same(add(stretched, places, (rows, width)), python_of(add)(stretched, places, (rows, width)))


@settings(deadline=None)
@given(data=st.data(), dtype=st.sampled_from([np.float64, np.float32]))
def test_elements_are_added_at_their_places(data: st.DataObject, dtype: Any) -> None:
    shape, axis = data.draw(arrays_of.array_shapes(max_dims=3, max_side=4)), data.draw(st.integers(-3, 2))
    axis %= len(shape)
    n = data.draw(st.integers(0, 5))
    of_places = (*shape[:axis], n, *shape[axis + 1 :])
    places = data.draw(arrays_of.arrays(np.int64, of_places, elements=st.integers(-shape[axis], shape[axis] - 1)))
    g = np.random.default_rng(0).normal(size=of_places).astype(dtype)
    add = numpy_backend.elements_added
    assert_same(add(g, places, shape, axis), python_of(add)(g, places, shape, axis))
    longer = tuple(n + 1 for n in shape)
    assert_same(add(g, places, longer, axis), python_of(add)(g, places, longer, axis))


@pytest.mark.parametrize("place", [3, -4])
def test_places_out_of_range_are_refused_as_by_numpy(place: int) -> None:
    places, g = np.asarray([0, place]), np.ones((2, 2))
    with pytest.raises(IndexError):
        numpy_backend.rows_added(g, places, (3, 2))
    with pytest.raises(IndexError):
        numpy_backend.elements_added(g, np.stack([places, places], 1), (3, 2), 0)


@pytest.mark.parametrize("take", [lambda x, i: x[i], lambda x, i: dk.take(x, i, axis=0)])
def test_what_is_taken_twice_gets_both_cotangents(take: Callable[..., Any]) -> None:
    x = dk.asarray(np.arange(6.0).reshape(3, 2), requires_grad=True)
    (take(x, dk.asarray([0, 2, 0, -1])) * dk.asarray(np.arange(8.0).reshape(4, 2))).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[4.0, 6.0], [0.0, 0.0], [8.0, 10.0]]


def test_what_is_gathered_twice_gets_both_cotangents() -> None:
    x = dk.asarray(np.arange(6.0).reshape(3, 2), requires_grad=True)
    dk.gather(x, 1, dk.asarray([[1, 1], [0, 1]])).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.0, 2.0], [1.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize(("shape", "of_places"), [((1, 3), (4, 3)), ((4, 3), (1, 3)), ((4, 3), (4, 1))])
def test_what_is_taken_along_an_axis_may_be_stretched(shape: Any, of_places: Any) -> None:
    x, places = dk.asarray(np.ones(shape), requires_grad=True), dk.zeros(of_places, dtype=dk.int64)
    y = dk.take_along_axis(x, places, axis=1)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.sum().item() == y.size


def test_other_arguments_are_for_python() -> None:
    assert_same(activations_numpy.hardswish(x=np.asarray([4.0])), np.asarray([4.0]))
    with pytest.raises(TypeError):
        numpy_sums.cumulative_sum()  # type: ignore[call-arg]
    with pytest.raises(KeyError, match="there is no loop of the name 'nothing'"):
        computed_by("nothing")(refused)


@pytest.mark.parametrize("loop", [*EXACT, *CLOSE], ids=lambda loop: loop.name)
def test_calls_keep_no_reference(loop: Loop) -> None:
    pytest.importorskip("scipy")
    x = np.linspace(-2, 2, 500)
    counted = [x, x[::2], x.astype(np.float32)]
    before = [sys.getrefcount(each) for each in (*counted, loop.function, python_of(loop.function))]
    for each in counted * 20:
        loop.function(*[each] * loop.takes, *loop.rest)
    del each
    assert [sys.getrefcount(each) for each in (*counted, loop.function, python_of(loop.function))] == before


def test_threads_compute_many_numbers_each_for_itself() -> None:
    x, results = np.linspace(-5, 5, 200_000), {}

    def compute(number: int) -> None:
        results[number] = smooth_numpy.silu(x + number)

    threads = [threading.Thread(target=compute, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, y in results.items():
        np.testing.assert_array_equal(y, python_of(smooth_numpy.silu)(x + number))


@settings(deadline=None)
@given(data=st.data(), dtype=st.sampled_from([np.float64, np.float32]))
def test_elements_are_taken_at_their_places(data: st.DataObject, dtype: Any) -> None:
    shape, axis = data.draw(arrays_of.array_shapes(max_dims=3, max_side=4)), data.draw(st.integers(0, 2))
    axis %= len(shape)
    of_places = (*shape[:axis], data.draw(st.integers(0, 5)), *shape[axis + 1 :])
    length = shape[axis]
    places = data.draw(arrays_of.arrays(np.int64, of_places, elements=st.integers(-length - 1, length)))
    x, take = np.random.default_rng(0).normal(size=shape).astype(dtype), selecting._elements_at
    try:
        expected = python_of(take)(x, places, axis)
    except IndexError:
        with pytest.raises(IndexError):
            take(x, places, axis)
        return
    assert_same(take(x, places, axis), expected)
    assert_same(take(np.asfortranarray(x), places, axis), expected)


@settings(deadline=None, max_examples=150)
@given(data=st.data(), dtype=st.sampled_from([np.float64, np.float32]), largest=st.booleans())
def test_first_ranks_are_those_of_a_sort(data: st.DataObject, dtype: Any, largest: bool) -> None:
    few = st.sampled_from([0.0, -0.0, 1.0, 2.0, -1.0, np.inf, -np.inf, np.nan])
    x = data.draw(arrays_of.arrays(dtype, arrays_of.array_shapes(max_dims=3, min_side=0, max_side=50), elements=few))
    count = data.draw(st.integers(0, x.shape[-1]))
    values, places = ranks_numpy.first_of_rows(x, count, largest)
    expected_values, expected_places = python_of(ranks_numpy.first_of_rows)(x, count, largest)
    assert_same(values, expected_values)
    assert places.dtype is expected_places.dtype
    np.testing.assert_array_equal(places, expected_places)


def test_ranks_of_contiguous_rows_are_found_by_the_loop() -> None:
    first = computed_by("first_of_rows")(refused)
    values, places = first(np.asarray([[1.0, 3.0, np.nan, 3.0]]), 3, True)
    assert places.tolist() == [[2, 1, 3]]
    assert np.isnan(values[0, 0])
    for args in ((np.ones(40), 33, True), (np.ones(4), 5, True), (np.ones(()), 1, True), (np.ones(4), 0, False)):
        with pytest.raises(AssertionError, match="left to Python"):
            first(*args)


def test_ranks_and_elements_keep_no_reference() -> None:
    x, places = np.ones((3, 4)), np.zeros((3, 4), np.int64)
    before = [sys.getrefcount(each) for each in (x, places)]
    for _ in range(50):
        ranks_numpy.first_of_rows(x, 2, True)
        selecting._elements_at(x, places, 1)
        numpy_backend.elements_added(x, places, (3, 4), 1)
        numpy_backend.rows_added(x.T, places[0], (4, 3))
    assert [sys.getrefcount(each) for each in (x, places)] == before
