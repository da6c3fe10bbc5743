"""The blocks of collections that another engine holds, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from typing_extensions import override

from dispatchkit.data.dataset import IterableDataset
from dispatchkit.declare.namespace import tensor_namespace

__all__ = ["blocks"]


class Blocks(IterableDataset[Any]):
    """The blocks of collections, as `blocks` gives them."""

    def __init__(self, collections: tuple[Any, ...]) -> None:
        self._columns = [_delayed(one) for one in collections]
        counts = {len(column) for column in self._columns}
        if len(counts) > 1:
            raise ValueError(f"blocks: the collections have {', '.join(map(str, sorted(counts)))} blocks; rechunk them")
        self.delayed = [part[0] if len(part) == 1 else part for part in zip(*self._columns, strict=True)]

    def __len__(self) -> int:
        return len(self.delayed)

    @override
    def __iter__(self) -> Iterator[Any]:
        for parts in zip(*self._columns, strict=True):
            found = tuple(tensor_namespace.asarray(np.asarray(part.compute())) for part in parts)
            yield found[0] if len(found) == 1 else found


def _delayed(collection: Any) -> list[Any]:
    """Return what computes the blocks along the first axis.

    Raises
    ------
    TypeError : for what has no blocks
    ValueError : for blocks along other axes
    """
    if not hasattr(collection, "to_delayed"):
        raise TypeError(f"blocks: expected a Dask array or data frame, found a {type(collection).__name__}")
    found = collection.to_delayed()
    if isinstance(found, np.ndarray) and found.size != len(found):
        raise ValueError(
            f"blocks: the array is divided along several axes, {collection.numblocks} blocks; rechunk it along the "
            f"first one: x.rechunk({{axis: -1 for axis in range(1, x.ndim)}})"
        )
    return list(np.asarray(found, dtype=object).reshape(-1)) if isinstance(found, np.ndarray) else list(found)


def blocks(*collections: Any) -> Blocks:
    """Return the blocks of Dask arrays or data frames along the first axis, as a data set.

    A block is computed when it is reached, so that one at a time is in memory.

    Parameters
    ----------
    *collections : divided along the first axis alone, all into as many blocks

    Returns
    -------
    Blocks
        A data set of tensors, or of tuples of tensors for several collections. Its attribute `delayed` holds the
        delayed computation of each block, for an engine that computes on the worker that has the block:
        ``client.compute(dask.delayed(function)(part))``.

    Raises
    ------
    TypeError : for what has no blocks
    ValueError : for an array that is divided along other axes, and collections of different numbers of blocks

    Examples
    --------
    >>> import dispatchkit as dk  # doctest: +SKIP
    >>> import dask.array as da  # doctest: +SKIP
    >>> x = da.ones((4, 3), chunks=(2, 3))  # doctest: +SKIP
    >>> [block.shape for block in dk.data.blocks(x)]  # doctest: +SKIP
    [(2, 3), (2, 3)]
    """
    if not collections:
        raise TypeError("blocks: expected a Dask array or data frame, found nothing")
    return Blocks(collections)
