"""Processes as workers: the same batches as of threads, errors as of threads, and no process left behind."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.data import DataLoader, Dataset, IterableDataset
from dispatchkit.errors import DataLoaderError
from tests.waiting import PATIENCE, interrupt

# Python warns of forks beside threads, also of those of other libraries.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:os.fork.. was called:RuntimeWarning"),
]
METHODS = multiprocessing.get_all_start_methods()
QUICKEST = "fork" if "fork" in METHODS else "spawn"
methods = pytest.mark.parametrize("method", METHODS)
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


class Unsendable(Exception):  # noqa: N818
    def __init__(self, first: int, second: int) -> None:
        super().__init__(first + second)


class Failing(Noisy):
    """What goes wrong with item 3."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __getitem__(self, index: int) -> Any:
        if self.kind == "sleeps" and index:
            time.sleep(2 * PATIENCE)
        if index != 3:
            return index
        if self.kind == "raises":
            raise KeyError("spoilt")
        if self.kind == "exits":
            os._exit(7)
        if self.kind == "closes its files":
            os.closerange(3, 1000)
            time.sleep(2 * PATIENCE)
        if self.kind == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kind == "raises what cannot be sent":
            raise Unsendable(3, 4)
        if self.kind == "is interrupted":
            raise KeyboardInterrupt
        return threading.Lock()


class Keeping(Dataset[Any]):
    """Items with something beside them that the data set keeps."""

    def __init__(self, kept: Any) -> None:
        self.items, self.kept = [5, 6], kept

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return self.items[index]


class Broken(Keeping):
    def __reduce__(self) -> Any:
        return int, ("no number",)


