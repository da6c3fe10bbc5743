"""`DataLoader`: batches of a data set, made by workers where wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dispatchkit.data.collate import default_collate, default_convert
from dispatchkit.data.dataset import IterableDataset
from dispatchkit.data.processes import Processes, context_of
from dispatchkit.data.progress import Progress, check_state
from dispatchkit.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from dispatchkit.data.sources import Items, Source, Stream, prefetched
from dispatchkit.ops.random.generator import Generator
from dispatchkit.progress import ProgressBar, follow


class DataLoader:
    """The batches of a data set; each iteration goes through it once.

    Parameters
    ----------
    dataset : with ``__getitem__`` and ``__len__``, such as a `Dataset` or a list; or an `IterableDataset`
    batch_size : number of items in a batch; None for single items, converted and not collated
    shuffle : whether to visit the items in random order, anew in each iteration
    sampler : iterable of indices, in place of `shuffle`
    batch_sampler : iterable of lists of indices, in place of `batch_size`, `shuffle`, `sampler` and `drop_last`
    num_workers : number of workers that make batches ahead; 0 makes each where it is asked for
    collate_fn : makes a batch of a list of items; `default_collate` by default
    drop_last : whether to leave out a last batch that is smaller
    timeout : seconds to wait for a batch from a worker, 0 for as long as it takes
    worker_init_fn : called with its number in each worker before its first batch
    multiprocessing_context : None for workers that are threads; for processes, how they are started: ``"spawn"``,
        ``"forkserver"`` or ``"fork"``, or a context of `multiprocessing`
    generator : to shuffle with, and to spawn those of the batches from; by default the one that `manual_seed` sets
    prefetch_factor : number of batches per worker that are made ahead, 2 by default
    pin_memory, persistent_workers : False, for programs that pass it
    progress : whether an iteration shows how far it is; where None, the default, `set_progress` decides

    Raises
    ------
    ValueError, TypeError : if the arguments exclude each other, or one is out of its range
    DataLoaderError : while iterating, if the data set, `collate_fn` or `worker_init_fn` raises, whose exception is the
        cause, naming data set and index; after `timeout`; if a worker process dies, or one of the three cannot be
        pickled for it

    Notes
    -----
    Order and contents of the batches do not depend on the number of workers. Indices are drawn in the thread that
    iterates; a stream is read by one worker. Workers are threads: they save time where the data set waits for files,
    or computes in NumPy and others that let threads run side by side. They end when an iteration does: at its end,
    after ``break`` or an exception, which wait for a second at most; Ctrl-C does not wait.

    With a `multiprocessing_context` the workers are processes, for data sets that compute in Python. Each gets a copy
    of the data set, pickled unless it is forked, and sends pickled batches; cloudpickle, where it is installed, also
    sends what a notebook declares. The default dtype and ``no_grad`` hold in them, other modes do not. What they raise
    has the traceback of the process as a note. They end with the iteration; one that makes a batch is ended at once.
    A script that starts them with ``"spawn"`` runs its loop under ``if __name__ == "__main__":``.

    Random functions of dispatchkit that the data set or `collate_fn` calls without a generator draw from one of the
    batch, which is spawned in the order of the batches: their numbers do not depend on the workers either. Generators
    that the data set keeps itself, NumPy's and Python's, depend on which worker makes which batch.

    `state_dict` tells where an iteration stands, and `load_state_dict` goes on from there.

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
        progress: bool | None = None,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor)
        context_of(multiprocessing_context, num_workers)
        refused = (
            ("pin_memory", pin_memory, "there is no device that copies from pinned memory; leave it out"),
            ("persistent_workers", persistent_workers, "workers end with an iteration; leave it out"),
        )
        for option, wanted, reason in refused:
            if wanted:
                raise ValueError(f"DataLoader: {option} must be False, found {wanted!r}: {reason}")
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
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        if prefetch_factor is None and num_workers:
            prefetch_factor = 2
        self.prefetch_factor = prefetch_factor
        self.progress = progress
        self._progress: Progress | None = None
        self._loaded: dict[str, Any] | None = None

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
        progress = self._progress = Progress(self, self._loaded)
        self._loaded = None
        stream = isinstance(self.dataset, IterableDataset)
        source: Source
        indices: Any = None
        if stream:
            source = Stream(self)
        else:
            source = Items(self)
            indices = self.batch_sampler
            if indices is None:
                indices = self.sampler
        tasks = progress.tasks(indices)
        batches: Iterator[Any] = map(source.batch, tasks)
        if self.num_workers:
            context = context_of(self.multiprocessing_context, self.num_workers)
            if context is not None:
                source = Processes(self, source, context)
            workers = self.num_workers
            if stream:
                workers = 1
            ahead = self.num_workers * (self.prefetch_factor or 1)
            batches = prefetched(source, tasks, workers=workers, ahead=ahead, timeout=self.timeout or None)
        bar = ProgressBar("batches", progress=self.progress, unit="batch", initial=progress.count)
        if bar.shown:
            bar.total = self._length()
        return follow(progress.count_batches(batches, skipped=progress.count if stream else 0), bar)

    def _length(self) -> int | None:
        try:
            return len(self)
        except (TypeError, NotImplementedError):  # neither a stream nor every sampler has a length
            return None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_progress": None}

    def state_dict(self) -> dict[str, Any]:
        """Return where the latest iteration stands, in a form that `save` takes.

        Returns
        -------
        dict
            The number of batches so far, ``"batches"``; the states that the generators of the loader, of its samplers
            and of dispatchkit had when the iteration began, ``"generators"``; what a loader that goes on must have in
            common, ``"loader"``.

        Notes
        -----
        Batches that workers have made ahead do not count. Where no iteration is under way, the next one begins at the
        first batch. Source: torchdata, `torchdata.stateful_dataloader.StatefulDataLoader`.

        Examples
        --------
        >>> import dispatchkit as dk
        >>> loader = dk.data.DataLoader(range(6), batch_size=2, shuffle=True)
        >>> batches = iter(loader)
        >>> _ = next(batches)
        >>> state = loader.state_dict()
        >>> rest = [batch.tolist() for batch in batches]
        >>> again = dk.data.DataLoader(range(6), batch_size=2, shuffle=True)
        >>> again.load_state_dict(state)
        >>> [batch.tolist() for batch in again] == rest
        True
        """
        if self._loaded is not None:
            return dict(self._loaded)
        return (self._progress or Progress(self)).state()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a saved state: the next iteration gives the batches that were left, the same items in them.

        Parameters
        ----------
        state_dict : as `state_dict` gave it, of a loader of the same data, with any number and kind of workers

        Raises
        ------
        ValueError : if it is no such state, or of a loader of another length, size or sampler; the loader is then as
            before

        Notes
        -----
        The random numbers of samplers and batches go on as well. The default generator is not changed: save its state
        where the loop itself draws from it. Indices before are drawn again, their items not read; of a stream the items
        before are read again. A sampler that draws from the default generator after its first index needs a generator
        of its own for that, and one that draws from others the state of these.

        Examples
        --------
        >>> import dispatchkit as dk
        >>> loader = dk.data.DataLoader("abcd", collate_fn="".join)
        >>> for batch in loader:
        ...     if batch == "b":
        ...         break
        >>> again = dk.data.DataLoader("abcd", collate_fn="".join)
        >>> again.load_state_dict(loader.state_dict())
        >>> list(again)
        ['c', 'd']
        """
        self._loaded = check_state(self, state_dict)


def _check_workers(num_workers: Any, timeout: float, prefetch_factor: Any) -> None:
    if not isinstance(num_workers, int) or num_workers < 0:
        raise ValueError(f"num_workers option should be non-negative, found {num_workers!r}; use 0 to disable workers")
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
