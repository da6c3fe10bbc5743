"""Data sets and how they are split and joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.data import ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset, random_split


class Numbers(Dataset[int]):
    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: Any) -> int:
        return 10 * int(index)


def test_what_a_subclass_defines() -> None:
    class Bare(Dataset[int]):
        pass

    class Stream(IterableDataset[int]):
        pass

    with pytest.raises(NotImplementedError, match=r"Bare does not define __getitem__"):
        Bare()[0]
    with pytest.raises(NotImplementedError, match=r"Stream does not define __iter__"):
        iter(Stream())
    assert not hasattr(Bare(), "__len__")


def test_tensors() -> None:
    x = np.arange(6.0).reshape(3, 2)
    data = TensorDataset(x, dk.arange(3), dk.types.MetadataTensor(dk.arange(3.0), {"unit": "m"}))
    assert len(data) == 3
    first, label, measured = data[1]
    assert (first.tolist(), label.item(), measured.metadata) == ([2.0, 3.0], 1, {"unit": "m"})
    x[1] = 9.0
    assert data[1][0].tolist() == [9.0, 9.0]
    assert [part.shape for part in data[1:]] == [(2, 2), (2,), (2,)]
    assert data[-1][1].item() == 2


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ((), "TensorDataset needs a tensor"),
        ((dk.ones(3), dk.ones((4, 3))), r"Size mismatch between tensors: tensor 1 has shape \(4, 3\), tensor 0 \(3,\)"),
        ((dk.ones(()),), r"tensor 0 has shape \(\)"),
    ],
)
def test_tensors_that_do_not_fit(tensors: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TensorDataset(*tensors)


def test_subsets_and_sums() -> None:
    part: Subset[int] = Subset(Numbers(5), [4, 0])
    assert [part[i] for i in range(len(part))] == [40, 0]
    total = Numbers(2) + part + Numbers(1)
    assert isinstance(total, ConcatDataset)
    assert [total[i] for i in range(-len(total), len(total))] == [0, 10, 40, 0, 0] * 2
    for index in (5, -6):
        with pytest.raises(IndexError, match=f"ConcatDataset: index {index} is out of range for 5 items"):
            total[index]
    with pytest.raises(ValueError, match="should not be an empty iterable"):
        ConcatDataset([])
    with pytest.raises(TypeError, match="data set 1 is IterableDataset"):
        ConcatDataset([Numbers(1), IterableDataset()])


@given(n=st.integers(0, 40), cuts=st.lists(st.floats(0.05, 1.0), min_size=1, max_size=5))
@pytest.mark.filterwarnings("ignore:Length of split")
def test_fractions(n: int, cuts: list[float]) -> None:
    fractions = [cut / sum(cuts) for cut in cuts]
    parts = random_split(Numbers(n), fractions, generator=dk.Generator(3))
    assert sorted(i for part in parts for i in part.indices) == list(range(n))
    for part, fraction in zip(parts, fractions, strict=True):
        assert -1 <= len(part) - n * fraction <= 2


@pytest.mark.parametrize(
    ("n", "lengths"), [(10, [0.7, 0.3]), (10, [3, 7]), (11, [0.3, 0.3, 0.4]), (7, [1.0]), (1, [1]), (9, [0.5, 0.5])]
)
def test_sizes_are_pytorchs(n: int, lengths: list[float]) -> None:
    torch: Any = pytest.importorskip("torch")
    ours = [len(part) for part in random_split(range(n), lengths)]
    assert ours == [len(part) for part in torch.utils.data.random_split(range(n), lengths)]


def test_a_split_is_repeatable() -> None:
    first, again, other = (random_split(range(20), [12, 8], generator=dk.Generator(seed)) for seed in (7, 7, 8))
    assert first[0].indices == again[0].indices != other[0].indices
    dk.manual_seed(5)
    one = random_split(range(20), [0.5, 0.5])[0].indices
    dk.manual_seed(5)
    assert random_split(range(20), [0.5, 0.5])[0].indices == one


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([3, 4], r"Sum of input lengths does not equal .* found \[3, 4\] for 10 items of Numbers"),
        ([0.5, 0.4], "does not equal the length of the input dataset"),
        ([9.5, 0.5], "does not equal the length of the input dataset"),
        ([1.5, -0.5], "a length or fraction must not be negative, found -0.5 at index 1"),
    ],
)
def test_splits_that_do_not_add_up(lengths: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        random_split(Numbers(10), lengths)


def test_an_empty_part_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0") as warned:
        random_split(Numbers(2), [2, 0])
    assert warned[0].filename == __file__


def test_elements_of_a_declared_type_are_not_made_dense_one_by_one() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Doubled:
        def __init__(self, half: Any) -> None:
            self.half = half

        def to_dense(self) -> Any:
            return self.half * 2

    with pytest.raises(TypeError, match=r"tensor 1 is a Doubled, which would be made dense for every .*to_dense"):
        dk.data.TensorDataset(dk.ones(3), Doubled(dk.ones(3)))

    @dk.implements(dk.getitem)
    def item_of_doubled(x: Doubled, key: Any, /) -> Any:
        return Doubled(x.half[key])

    _, item = dk.data.TensorDataset(dk.ones(3), Doubled(dk.ones(3)))[1]
    assert type(item) is Doubled
