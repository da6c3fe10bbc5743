"""Loaders: the same batches with and without threads, and no threads left behind."""

from __future__ import annotations

import contextlib
import gc
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.data import DataLoader, Dataset, IterableDataset, RandomSampler, TensorDataset
from dispatchkit.data.sources import PREFIX, Items, prefetched
from dispatchkit.errors import DataLoaderError
from tests.waiting import PATIENCE, interrupt

workers = pytest.mark.parametrize("workers", [0, 1, 3])
ANY: Any = DataLoader


class Squares(Dataset[Any]):
    def __init__(self, n: int = 10, fails_at: int = -1) -> None:
        self.n, self.fails_at = n, fails_at
        self.asked: list[int] = []

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Any:
        self.asked.append(index)
        if index == self.fails_at:
            raise KeyError("spoilt")
        return float(index**2), f"item {index}"


class Stream(IterableDataset[int]):
    def __init__(self, n: int, fails_at: int = -1) -> None:
        self.n, self.fails_at = n, fails_at

    def __iter__(self) -> Iterator[int]:
        for i in range(self.n):
            if i == self.fails_at:
                raise ValueError("torn")
            yield i


class SizedStream(Stream):
    def __len__(self) -> int:
        return self.n


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith(PREFIX)]


@pytest.fixture(autouse=True)
def no_threads_left() -> Iterator[None]:
    yield
    if threads():
        gc.collect()
    assert threads() == []


def listed(batches: Any) -> list[Any]:
    return [[part.tolist() if isinstance(part, dk.Tensor) else part for part in batch] for batch in batches]


@workers
def test_batches_in_order(workers: int) -> None:
    loader = DataLoader(Squares(5), batch_size=2, num_workers=workers)
    expected = [
        [[0.0, 1.0], ["item 0", "item 1"]],
        [[4.0, 9.0], ["item 2", "item 3"]],
        [[16.0], ["item 4"]],
    ]
    assert listed(loader) == listed(loader) == expected
    assert len(loader) == 3
    shorter = DataLoader(Squares(5), batch_size=2, drop_last=True, num_workers=workers)
    assert listed(shorter) == expected[:2]
    assert len(shorter) == 2


@workers
def test_single_items(workers: int) -> None:
    data = TensorDataset(np.arange(3.0))
    loader = DataLoader(data, batch_size=None, num_workers=workers)
    assert [x.tolist() for (x,) in loader] == [0.0, 1.0, 2.0]
    assert len(loader) == 3
    arrays = DataLoader([np.ones(2), np.zeros(2)], batch_size=None, num_workers=workers)
    assert [type(x) for x in arrays] == [dk.Tensor, dk.Tensor]


@workers
def test_shuffling_is_repeatable(workers: int) -> None:
    def order(**keywords: Any) -> list[Any]:
        loader = DataLoader(range(40), batch_size=7, shuffle=True, num_workers=workers, **keywords)
        return [x.tolist() for _ in range(2) for x in loader]

    one = order(generator=dk.Generator(3))
    assert order(generator=dk.Generator(3)) == one
    assert one[:6] != one[6:]
    assert sorted(i for batch in one[:6] for i in batch) == list(range(40))
    dk.manual_seed(3)
    one = order()
    dk.manual_seed(3)
    assert order() == one


def test_the_order_does_not_depend_on_the_workers() -> None:
    loaders = [
        DataLoader(range(50), 4, shuffle=True, num_workers=count, generator=dk.Generator(1)) for count in (0, 1, 4)
    ]
    first, *others = ([x.tolist() for x in loader] for loader in loaders)
    assert others == [first, first]


@workers
def test_samplers(workers: int) -> None:
    data = list(range(10, 20))
    picked = DataLoader(data, batch_size=2, sampler=[3, 1, 4], num_workers=workers)
    assert [x.tolist() for x in picked] == [[13, 11], [14]]
    assert len(picked) == 2
    grouped = DataLoader(data, batch_sampler=[[0], [1, 2, 3]], num_workers=workers)
    assert [x.tolist() for x in grouped] == [[10], [11, 12, 13]]
    assert len(grouped) == 2
    drawn = DataLoader(data, 5, sampler=RandomSampler(data, True, 12, dk.Generator(0)), num_workers=workers)
    assert [len(x) for x in drawn] == [5, 5, 2]


