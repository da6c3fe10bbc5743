"""How the batches of one iteration are made, in threads and processes, and what a state holds of how far it is."""

from __future__ import annotations

import contextvars
import enum
import itertools
import multiprocessing
import operator
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from multiprocessing.context import BaseContext
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import Any

import numpy as np
from typing_extensions import override

from dispatchkit.data.collate import default_collate
from dispatchkit.data.dataset import IterableDataset, has_plain_rows
from dispatchkit.errors import DataLoaderError
from dispatchkit.graph.recording import enable_grad, is_grad_enabled, no_grad
from dispatchkit.ops.creation.dtypes import get_default_dtype, set_default_dtype
from dispatchkit.ops.random.generator import Generator, current_generator, drawing_from


class _End(enum.Enum):
    """What a stream gives where it has ended; one object in all processes."""

    END = 0


END = _End.END


class Source:
    """Where the batches of one iteration come from.

    Parameters
    ----------
    loader : whose batches they are
    generator : that the generators of the batches are made of

    Attributes
    ----------
    name : of the data set's class
    stop : set when no more batches are wanted
    skipped : number of batches that were given before the iteration went on
    """

    def __init__(self, loader: Any, generator: Generator) -> None:
        self.dataset, self.collate_fn, self.drop_last = loader.dataset, loader.collate_fn, loader.drop_last
        self.size, self.single = loader.batch_size, loader.batch_sampler is None
        self.prepare = loader.worker_init_fn
        self.generator, self.skipped = generator, 0
        self.name = type(loader.dataset).__name__
        self.stop = threading.Event()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "stop"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, stop=threading.Event())

    def drawn(self, task: tuple[Any, Generator]) -> Any:
        """Return the batch of a task, made with random numbers of its generator."""
        with drawing_from(task[1]):
            return self.make(task[0])

    def make(self, task: Any) -> Any:
        """Return a batch, or END where a stream has ended."""
        raise NotImplementedError

    def begin(self, worker: int) -> None:
        """Prepare a worker."""
        if self.prepare is not None:
            self.attempt(f"worker_init_fn({worker})", self.prepare, worker)

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
        if self.single:
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
            for number in range(self.skipped):
                with drawing_from(BatchGenerator(self.generator, number)):
                    self._make()
        return self._make()

    def _make(self) -> Any:
        if self.iterator is None:
            self.iterator = self.attempt(f"iter({self.name})", iter, self.dataset)
        start = self.count
        items: list[Any] = []
        while len(items) < (self.size or 1):
            item = self.attempt(f"item {self.count} of {self.name}", partial(next, self.iterator), END)
            if item is END or self.stop.is_set():
                break
            items.append(item)
            self.count += 1
        if not items or (self.drop_last and len(items) != self.size):
            return END
        if self.size is None:
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
KEYS = ("batches", "generator", "samplers", "loader")


