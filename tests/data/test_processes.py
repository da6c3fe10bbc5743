"""Processes as workers: the same batches as of threads, errors as of threads, and no process left behind."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.data import DataLoader, Dataset, IterableDataset
from dispatchkit.errors import DataLoaderError

STARTED: dict[str, int] = {}


class Noisy(Dataset[Any]):
    """Random numbers, which later workers would draw first."""

    def __len__(self) -> int:
        return 11

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.002 * (index % 3))
        return index + dk.rand(2), f"item {index}"


class NoisyStream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return (i + dk.rand(1) for i in range(11))


class Where(Dataset[Any]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return os.getpid(), STARTED.get("worker", -1), dk.is_grad_enabled(), dk.get_default_dtype()


class Failing(Noisy):
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __getitem__(self, index: int) -> Any:
        if index == 3 and self.kind == "raises":
            raise KeyError("spoilt")
        if index == 3 and self.kind == "dies":
            os._exit(7)
        if index == 3 and self.kind == "unsendable":
            return threading.Lock()
        if index == 3 and self.kind == "raises what cannot be sent":
            raise Unsendable(3, 4)
        if self.kind == "sleeps" and index:
            time.sleep(600)
        return index


class Unsendable(Exception):  # noqa: N818
    def __init__(self, one: int, other: int) -> None:
        super().__init__(one + other)


def noted(worker: int) -> None:
    STARTED["worker"] = worker


def in_processes(data: Any, batch_size: int | None = 3, workers: int = 2, **options: Any) -> DataLoader:
    return DataLoader(data, batch_size, num_workers=workers, multiprocessing_context="spawn", **options)


@pytest.fixture(autouse=True)
def no_process_left() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


def listed(batches: Any) -> list[Any]:
    return [batch.tolist() if isinstance(batch, dk.Tensor) else [batch[0].tolist(), batch[1]] for batch in batches]


@pytest.mark.parametrize("data", [Noisy(), NoisyStream()])
def test_batches_are_those_of_threads(data: Any) -> None:
    shuffle = isinstance(data, Noisy)
    dk.manual_seed(4)
    expected = listed(DataLoader(data, 3, shuffle=shuffle))
    dk.manual_seed(4)
    loader = in_processes(data, shuffle=shuffle)
    assert listed(loader) == expected
    dk.manual_seed(4)
    batches = iter(loader)
    first = listed([next(batches), next(batches)])
    state = loader.state_dict()
    del batches
    again = in_processes(data, shuffle=shuffle, workers=1)
    again.load_state_dict(state)
    assert [*first, *listed(again)] == expected


def test_workers_are_processes_with_the_settings_of_the_loop() -> None:
    loader = in_processes(Where(), None, worker_init_fn=noted, collate_fn=tuple)
    dk.set_default_dtype(dk.float32)
    try:
        with dk.no_grad():
            found = list(loader)
    finally:
        dk.set_default_dtype(dk.float64)
    assert os.getpid() not in {pid for pid, *_ in found}
    assert {worker for _, worker, *_ in found} <= {0, 1}
    assert all(each[2:] == (False, dk.float32) for each in found)
    assert STARTED == {}


def test_what_raises_in_a_process_is_raised_here() -> None:
    batches = iter(in_processes(Failing("raises"), 2))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(
        DataLoaderError, match=r"^DataLoader of Failing: Failing\[3\] raised KeyError: 'spoilt'$"
    ) as info:
        next(batches)
    assert isinstance(info.value.__cause__, KeyError)
    [note] = info.value.__cause__.__notes__
    assert note.startswith(("In worker process 0:\n", "In worker process 1:\n"))
    assert 'raise KeyError("spoilt")' in note


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("dies", r"^DataLoader of Failing: worker process \d ended with exit code 7$"),
        ("unsendable", r"a batch cannot be sent by a worker process: TypeError: cannot pickle '_thread.lock' object"),
        ("raises what cannot be sent", r"Failing\[3\] raised Unsendable: 7"),
    ],
)
def test_what_goes_wrong_in_a_process(kind: str, message: str) -> None:
    with pytest.raises(DataLoaderError, match=message):
        list(in_processes(Failing(kind), None, collate_fn=same))


def same(item: Any) -> Any:
    return item


def test_a_data_set_that_cannot_be_sent() -> None:
    with pytest.raises(DataLoaderError, match=r"DataLoader of list: worker process 0 cannot be started: .*pickle"):
        list(in_processes([threading.Lock()], None))


def test_a_process_that_makes_a_batch_is_ended_with_the_loop() -> None:
    start = time.monotonic()
    for batch in in_processes(Failing("sleeps"), None):
        assert batch == 0
        break
    assert multiprocessing.active_children() == []
    assert time.monotonic() - start < 60
    with pytest.raises(DataLoaderError, match=r"a batch timed out after 0\.5 seconds"):
        list(in_processes(Failing("sleeps"), 11, timeout=0.5))


def test_a_loader_is_pickled_in_the_middle_of_an_iteration() -> None:
    loader = DataLoader(NoisyStream(), 4)
    batches = iter(loader)
    next(batches)
    again = pickle.loads(pickle.dumps(loader))
    assert again.state_dict()["batches"] == 0
    assert len(list(again)) == 3
