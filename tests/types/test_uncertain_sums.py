"""Uncertain numbers whose sources are added up when they are asked for."""

from __future__ import annotations

import copy
import gc
import math
import os
import pickle
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import UncertainTensor
from dispatchkit.types.uncertain import covariance
from dispatchkit.types.uncertain_sources import fresh_id
from tests.protocol.support import steps_of


def numbers(n: int) -> list[UncertainTensor]:
    return [UncertainTensor(float(place), 0.1) for place in range(n)]


def total_of(n: int) -> Any:
    return sum(numbers(n))


@pytest.mark.parametrize("read", [lambda total: total, lambda total: total.std], ids=["added", "read"])
def test_a_sum_of_numbers_takes_steps_as_many_as_numbers(read: Any) -> None:
    few, many = numbers(500), numbers(4000)
    assert steps_of(lambda: read(sum(many))) < 9 * steps_of(lambda: read(sum(few)))


def test_long_chains_are_added_up_pickled_and_freed_without_recursion() -> None:
    first, *others = numbers(8_000)
    total: Any = sum(others)  # of as many sources, so that as many sums wait
    for _ in range(12_000):
        total = total + first
    copies = [pickle.loads(pickle.dumps(total)), copy.copy(total), copy.deepcopy(total)]
    assert all(float((other - total).std) == 0 for other in copies)
    total = sum(others)
    for _ in range(12_000):
        total = total + first
    del total
    gc.collect()


def test_a_recurrence_keeps_no_more_than_its_sources() -> None:
    x, y = numbers(2)

    def steps(count: int) -> None:
        z = x
        for _ in range(count):
            z = z * 0.5 + y

    steps(100)
    tracemalloc.start()
    try:
        steps(500)
        before = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        steps(5000)
        assert tracemalloc.get_traced_memory()[1] < 2 * before
    finally:
        tracemalloc.stop()


def test_numbers_met_on_two_ways_stay_correlated() -> None:
    x, y = numbers(2)
    a, b = x + y, x - y
    both = a * 2.0 + b * 3.0
    assert math.isclose(float(both.std), 0.1 * math.hypot(5, 1))
    assert float((both - 5.0 * x + y).std) < 1e-15
    a.std  # noqa: B018  # a sum in the middle is known
    np.testing.assert_allclose(covariance(a, both).numpy(), [[0.01 * (5 - 1)]])


def test_what_does_not_vary_adds_nothing_however_steep() -> None:
    zero, exact = UncertainTensor(0.0, 0.1), UncertainTensor(0.0, 0.0)
    with np.errstate(divide="ignore"):
        steep, of_zero = dk.sqrt(exact), dk.sqrt(zero)  # of slope inf
    assert float((steep + zero).std) == 0.1
    assert float((of_zero * 0.0 + zero).std) == 0.1
    assert math.isinf(float((of_zero + 1.0).std))


def test_attributes_are_as_of_numbers_that_are_read_at_once() -> None:
    x, y = numbers(2)
    z = x * y + x
    assert z.factor.shape == (2,)
    assert z.sources.ids.shape == (2,)
    assert "_waiting" not in vars(z)
    w = z.reshape((1,))
    v = w * w
    assert (v.factor.shape, v.sources.ids.shape) == ((2, 1), (2, 1))
    with pytest.raises(AttributeError, match="UncertainTensor object has no attribute 'factor'"):
        object.__new__(UncertainTensor).factor  # noqa: B018


