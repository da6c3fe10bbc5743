"""Layouts: which elements two arrays have in common, compared with arrays that hold the numbers of their elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dispatchkit.graph.storage import Strides, shared_elements

SLICES = st.builds(slice, st.integers(-3, 3) | st.none(), st.none(), st.sampled_from([1, 2, -1, -2]))
STEPS = st.one_of(
    st.tuples(st.just("index"), st.tuples(SLICES, SLICES)),
    st.tuples(st.just("index"), st.tuples(st.integers(0, 1), st.just(Ellipsis))),
    st.tuples(st.just("transpose"), st.none()),
    st.tuples(st.just("new axis"), st.none()),
    st.tuples(st.just("diagonal"), st.none()),
    st.tuples(st.just("stretch"), st.none()),
)


def view(a: Any, steps: list[tuple[str, Any]]) -> Any:
    for name, key in steps:
        try:
            if name == "index":
                a = a[key]
            elif name == "transpose":
                a = a.T
            elif name == "new axis":
                a = a[:, None]
            elif name == "diagonal":
                a = np.diagonal(a)
            else:
                a = np.broadcast_to(a, (2, *a.shape))
        except (IndexError, ValueError):
            continue
    return a


@given(st.lists(STEPS, max_size=4), st.lists(STEPS, max_size=4))
def test_common_elements_are_those_with_the_same_number(first: list[Any], second: list[Any]) -> None:
    numbered = np.arange(4 * 3 * 5).reshape(4, 3, 5)
    a, b = view(numbered, first), view(numbered, second)
    one, other = Strides(a), Strides(b)
    numbers, others = a.reshape(-1), b.reshape(-1)
    if one.decodable:
        assert one.covers(other) == set(numbers).issuperset(others)
    if one.decodable or other.decodable:
        here, there = shared_elements(one, other)
        expected = set(numbers).intersection(others)
        assert set(numbers[here]) == set(others[there]) == expected
        np.testing.assert_array_equal(numbers[here], others[there])
        repeated = max(np.isin(numbers, list(expected)).sum(), np.isin(others, list(expected)).sum())
        assert len(here) == repeated


@given(st.lists(STEPS, max_size=4))
def test_an_address_tells_the_index_unless_elements_coincide(steps: list[Any]) -> None:
    a = view(np.arange(4 * 3 * 5).reshape(4, 3, 5), steps)
    assert Strides(a).decodable == (len(set(a.reshape(-1))) == a.size)


def test_arrays_of_different_memory_have_nothing_in_common() -> None:
    here, there = shared_elements(Strides(np.zeros((2, 3))), Strides(np.zeros(4)))
    assert here.size == there.size == 0


def test_parts_of_complex_numbers_lie_along_a_last_axis() -> None:
    a = (np.arange(12.0) + 1j).reshape(3, 4)[:, ::2]
    parts = Strides(a, in_parts=True)
    here, there = shared_elements(parts, Strides(a.imag))
    assert parts.shape == (3, 2, 2)
    assert parts.covers(Strides(a.imag))
    assert here.tolist() == [1, 3, 5, 7, 9, 11]
    assert there.tolist() == [0, 1, 2, 3, 4, 5]
