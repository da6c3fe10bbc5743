"""`DataLoader`: batches of a data set, made by workers where wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dispatchkit.data.collate import default_collate, default_convert
from dispatchkit.data.dataset import IterableDataset
from dispatchkit.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from dispatchkit.data.sources import Items, Source, Stream, drawn_tasks, prefetched, up_to_end
from dispatchkit.ops.random.generator import Generator


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
    worker_init_fn : called with its number in each worker before its first batch
    multiprocessing_context : None, for programs that pass it: workers are threads
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
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        prefetch_factor: int | None = None,
        pin_memory: bool = False,
        persistent_workers: bool = False,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor)
        for option, value, usual, reason in (
            ("multiprocessing_context", multiprocessing_context, None, "workers are threads, num_workers of them"),
            ("pin_memory", pin_memory, False, "workers end with an iteration"),
            ("persistent_workers", persistent_workers, False, "workers end with an iteration"),
        ):
            if value not in (None, False):
                raise ValueError(f"DataLoader: {option} must be {usual}, since {reason}; found {value!r}")
        stream = isinstance(dataset, IterableDataset)
        options = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
        if stream:
            _check_stream(options)
        else:
            _check_dataset(dataset, sized=sampler is None and batch_sampler is None)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        excluded = batch_size != 1 or shuffle or sampler is not None or drop_last
        if batch_sampler is not None and excluded:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
        if batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        items = dataset
        if not stream:
            sampler = items = _sampler_of(dataset, sampler, shuffle, generator)
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(items, batch_size, drop_last)
        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.collate_fn = collate_fn or _default_collation(batch_sampler)
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        if prefetch_factor is None and num_workers:
            prefetch_factor = 2
        self.prefetch_factor = prefetch_factor

    def __len__(self) -> int:
        """Return the number of batches, where data set and sampler have a length."""
        source: Any
        if self.batch_sampler is not None:
            source = self.batch_sampler
        else:
            source = self.sampler
        if source is None:
            source = self.dataset
        return len(source)

    def __iter__(self) -> Iterator[Any]:
        stream = isinstance(self.dataset, IterableDataset)
        if stream:
            source: Source = Stream(self)
            indices = None
        else:
            source = Items(self)
            indices = self.batch_sampler
            if indices is None:
                indices = self.sampler
        tasks = drawn_tasks(self, indices)
        batches: Iterator[Any] = map(source.batch, tasks)
        if self.num_workers:
            workers = self.num_workers
            if stream:
                workers = 1
            ahead = self.num_workers * (self.prefetch_factor or 1)
            batches = prefetched(source, tasks, workers=workers, ahead=ahead, timeout=self.timeout or None)
        return up_to_end(batches)


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


def _sampler_of(dataset: Any, sampler: Iterable[Any] | None, shuffle: bool | None, generator: Any) -> Iterable[Any]:
    """Return what gives the indices of items: the sampler, where there is none what visits all of them."""
    if sampler is not None:
        return sampler
    if shuffle:
        return RandomSampler(dataset, generator=generator)
    return SequentialSampler(dataset)


def _default_collation(batch_sampler: Any) -> Callable[[Any], Any]:
    if batch_sampler is None:
        return default_convert
    return default_collate


def _check_stream(options: Mapping[str, Any]) -> None:
    """Raise for an option that says which items are visited, which an `IterableDataset` says itself."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value!r}"
            )


def _check_dataset(dataset: Any, *, sized: bool) -> None:
    needed = ["__getitem__"]
    if sized:
        needed.append("__len__")
    missing = [name for name in needed if not hasattr(dataset, name)]
    if missing:
        raise TypeError(
            f"DataLoader: a data set of class {type(dataset).__name__} needs {' and '.join(missing)}; a stream is a "
            f"subclass of IterableDataset"
        )
