"""Threads that make batches ahead of their use."""

from __future__ import annotations

import contextvars
import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

__all__ = ["PREFIX", "prefetched"]

PREFIX = "dispatchkit.data"


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

    The tasks are drawn in the thread that asks, as far ahead as told and no further. Each is made in a copy of that
    thread's context, so that modes and ``no_grad`` hold in it. When the iterator ends, is closed, collected or left
    by an exception, what has not begun is dropped, and the threads have ended before it returns.

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
    own = threading.local()
    numbers = itertools.count()

    def work(task: Any) -> Any:
        if not hasattr(own, "number"):
            own.number = next(numbers)
            begin(own.number)
        return make(task)

    pool = ThreadPoolExecutor(workers, thread_name_prefix=PREFIX)
    waiting: deque[Future[Any]] = deque()
    patient = True

    def draw() -> None:
        for task in itertools.islice(tasks, ahead - len(waiting)):
            waiting.append(pool.submit(contextvars.copy_context().run, work, task))

    try:
        draw()
        while waiting:
            try:
                result = waiting[0].result(timeout)
            except TimeoutError:
                patient = waiting[0].done()
                raise
            waiting.popleft()
            draw()
            yield result
    finally:
        stop()
        # A thread cannot wait for its own end, should the garbage collector close the iterator in one of them.
        pool.shutdown(wait=patient and not hasattr(own, "number"), cancel_futures=True)
