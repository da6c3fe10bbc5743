"""A lock that no interrupt leaves held."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class SectionLock:
    """Runs functions one at a time; one that runs may run others inside of it.

    A `with` statement of a lock of `threading` does not let it go in some versions of Python, 3.14 for one, where an
    interrupt such as `KeyboardInterrupt` comes as soon as the lock is taken, before the block begins.
    """

    __slots__ = ("_holder", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        # The thread that runs a function; only that thread sets it, to its own number and back.
        self._holder = 0

    def run(self, section: Callable[[], T]) -> T:
        """Return what a function returns that is called once no other thread runs one."""
        thread = threading.get_ident()
        if self._holder == thread:
            return section()
        try:
            self._lock.acquire()
            self._holder = thread
            return section()
        finally:
            if self._holder == thread:
                self._holder = 0
            # Only this statement knows whether the lock was taken: an interrupt may come in between, or while it waits.
            try:
                self._lock.release()
            except RuntimeError:
                pass
