"""What programs ask of the pass that runs, and functions that start others, of which they wait for the result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import Any

from dispatchkit.as_torch.machine.futures import Future
from dispatchkit.graph.sweep import running_passes

__all__ = ["current_graph_task_id", "fork", "wait"]

_numbers = count()


class _Numbered(threading.local):
    """The passes of a thread that have a number, with it, the outermost first."""

    def __init__(self) -> None:
        self.passes: list[tuple[object, int]] = []


_numbered = _Numbered()


def current_graph_task_id() -> int:
    """Return the number of the pass that calls what calls this, the inner one of several; -1 where none runs."""
    running = running_passes()
    ids = set(map(id, running))
    _numbered.passes = [(each, number) for each, number in _numbered.passes if id(each) in ids]
    if not running:
        return -1
    for each, number in _numbered.passes:
        if each is running[-1]:
            return number
    _numbered.passes.append((running[-1], next(_numbers)))
    return _numbered.passes[-1][1]


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Return a future of what a function gives, which is called at once, as PyTorch does outside of scripts.

    Parameters
    ----------
    func, *args, **kwargs : the function and its arguments

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> later = torch.jit.fork(torch.add, torch.ones(2), 1)
    >>> torch.jit.wait(later)
    tensor([2., 2.])
    """
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future) -> Any:
    """Return the result of a future of `fork`."""
    return future.wait()