class Nesting(Dataset[Any]):
    """Each item is read by a loader with processes of its own."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Any:
        return list(in_processes([1, 2]))


class Counting(Dataset[Any]):
    """A counter that all processes share, which is sent to processes alone."""

    def __init__(self) -> None:
        self.counter = multiprocessing.get_context("spawn").Value("i", 0)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        with self.counter.get_lock():
            self.counter.value += 1
        return index


def note_number(worker: int) -> None:
    STARTED["worker"] = worker


def refuse(worker: int) -> None:
    raise ValueError(f"no room for {worker}")


def keep(item: Any) -> Any:
    return item


def in_processes(data: Any, batch_size: int | None = 3, workers: int = 2, **options: Any) -> DataLoader:
    options.setdefault("multiprocessing_context", QUICKEST)
    return DataLoader(data, batch_size, num_workers=workers, **options)


@pytest.fixture(autouse=True)
def no_process_left() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


@pytest.fixture
def without_cloudpickle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)


def listed(batches: Any) -> list[Any]:
    return [batch.tolist() if isinstance(batch, dk.Tensor) else [batch[0].tolist(), batch[1]] for batch in batches]


@methods
@pytest.mark.parametrize("data", [Noisy(), NoisyStream()], ids=["items", "a stream"])
def test_batches_and_states_are_those_of_threads(data: Any, method: str) -> None:
    shuffle = isinstance(data, Noisy)
    dk.manual_seed(4)
    expected = listed(DataLoader(data, 3, shuffle=shuffle))
    dk.manual_seed(4)
    loader = in_processes(data, shuffle=shuffle, multiprocessing_context=method)
    batches = iter(loader)
    first = listed([next(batches), next(batches)])
    state = loader.state_dict()
    assert [*first, *listed(batches)] == expected
    again = in_processes(data, shuffle=shuffle, workers=1, multiprocessing_context=multiprocessing.get_context(method))
    again.load_state_dict(state)
    assert [*first, *listed(again)] == expected


def test_workers_are_processes_with_the_settings_of_the_loop() -> None:
    loader = in_processes(Where(), None, worker_init_fn=note_number, collate_fn=tuple)
    dk.set_default_dtype(dk.float32)
    try:
        with dk.no_grad():
            items = list(loader)
    finally:
        dk.set_default_dtype(dk.float64)
    assert os.getpid() not in {pid for pid, *_ in items}
    assert {worker for _, worker, *_ in items} <= {0, 1}
    assert all(item[2:] == (False, dk.float32) for item in items)
    assert STARTED == {}


def test_what_raises_in_a_process_is_raised_here_with_its_traceback() -> None:
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
        ("exits", r"^DataLoader of Failing: worker process \d ended with exit code 7$"),
        ("is killed", r"^DataLoader of Failing: worker process \d ended with exit code -9 \(SIGKILL\)$"),
        ("closes its files", r"^DataLoader of Failing: worker process \d closed its connection$"),
    ],
)
def test_a_process_that_dies_is_named_with_its_exit_code(kind: str, message: str) -> None:
    with pytest.raises(DataLoaderError, match=message):
        list(in_processes(Failing(kind), None, collate_fn=keep))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "is unsendable",
            r"^DataLoader of Failing: a batch cannot be sent by a worker process: TypeError: cannot pickle",
        ),
        ("raises what cannot be sent", r"^DataLoader of Failing: Failing\[3\] raised Unsendable: 7"),
    ],
)
def test_what_cannot_be_sent_by_a_process_is_named(kind: str, message: str) -> None:
    with pytest.raises(DataLoaderError, match=message):
        list(in_processes(Failing(kind), None, collate_fn=keep))


def test_an_interrupt_that_a_data_set_raises_is_raised_here() -> None:
    with pytest.raises(KeyboardInterrupt):
        list(in_processes(Failing("is interrupted"), None))


@methods
def test_a_process_that_is_killed_between_two_batches_is_an_error(method: str) -> None:
    loader = in_processes(Noisy(), None, workers=1, prefetch_factor=1, collate_fn=keep, multiprocessing_context=method)
    batches = iter(loader)
    next(batches)
    [process] = multiprocessing.active_children()
    process.kill()
    process.join()
    with pytest.raises(DataLoaderError, match=r"^DataLoader of Noisy: worker process 0 ended with exit code -9"):
        list(batches)


def test_a_worker_that_cannot_be_prepared_is_an_error() -> None:
    with pytest.raises(DataLoaderError, match=r"^DataLoader of Noisy: worker_init_fn\(0\) raised ValueError: no room"):
        list(in_processes(Noisy(), workers=1, worker_init_fn=refuse))


LOCAL = "DataLoader of Keeping: {} cannot be pickled for a worker process: "


@pytest.mark.usefixtures("without_cloudpickle")
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize(
    ("kept", "options", "message"),
    [
        (threading.Lock(), {}, LOCAL.format("the data set's attribute 'kept'") + "TypeError: cannot pickle '_thread"),
        (0, {"collate_fn": lambda items: items}, LOCAL.format("collate_fn <lambda>")),
        (0, {"worker_init_fn": lambda worker: None}, LOCAL.format("worker_init_fn <lambda>")),
    ],
    ids=["data set", "collate_fn", "worker_init_fn"],
)
def test_what_cannot_be_pickled_is_named_before_a_process_starts(
    kept: Any, options: dict[str, Any], message: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = multiprocessing.get_context(method)
    processes: list[Any] = []

    def create(**keywords: Any) -> Any:
        processes.append(process_class(**keywords))
        return processes[-1]

    process_class = context.Process  # type: ignore[attr-defined]  # of each context, but not of their base
    monkeypatch.setattr(context, "Process", create)
    with pytest.raises(DataLoaderError) as info:
        list(in_processes(Keeping(kept), multiprocessing_context=context, **options))
    text = str(info.value)
    assert text.startswith(message)
    assert text.endswith(
        "; cloudpickle, where it is installed, sends functions and classes by value; with multiprocessing_context=None "
        "the workers are threads, to which nothing is sent"
    )
    assert [process.pid for process in processes] == [None]


@pytest.mark.usefixtures("without_cloudpickle")
def test_a_list_that_cannot_be_pickled_is_named() -> None:
    with pytest.raises(DataLoaderError, match=r"^DataLoader of list: the data set cannot be pickled for a worker"):
        list(in_processes([threading.Lock()], None, multiprocessing_context="spawn"))


def test_a_data_set_that_cannot_be_made_again_is_named() -> None:
    message = r"^DataLoader of Broken: the data set cannot be made in a worker process: ValueError: invalid literal"
    with pytest.raises(DataLoaderError, match=message):
        list(in_processes(Broken(0), multiprocessing_context="spawn"))


def test_a_forked_process_gets_what_cannot_be_pickled() -> None:
    if "fork" not in METHODS:
        pytest.skip("no forks here")
    data = Keeping(threading.Lock())
    loader = in_processes(data, 2, collate_fn=lambda items: items[::-1], multiprocessing_context="fork")
    assert list(loader) == [[6, 5]]


def test_a_data_set_may_share_what_multiprocessing_shares() -> None:
    data = Counting()
    assert [batch.tolist() for batch in in_processes(data, 2, multiprocessing_context="spawn")] == [[0, 1], [2, 3]]
    assert data.counter.value == 4


@methods
def test_a_process_that_makes_a_batch_is_ended_with_the_loop(method: str) -> None:
    for batch in in_processes(Failing("sleeps"), None, collate_fn=keep, multiprocessing_context=method):
        assert batch == 0
        break
    assert multiprocessing.active_children() == []


def test_a_batch_of_a_process_may_take_too_long() -> None:
    with pytest.raises(DataLoaderError, match=r"^DataLoader of Failing: a batch timed out after 0\.5 seconds$"):
        list(in_processes(Failing("sleeps"), 11, timeout=0.5))


def test_processes_end_with_an_exception_in_the_loop() -> None:
    def loop() -> None:
        for _ in in_processes(Noisy()):
            assert len(multiprocessing.active_children()) == 2
            raise RuntimeError("mine")

    with contextlib.suppress(RuntimeError):
        loop()
    assert multiprocessing.active_children() == []


def test_an_iterator_that_was_never_begun_starts_no_process() -> None:
    batches = iter(in_processes(Noisy()))
    assert multiprocessing.active_children() == []
    del batches


@methods
def test_a_worker_process_has_no_processes_of_its_own(method: str) -> None:
    message = "DataLoader of list: worker processes cannot be started in a process that ends with another: such have no"
    with pytest.raises(DataLoaderError, match=message):
        list(in_processes(Nesting(), multiprocessing_context=method))


KILLED = """
import multiprocessing, os, signal, sys
import dispatchkit as dk

