"""Loaders that go on in the middle of an iteration: the same batches, and refusals of states that do not fit."""

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
    rest = []
    for number, batch in enumerate(loader):
        drawn = dk.rand(1).item()
        if number == 1:
            state = {"loader": loader.state_dict(), "random": dk.random.default_generator.get_state()}
            dk.save(state, tmp_path / "run.npz")
        elif number > 1:
            rest.append((batch.tolist(), drawn))
    expected = [rest, *epochs(loader, 2)]
    found = dk.load(tmp_path / "run.npz")
    dk.manual_seed(99)
    again = LOADERS[name](num_workers=workers[1])
    dk.random.default_generator.set_state(found["random"])
    again.load_state_dict(found["loader"])
    assert epochs(again, 3) == expected


@pytest.mark.parametrize("name", LOADERS)
def test_a_state_between_two_iterations_begins_the_next(name: str) -> None:
    dk.manual_seed(1)
    loader = LOADERS[name]()
    assert loader.state_dict()["batches"] == 0
    epochs(loader, 1)
    state, random = loader.state_dict(), dk.random.default_generator.get_state()
    expected = epochs(loader, 1)
    for begun in (False, True):
        dk.random.default_generator.set_state(random)
        loader = LOADERS[name]()
        loader.load_state_dict(state)
        if begun:
            iter(loader)
            state = loader.state_dict()
            assert state["batches"] == 0
            loader = LOADERS[name]()
            loader.load_state_dict(state)
        assert epochs(loader, 1) == expected


def test_a_loop_that_was_left_can_go_on() -> None:
    loader = DataLoader(range(7), 2, num_workers=2)
    for batch in loader:
        assert batch.tolist() == [0, 1]
        break
    state = loader.state_dict()
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4, 5], [6]]
    loader.load_state_dict(state)
    assert loader.state_dict() == state
    assert [batch.tolist() for batch in loader] == [[2, 3], [4, 5], [6]]
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4, 5], [6]]


def test_items_before_are_not_read_again() -> None:
    asked: list[int] = []

    class Noting(Noisy):
        def __getitem__(self, index: int) -> Any:
            asked.append(index)
            return index

    loader = DataLoader(Noting(), 5)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    again = DataLoader(Noting(), 5)
    again.load_state_dict(loader.state_dict())
    asked.clear()
    assert [batch.tolist() for batch in again] == [[15, 16, 17, 18, 19], [20, 21, 22]]
    assert asked == list(range(15, 23))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batches": 9}, "the loaded state counts 9 batches, this DataLoader has 4"),
        ({"batches": "2"}, "the loaded state counts '2' batches, this DataLoader has 4"),
        ({"generators": []}, "the loaded state does not have the 0 generators of this DataLoader and its samplers"),
        ({"generators": 3}, "the loaded state does not have the 0 generators of this DataLoader and its samplers"),
        ({"generators": [{"seed": 3}]}, "this is no state that get_state gave"),
        ({"generators": [3]}, "this is no state that get_state gave"),
        ({"loader": 3}, "the loaded state is of a DataLoader with length of the data set: None, this one has 7"),
    ],
    ids=str,
)
def test_a_state_that_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    loader = DataLoader(range(7), 2, shuffle=True)
    next(iter(loader))
    state = loader.state_dict()
    other = DataLoader(range(7), 2, shuffle=True)
    before = other.state_dict()
    with pytest.raises(ValueError, match=message):
        other.load_state_dict({**state, **change})
    assert other.state_dict() == before
    with pytest.raises(ValueError, match="loaded state dict has no 'generators' and no 'loader'"):
        other.load_state_dict({"batches": 0})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DataLoader(range(8), 2, shuffle=True), "length of the data set: 7, this one has 8"),
        (lambda: DataLoader(range(7), 3, shuffle=True), "batch_size: 2, this one has 3"),
        (lambda: DataLoader(range(7), 2, shuffle=True, drop_last=True), "drop_last: False, this one has True"),
        (lambda: DataLoader(range(7), 2), "sampler: 'RandomSampler', this one has 'SequentialSampler'"),
        (
            lambda: DataLoader(range(7), 2, shuffle=True, generator=dk.Generator(0)),
            "the loaded state does not have the 1 generators of this DataLoader",
        ),
    ],
)
def test_a_state_of_another_loader_is_refused(make: Callable[[], DataLoader], message: str) -> None:
    loader = DataLoader(range(7), 2, shuffle=True)
    next(iter(loader))
    with pytest.raises(ValueError, match=message):
        make().load_state_dict(loader.state_dict())


def test_two_loaders_that_are_read_side_by_side_go_on() -> None:
    dk.manual_seed(3)
    loaders = [DataLoader(Noisy(), 4, shuffle=True) for _ in range(2)]
    pairs = zip(*loaders, strict=True)
    next(pairs)
    states = [loader.state_dict() for loader in loaders]
    expected = [[batch.tolist() for batch in pair] for pair in pairs]
    again = [DataLoader(Noisy(), 4, shuffle=True) for _ in range(2)]
    for loader, state in zip(again, states, strict=True):
        loader.load_state_dict(state)
    assert [[batch.tolist() for batch in pair] for pair in zip(*again, strict=True)] == expected


def test_a_loader_is_pickled_in_the_middle_of_an_iteration() -> None:
    loader = DataLoader(NoisyStream(), 4)
    batches = iter(loader)
    next(batches)
    again = pickle.loads(pickle.dumps(loader))
    assert again.state_dict()["batches"] == 0
    assert len(list(again)) == 6
