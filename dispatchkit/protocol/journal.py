"""`Journal`: what registrations change, and how a block of them is undone."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

__all__ = ["Journal"]

Undo = Callable[[], None]


class Caching(Protocol):
    """What holds decisions that a registration makes out of date."""

    def clear(self) -> None:
        """Forget every decision."""


class Journal:
    """The registrations of a protocol, as far as they affect decisions and can be undone.

    Attributes
    ----------
    generation : grows with every registration; a decision made before one is not kept after it
    lock : held while decisions are kept or forgotten
    before_local : called before registrations become local: what a library declares when it loads is not undone
    """

    def __init__(self) -> None:
        self.generation = 0
        self.lock = threading.RLock()
        self.before_local: list[Callable[[], None]] = []
        # What holds decisions; a registration has nothing to clear elsewhere.
        self._caches: weakref.WeakSet[Caching] = weakref.WeakSet()
        self._undos: ContextVar[list[Undo] | None] = ContextVar("dispatchkit.journal", default=None)

    def keep(self, cache: Caching, generation: int, memory: dict[Any, Any], path: tuple[Any, ...], found: Any) -> None:
        """Store a decision, unless something was registered since it was begun.

        Parameters
        ----------
        cache : what holds the memory, cleared by the next registration
        generation : before the decision was begun
        memory, path : a dictionary, of dictionaries where the path has several keys
        found : the decision
        """
        with self.lock:
            if generation == self.generation:
                for key in path[:-1]:
                    memory = memory.setdefault(key, {})
                memory[path[-1]] = found
                self._caches.add(cache)

    def changed(self) -> None:
        """Make every decision anew from now on."""
        with self.lock:
            for cache in list(self._caches):
                cache.clear()
            self._caches.clear()
            # Last: whoever reads the new number decides by what is registered now.
            self.generation += 1

    def record(self, undo: Undo) -> None:
        """Take note of a registration, and of what undoes it."""
        self.on_undo(undo)
        self.changed()

    def on_undo(self, undo: Undo) -> None:
        """Have something done when the registrations of the innermost block are undone."""
        undos = self._undos.get()
        if undos is not None:
            undos.append(undo)

    @contextmanager
    def local_registrations(self) -> Iterator[None]:
        """Undo on leaving what is registered inside the block."""
        for prepare in self.before_local:
            prepare()
        undos: list[Undo] = []
        token = self._undos.set(undos)
        try:
            yield
        finally:
            self._undos.reset(token)
            with self.lock:
                for undo in reversed(undos):
                    undo()
            self.changed()