class Progress:
    """One iteration over a loader.

    Parameters
    ----------
    loader : that is gone through
    state : to go on from, as `check_state` gives it; None to begin

    Attributes
    ----------
    source : of the batches
    count : of the batches so far, those before the iteration went on among them
    done : whether it has come to its end
    """

    def __init__(self, loader: Any, state: State | None) -> None:
        self.sampler_generators = _generators_of(loader)
        self.starts: list[State] | None = None
        self.count, self.done = 0, False
        if state is not None:
            for sampler_generator, start in zip(self.sampler_generators, state["samplers"], strict=False):
                sampler_generator.set_state(start)
            # Where the samplers have drawn already, the state of the default generator at that time is there as well.
            self.starts = state["samplers"] if len(state["samplers"]) > len(self.sampler_generators) else None
            self.count = state["batches"]
        if state is None or state["generator"] is None:
            [generator] = (loader.generator or current_generator()).spawn(1)
        else:
            generator = Generator(0).set_state(state["generator"])
        stream = isinstance(loader.dataset, IterableDataset)
        self.source: Source = (Stream if stream else Items)(loader, generator)
        self.source.skipped = self.count

    def tasks(self, indices: Any) -> Iterator[tuple[Any, Generator]]:
        """Yield each task with a generator of its own, so that no worker takes numbers from another.

        Parameters
        ----------
        indices : what the samplers give; None for a stream
        """
        generator = current_generator()
        if self.starts is None:
            self.starts = [source.get_state() for source in (*self.sampler_generators, generator)]
        else:
            generator = Generator(0).set_state(self.starts[-1])
        drawn = itertools.repeat(None) if indices is None else iter(indices)
        for number in itertools.count(self.count if indices is None else 0):
            with drawing_from(generator):
                task = next(drawn, END)
            if task is END:
                return
            if number >= self.source.skipped:
                yield task, BatchGenerator(self.source.generator, number)

    def count_batches(self, batches: Any) -> Iterator[Any]:
        """Yield batches up to the end, and count them."""
        try:
            for batch in batches:
                if batch is END:
                    break
                self.count += 1
                yield batch
            self.done = True
        finally:
            getattr(batches, "close", bool)()

    def state(self) -> State:
        """Return the parts of a state that are the iteration's."""
        now = [source.get_state() for source in self.sampler_generators]
        if self.done:
            return {"batches": 0, "generator": None, "samplers": now}
        generator = self.source.generator.get_state()
        return {"batches": self.count, "generator": generator, "samplers": now if self.starts is None else self.starts}


def state_of(loader: Any, progress: Progress | None) -> State:
    """Return the state of a loader, whose latest iteration is `progress`."""
    if progress is not None:
        return {**progress.state(), "loader": layout(loader)}
    samplers = [generator.get_state() for generator in _generators_of(loader)]
    return {"batches": 0, "generator": None, "samplers": samplers, "loader": layout(loader)}


def _generators_of(loader: Any) -> list[Generator]:
    """Return the generators that samplers keep."""
    samplers = (loader.sampler, loader.batch_sampler, getattr(loader.batch_sampler, "sampler", None))
    generators: list[Generator] = []
    for sampler in samplers:
        generator = getattr(sampler, "generator", None)
        if isinstance(generator, Generator) and not any(generator is other for other in generators):
            generators.append(generator)
    return generators


