"""Indices on arrays of other libraries, of which the standard knows but few: all that NumPy takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dispatchkit as dk
from dispatchkit.backends.arrays import namespace_of
from tests.test_foreign_arrays import Make, make

__all__ = ["make"]

SHAPE = (3, 1, 4)
X = np.arange(12.0).reshape(SHAPE)


@st.composite
def keys(draw: st.DrawFn) -> Any:
    """Draw an index with arrays, lists and masks among slices, integers and new axes."""
    form = draw(st.sampled_from(["basic", "integers", "mask", "mixed"]))
    if form == "basic":
        return draw(hnp.basic_indices(SHAPE, allow_newaxis=True, max_dims=6))
    if form == "integers":
        return draw(hnp.integer_array_indices(SHAPE))
    if form == "mask":
        return draw(hnp.arrays(bool, draw(st.sampled_from([SHAPE, SHAPE[:2], SHAPE[:1], ()]))))
    shape = draw(st.sampled_from([(2,), (1, 2), ()]))
    parts: list[Any] = []
    for n in SHAPE:
        whole = st.integers(-n, n - 1)
        array = hnp.arrays(np.int64, draw(st.sampled_from([shape, (1,)])), elements=whole)
        listed = st.lists(whole, min_size=2, max_size=2) if shape == (2,) else whole
        parts.append(draw(st.one_of(array, whole, st.slices(n), listed)))
        if draw(st.integers(0, 4)) == 0:
            parts.append(None)
    length = draw(st.integers(1, len(parts)))
    return (*parts[:length], ...) if draw(st.booleans()) else tuple(parts[:length])


def of_library(key: Any, make: Make) -> Any:
    """Return an index with tensors of a library for its arrays."""
    if isinstance(key, tuple):
        return tuple(of_library(part, make) for part in key)
    return dk.Tensor(make(key)) if isinstance(key, np.ndarray) else key


@given(key=keys())
def check_selection(make: Make, key: Any) -> None:
    x = dk.Tensor(make(X), requires_grad=True)
    y = x[of_library(key, make)]
    np.testing.assert_array_equal(y.detach().numpy(), X[key])
    assert y.shape == X[key].shape
    weights = np.random.default_rng(0).integers(1, 9, size=y.shape).astype(float)
    y.backward(dk.Tensor(make(weights)))
    expected = np.zeros(SHAPE)
    np.add.at(expected, key, weights)
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), expected)


@given(key=keys())
def check_assignment(make: Make, key: Any) -> None:
    values = np.random.default_rng(0).integers(20, 90, size=X[key].shape).astype(float)
    expected = X.copy()
    expected[key] = values
    x = dk.Tensor(make(X))
    put = dk.index_put(x, of_library(key, make), dk.Tensor(make(values)))
    np.testing.assert_array_equal(put.numpy(), expected)
    np.testing.assert_array_equal(x.numpy(), X)
    if not namespace_of(x.array).mutable:
        return
    changed = dk.tensor(x)
    changed[of_library(key, make)] = dk.Tensor(make(values))
    np.testing.assert_array_equal(changed.numpy(), expected)


def test_selection_is_that_of_numpy(make: Make) -> None:
    check_selection(make)


def test_assignment_is_that_of_numpy(make: Make) -> None:
    check_assignment(make)


def test_many_values_for_one_element_are_added_up(make: Make) -> None:
    places = np.random.default_rng(0).integers(0, 5, size=1000)
    values = np.random.default_rng(1).normal(size=1000)
    expected = np.zeros(7)
    np.add.at(expected, places, values)
    found = dk.index_put(
        dk.Tensor(make(np.zeros(7))), dk.Tensor(make(places)), dk.Tensor(make(values)), accumulate=True
    )
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_a_bad_value_does_not_reach_other_elements(make: Make) -> None:
    places, values = np.asarray([0, 1, 1, 2]), np.asarray([1.0, np.nan, 1.0, 2.0])
    zeros = dk.Tensor(make(np.zeros(3)))
    found = dk.index_put(zeros, dk.Tensor(make(places)), dk.Tensor(make(values)), accumulate=True)
    np.testing.assert_array_equal(found.numpy(), [1.0, np.nan, 2.0])


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (3, "index 3 is out of bounds for axis 0 with size 3"),
        ((0, 0, -5), "index -5 is out of bounds for axis 2 with size 4"),
        ([0, 3], "an index is out of bounds for axis 0 with size 3"),
        ((0, 0, 0, 0), "too many indices: the array has 3 axes, 4 were indexed"),
        ((..., 0, ...), "an index can have a single ellipsis"),
        ([True, False], r"a mask of shape \(2,\) does not fit the axes from 0 on of \(3, 1, 4\)"),
        (([0, 1], 0, [0, 1, 2]), r"index arrays of shapes \(2,\), \(3,\) do not broadcast"),
        (1.5, "1.5 is no index"),
    ],
)
def test_what_is_no_index_is_refused(key: Any, message: str, make: Make) -> None:
    with pytest.raises(IndexError, match=message):
        dk.Tensor(make(X))[key]