@workers
def test_a_collate_function_of_ones_own(workers: int) -> None:
    loader = DataLoader("abcde", 2, collate_fn="".join, num_workers=workers)
    assert list(loader) == ["ab", "cd", "e"]


@workers
def test_whole_batches_from_the_data_set(workers: int) -> None:
    class Bulk(Squares):
        def __getitems__(self, indices: list[int]) -> list[int]:
            return [-i for i in indices]

    assert [x.tolist() for x in DataLoader(Bulk(3), 2, num_workers=workers)] == [[0, -1], [-2]]


@workers
def test_streams(workers: int) -> None:
    assert [x.tolist() for x in DataLoader(Stream(5), 2, num_workers=workers)] == [[0, 1], [2, 3], [4]]
    assert [x.tolist() for x in DataLoader(Stream(5), 2, drop_last=True, num_workers=workers)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Stream(3), None, num_workers=workers)) == [0, 1, 2]
    assert list(DataLoader(Stream(0), 2, num_workers=workers)) == []
    sized = SizedStream(5)
    assert len(DataLoader(sized, 2)) == 3
    assert len(DataLoader(sized, 2, drop_last=True)) == 2
    assert len(DataLoader(sized, None)) == 5
    with pytest.raises(TypeError, match="has no len"):
        len(DataLoader(Stream(5), 2))


@workers
def test_declared_types(workers: int) -> None:
    data = [(dk.types.ScalarTensor(2, float(i)), i) for i in range(4)]
    with pytest.raises(DataLoaderError, match=r"ScalarTensor of shape .* whose fields are batches is none of shape"):
        list(DataLoader(data, 2, num_workers=workers))
    first, _ = DataLoader(data, 2, num_workers=workers, collate_fn=list)
    assert first == data[:2]


@workers
def test_an_item_that_raises(workers: int) -> None:
    batches = iter(DataLoader(Squares(10, fails_at=5), batch_size=2, num_workers=workers))
    assert [next(batches)[0].tolist() for _ in range(2)] == [[0.0, 1.0], [4.0, 9.0]]
    with pytest.raises(
        DataLoaderError, match=r"^DataLoader of Squares: Squares\[5\] raised KeyError: 'spoilt'$"
    ) as info:
        next(batches)
    assert isinstance(info.value.__cause__, KeyError)
    assert info.value.dataset == "Squares"
    if workers:
        assert list(batches) == []


@pytest.mark.parametrize(
    ("make", "cause", "message"),
    [
        (lambda n: DataLoader(Squares(4, 2), None, num_workers=n), KeyError, r"Squares: Squares\[2\] raised KeyError"),
        (
            lambda n: DataLoader([1, "a"], 2, num_workers=n),
            TypeError,
            r"DataLoader of list: default_collate of list\[i\] for i in \[0, 1\] raised TypeError: .* item 1 is a str",
        ),
        (lambda n: DataLoader(Stream(9, 3), 2, num_workers=n), ValueError, "item 3 of Stream raised ValueError: torn"),
        (lambda n: DataLoader(Stream(9, 3), None, num_workers=n), ValueError, "item 3 of Stream raised ValueError"),
        (
            lambda n: DataLoader(Stream(4), 2, collate_fn=lambda items: items.none, num_workers=n),
            AttributeError,
            "<lambda> of items 0 to 1 of Stream raised AttributeError",
        ),
        (
            lambda n: DataLoader(IterableDataset(), num_workers=n),
            NotImplementedError,
            r"iter\(IterableDataset\)",
        ),
        (lambda n: DataLoader({"a": 1}, sampler=["b"], num_workers=n), KeyError, r"dict\['b'\] raised KeyError: 'b'"),
    ],
)
@workers
def test_errors_say_where(make: Callable[[int], Any], cause: type[Exception], message: str, workers: int) -> None:
    with pytest.raises(DataLoaderError, match=message) as info:
        list(make(workers))
    assert isinstance(info.value.__cause__, cause)


def test_an_error_of_the_whole_batch() -> None:
    class Bulk(Squares):
        def __getitems__(self, indices: list[int]) -> list[int]:
            raise OSError("unreadable")

    with pytest.raises(DataLoaderError, match=r"Bulk.__getitems__\(\[0, 1\]\) raised OSError: unreadable"):
        list(DataLoader(Bulk(3), 2))


