"""How the batches of one iteration are made, in threads where wanted, and what a state holds of how far it is."""

from __future__ import annotations

import contextvars
import itertools
import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any

import numpy as np

from dispatchkit.data.collate import default_collate
from dispatchkit.data.dataset import has_plain_rows
from dispatchkit.errors import DataLoaderError
from dispatchkit.marks import override
from dispatchkit.ops.random.generator import Generator, current_generator, drawing_from

# What a stream gives where it has ended.
END: Any = object()


class Source:
    """Where the batches of one iteration come from.

    Parameters
    ----------
    loader : whose batches they are

    Attributes
    ----------
    name : of the data set's class
    stop : set when no more batches are wanted
    """

    def __init__(self, loader: Any) -> None:
        self.loader, self.dataset = loader, loader.dataset
        self.name = type(loader.dataset).__name__
        self.stop = threading.Event()

    def batch(self, task: tuple[Any, Generator]) -> Any:
        """Return the batch of a task, made with random numbers of its generator."""
        with drawing_from(task[1]):
            return self.make(task[0])

    def make(self, task: Any) -> Any:
        """Return a batch, or END where a stream has ended."""
        raise NotImplementedError

    def begin(self, worker: int) -> None:
        """Prepare a worker."""
        if self.loader.worker_init_fn is not None:
            self.attempt(f"worker_init_fn({worker})", self.loader.worker_init_fn, worker)

    def attempt(self, action: str, function: Callable[[Any], Any], value: Any) -> Any:
        """Call a function of the user, whose exception becomes the cause of one that says what was done."""
        try:
            return function(value)
        except Exception as error:
            raise DataLoaderError(self.name, action, f"raised {type(error).__name__}: {error}") from error

    def collate(self, items: Any, which: str) -> Any:
        """Return the batch of some items, which messages call `which`."""
        function = self.loader.collate_fn
        name = getattr(function, "__name__", type(function).__name__)
        return self.attempt(f"{name} of {which}", function, items)


class Items(Source):
    """Items by their indices."""

    @override
    def make(self, task: Any) -> Any:
        get = partial(operator.getitem, self.dataset)
        if self.loader.batch_sampler is None:
            return self.collate(self.attempt(f"{self.name}[{task!r}]", get, task), f"{self.name}[{task!r}]")
        if self.loader.collate_fn is default_collate and has_plain_rows(self.dataset):
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
        size, start = self.loader.batch_size, self.count
        items: list[Any] = []
        while len(items) < (size or 1):
            item = self.attempt(f"item {self.count} of {self.name}", partial(next, self.iterator), END)
            if item is END or self.stop.is_set():
                break
            items.append(item)
            self.count += 1
        if not items or (self.loader.drop_last and len(items) != size):
            return END
        if size is None:
            return self.collate(items[0], f"item {start} of {self.name}")
        return self.collate(items, f"items {start} to {self.count - 1} of {self.name}")


class BatchGenerator(Generator):
    """A generator that is spawned at its first draw: most batches need none."""

    def __init__(self, parent: Generator, number: int) -> None:
        self._parent, self._number = parent, number

    def __getattr__(self, name: str) -> Any:
        if name not in ("seed", "source"):
            raise AttributeError(f"Generator has no attribute {name!r}")
        sequence: Any = self._parent.source.bit_generator.seed_seq
        self._start(np.random.SeedSequence(sequence.entropy, spawn_key=(*sequence.spawn_key, self._number)))
        return self.__dict__[name]


State = dict[str, Any]
KEYS = ("batches", "generators", "loader")


