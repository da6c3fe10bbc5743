"""The first ranks of the elements of rows of NumPy arrays, which are found without a sort of whole rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.accelerator import computed_by
from dispatchkit.backends.numpy import numpy_namespace

__all__ = ["first_of_rows", "first_ranks"]

# Elements of a row from which on a sort takes longer than a search, and ranks up to which one is searched for after the
# other; from so many times the ranks on the rest is set apart first.
LONG, FEW, MANY_TIMES = 32, 8, 4


@computed_by("first_of_rows")
def first_of_rows(x: Any, count: int, largest: bool) -> tuple[Any, Any]:
    """Return the largest or smallest elements of each row, as `first_ranks` ranks them, and their indices."""
    indices = first_ranks(x, count, largest=largest)
    return numpy_namespace.take_along_axis(x, indices, axis=-1), indices


def first_ranks(x: Any, count: int, *, largest: bool) -> Any:
    """Return the indices of the largest or smallest elements of each row, in order; of those that tie, the first ones.

    NaN counts as the largest.

    Parameters
    ----------
    x : array of shape (..., n)
    count : how many, up to n
    largest : whether the largest are wanted, rather than the smallest
    """
    n = x.shape[-1]
    indices = None
    if 0 < count < n >= LONG and x.size and x.dtype.kind in "fiu":
        rows = x.reshape(-1, n)
        if count <= FEW:
            indices = _one_by_one(rows, count, largest)
        elif n >= MANY_TIMES * count:
            indices = _set_apart(rows, count, largest)
    if indices is None:
        return numpy_namespace.argsort(x, axis=-1, descending=largest)[..., :count]
    return indices.reshape(*x.shape[:-1], count)


def _one_by_one(rows: Any, count: int, largest: bool) -> Any:
    """Return the indices of extremes, each of which is replaced by the opposite before the next is looked for.

    None where the opposite is an extreme itself, or the smallest element is not found since there is a NaN.
    """
    if floating := rows.dtype.kind == "f":
        least, most = -np.inf, np.inf
    else:
        least, most = np.iinfo(rows.dtype).min, np.iinfo(rows.dtype).max
    find, opposite = (np.ndarray.argmax, least) if largest else (np.ndarray.argmin, most)
    rest, numbers = rows.copy(), np.arange(len(rows))
    indices = np.empty((len(rows), count), np.intp)
    for rank in range(count):
        place = find(rest, 1)
        found = rest[numbers, place]
        if rank and (found == opposite).any():
            return None
        if floating and not largest and np.isnan(found).any():
            return None
        indices[:, rank] = place
        rest[numbers, place] = opposite
    return indices


def _set_apart(rows: Any, count: int, largest: bool) -> Any:
    """Return the indices of elements up to the last of the ranks, sorted; None where others tie, or there is a NaN."""
    n = rows.shape[1]
    if largest:
        ranked = np.partition(rows, n - count, 1)[:, n - count :]
        if np.isnan(ranked).any():
            return None
        selected = rows >= ranked[:, :1]
    else:
        selected = rows <= np.partition(rows, count - 1, 1)[:, count - 1, None]
    if not (np.count_nonzero(selected, 1) == count).all():
        return None
    indices = np.nonzero(selected)[1].reshape(-1, count)
    order = numpy_namespace.argsort(np.take_along_axis(rows, indices, 1), axis=1, descending=largest)
    return np.take_along_axis(indices, order, 1)
