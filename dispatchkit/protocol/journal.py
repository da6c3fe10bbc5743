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
    """An object with decisions that a registration makes invalid."""

    def clear(self) -> None:
        """Forget every decision."""


class Journal:
    """The registrations of a protocol: they invalidate decisions, and those of a block can be undone.

    Attributes
    ----------
    generation : grows with every registration; a decision made before one is not kept after it
    lock : held while decisions are kept or forgotten
    loaders : load what a library declares when it is first used
    """

    def __init__(self) -> None:
        self.generation = 0
        self.lock = threading.RLock()
        self.loaders: list[Callable[[], None]] = []
        # The objects that hold decisions, which the next registration clears.
        self._caches: weakref.WeakSet[Caching] = weakref.WeakSet()
        self._undos: ContextVar[list[Undo] | None] = ContextVar("dispatchkit.journal", default=None)

    def keep(self, cache: Caching, generation: int, memory: dict[Any, Any], path: tuple[Any, ...], found: Any) -> None:
        """Store a decision, unless something was registered since it began.

        Parameters
        ----------
        cache : the object that holds the memory, cleared by the next registration
        generation : when the decision began
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
        """Forget every decision."""
        with self.lock:
            for cache in list(self._caches):
                cache.clear()
            self._caches.clear()
            # Last: a thread that reads the new number finds the new registrations.
            self.generation += 1

    def record(self, undo: Undo) -> None:
        """Record a registration with what undoes it."""
        self.on_undo(undo)
        self.changed()

    def on_undo(self, undo: Undo) -> None:
        """Record what undoes a registration, if a block of local registrations is open."""
        undos = self._undos.get()
        if undos is not None:
            undos.append(undo)

    def load_all(self) -> None:
        """Load what a library declares when it is first used."""
        for load in self.loaders:
            load()

    @contextmanager
    def local_registrations(self) -> Iterator[None]:
        """Undo on leaving what is registered inside the block."""
        self.load_all()  # what a library declares when it loads is not undone
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