def test_leaving_a_loop() -> None:
    for _ in DataLoader(Squares(100), num_workers=3):
        assert threads()
        break
    assert threads() == []


def test_closing_an_iterator() -> None:
    batches: Any = iter(DataLoader(Squares(100), num_workers=3))
    next(batches)
    assert threads()
    batches.close()
    assert threads() == []


def test_an_exception_in_the_loop() -> None:
    def loop() -> None:
        for _ in DataLoader(Squares(100), num_workers=3):
            raise RuntimeError("mine")

    with contextlib.suppress(RuntimeError):
        loop()
    assert threads() == []


def test_an_iterator_that_is_forgotten() -> None:
    batches = [iter(DataLoader(Squares(100), num_workers=2)) for _ in range(2)]
    for one in batches:
        next(one)
    batches.append(batches)  # type: ignore[arg-type]  # a circle
    del batches, one
    gc.collect()
    assert threads() == []


def test_an_iterator_that_was_never_begun() -> None:
    iter(DataLoader(Squares(100), num_workers=2))
    assert threads() == []


def test_workers_are_told_to_stop_before_they_are_waited_for() -> None:
    begun = threading.Event()

    class Waiting(Items):
        def make(self, task: int) -> int:
            if task:
                begun.set()
                assert self.stop.wait(PATIENCE)
            return task

    source = Waiting(DataLoader(Squares(9)))
    tasks = ((number, dk.Generator(number)) for number in range(9))
    batches: Any = prefetched(source, tasks, workers=1, ahead=2, timeout=None)
    assert next(batches) == 0
    assert begun.wait(PATIENCE)
    batches.close()
    assert threads() == []


def test_a_batch_that_is_no_longer_wanted_ends_with_the_item() -> None:
    class Leaving(Squares):
        def __getitem__(self, index: int) -> Any:
            if index == 1:
                source.stop.set()
            return super().__getitem__(index)

    data = Leaving(9)
    source = Items(DataLoader(data, 9))
    source.make(range(9))
    assert data.asked == [0, 1]


def test_no_more_is_made_ahead_than_asked_for() -> None:
    data = Squares(100)
    batches = iter(DataLoader(data, num_workers=1, prefetch_factor=3))
    next(batches)
    next(batches)
    del batches
    assert len(data.asked) <= 5


def test_batches_are_made_ahead() -> None:
    class Waiting(Squares):
        ahead = threading.Event()

        def __getitem__(self, index: int) -> Any:
            if index == 3:
                self.ahead.set()
            return super().__getitem__(index)

    data = Waiting(4)
    batches = iter(DataLoader(data, num_workers=1, prefetch_factor=4))
    next(batches)
    assert data.ahead.wait(PATIENCE)
    assert len(list(batches)) == 3


def test_workers_work_side_by_side() -> None:
    together = threading.Barrier(3)

    class Meeting(Squares):
        def __getitem__(self, index: int) -> Any:
            together.wait(PATIENCE)
            return index

    assert [x.item() for x in DataLoader(Meeting(3), num_workers=3)] == [0, 1, 2]


def test_a_worker_that_takes_too_long() -> None:
    go_on = threading.Event()

    class Stuck(Squares):
        def __getitem__(self, index: int) -> Any:
            go_on.wait(PATIENCE)
            return index

    with pytest.raises(DataLoaderError, match=r"^DataLoader of Stuck: a batch timed out after 0.01 seconds$") as info:
        list(DataLoader(Stuck(3), num_workers=1, timeout=0.01))
    assert isinstance(info.value.__cause__, TimeoutError)
    stuck = threads()
    assert len(stuck) == 1
    go_on.set()
    for thread in stuck:
        thread.join(PATIENCE)


