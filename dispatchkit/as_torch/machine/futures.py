"""Results that are there later, `torch.futures`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent import futures
from threading import Lock
from typing import Any

__all__ = ["Future", "collect_all", "wait_all"]


class Future(futures.Future[Any]):
    """A result that is there later.

    Parameters
    ----------
    devices : which change nothing here

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> later = torch.futures.Future()
    >>> doubled = later.then(lambda f: 2 * f.value())
    >>> later.set_result(21)
    >>> doubled.wait()
    42
    """

    def __init__(self, *, devices: Any = None) -> None:
        super().__init__()

    def wait(self) -> Any:
        """Return the result, once it is there.

        Raises
        ------
        Exception : the one that was set in its place
        """
        return self.result()

    def value(self) -> Any:
        """Return the result of a future that is done.

        Raises
        ------
        RuntimeError : if it is not
        Exception : the one that was set in the place of the result
        """
        if not self.done():
            raise RuntimeError("value() of a future that is not done; ask done() first, or wait()")
        return self.result()

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Return the future of what a function gives for this one, when it is done.

        Parameters
        ----------
        callback : called with this future
        """
        following = Future()

        def follow(done: Any) -> None:
            try:
                following.set_result(callback(done))
            except Exception as error:  # noqa: BLE001  # raised by those who wait
                following.set_exception(error)

        self.add_done_callback(follow)
        return following


def collect_all(futures: Sequence[Future]) -> Future:
    """Return the future of a list of futures, when all of them are done.

    Parameters
    ----------
    futures : the futures
    """
    together = Future()
    lacking, lock = len(futures), Lock()
    if not lacking:
        together.set_result([])

    def note(done: Any) -> None:
        nonlocal lacking
        with lock:  # the last of several threads finds them all done, and no other
            lacking -= 1
            is_last = not lacking
        if is_last:
            together.set_result(list(futures))

    for future in futures:
        future.add_done_callback(note)
    return together


def wait_all(futures: Sequence[Future]) -> list[Any]:
    """Return the results of futures, once all are there.

    Parameters
    ----------
    futures : the futures

    Raises
    ------
    Exception : the first that was set in the place of a result
    """
    return [future.wait() for future in futures]
