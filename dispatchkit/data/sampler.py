"""Samplers: the order in which the items of a data set are visited."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np

from dispatchkit.ops.random.distributions import permutation, randint
from dispatchkit.ops.random.generator import Generator, source_of

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Base of samplers: a subclass defines ``__iter__``, which gives indices, and ``__len__`` where it is known.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Backwards(dk.data.Sampler):
    ...     def __init__(self, data):
    ...         self.data = data
    ...
    ...     def __iter__(self):
    ...         return iter(range(len(self.data) - 1, -1, -1))
    >>> list(dk.data.DataLoader([10, 20, 30], batch_size=2, sampler=Backwards([10, 20, 30])))
    [tensor([30, 20]), tensor([10])]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__()")


class SequentialSampler(Sampler[int]):
    """Every index, in order.

    Parameters
    ----------
    data_source : with a length

    Examples
    --------
    >>> import dispatchkit as dk
    >>> list(dk.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Every index in random order, anew each time.

    Parameters
    ----------
    data_source : with a length
    replacement : draw each index from all, so that some come twice and others not at all
    num_samples : how many; the length by default. More than that, without replacement, are several orders in turn.
    generator : to draw from; by default the one that `manual_seed` sets

    Raises
    ------
    ValueError : if `num_samples` is no positive int
    TypeError : if `replacement` is no bool, or `generator` no `Generator`

    Examples
    --------
    >>> import dispatchkit as dk
    >>> sampler = dk.data.RandomSampler("abcd", generator=dk.Generator(0))
    >>> sorted(sampler) == [0, 1, 2, 3], list(sampler) != list(sampler)
    (True, True)
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        _check_flag(self, "replacement", replacement)
        _check_generator(self, generator)
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _check_positive(self, "num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices there are; the length of the data set may change."""
        if self._num_samples is None:
            return len(self.data_source)
        return self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, count = len(self.data_source), self.num_samples
        if self.replacement:
            yield from randint(0, n, shape=count, generator=self.generator).tolist()
            return
        for start in range(0, count, n):
            yield from permutation(n, generator=self.generator).tolist()[: count - start]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Certain indices in random order, anew each time.

    Parameters
    ----------
    indices : to visit
    generator : to draw from; by default the one that `manual_seed` sets

    Raises
    ------
    TypeError : if `generator` is no `Generator`

    Examples
    --------
    >>> import dispatchkit as dk
    >>> sorted(dk.data.SubsetRandomSampler([5, 3, 8]))
    [3, 5, 8]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        _check_generator(self, generator)
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in permutation(len(self.indices), generator=self.generator).tolist():
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given probabilities.

    Parameters
    ----------
    weights : shape (N,), one for each index, in proportion to its probability
    num_samples : how many to draw
    replacement : whether an index may come more than once
    generator : to draw from; by default the one that `manual_seed` sets

    Raises
    ------
    ValueError : if weights are negative, all zero, infinite or not 1-D, or fewer of them are positive than are to be
        drawn without replacement; if `num_samples` is no positive int
    TypeError : if `replacement` is no bool, or `generator` no `Generator`

    Examples
    --------
    >>> import dispatchkit as dk
    >>> set(dk.data.WeightedRandomSampler([0.0, 3.0, 0.0], 5))
    {1}
    """

    def __init__(
        self, weights: Any, num_samples: int, replacement: bool = True, generator: Generator | None = None
    ) -> None:
        _check_positive(self, "num_samples", num_samples)
        _check_flag(self, "replacement", replacement)
        _check_generator(self, generator)
        self.weights = np.array(weights, dtype=np.float64)
        if self.weights.ndim != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {self.weights.shape}")
        if not np.all(np.isfinite(self.weights)) or np.any(self.weights < 0) or not np.any(self.weights > 0):
            raise ValueError(
                "WeightedRandomSampler: weights must be finite, not negative, and some of them positive; found "
                f"{self.weights}"
            )
        positive = int(np.count_nonzero(self.weights))
        if not replacement and num_samples > positive:
            raise ValueError(
                f"WeightedRandomSampler: cannot draw num_samples={num_samples} without replacement: {positive} weights "
                f"are positive"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        p = self.weights / self.weights.sum()
        drawn = source_of(self.generator).choice(len(p), size=self.num_samples, replace=self.replacement, p=p)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler, in lists.

    Parameters
    ----------
    sampler : any iterable
    batch_size : length of the lists
    drop_last : whether to leave out a last list that is shorter

    Raises
    ------
    ValueError : if `batch_size` is no positive int
    TypeError : if `drop_last` is no bool

    Examples
    --------
    >>> import dispatchkit as dk
    >>> list(dk.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        _check_positive(self, "batch_size", batch_size)
        _check_flag(self, "drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]  # where it has a length
        full, rest = divmod(count, self.batch_size)
        if rest and not self.drop_last:
            return full + 1
        return full


def _check_positive(owner: Any, name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(
            f"{name} should be a positive integer value, but got {name}={value!r} ({type(owner).__name__})"
        )


def _check_flag(owner: Any, name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{name} should be a boolean value, but got {name}={value!r} ({type(owner).__name__})")


def _check_generator(owner: Any, generator: Any) -> None:
    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(
            f"{type(owner).__name__}: generator must be a dispatchkit.Generator, not {type(generator).__name__}"
        )