class Progress:
    """How far an iteration over a loader is.

    Parameters
    ----------
    loader : that is gone through
    state : to go on from, as `check_state` gives it; None to begin

    Attributes
    ----------
    count : of the batches so far, those before the iteration went on among them
    starts : states of the generators that the loader keeps, and of the default one, when the first index was drawn
    """

    def __init__(self, loader: Any, state: State | None = None) -> None:
        self.loader = loader
        self.count: int = 0 if state is None else state["batches"]
        self.starts: list[State] = [] if state is None else state["generators"]

    def tasks(self, indices: Any) -> Iterator[tuple[Any, Generator]]:
        """Yield each task with a generator of its own, so that no worker takes numbers from another.

        Parameters
        ----------
        indices : what the samplers give; None for a stream, which is read from its beginning
        """
        kept, default = _generators_of(self.loader), current_generator()
        for generator, start in zip(kept, self.starts, strict=False):
            generator.set_state(start)
        if len(self.starts) > len(kept):
            default = Generator(0).set_state(self.starts[-1])
        self.starts = [generator.get_state() for generator in (*kept, default)]
        [parent] = (self.loader.generator or default).spawn(1)
        drawn = itertools.repeat(None) if indices is None else iter(indices)
        skipped = 0 if indices is None else self.count
        for number in itertools.count():
            with drawing_from(default):
                task = next(drawn, END)
            if task is END:
                return
            if number >= skipped:
                yield task, BatchGenerator(parent, number)

    def count_batches(self, batches: Any, *, skipped: int) -> Iterator[Any]:
        """Yield batches after the skipped ones, up to the end, and count them."""
        try:
            for batch in itertools.islice(batches, skipped, None):
                if batch is END:
                    break
                self.count += 1
                yield batch
            self.count, self.starts = 0, []
        finally:
            getattr(batches, "close", bool)()

    def state(self) -> State:
        """Return the state of the loader."""
        starts = self.starts or [generator.get_state() for generator in _generators_of(self.loader)]
        return {"batches": self.count, "generators": starts, "loader": layout(self.loader)}


def _generators_of(loader: Any) -> list[Generator]:
    """Return the generators that a loader and its samplers keep."""
    holders = (loader, loader.sampler, loader.batch_sampler, getattr(loader.batch_sampler, "sampler", None))
    generators = [getattr(holder, "generator", None) for holder in holders]
    return list({id(generator): generator for generator in generators if isinstance(generator, Generator)}.values())


def layout(loader: Any) -> State:
    """Return what has to be the same in a loader that goes on from a state."""
    return {
        "length of the data set": len(loader.dataset) if hasattr(loader.dataset, "__len__") else None,
        "batch_size": loader.batch_size,
        "drop_last": loader.drop_last,
        "sampler": type(loader.sampler).__name__,
        "batch_sampler": type(loader.batch_sampler).__name__,
    }


def check_state(loader: Any, state: Any) -> State:
    """Return a copy of a state that a loader can go on from.

    Raises
    ------
    ValueError : if it is none, or of a loader that is another
    """
    missing = [key for key in KEYS if not isinstance(state, Mapping) or key not in state]
    if missing:
        raise ValueError(f"loaded state dict has no {' and no '.join(map(repr, missing))} (DataLoader)")
    batches, generators, other = (state[key] for key in KEYS)
    for name, value in layout(loader).items():
        was = other.get(name) if isinstance(other, Mapping) else None
        if was != value:
            raise ValueError(f"the loaded state is of a DataLoader with {name}: {was!r}, this one has {value!r}")
    most = len(loader) if hasattr(loader.dataset, "__len__") else float("inf")
    if not isinstance(batches, int) or not 0 <= batches <= most:
        raise ValueError(f"the loaded state counts {batches!r} batches, this DataLoader has {most}")
    least = len(_generators_of(loader))
    if not isinstance(generators, list) or len(generators) - least not in ((1,) if batches else (0, 1)):
        raise ValueError(f"the loaded state does not have the {least} generators of this DataLoader and its samplers")
    for generator_state in generators:
        Generator(0).set_state(generator_state)
    return {"batches": batches, "generators": generators, "loader": other}


PREFIX = "dispatchkit.data"
# Seconds that threads which are no longer wanted have to finish what they are at.
GRACE = 1.0


def prefetched(
    source: Source, tasks: Iterator[Any], *, workers: int, ahead: int, timeout: float | None
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
        draw()
        while waiting:
            try:
                result = waiting[0].result(timeout)
            except TimeoutError as error:
                grace = GRACE if waiting[0].done() else 0.0
                raise DataLoaderError(source.name, "a batch", f"timed out after {timeout} seconds") from error
            waiting.popleft()
            draw()
            yield result
    except KeyboardInterrupt:
        grace = 0.0
        raise
    finally:
        source.stop.set()
        for future in waiting:
            future.cancel()
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
        return source.batch(task)

    while (item := queue.get()) is not None:
        future, context, task = item
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(context.run(make, task))
            except BaseException as error:  # noqa: BLE001  # it is raised where the result is asked for
                future.set_exception(error)
        # Nothing of it is to live on while the thread waits.
        del item, future, context, task
