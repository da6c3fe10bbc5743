"""How the batches of one iteration are made, and the threads that make them ahead."""

from __future__ import annotations

import contextvars
import itertools
import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any

import numpy as np

from dispatchkit.data.collate import default_collate
from dispatchkit.data.dataset import has_plain_rows
from dispatchkit.errors import DataLoaderError
from dispatchkit.marks import override
from dispatchkit.ops.random.generator import Generator, drawing_from

# What a stream gives where it has ended.
END: Any = object()


class Source:
    """Where the batches of one iteration come from.

    It is pickled for processes, without the samplers of the loader, which stay where indices are drawn.

    Parameters
    ----------
    loader : whose batches they are

    Attributes
    ----------
    name : of the data set's class
    stop : set when no more batches are wanted
    """

    def __init__(self, loader: Any) -> None:
        self.dataset, self.collate_fn, self.worker_init_fn = loader.dataset, loader.collate_fn, loader.worker_init_fn
        self.batch_size, self.drop_last = loader.batch_size, loader.drop_last
        self.gives_single_items = loader.batch_sampler is None
        self.name = type(loader.dataset).__name__
        self.stop = threading.Event()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "stop"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.stop = threading.Event()

    def start(self, workers: int) -> None:
        """Make ready for a number of workers, in the thread that iterates."""

    def end(self) -> None:
        """Have the workers end, since no more batches are wanted."""
        self.stop.set()

    def batch(self, task: Task, worker: int = 0) -> Any:
        """Return the batch of a task, made by a worker with random numbers of the task's generator."""
        with drawing_from(task[1]):
            return self.make(task[0])

    def make(self, task: Any) -> Any:
        """Return a batch, or END where a stream has ended."""
        raise NotImplementedError

    def begin(self, worker: int) -> None:
        """Prepare a worker."""
        if self.worker_init_fn is not None:
            self.attempt(f"worker_init_fn({worker})", self.worker_init_fn, worker)

    def attempt(self, action: str, function: Callable[[Any], Any], value: Any) -> Any:
        """Call a function of the user, whose exception becomes the cause of one that says what was done."""
        try:
            return function(value)
        except Exception as error:
            raise DataLoaderError(self.name, action, f"raised {type(error).__name__}: {error}") from error

    def collate(self, items: Any, which: str) -> Any:
        """Return the batch of some items, which messages call `which`."""
        name = getattr(self.collate_fn, "__name__", type(self.collate_fn).__name__)
        return self.attempt(f"{name} of {which}", self.collate_fn, items)


class Items(Source):
    """Items by their indices."""

    @override
    def make(self, task: Any) -> Any:
        get = partial(operator.getitem, self.dataset)
        if self.gives_single_items:
            return self.collate(self.attempt(f"{self.name}[{task!r}]", get, task), f"{self.name}[{task!r}]")
        if self.collate_fn is default_collate and has_plain_rows(self.dataset):
            return self.attempt(f"{self.name}[i] for i in {task!r}", self.dataset.rows, task)
        get_all = getattr(self.dataset, "__getitems__", None)
        if get_all is not None:
            items = self.attempt(f"{self.name}.__getitems__({task!r})", get_all, task)
        else:
            items = []
            for index in task:
                if self.stop.is_set():
                    return END
                items.append(self.attempt(f"{self.name}[{index!r}]", get, index))
        return self.collate(items, f"{self.name}[i] for i in {task!r}")


class Stream(Source):
    """Items of a stream, in the order they come."""

    iterator: Any = None
    count = 0

    @override
    def make(self, task: Any) -> Any:
        if self.iterator is None:
            self.iterator = self.attempt(f"iter({self.name})", iter, self.dataset)
        size, start = self.batch_size, self.count
        items: list[Any] = []
        while len(items) < (size or 1):
            item = self.attempt(f"item {self.count} of {self.name}", partial(next, self.iterator), END)
            if item is END or self.stop.is_set():
                break
            items.append(item)
            self.count += 1
        if not items or (self.drop_last and len(items) != size):
            return END
        if size is None:
            return self.collate(items[0], f"item {start} of {self.name}")
        return self.collate(items, f"items {start} to {self.count - 1} of {self.name}")


