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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # of threads of other tests
def test_a_forked_process_numbers_sources_anew() -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, str(fresh_id()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = int(os.read(reading, 100))
    assert abs(theirs - fresh_id()) > 1000
