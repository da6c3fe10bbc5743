"""How the batches of one iteration are made: of items by their indices, or of a stream."""

from __future__ import annotations

import enum
import operator
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from typing_extensions import override

from dispatchkit.data.collate import default_collate
from dispatchkit.data.dataset import IterableDataset, has_plain_rows
from dispatchkit.errors import DataLoaderError
from dispatchkit.ops.random.generator import Generator, drawing_from

__all__ = ["END", "Items", "Source", "Stream", "batch_generator", "source_of"]


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
                with drawing_from(batch_generator(self.generator, number)):
                    self._make()
        return self._make()

    def _make(self) -> Any:
        if self.iterator is None:
            self.iterator = self.attempt(f"iter({self.name})", iter, self.dataset)
        start = self.count
        items: list[Any] = []
        while len(items) < (self.size or 1):
            item = self.attempt(f"item {self.count} of {self.name}", self._next, END)
            if item is END or self.stop.is_set():
                break
            items.append(item)
            self.count += 1
        if not items or (self.drop_last and len(items) != self.size):
            return END
        if self.size is None:
            return self.collate(items[0], f"item {start} of {self.name}")
        return self.collate(items, f"items {start} to {self.count - 1} of {self.name}")

    def _next(self, end: Any) -> Any:
        return next(self.iterator, end)


def source_of(loader: Any, generator: Generator) -> Source:
    """Return where the batches of a loader come from."""
    return (Stream if isinstance(loader.dataset, IterableDataset) else Items)(loader, generator)


class _BatchGenerator(Generator):
    """A generator that is spawned at its first draw: most batches need none."""

    def __init__(self, parent: Generator, number: int) -> None:
        self._parent, self._number = parent, number

    def __getattr__(self, name: str) -> Any:
        if name not in ("seed", "source"):
            raise AttributeError(f"Generator has no attribute {name!r}")
        sequence: Any = self._parent.source.bit_generator.seed_seq
        self._start(np.random.SeedSequence(sequence.entropy, spawn_key=(*sequence.spawn_key, self._number)))
        return self.__dict__[name]


def batch_generator(parent: Generator, number: int) -> Generator:
    """Return the generator of a batch, by its number in the iteration."""
    return _BatchGenerator(parent, number)
