"""`DataLoader`: batches of a data set, made in worker threads where wanted."""

from __future__ import annotations

import itertools
import operator
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.data.collate import default_collate, default_convert
from dispatchkit.data.dataset import IterableDataset, has_plain_rows
from dispatchkit.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from dispatchkit.data.workers import prefetched
from dispatchkit.errors import DataLoaderError
from dispatchkit.ops.random.generator import Generator, current_generator, drawing_from

__all__ = ["DataLoader"]

END = object()


class DataLoader:
    """The batches of a data set; each iteration goes through it once.

    Parameters
    ----------
    dataset : with ``__getitem__`` and ``__len__``, such as a `Dataset` or a list; or an `IterableDataset`
    batch_size : number of items in a batch; None for single items, converted and not collated
    shuffle : whether to visit the items in random order, anew in each iteration
    sampler : iterable of indices, in place of `shuffle`
    batch_sampler : iterable of lists of indices, in place of `batch_size`, `shuffle`, `sampler` and `drop_last`
    num_workers : number of threads that make batches ahead; 0 makes each where it is asked for
    collate_fn : makes a batch of a list of items; `default_collate` by default
    drop_last : whether to leave out a last batch that is smaller
    timeout : seconds to wait for a batch from a worker, 0 for as long as it takes
    worker_init_fn : called with its number in each thread before its first batch
    generator : to shuffle with, and to spawn those of the batches from; by default the one that `manual_seed` sets
    prefetch_factor : number of batches per worker that are made ahead, 2 by default
    pin_memory, persistent_workers : False, for programs that pass it

    Raises
    ------
    ValueError, TypeError : if the arguments exclude each other, or one is out of its range
    DataLoaderError : while iterating, if the data set, `collate_fn` or `worker_init_fn` raises, whose exception is the
        cause, naming data set and index; or after `timeout`

    Notes
    -----
    Order and contents of the batches do not depend on the number of workers. Indices are drawn in the thread that
    iterates; a stream is read by one worker. Workers are threads: they save time where the data set waits for files,
    or computes in NumPy and others that let threads run side by side. They end when an iteration does: at its end,
    after ``break`` or an exception, which wait for a second at most; Ctrl-C does not wait.

    Random functions of dispatchkit that the data set or `collate_fn` calls without a generator draw from one of the
    batch, which is spawned in the order of the batches: their numbers do not depend on the workers either. Generators
    that the data set keeps itself, NumPy's and Python's, depend on which thread comes first.

    Source: PyTorch, `torch.utils.data.DataLoader`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> data = dk.data.TensorDataset(dk.arange(5.0), dk.arange(5))
    >>> for x, label in dk.data.DataLoader(data, batch_size=2, num_workers=2):
    ...     print(x, label)
    tensor([0., 1.]) tensor([0, 1])
    tensor([2., 3.]) tensor([2, 3])
    tensor([4.]) tensor([4])
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        *,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        generator: Generator | None = None,
        prefetch_factor: int | None = None,
        pin_memory: bool = False,
        persistent_workers: bool = False,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor)
        for option, wanted in (("pin_memory", pin_memory), ("persistent_workers", persistent_workers)):
            if wanted:
                raise ValueError(f"DataLoader: {option} must be False, since workers are threads; found {wanted!r}")
        stream = isinstance(dataset, IterableDataset)
        given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
        if stream:
            for name, value in given.items():
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value!r}"
                    )
        else:
            _check_dataset(dataset, sized=sampler is None and batch_sampler is None)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
        if batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None and not stream:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(dataset if stream else sampler, batch_size, drop_last)  # type: ignore[arg-type]
        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor

    def __len__(self) -> int:
        """Return the number of batches, where data set and sampler have a length."""
        source: Any = self.batch_sampler if self.batch_sampler is not None else self.sampler
        return len(self.dataset if source is None else source)

    def __iter__(self) -> Iterator[Any]:
        source = _Stream(self) if isinstance(self.dataset, IterableDataset) else _Items(self)
        if not self.num_workers:
            return itertools.takewhile(lambda batch: batch is not END, map(source.drawn, source.drawn_tasks()))
        workers = 1 if isinstance(source, _Stream) else self.num_workers
        ahead = self.num_workers * (self.prefetch_factor or 1)
        return self._from_workers(source, workers, ahead)

    def _from_workers(self, source: _Source, workers: int, ahead: int) -> Iterator[Any]:
        batches = prefetched(
            source.drawn,
            source.drawn_tasks(),
            workers=workers,
            ahead=ahead,
            timeout=self.timeout or None,
            begin=source.begin,
            stop=source.stop.set,
        )
        try:
            for batch in batches:
                if batch is END:
                    return
                yield batch
        except TimeoutError as error:
            raise DataLoaderError(source.name, "a batch", f"timed out after {self.timeout} seconds") from error
        finally:
            batches.close()  # type: ignore[attr-defined]  # of a generator


class _Source:
    """Where the batches of one iteration come from.

    Attributes
    ----------
    name : of the data set's class
    stop : set when no more batches are wanted
    """

    def __init__(self, loader: DataLoader) -> None:
        self.loader = loader
        self.name = type(loader.dataset).__name__
        self.stop = threading.Event()
        [self.generator] = (loader.generator or current_generator()).spawn(1)

    def drawn_tasks(self) -> Iterator[tuple[Any, Generator]]:
        """Yield each task with a generator of its own, so that no thread takes numbers from another."""
        for number, task in enumerate(self.tasks()):
            yield task, _BatchGenerator(self.generator, number)

    def drawn(self, task: tuple[Any, Generator]) -> Any:
        """Return the batch of a task, made with random numbers of its generator."""
        with drawing_from(task[1]):
            return self.make(task[0])

    def tasks(self) -> Iterator[Any]:
        """Return what `make` is called with, batch after batch."""
        raise NotImplementedError

    def make(self, task: Any) -> Any:
        """Return a batch, or END where a stream has ended."""
        raise NotImplementedError

    def begin(self, worker: int) -> None:
        """Prepare a thread."""
        prepare = self.loader.worker_init_fn
        if prepare is not None:
            self.attempt(f"worker_init_fn({worker})", prepare, worker)

    def attempt(self, action: str, function: Callable[[Any], Any], value: Any) -> Any:
        """Call a function of the user, whose exception becomes the cause of one that says what was done."""
        try:
            return function(value)
        except Exception as error:
            raise DataLoaderError(self.name, action, f"raised {type(error).__name__}: {error}") from error

    def collate(self, items: Any, which: str) -> Any:
        """Return the batch of some items, which messages call `which`."""
        function = self.loader.collate_fn
        name = getattr(function, "__name__", type(function).__name__)
        return self.attempt(f"{name} of {which}", function, items)


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


class _Items(_Source):
    """Items by their indices."""

    def tasks(self) -> Iterator[Any]:
        loader = self.loader
        indices: Any = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
        return iter(indices)

    def make(self, task: Any) -> Any:
        get = partial(operator.getitem, self.loader.dataset)
        if self.loader.batch_sampler is None:
            return self.collate(self.attempt(f"{self.name}[{task!r}]", get, task), f"{self.name}[{task!r}]")
        if self.loader.collate_fn is default_collate and has_plain_rows(self.loader.dataset):
            return self.attempt(f"{self.name}[i] for i in {task!r}", self.loader.dataset.rows, task)
        get_all = getattr(self.loader.dataset, "__getitems__", None)
        if get_all is not None:
            items = self.attempt(f"{self.name}.__getitems__({task!r})", get_all, task)
        else:
            items = []
            for index in task:
                if self.stop.is_set():
                    return END
                items.append(self.attempt(f"{self.name}[{index!r}]", get, index))
        return self.collate(items, f"{self.name}[i] for i in {task!r}")


class _Stream(_Source):
    """Items of a stream, in the order they come."""

    def tasks(self) -> Iterator[Any]:
        self.iterator = self.attempt(f"iter({self.name})", iter, self.loader.dataset)
        self.count = 0
        return itertools.repeat(None)

    def make(self, task: Any) -> Any:
        size = self.loader.batch_size
        start = self.count
        items: list[Any] = []
        while len(items) < (size or 1):
            item = self.attempt(f"item {self.count} of {self.name}", self._next, END)
            if item is END or self.stop.is_set():
                break
            items.append(item)
            self.count += 1
        if not items or (self.loader.drop_last and len(items) != size):
            return END
        if size is None:
            return self.collate(items[0], f"item {start} of {self.name}")
        return self.collate(items, f"items {start} to {self.count - 1} of {self.name}")

    def _next(self, end: Any) -> Any:
        return next(self.iterator, end)


def _check_workers(num_workers: Any, timeout: float, prefetch_factor: Any) -> None:
    if not isinstance(num_workers, int) or num_workers < 0:
        raise ValueError(f"num_workers option should be non-negative, found {num_workers!r}; use 0 to disable threads")
    if timeout < 0:
        raise ValueError(f"timeout option should be non-negative, found {timeout}")
    if prefetch_factor is None:
        return
    if num_workers == 0:
        raise ValueError("prefetch_factor option could only be specified with num_workers > 0")
    if not isinstance(prefetch_factor, int) or prefetch_factor < 1:
        raise ValueError(f"prefetch_factor option should be a positive integer, found {prefetch_factor!r}")


def _check_dataset(dataset: Any, *, sized: bool) -> None:
    needed = ("__getitem__", "__len__") if sized else ("__getitem__",)
    missing = [name for name in needed if not hasattr(dataset, name)]
    if missing:
        raise TypeError(
            f"DataLoader: a data set of class {type(dataset).__name__} needs {' and '.join(missing)}; a stream is a "
            f"subclass of IterableDataset"
        )
