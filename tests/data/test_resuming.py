"""Runs that go on at the beginning of an epoch: the same batches, by the state of the generator."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, WeightedRandomSampler


class Noisy(Dataset[Any]):
    """Each item with random numbers, which later threads would draw first."""

    def __len__(self) -> int:
        return 23

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.0003 * (index % 3))
        return index + dk.rand(1)


class NoisyStream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        start = dk.rand(1)
        return (start + i + dk.rand(1) for i in range(23))


def with_generator(**options: Any) -> DataLoader:
    data = Noisy()
    return DataLoader(data, 3, sampler=RandomSampler(data, num_samples=60, generator=dk.Generator(3)), **options)


LOADERS: dict[str, Callable[..., DataLoader]] = {
    "in order": lambda **options: DataLoader(Noisy(), 4, **options),
    "shuffled": lambda **options: DataLoader(Noisy(), 4, shuffle=True, drop_last=True, **options),
    "seeded": lambda **options: DataLoader(Noisy(), 4, shuffle=True, generator=dk.Generator(5), **options),
    "single items": lambda **options: DataLoader(Noisy(), None, shuffle=True, **options),
    "a sampler with a generator": with_generator,
    "a sampler of batches": lambda **options: DataLoader(
        Noisy(), batch_sampler=BatchSampler(WeightedRandomSampler([1.0] * 23, 20), 4, True), **options
    ),
    "a stream": lambda **options: DataLoader(NoisyStream(), 4, **options),
}


def epochs(loader: DataLoader, count: int) -> list[list[Any]]:
    """Return batches, and what the loop itself draws after each."""
    return [[(batch.tolist(), dk.rand(1).item()) for batch in loader] for _ in range(count)]


@pytest.mark.parametrize("workers", [(0, 0), (3, 0), (0, 2)], ids=str)
@pytest.mark.parametrize("name", LOADERS)
def test_a_run_goes_on_with_the_same_items(name: str, workers: tuple[int, int], tmp_path: Path) -> None:
    dk.manual_seed(1)
    loader = LOADERS[name](num_workers=workers[0])
    epochs(loader, 1)
    own = getattr(loader.sampler, "generator", None) or dk.Generator(0)
    dk.save([dk.random.default_generator.get_state(), own.get_state()], tmp_path / "run.npz")
    expected = epochs(loader, 2)
    default, kept = dk.load(tmp_path / "run.npz")
    again = LOADERS[name](num_workers=workers[1])
    dk.random.default_generator.set_state(default)
    (getattr(again.sampler, "generator", None) or dk.Generator(0)).set_state(kept)
    assert epochs(again, 2) == expected


def test_a_loop_that_was_left_begins_again() -> None:
    loader = DataLoader(range(7), 2, num_workers=2)
    for batch in loader:
        assert batch.tolist() == [0, 1]
        break
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4, 5], [6]]


def test_a_loader_is_pickled_in_the_middle_of_an_iteration() -> None:
    loader = DataLoader(NoisyStream(), 4)
    batches = iter(loader)
    next(batches)
    again = pickle.loads(pickle.dumps(loader))
    assert len(list(again)) == 6