def layout(loader: Any) -> State:
    """Return what has to be the same in a loader that goes on from a state."""
    length = len(loader.dataset) if hasattr(loader.dataset, "__len__") else None
    return {
        "length of the data set": length,
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
    parts = {key: state[key] for key in KEYS}
    for name, value in layout(loader).items():
        if not isinstance(parts["loader"], Mapping) or parts["loader"].get(name) != value:
            other = parts["loader"].get(name) if isinstance(parts["loader"], Mapping) else None
            raise ValueError(f"the loaded state is of a DataLoader with {name}: {other!r}, this one has {value!r}")
    batches, generator, samplers = parts["batches"], parts["generator"], parts["samplers"]
    sized = hasattr(loader.dataset, "__len__")
    most = len(loader) if sized else float("inf")
    if not isinstance(batches, int) or not 0 <= batches <= most:
        raise ValueError(f"the loaded state counts {batches!r} batches, this DataLoader has {most}")
    if generator is None and batches:
        raise ValueError("the loaded state counts batches, but has no 'generator' (DataLoader)")
    least = len(_generators_of(loader))
    numbers = {least} if generator is None else {least + 1} if batches else {least, least + 1}
    if not isinstance(samplers, list) or len(samplers) not in numbers:
        raise ValueError(f"the loaded state does not have the {least} generators of samplers of this DataLoader")
    for generator_state in samplers if generator is None else [generator, *samplers]:
        Generator(0).set_state(generator_state)
    return parts


PREFIX = "dispatchkit.data"
# Seconds that threads which are no longer wanted have to finish what they are at.
GRACE = 1.0


def prefetched(
    make: Callable[[Any], Any],
    tasks: Iterator[Any],
    *,
    workers: int,
    ahead: int,
    timeout: float | None,
    begin: Callable[[int], None],
    stop: Callable[[], None],
) -> Iterator[Any]:
    """Yield ``make(task)`` for each task, in order, while threads make those that follow.

    The tasks are drawn in the thread that asks, `ahead` at most before their results are asked for. Each is made in a
    copy of that thread's context, so that modes and ``no_grad`` hold in it. When the iterator ends, is closed,
    collected or left by an exception, what has not begun is dropped, and the threads have `GRACE` to end. They are
    daemons: one that does not end holds up neither Ctrl-C nor the end of the program.

    Parameters
    ----------
    make : called in the threads
    tasks : iterated once
    workers : number of threads
    ahead : number of tasks that are drawn before their results are asked for
    timeout : seconds to wait for a result, None for as long as it takes
    begin : called with its number in each thread before its first task
    stop : called when no more results are wanted, so that tasks that run can end early

    Raises
    ------
    TimeoutError : if a result took longer; the threads are then not waited for
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
                threads.append(
                    threading.Thread(target=_work, args=(queue, make, begin, number), name=name, daemon=True)
                )
                threads[-1].start()

    try:
        draw()
        while waiting:
            try:
                result = waiting[0].result(timeout)
            except TimeoutError:
                grace = GRACE if waiting[0].done() else 0.0
                raise
            waiting.popleft()
            draw()
            yield result
    except KeyboardInterrupt:
        grace = 0.0
        raise
    finally:
        stop()
        for future in waiting:
            future.cancel()
        for _ in threads:
            queue.put(None)
        until = time.monotonic() + grace
        for thread in threads:
            # A thread cannot wait for its own end, should the garbage collector close the iterator in one of them.
            if thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))


def _work(queue: SimpleQueue[Any], make: Callable[[Any], Any], begin: Callable[[int], None], number: int) -> None:
    """Do the tasks of the queue, until it gives None."""
    begun = False

    def made(task: Any) -> Any:
        nonlocal begun
        if not begun:
            begun = True
            begin(number)
        return make(task)

    while (item := queue.get()) is not None:
        future, context, task = item
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(context.run(made, task))
            except BaseException as error:  # noqa: BLE001  # it is raised where the result is asked for
                future.set_exception(error)
        # Nothing of it is to live on while the thread waits.
        del item, future, context, task


def context_of(value: Any, num_workers: int) -> Any:
    """Return the context that an argument names; None for threads.

    Raises
    ------
    ValueError : for another way to start processes than the system has, or without workers
    TypeError : if it is neither a text nor a context
    """
    if value is None:
        return None
    if not num_workers:
        raise ValueError("multiprocessing_context option could only be specified with num_workers > 0")
    if isinstance(value, BaseContext):
        return value
    if not isinstance(value, str):
        raise TypeError(f"multiprocessing_context option should be a str or a context, found {type(value).__name__}")
    methods = multiprocessing.get_all_start_methods()
    if value not in methods:
        raise ValueError(f"multiprocessing_context option should be one of {str(methods)[1:-1]}, found {value!r}")
    return multiprocessing.get_context(value)


class Processes:
    """A process for each thread that asks; they take the place of a source in `prefetched`.

    Parameters
    ----------
    context : to start them with
    source : of the batches, which each of them gets a copy of
    """

    def __init__(self, context: Any, source: Source) -> None:
        self.context, self.source = context, source
        self.here = threading.local()
        self.lock = threading.Lock()
        self.workers: list[_Worker] = []
        self.ended = False

    def begin(self, number: int) -> None:
        """Start the process of the calling thread."""
        with self.lock:
            if not self.ended:
                self.here.worker = _Worker(self.context, self.source, number)
                self.workers.append(self.here.worker)

    def drawn(self, task: Any) -> Any:
        """Return the batch of a task, made in the process of the calling thread."""
        return self.here.worker.drawn(task)

    def stop(self) -> None:
        """End the processes: those that make a batch at once, the others by themselves."""
        self.source.stop.set()
        with self.lock:
            self.ended = True
        for worker in self.workers:
            worker.end()
        until = time.monotonic() + GRACE
        for worker in self.workers:
            worker.process.join(max(0.0, until - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join(GRACE)


class _Worker:
    """A process, and the connection to it."""

    def __init__(self, context: Any, source: Source, number: int) -> None:
        self.source, self.which = source, f"worker process {number}"
        self.busy = threading.Lock()
        self.connection, theirs = context.Pipe()
        arguments = (theirs, source, number, get_default_dtype())
        self.process = context.Process(target=serve, args=arguments, name=f"{PREFIX}_{number}", daemon=True)
        try:
            self.process.start()
        except Exception as error:
            problem = f"cannot be started: {type(error).__name__}: {error}"
            raise DataLoaderError(source.name, self.which, problem) from error
        theirs.close()

    def drawn(self, task: Any) -> Any:
        """Return the batch of a task, or raise what was raised in the process."""
        with self.busy:
            try:
                # As `send` does, but for the buffer, which Python 3.13 finds in use where the pipe is broken.
                self.connection.send_bytes(bytes(ForkingPickler.dumps((task, bool(is_grad_enabled())))))
                batch, failure, cause = self.connection.recv()
            except (EOFError, OSError) as error:
                self.process.join(GRACE)
                problem = f"ended with exit code {self.process.exitcode}"
                raise DataLoaderError(self.source.name, self.which, problem) from error
        if failure is not None:
            raise failure from cause
        return batch

    def end(self) -> None:
        """Have the process end, without waiting for it."""
        if not self.busy.acquire(blocking=False):
            self.process.terminate()
            return
        try:
            self.connection.send(None)
        except OSError:  # it has ended
            pass
        finally:
            self.busy.release()


def serve(connection: Any, source: Source, number: int, dtype: Any) -> None:
    """Answer tasks with batches; what a worker process does.

    Parameters
    ----------
    connection : that tasks come by, with whether gradients are recorded, and that ends with None
    source : of the batches
    number : of the worker
    dtype : the default one of the process that asks
    """
    # Ctrl-C reaches all processes of a terminal; the one that asks ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_default_dtype(dtype)
    begun = False
    while True:
        try:
            message = connection.recv()
        except EOFError:
            return
        if message is None:
            return
        task, records = message
        try:
            with enable_grad() if records else no_grad():
                if not begun:
                    begun = True
                    source.begin(number)
                batch = source.drawn(task)
        except BaseException as error:  # noqa: BLE001  # it is raised where the batch is asked for
            answer = _failure(source, error, number)
        else:
            answer = _packed(source, batch)
        connection.send_bytes(answer)


def _packed(source: Source, batch: Any) -> Any:
    """Return an answer with a batch, or with what kept it from being sent."""
    try:
        return ForkingPickler.dumps((batch, None, None))
    except Exception as error:  # noqa: BLE001  # of the methods of the user's classes
        problem = f"cannot be sent by a worker process: {type(error).__name__}: {error}"
        return ForkingPickler.dumps((None, DataLoaderError(source.name, "a batch", problem), None))


def _failure(source: Source, error: BaseException, number: int) -> Any:
    """Return an answer with an exception and its cause, which has the traceback as a note."""
    cause = error.__cause__
    (cause or error).add_note(f"In worker process {number}:\n{''.join(traceback.format_exception(error))}")
    try:
        answer = ForkingPickler.dumps((None, error, cause))
        ForkingPickler.loads(answer)  # some can be sent and not be made again
    except Exception:  # noqa: BLE001  # of the methods of the user's classes
        if not isinstance(error, DataLoaderError):
            error = DataLoaderError(source.name, "a batch", f"raised {type(error).__name__}: {error}")
        return ForkingPickler.dumps((None, error, None))
    return answer