def test_one_sum_read_in_several_threads_is_the_same() -> None:
    total = total_of(2000)
    found: list[float] = []
    half = total * 0.5
    threads = [threading.Thread(target=lambda of: found.append(float(of.std)), args=(of,)) for of in [total, half] * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = 0.1 * math.sqrt(2000)
    np.testing.assert_allclose(sorted(found), [expected / 2] * 4 + [expected] * 4)


def test_parts_of_an_array_are_as_its_elements() -> None:
    x = UncertainTensor(np.arange(6.0), np.arange(6.0) / 10)
    part = x[::2]
    np.testing.assert_allclose(part.std.numpy(), [0.0, 0.2, 0.4])
    assert float((part[1] - x[2]).std) == 0
    again = pickle.loads(pickle.dumps(x[1:5][::3]))
    np.testing.assert_array_equal((again - x[1:5:3]).std.numpy(), [0.0, 0.0])
    assert vars(again).keys() == {"data", "factor", "sources"}


PARTS: dict[str, Any] = {
    "an index": lambda x: x[1:3],
    "an array of places": lambda x: x[np.asarray([1, 2])],
    "a mask": lambda x: x[dk.asarray([False, True, True, False])],
    "a change of shape": lambda x: x.reshape((2, 2, 2)),
    "a transpose": lambda x: x.T,
    "one more axis": lambda x: dk.expand_dims(x, axis=1),
    "another order": lambda x: dk.flip(x),
    "other places": lambda x: dk.roll(x, 1),
    "rows": lambda x: list(x)[2],
}
VIEWS = ("an index", "a change of shape", "a transpose", "one more axis", "another order", "rows")


@pytest.mark.parametrize("sources", ["own", "common"])
@pytest.mark.parametrize("name", PARTS)
def test_what_is_asked_of_a_part_later_is_as_it_was(name: str, sources: str) -> None:
    values = np.arange(8.0).reshape(4, 2)
    x = UncertainTensor(values.copy(), 0.1 + values)
    if sources == "common":
        x = dk.cumulative_sum(x, axis=0)
    expected = PARTS[name](x.data)
    part, same = PARTS[name](x), PARTS[name](x)
    assert part.data.tolist() == expected.tolist()
    assert float(dk.max(dk.abs((part - same).std))) == 0
    std = PARTS[name](x.std)
    np.testing.assert_allclose(part.std.numpy(), std.numpy())
    again = pickle.loads(pickle.dumps(PARTS[name](x)))
    np.testing.assert_array_equal((again - part).std.numpy(), np.zeros(part.shape))
    assert vars(again).keys() == {"data", "factor", "sources"}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_shows_the_numbers_shows_their_changes_and_a_copy_does_not(name: str) -> None:
    x = UncertainTensor(np.arange(8.0).reshape(4, 2), 0.1)
    part, before = PARTS[name](x), PARTS[name](x.data).tolist()
    x.data += 1.0
    changed = PARTS[name](x.data).tolist()
    assert part.data.tolist() == (changed if name in VIEWS else before)
    if name in VIEWS:
        part = PARTS[name](x)
        part.data[...] = -1.0
        assert -1.0 in x.data.numpy()


@pytest.mark.parametrize("name", VIEWS)
def test_a_part_of_numbers_with_other_contents_since_has_those_of_before(name: str) -> None:
    x = UncertainTensor(np.arange(8.0).reshape(4, 2), 0.1)
    part, before = PARTS[name](x), PARTS[name](x.data).tolist()
    x.data.data = dk.zeros(8)
    assert part.data.tolist() == before


@pytest.mark.parametrize("name", VIEWS)
def test_a_part_that_was_chosen_before_numbers_became_a_leaf_is_outside_of_the_graph(name: str) -> None:
    x = UncertainTensor(np.arange(8.0).reshape(4, 2), 0.1)
    part = PARTS[name](x)
    x.data.requires_grad_()
    assert not part.data.requires_grad
    assert PARTS[name](x).data.requires_grad


def test_places_and_standard_deviations_that_change_later_change_no_copy() -> None:
    x, places = UncertainTensor(np.arange(4.0), np.arange(4.0)), np.asarray([1, 2])
    part = x[places]
    places[...] = 0
    x.factor[...] = 9.0
    assert (part.data.tolist(), part.std.tolist()) == ([1.0, 2.0], [1.0, 2.0])


@pytest.mark.parametrize("key", [np.asarray([9]), np.asarray([0.5]), 9], ids=repr)
def test_an_index_that_does_not_fit_raises_at_once(key: Any) -> None:
    with pytest.raises(IndexError, match="getitem"):
        UncertainTensor(np.arange(4.0), 0.1)[key]


@pytest.mark.parametrize("args", [((3, 3),), ((-1, 5),), (("2", 4),)], ids=repr)
def test_a_move_that_does_not_fit_raises_at_once(args: Any) -> None:
    x = np.arange(8.0)
    with pytest.raises((ValueError, TypeError)) as plain:
        dk.reshape(dk.asarray(x), *args)
    with pytest.raises(plain.type) as found:
        dk.reshape(UncertainTensor(x, 0.1), *args)
    assert str(found.value) == str(plain.value)


@pytest.mark.parametrize(
    ("take", "most"),
    [
        (lambda x: x[1], 36),
        (lambda x: x[np.asarray([2, 1])], 44),
        (lambda x: x.reshape((2, 2)), 80),
        (list, 74),
    ],
    ids=["element", "places", "shape", "rows"],
)
def test_a_part_of_which_nothing_is_asked_takes_few_steps(take: Any, most: int) -> None:
    x = UncertainTensor(np.arange(4.0), 0.1)
    take(x)
    assert steps_of(lambda: take(x)) < most


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # of threads of other tests
@pytest.mark.filterwarnings("ignore:.*_at_fork:pytest.PytestUnraisableExceptionWarning")  # of JAX
@pytest.mark.filterwarnings("ignore:os.fork.. was called:RuntimeWarning")
def test_a_forked_process_numbers_sources_anew() -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, str(fresh_id()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = int(os.read(reading, 100))
    assert abs(theirs - fresh_id()) > 1000
