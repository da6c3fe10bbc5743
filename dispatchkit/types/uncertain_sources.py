"""The independent sources that uncertain numbers depend on: which array has which, joined, added, moved and scaled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dispatchkit import ops
from dispatchkit.tensor.conversion import dense_form
from dispatchkit.types.rules import is_plain

Part = tuple[Any, Any]
# Sources that an element keeps for itself, at most; the time to add grows with the square.
FEW = 16
# In the place of a source that an element does not have.
NONE = -1


class Sources:
    """The independent quantities of variance 1 that numbers depend on, by number.

    `ids` has the shape ``(k,)`` where each element of an array depends on the same k sources, else ``(k, *shape)``: k
    sources for each element, all different.
    """

    def __init__(self, ids: Any) -> None:
        self.ids = ids

    def __saved__(self) -> Any:
        return self.ids

    @classmethod
    def __loaded__(cls, saved: Any) -> Sources:
        if not isinstance(saved, np.ndarray) or saved.dtype.kind not in "iu":
            raise TypeError("ids are an array of integers")
        return cls(saved)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Sources) and np.array_equal(self.ids, other.ids))

    def __hash__(self) -> int:
        return hash(self.ids.tobytes())


def factor_dtype(dtype: Any) -> Any:
    """Return the dtype of the factor of numbers of a dtype: float32 for narrower ones, too coarse for it."""
    return np.result_type(dtype, np.float32)


def are_own(ids: Any, factor: Any) -> bool:
    """Return whether each element has sources of its own."""
    return bool(ids.ndim == factor.ndim)


def all_sources(ids: Any, factor: Any) -> Part:
    """Return the ids of all sources of an array, and the derivatives of every element by each of them."""
    if not are_own(ids, factor) or ids.size <= len(ids):  # those of one element are all different
        return ids.ravel(), factor
    every, places = np.unique(ids, return_inverse=True)
    return every, _add_rows(places, len(every), factor)


def _add_rows(places: Any, count: int, factor: Any) -> Any:
    """Return a factor of so many rows, of which each element of another one is added to one: those of its column."""
    if is_plain(factor):
        slopes = factor.array.reshape(len(factor), -1)
        total = np.zeros((count, slopes.shape[1]), slopes.dtype)
        np.add.at(total, (places.reshape(len(slopes), -1), np.arange(slopes.shape[1])), slopes)
        return ops.asarray(total.reshape(count, *factor.shape[1:]))
    columns = np.tile(np.arange(factor[0].size), len(factor))
    spots = tuple(ops.asarray(i).to(like=factor) for i in (places.ravel(), columns))
    zeros = ops.zeros((count, factor[0].size), dtype=factor.dtype, device=factor.device)
    total = ops.index_put(zeros, spots, ops.reshape(factor, (-1,)), accumulate=True)
    return ops.reshape(total, (count, *factor.shape[1:]))


def join_sources(parts: Sequence[Part]) -> tuple[Any, list[Any]]:
    """Return the ids of several arrays together, and the factors of every element with respect to all of them."""
    parts = [all_sources(*part) for part in parts]
    first = parts[0][0]
    if all(ids is first or np.array_equal(ids, first) for ids, _ in parts):
        return first, [factor for _, factor in parts]
    every = np.unique(np.concatenate([ids for ids, _ in parts]))
    factors = []
    for ids, factor in parts:
        zeros = ops.zeros((len(every), *factor.shape[1:]), dtype=factor.dtype, device=factor.device)
        factors.append(ops.index_put(zeros, ops.asarray(np.searchsorted(every, ids)).to(like=factor), factor))
    return every, factors


def merge_sources(parts: Sequence[Part]) -> Part | None:
    """Return the sum of parts of own sources; None if elements have many."""
    ids, factor = parts[0]
    for other, added in parts[1:]:
        if other is ids or other.tobytes() == ids.tobytes():
            factor = factor + added
            continue
        if len(ids) + len(other) > FEW:
            return None
        repeats = (ids[:, None] == other).any()
        ids, factor = np.concatenate([ids, other]), ops.concat([factor, added])
        if repeats:
            ids, factor = _distinct(ids, factor)
    return ids, factor


def _distinct(ids: Any, factor: Any) -> Part:
    """Return own sources with the derivatives of an element by the same one added up where it is first."""
    if ids.ndim == 1 and is_plain(factor):
        return _distinct_of_number(ids, factor.array)
    first = np.argmax(ids[:, None] == ids, axis=0)
    kept = (first == np.arange(len(ids)).reshape(-1, *(1,) * (ids.ndim - 1))) & (ids != NONE)
    rows = np.flatnonzero(kept.reshape(len(ids), -1).any(axis=1))
    total = _add_rows(first, len(ids), factor)
    if is_plain(total):
        return np.where(kept, ids, NONE)[rows], ops.asarray(total.array[rows])
    return np.where(kept, ids, NONE)[rows], total[ops.asarray(rows).to(like=factor)]


def _distinct_of_number(ids: Any, slopes: Any) -> Part:
    """Return the sources of one number with the derivatives by the same one added up where it is first."""
    total: dict[int, Any] = {}
    for source, slope in zip(ids.tolist(), slopes, strict=True):
        if source in total:
            total[source] = total[source] + slope
        elif source != NONE:
            total[source] = slope
    return np.array([*total], ids.dtype), ops.asarray(np.array([*total.values()], slopes.dtype))


def sum_elements(parts: Sequence[Part]) -> Part:
    """Return the sum of all elements of parts of own sources."""
    factor = ops.concat([ops.reshape(part, (-1,)) for _, part in parts])
    ids = np.concatenate([ids.ravel() for ids, _ in parts])
    if ids.size == 1:
        every, places = ids, None
    else:
        every, places = np.unique(ids, return_inverse=True)
    if places is None or len(every) == len(ids):
        return ids, factor
    zeros = ops.zeros((len(every),), dtype=factor.dtype, device=factor.device)
    return every, ops.index_put(zeros, ops.asarray(places).to(like=factor), factor, accumulate=True)


def add_up(op: Any, ids: Any, factor: Any) -> Part:
    """Return the sources of the sum, mean or cumulative sum of an array whose elements have sources of their own."""
    if op is ops.cumulative_sum:
        every, whole = all_sources(ids, factor)
        return every, op(whole, axis=1)
    every, total = sum_elements([(ids, factor)])
    if op is ops.mean:
        total = total / max(math.prod(factor.shape[1:]), 1)
    return every, total


def align_sources(ids: Any, shape: tuple[int, ...]) -> Any:
    """Return the ids of own sources for each element of an array that others broadcast with."""
    between = (1,) * (len(shape) - ids.ndim + 1)
    return np.broadcast_to(ids.reshape(len(ids), *between, *ids.shape[1:]), (len(ids), *shape))


def move_sources(call: Callable[..., Any], parts: Sequence[Part], shape: tuple[int, ...]) -> Part | None:
    """Return the own sources of elements that a call moves, found from where it moves their numbers.

    None if some element of the result is no element of the arrays.
    """
    count, like = max(len(ids) for ids, _ in parts), parts[0][1]
    sizes = [ids[0].size for ids, _ in parts]
    starts = np.cumsum([0, *sizes]).tolist()
    numbers = [
        ops.reshape(ops.arange(start, start + size, device=like.device), factor.shape[1:])
        for (_, factor), start, size in zip(parts, starts, sizes, strict=False)
    ]
    places, shifted = dense_form(call(*numbers)), dense_form(call(*(number + 1 for number in numbers)))
    if places.is_tracer or places.dtype.kind != "i" or not bool(ops.all(shifted == places + 1)):
        return None
    taken = np.asarray(places).ravel()
    flat, factors = [], []
    for (ids, factor), size in zip(parts, sizes, strict=True):
        spare = ((0, count - len(ids)), (0, 0))
        flat.append(np.pad(ids.reshape(len(ids), size), spare, constant_values=NONE))
        factors.append(ops.pad(ops.reshape(factor, (len(ids), size)), spare))
    factor = ops.take(ops.concat(factors, axis=1), ops.asarray(taken).to(like=like), axis=1)
    return np.concatenate(flat, axis=1)[:, taken].reshape(count, *shape), ops.reshape(factor, (count, *shape))


def move_rows(op: Callable[..., Any], rows: Any, *args: Any, **kwargs: Any) -> Any:
    """Return an array along whose first axis each part has been moved by an operation."""
    if len(rows) == 1:
        return op(rows[0], *args, **kwargs)[None]
    return ops.stack([op(row, *args, **kwargs) for row in rows])


def scale_factor(slope: Any, factor: Any, ndim: int) -> Any:
    """Return a factor times the slopes; where it is zero it stays so, however steep the slope."""
    if ndim >= factor.ndim:  # the array is stretched
        factor = ops.reshape(factor, (factor.shape[0], *(1,) * (ndim - factor.ndim + 1), *factor.shape[1:]))
    if isinstance(slope, (int, float)):
        if slope == 0:
            return ops.zeros_like(factor)
        if slope == 1:
            return factor
        return factor * slope
    # What does not vary adds nothing, and neither does what nothing depends on: 0 times inf or nan is 0 here.
    if is_plain(slope) and is_plain(factor):
        with np.errstate(all="ignore"):
            product = slope * factor
        if not np.isnan(product.array).any():
            return product
    still = ops.logical_or(factor == 0, slope == 0)
    return ops.where(still, 0, slope) * ops.where(still, 0, factor)
