"""Threads and processes that make batches ahead of their use."""

from __future__ import annotations

import contextvars
import itertools
import multiprocessing
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from multiprocessing.context import BaseContext
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import Any

from dispatchkit.data.sources import Source
from dispatchkit.errors import DataLoaderError
from dispatchkit.graph.recording import is_grad_enabled, set_grad_enabled
from dispatchkit.ops.creation.dtypes import get_default_dtype, set_default_dtype

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
            with set_grad_enabled(records):
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