if __name__ == "__main__":
    batches = iter(dk.data.DataLoader(range(30), num_workers=3, multiprocessing_context=sys.argv[1]))
    next(batches)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@methods
def test_processes_end_where_the_loop_is_killed(method: str, tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    # The output is closed when the last process that has it has ended.
    result = subprocess.run(
        [sys.executable, str(script), method], stdout=subprocess.PIPE, timeout=PATIENCE, check=False
    )
    assert result.returncode == -signal.SIGKILL


INTERRUPTED = """
import multiprocessing, signal, time
import dispatchkit as dk

class Slow(dk.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index:
            print("sleeps", flush=True)
            time.sleep(PATIENCE)
        return index

def interrupt(*_):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it may come several times
    raise KeyboardInterrupt

if __name__ == "__main__":
    signal.signal(signal.SIGINT, interrupt)
    try:
        for x in dk.data.DataLoader(Slow(), num_workers=1, multiprocessing_context="spawn"):
            pass
    except KeyboardInterrupt:
        print("interrupted", multiprocessing.active_children(), flush=True)
"""


def test_an_interrupt_ends_the_processes(tmp_path: Path) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED.replace("PATIENCE", str(2 * PATIENCE)))
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "sleeps\n"
        try:
            interrupt(process, lambda: os.killpg(process.pid, signal.SIGINT))
            output = process.stdout.read()
        finally:
            process.kill()
    assert output == "interrupted []\n"
    assert process.returncode == 0


UNGUARDED = """
import dispatchkit as dk
print(list(dk.data.DataLoader([1, 2], num_workers=1, multiprocessing_context="spawn")))
"""


def test_a_script_without_a_guard_is_told_of_it(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(UNGUARDED)
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stdout == ""
    told = (
        "DataLoader of list: worker process 0 ended with exit code 1 before its first batch; its output says why. A "
        'script that starts processes runs its loop under if __name__ == "__main__":'
    )
    # Python may add what it notices at its end.
    assert f"{told}\n" in result.stderr


NOTEBOOK = """
import sys
from dataclasses import dataclass
if not CLOUDPICKLE:
    sys.modules["cloudpickle"] = None
import dispatchkit as dk

@dk.array_type(fallback=dk.fallback.dense)
@dataclass(frozen=True)
class Doubled:
    x: dk.Tensor
    shape = property(lambda self: self.x.shape)
    dtype = property(lambda self: self.x.dtype)

    def to_dense(self):
        return 2 * self.x

@dk.implements(dk.negative)
def negate(x: Doubled, /) -> Doubled:
    return Doubled(-x.x)

class Instances(dk.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return -Doubled(dk.ones(2) * index)

loader = dk.data.DataLoader(Instances(), 2, collate_fn=lambda items: items[::-1], num_workers=1,
                            multiprocessing_context="spawn")
[batch] = loader
print(*(type(item) is Doubled for item in batch), batch[0].x.tolist())
"""


def test_types_of_a_notebook_travel_by_value() -> None:
    pytest.importorskip("cloudpickle")
    script = NOTEBOOK.replace("CLOUDPICKLE", "True")
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert result.stdout == "True True [-1.0, -1.0]\n"


def test_types_of_a_notebook_are_refused_without_cloudpickle() -> None:
    script = NOTEBOOK.replace("CLOUDPICKLE", "False").replace("collate_fn=lambda items: items[::-1]", "collate_fn=list")
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    message = "DataLoader of Instances: the data set cannot be made in a worker process: AttributeError: "
    assert message in result.stderr