INTERRUPTED = """
import signal, time
import dispatchkit as dk

class Slow(dk.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index >= FIRST:
            if index == FIRST + 1:
                print("both sleep", flush=True)
            time.sleep(2 * PATIENCE)
        return index

def interrupt(*_):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it may come several times
    raise KeyboardInterrupt

signal.signal(signal.SIGINT, interrupt)
try:
    for x in dk.data.DataLoader(Slow(), num_workers=2):
        while True:
            time.sleep(0.01)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("first", [0, 1], ids=["in the wait for a batch", "in the body of the loop"])
def test_an_interrupt_does_not_wait_for_the_workers(first: int) -> None:
    script = INTERRUPTED.replace("FIRST", str(first)).replace("PATIENCE", str(PATIENCE))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "both sleep\n"
        try:
            interrupt(process, lambda: process.send_signal(signal.SIGINT))
            found = process.stdout.read()
        finally:
            process.kill()
    assert found == "interrupted\n"
    assert process.returncode == 0


def test_a_read_that_hangs_is_not_waited_for_after_the_loop() -> None:
    go_on, begun = threading.Event(), threading.Event()

    class Stuck(Squares):
        def __getitem__(self, index: int) -> Any:
            if index:
                begun.set()
                go_on.wait(2 * PATIENCE)
            return index

    for _ in DataLoader(Stuck(4), num_workers=2):
        assert begun.wait(PATIENCE)
        break
    stuck = threads()
    assert stuck, "the loop ended after they had"
    assert all(thread.daemon for thread in stuck)
    go_on.set()
    for thread in stuck:
        thread.join(PATIENCE)


class Noisy(Squares):
    """Random numbers, which later threads would draw first."""

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.0005 * (index % 3))
        return dk.rand(2)


class NoisyStream(Stream):
    def __iter__(self) -> Iterator[Any]:
        return (i + dk.random.normal().item() for i in super().__iter__())


@pytest.mark.parametrize("data", [Noisy(30), NoisyStream(30)])
@pytest.mark.parametrize("shuffle", [False, True])
def test_random_numbers_of_a_data_set_do_not_depend_on_the_workers(data: Any, shuffle: bool) -> None:
    def run(workers: int, **options: Any) -> Any:
        shuffled = shuffle and not isinstance(data, Stream)
        loader = DataLoader(data, 4, shuffle=shuffled, num_workers=workers, **options)
        return [[batch.tolist() for batch in loader] for _ in range(2)]

    dk.manual_seed(0)
    first, second = run(0)
    assert first != second
    rest = dk.rand(1).item()
    for workers in (0, 1, 4):
        dk.manual_seed(0)
        assert run(workers) == [first, second]
        assert dk.rand(1).item() == rest
    seeded = run(3, generator=dk.Generator(7))
    assert seeded == run(0, generator=dk.Generator(7))
    assert seeded[0] != first


def test_a_data_set_may_seed_its_items() -> None:
    class Seeded(Squares):
        def __getitem__(self, index: int) -> Any:
            dk.manual_seed(index)
            return dk.rand(1)

    before = dk.random.Generator(1).get_state()
    dk.manual_seed(1)
    found = [x.item() for x in DataLoader(Seeded(6), num_workers=3)]
    assert found == [dk.rand(1, generator=dk.Generator(i)).item() for i in range(6)]
    assert dk.rand(1).item() == dk.rand(1, generator=dk.Generator(5).set_state(before)).item()


def test_preparing_the_workers() -> None:
    seen: list[tuple[int, str]] = []

    def prepare(worker: int) -> None:
        seen.append((worker, threading.current_thread().name))

    together = threading.Barrier(2)

    class Meeting(Squares):
        def __getitem__(self, index: int) -> Any:
            together.wait(PATIENCE)
            return index

    list(DataLoader(Meeting(4), num_workers=2, worker_init_fn=prepare))
    assert sorted(worker for worker, _ in seen) == [0, 1]
    assert len({name for _, name in seen}) == 2

    def fail(worker: int) -> None:
        raise ValueError(f"no room for {worker}")

    with pytest.raises(DataLoaderError, match=r"Squares: worker_init_fn\(0\) raised ValueError: no room for 0"):
        list(DataLoader(Squares(4), num_workers=1, worker_init_fn=fail))


@workers
def test_the_context_of_the_loop_holds_in_workers(workers: int) -> None:
    class Recording(Squares):
        def __getitem__(self, index: int) -> Any:
            return dk.is_grad_enabled()

    with dk.no_grad():
        assert [x.item() for x in DataLoader(Recording(3), num_workers=workers)] == [False] * 3
    assert [x.item() for x in DataLoader(Recording(3), num_workers=workers)] == [True] * 3


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dataset": [1], "num_workers": -1}, ValueError, "num_workers option should be non-negative, found -1"),
        ({"dataset": [1], "timeout": -1}, ValueError, "timeout option should be non-negative, found -1"),
        ({"dataset": [1], "prefetch_factor": 2}, ValueError, "could only be specified with num_workers > 0"),
        (
            {"dataset": [1], "num_workers": 1, "prefetch_factor": 0},
            ValueError,
            "prefetch_factor option should be a positive integer, found 0",
        ),
        (
            {"dataset": [1], "multiprocessing_context": "spawn"},
            ValueError,
            "multiprocessing_context option could only be specified with num_workers > 0",
        ),
        (
            {"dataset": [1], "num_workers": 1, "multiprocessing_context": "hatch"},
            ValueError,
            "multiprocessing_context option should be one of .*'spawn'.*, found 'hatch'",
        ),
        (
            {"dataset": [1], "num_workers": 1, "multiprocessing_context": 3},
            TypeError,
            "multiprocessing_context option should be a str or a context of multiprocessing, found 3 of class int",
        ),
        ({"dataset": [1], "batch_size": 0}, ValueError, "batch_size should be a positive integer value"),
        ({"dataset": [1], "shuffle": True, "sampler": [0]}, ValueError, "sampler option is mutually exclusive"),
        ({"dataset": [1], "batch_size": 2, "batch_sampler": [[0]]}, ValueError, "batch_sampler option is mutually"),
        ({"dataset": [1], "drop_last": True, "batch_sampler": [[0]]}, ValueError, "batch_sampler option is mutually"),
        ({"dataset": [1], "batch_size": None, "drop_last": True}, ValueError, "disables auto-batching"),
        ({"dataset": Stream(3), "shuffle": True}, ValueError, "unspecified shuffle option, but got shuffle=True"),
        ({"dataset": Stream(3), "sampler": [0]}, ValueError, r"unspecified sampler option, but got sampler=\[0\]"),
        ({"dataset": Stream(3), "batch_sampler": [[0]]}, ValueError, "unspecified batch_sampler option"),
        (
            {"dataset": iter([1])},
            TypeError,
            "class list_iterator needs __getitem__ and __len__; a stream",
        ),
        ({"dataset": 3, "sampler": [0]}, TypeError, "a data set of class int needs __getitem__; a stream"),
        ({"dataset": [1], "shuffle": True, "generator": 3}, TypeError, "generator must be a dispatchkit.Generator"),
        ({"dataset": [], "shuffle": True}, ValueError, "num_samples=0"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ANY(**arguments)


def test_an_empty_data_set_has_no_batches() -> None:
    assert list(DataLoader([], 3)) == []


def test_rows_of_tensors_are_taken_by_one_index_for_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    data = dk.data.TensorDataset(dk.arange(10.0), dk.reshape(dk.arange(20), (10, 2)))
    calls = []
    monkeypatch.setattr(data, "tensors", data.tensors)
    rows = data.rows

    def noted(indices: Any) -> Any:
        calls.append(list(indices))
        return rows(indices)

    monkeypatch.setattr(data, "rows", noted)
    found = list(dk.data.DataLoader(data, batch_size=4))
    assert calls == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    by_item = list(dk.data.DataLoader(data, batch_size=4, collate_fn=lambda items: dk.data.default_collate(items)))
    for one, other in zip(found, by_item, strict=True):
        assert type(one) is type(other) is list
        for x, y in zip(one, other, strict=True):
            assert x.dtype == y.dtype
            assert dk.all(x == y)
    assert len(calls) == 3


def test_options_of_processes_may_be_false() -> None:
    assert len(dk.data.DataLoader([1, 2], pin_memory=False, persistent_workers=False)) == 2
    with pytest.raises(
        ValueError,
        match="pin_memory must be False, found True: there is no device that copies from pinned memory; leave it out",
    ):
        dk.data.DataLoader([1, 2], pin_memory=True)
    with pytest.raises(
        ValueError, match="persistent_workers must be False, found True: workers end with an iteration; leave it out"
    ):
        dk.data.DataLoader([1, 2], persistent_workers=True)
