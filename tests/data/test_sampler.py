"""Samplers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.data import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

ANY: Any = dk.data


def test_in_order() -> None:
    sampler = SequentialSampler("abcd")
    assert list(sampler) == list(sampler) == [0, 1, 2, 3]
    assert len(sampler) == 4


@given(n=st.integers(1, 20), count=st.integers(1, 50))
def test_random_orders(n: int, count: int) -> None:
    sampler = RandomSampler(range(n), num_samples=count, generator=dk.Generator(0))
    drawn = list(sampler)
    assert len(drawn) == len(sampler) == count
    times = Counter(drawn)
    assert set(times) <= set(range(n))
    assert max(times.values()) - min(times[i] for i in range(n)) <= 1


def test_with_replacement() -> None:
    drawn = list(RandomSampler(range(5), replacement=True, num_samples=500, generator=dk.Generator(0)))
    assert sorted(set(drawn)) == [0, 1, 2, 3, 4]
    assert len(drawn) == 500
    assert all(60 < count < 140 for count in Counter(drawn).values())


def test_a_subset() -> None:
    sampler = SubsetRandomSampler([7, 3, 9], generator=dk.Generator(1))
    assert sorted(sampler) == [3, 7, 9]
    assert len(sampler) == 3


def test_weights() -> None:
    drawn = Counter(WeightedRandomSampler([1, 0, 3], 2000, generator=dk.Generator(0)))
    assert drawn[1] == 0
    assert drawn[2] / drawn[0] == pytest.approx(3.0, rel=0.2)
    sampler = WeightedRandomSampler(dk.tensor([1.0, 2.0, 0.0, 4.0]), 3, replacement=False, generator=dk.Generator(0))
    assert sorted(sampler) == [0, 1, 3]
    assert len(sampler) == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda generator: RandomSampler(range(30), generator=generator),
        lambda generator: RandomSampler(range(30), replacement=True, generator=generator),
        lambda generator: SubsetRandomSampler(range(30), generator=generator),
        lambda generator: WeightedRandomSampler(np.ones(30), 30, generator=generator),
    ],
)
def test_repeatable(make: Callable[[Any], Any]) -> None:
    first = make(dk.Generator(4))
    one, two = list(first), list(first)
    assert one != two
    assert list(make(dk.Generator(4))) == one
    dk.manual_seed(11)
    one = list(make(None))
    dk.manual_seed(11)
    assert list(make(None)) == one


@given(n=st.integers(0, 20), size=st.integers(1, 7), drop=st.booleans())
def test_batches(n: int, size: int, drop: bool) -> None:
    sampler = BatchSampler(range(n), size, drop)
    batches = list(sampler)
    assert len(batches) == len(sampler)
    assert [i for batch in batches for i in batch] == list(range(n - n % size if drop else n))
    assert all(len(batch) == size for batch in batches[:-1])


def test_batches_of_an_iterator() -> None:
    assert list(BatchSampler((i for i in range(3)), 2, False)) == [[0, 1], [2]]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: ANY.RandomSampler(range(3), num_samples=0),
            ValueError,
            "should be a positive integer",
        ),
        (lambda: ANY.RandomSampler([]), ValueError, r"num_samples=0 \(RandomSampler\)"),
        (
            lambda: ANY.RandomSampler(range(3), 1),
            TypeError,
            "should be a boolean value, but got replacement=1",
        ),
        (
            lambda: ANY.RandomSampler(range(3), generator=np.random.default_rng()),
            TypeError,
            "RandomSampler: generator must be a dispatchkit.Generator, not Generator",
        ),
        (lambda: ANY.SubsetRandomSampler([1], generator=3), TypeError, "SubsetRandomSampler: generator must be"),
        (lambda: ANY.WeightedRandomSampler([1.0], True), ValueError, "num_samples should be a positive integer"),
        (lambda: ANY.WeightedRandomSampler([1.0], 1, 1), TypeError, "replacement should be a boolean"),
        (
            lambda: ANY.WeightedRandomSampler([[1.0]], 1),
            ValueError,
            r"given weights have shape \(1, 1\)",
        ),
        (lambda: ANY.WeightedRandomSampler([1.0, -1.0], 1), ValueError, "must be finite, not negative"),
        (lambda: ANY.WeightedRandomSampler([0.0], 1), ValueError, "some of them positive"),
        (
            lambda: ANY.WeightedRandomSampler([1.0, 0.0], 2, replacement=False),
            ValueError,
            "cannot draw num_samples=2 without replacement: 1 weights are positive",
        ),
        (lambda: ANY.BatchSampler(range(3), 0, False), ValueError, r"batch_size=0 \(BatchSampler\)"),
        (lambda: ANY.BatchSampler(range(3), 2.0, False), ValueError, "batch_size=2.0"),
        (
            lambda: ANY.BatchSampler(range(3), 2, 1),
            TypeError,
            "should be a boolean value, but got drop_last=1",
        ),
        (lambda: iter(ANY.Sampler()), NotImplementedError, r"Sampler does not define __iter__"),
    ],
)
def test_what_is_refused(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