class BatchGenerator(Generator):
    """A generator that is spawned at its first draw: most batches need none, and processes get a few numbers.

    Parameters
    ----------
    parent : of which it is spawned, as `Generator.spawn` does
    number : of the batch
    """

    def __init__(self, parent: Generator, number: int) -> None:
        sequence: Any = parent.source.bit_generator.seed_seq
        self._entropy, self._spawn_key = sequence.entropy, (*sequence.spawn_key, number)

    def __getattr__(self, name: str) -> Any:
        if name not in ("seed", "source"):
            raise AttributeError(f"Generator has no attribute {name!r}")
        self._start(np.random.SeedSequence(self._entropy, spawn_key=self._spawn_key))
        return self.__dict__[name]

    @override
    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))


# What a batch is made of: an index, a list of them, or None for a stream; and its random numbers.
Task = tuple[Any, Generator]

PREFIX = "dispatchkit.data"
# Seconds that workers which are no longer wanted have to finish what they are at.
GRACE = 1.0


def prefetched(
    source: Source, tasks: Iterator[Task], *, workers: int, ahead: int, timeout: float | None
) -> Iterator[Any]:
    """Yield the batch of each task, in order, while threads make those that follow.

    The tasks are drawn in the thread that asks, `ahead` at most before their results are asked for. Each is made in a
    copy of that thread's context, so that modes and ``no_grad`` hold in it. When the iterator ends, is closed,
    collected or left by an exception, what has not begun is dropped, and the threads have `GRACE` to end. They are
    daemons: one that does not end holds up neither Ctrl-C nor the end of the program.

    Parameters
    ----------
    source : of the batches
    tasks : iterated once
    workers : number of threads
    ahead : number of tasks that are drawn before their results are asked for
    timeout : seconds to wait for a result, None for as long as it takes

    Raises
    ------
    DataLoaderError : if a result took longer; the threads are then not waited for
    """
    queue: SimpleQueue[Any] = SimpleQueue()
    threads: list[threading.Thread] = []
    waiting: deque[Future[Any]] = deque()
    grace = GRACE

    def draw() -> None:
        for task in itertools.islice(tasks, ahead - len(waiting)):
            waiting.append(Future())
            queue.put((waiting[-1], contextvars.copy_context(), task))
            if len(threads) < workers:
                number = len(threads)
                name = f"{PREFIX}_{number}"
                threads.append(threading.Thread(target=_work, args=(queue, source, number), name=name, daemon=True))
                threads[-1].start()

    try:
        source.start(workers)
        draw()
        while waiting:
            try:
                result = waiting[0].result(timeout)
            except TimeoutError as error:
                grace = 0.0
                if waiting[0].done():
                    grace = GRACE
                raise DataLoaderError(source.name, "a batch", f"timed out after {timeout} seconds") from error
            waiting.popleft()
            draw()
            yield result
    except KeyboardInterrupt:
        grace = 0.0
        raise
    finally:
        for future in waiting:
            future.cancel()
        source.end()
        for _ in threads:
            queue.put(None)
        until = time.monotonic() + grace
        for thread in threads:
            # A thread cannot wait for its own end, should the garbage collector close the iterator in one of them.
            if thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))


def _work(queue: SimpleQueue[Any], source: Source, number: int) -> None:
    """Do the tasks of the queue, until it gives None."""
    begun = False

    def make(task: Any) -> Any:
        nonlocal begun
        if not begun:
            begun = True
            source.begin(number)
        return source.batch(task, number)

    while (item := queue.get()) is not None:
        future, context, task = item
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(context.run(make, task))
            except BaseException as error:  # noqa: BLE001  # it is raised where the result is asked for
                future.set_exception(error)
        # Nothing of it is to live on while the thread waits.
        del item, future, context, task
