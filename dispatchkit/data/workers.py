"""Threads that make batches ahead of their use."""

from __future__ import annotations

import contextvars
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

__all__ = ["PREFIX", "prefetched"]

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
