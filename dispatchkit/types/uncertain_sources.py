"""The independent sources that uncertain numbers depend on: which array has which, joined, added, moved and scaled."""

from __future__ import annotations

import itertools
import math
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from dispatchkit import func, ops
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.outputs import note_view
from dispatchkit.declare.wrapping import holds, wrap_array
from dispatchkit.errors import TransformError
from dispatchkit.protocol.overridable import of
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.conversion import dense_form
from dispatchkit.tensor.printing import Format, uncertain_text
from dispatchkit.types.levels import Wrapper, list_parts
from dispatchkit.types.rules import array_of, is_plain

Part = tuple[Any, Any]
DOUBLE = np.dtype(np.float64)
# Slope, sources and factor.
Moving = tuple[Any, "Sources", Any]
# Sources that an element keeps for itself, at most; the time to add grows with the square.
FEW = 16
# In the place of a source that an element does not have.
NONE = -1


class Sources:
    """The independent quantities of variance 1 that numbers depend on, by number.

    `ids` has the shape ``(k,)`` where each element of an array depends on the same k sources, else ``(k, *shape)``: k
    sources for each element, all different.
    """

    __slots__ = ("_listed", "ids")

    def __init__(self, ids: Any) -> None:
        self.ids = ids
        self._listed: list[int] | None = None  # once they are asked for: many numbers have the same sources

    def listed(self) -> list[int]:
        """Return the ids in a list, which stays as it is."""
        if self._listed is None:
            self._listed = self.ids.ravel().tolist()
        return self._listed

    def __reduce__(self) -> Any:
        return Sources, (self.ids,)

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


class _Ids:
    """Numbers one after another from a random one on; a process that is forked begins anew."""

    def __init__(self) -> None:
        self.begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.begin)

    def begin(self) -> None:
        # At random, so that what processes make is independent.
        self.numbers = itertools.count(secrets.randbits(62))


_ids = _Ids()


def fresh_id() -> int:
    """Return the id of a source that nothing else depends on; a random one takes longer than the rest of a number."""
    return next(_ids.numbers)


def factor_dtype(dtype: Any) -> Any:
    """Return the dtype of the factor of numbers of a dtype: float32 for narrower ones, too coarse for it."""
    return np.result_type(dtype, np.float32)


def texts_of(values: Any, slopes: Any, form: Format) -> list[str]:
    """Return real numbers with their standard deviations as texts."""
    spreads = np.linalg.norm(slopes.astype(float), axis=0)
    return [uncertain_text(*pair, form) for pair in zip(values.tolist(), spreads.tolist(), strict=True)]


def checked_std(std: Any) -> Any:
    """Return standard deviations.

    Raises
    ------
    ValueError : if one is known to be negative
    """
    array = array_of(std)
    if array is not None and not (array < 0).any():
        return std
    if not holds(ops.logical_not(std < 0), traced=True):
        least: Any = "a tensor"
        if array is not None:
            least = float(np.nanmin(array))
        raise ValueError(f"UncertainTensor: standard deviations are not negative, found {least}")
    return std


def as_plain(value: Any) -> Any:
    """Return an array each of whose elements varies alone, so that structured matrices become dense."""
    if isinstance(value, (Tensor, Wrapper)):
        return value
    return dense_form(value)


def size_of_columns(factor: Any) -> Any:
    """Return the norms of the columns of an array of NumPy, which has a row for each source."""
    if len(factor) == 1:
        return np.abs(factor[0], out=np.empty(factor.shape[1:]))
    if factor.ndim == 1:
        return np.array(math.sqrt(factor.dot(factor)))
    return np.sqrt((factor * factor).sum(0))


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
    if isinstance(factor, np.ndarray):
        slopes = factor.reshape(len(factor), -1)
        total = np.zeros((count, slopes.shape[1]), slopes.dtype)
        np.add.at(total, (places.reshape(len(slopes), -1), np.arange(slopes.shape[1])), slopes)
        return total.reshape(count, *factor.shape[1:])
    if is_plain(factor):
        return ops.asarray(_add_rows(places, count, factor.array))
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
    """Return the sum of parts of own sources, None if elements have many; factors are tensors or arrays of NumPy."""
    ids, factor = parts[0]
    for other, added in parts[1:]:
        if other is ids or other.tobytes() == ids.tobytes():
            factor = factor + added
            continue
        if len(ids) + len(other) > FEW:
            return None
        repeats = (ids[:, None] == other).any()
        ids = np.concatenate([ids, other])
        if isinstance(factor, np.ndarray):
            factor = np.concatenate([factor, added])
        else:
            factor = ops.concat([factor, added])
        if repeats:
            ids, factor = _distinct(ids, factor)
    return ids, factor


def _distinct(ids: Any, factor: Any) -> Part:
    """Return own sources with the derivatives of an element by the same one added up where it is first."""
    first = np.argmax(ids[:, None] == ids, axis=0)
    kept = (first == np.arange(len(ids)).reshape(-1, *(1,) * (ids.ndim - 1))) & (ids != NONE)
    rows = np.flatnonzero(kept.reshape(len(ids), -1).any(axis=1))
    total = _add_rows(first, len(ids), factor)
    index: Any = rows
    if not isinstance(total, np.ndarray):
        index = ops.asarray(rows).to(like=factor)
    return np.where(kept, ids, NONE)[rows], total[index]


def move_by_slopes(result: Any, args: Sequence[Any], uncertain: Sequence[Moving]) -> tuple[Tensor, Sources] | None:
    """Return factor and sources of the result of an elementwise function in arrays of NumPy.

    Parameters
    ----------
    result : of the function
    args : its arguments, which the slopes read
    uncertain : slope, sources and factor of each uncertain one; the last is None where it is in no array of NumPy

    Returns
    -------
    None where an argument is of another shape, or elements would have many sources
    """
    shape, parts = result.shape, []
    for slope, sources, factor in uncertain:
        if factor is None or factor.shape[1:] != shape or sources.ids.ndim != factor.ndim:
            return None
        if type(slope) is not float and callable(slope):
            slope = slope(numpy_namespace, result, *args)
        parts.append((slope, sources, factor))
    merged = merge_sources([(sources.ids, _scale_array(slope, factor)) for slope, sources, factor in parts])
    if merged is None:
        return None
    ids, factor = merged
    if any(factor is one for _, _, one in parts):  # of a slope of 1, whose result is in memory of its own
        factor = factor.copy()
    return wrap_array(Tensor, factor), Sources(ids)


def _scale_array(slope: Any, factor: Any) -> Any:
    """Return a factor times the slopes, both in arrays of NumPy; where it is zero it stays so, however steep."""
    if isinstance(slope, (int, float)):
        if slope == 1:
            return factor
        if slope == 0:
            return np.zeros_like(factor)
        return factor * slope
    with np.errstate(all="ignore"):
        product = slope * factor
    if np.isnan(product).any():
        still = (factor == 0) | (slope == 0)
        product = np.where(still, 0, slope) * np.where(still, 0, factor)
    return product


def sum_elements(parts: Sequence[Part]) -> Part:
    """Return the sum of all elements of parts of own sources; of arrays of NumPy the factor is one, too."""
    ids = parts[0][0].ravel()
    if len(parts) > 1:
        ids = np.concatenate([ids.ravel() for ids, _ in parts])
    every, places = ids, None
    if ids.size > 1:
        every, places = np.unique(ids, return_inverse=True)
        if len(every) == len(ids):
            every, places = ids, None
    if isinstance(parts[0][1], np.ndarray):
        total = parts[0][1].flatten()
        if len(parts) > 1:
            total = np.concatenate([factor.ravel() for _, factor in parts])
        if places is not None:
            slopes, total = total, np.zeros(len(every), total.dtype)
            np.add.at(total, places, slopes)
        return every, total
    factor = ops.concat([ops.reshape(part, (-1,)) for _, part in parts])
    if places is None:
        return ids, factor
    zeros = ops.zeros((len(every),), dtype=factor.dtype, device=factor.device)
    return every, ops.index_put(zeros, ops.asarray(places).to(like=factor), factor, accumulate=True)


def add_up(op: Any, ids: Any, factor: Any) -> Part:
    """Return the sources of the sum, mean or cumulative sum of elements with sources of their own, in plain arrays."""
    if op is ops.cumulative_sum:
        every, whole = all_sources(ids, factor)
        return every, op(whole, axis=1)
    every, total = sum_elements([(ids, factor.array)])
    if op is ops.mean:
        total = total / max(math.prod(factor.shape[1:]), 1)
    return every, wrap_array(Tensor, total)


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


def move_parts(
    op: Callable[..., Any], factor: Any, sources: Sources, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Any, Sources]:
    """Return factor and sources of elements that an operation moves, after the numbers themselves.

    Parameters
    ----------
    op : moves the elements of one array, given first
    factor, sources : of the elements
    args, kwargs : the other arguments of the operation
    """
    operation: Any = of(op)
    on_numpy = operation.implementation.on_numpy
    if are_own(sources.ids, factor):
        sources = Sources(_move_rows(on_numpy, sources.ids, np.stack, args, kwargs))
    array = array_of(factor)
    if array is None:
        return _move_rows(op, factor, ops.stack, args, kwargs), sources
    moved = wrap_array(Tensor, _move_rows(on_numpy, array, np.stack, args, kwargs))
    note_view(moved, factor)
    return moved, sources


def _move_rows(move: Any, rows: Any, stack: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return an array along whose first axis each part has been moved."""
    if len(rows) == 1:
        return move(rows[0, ...], *args, **kwargs)[None]
    return stack([move(row, *args, **kwargs) for row in rows])


def slopes_of(call: Any, values: tuple[Any, ...]) -> list[Any]:
    """Return the derivatives of an elementwise function by each of its arguments."""

    def slope(place: int) -> Any:
        def alone(value: Any) -> Any:
            return call(*values[:place], value, *values[place + 1 :])

        return func.jvp(alone, (values[place],), (ops.ones_like(values[place]),))[1]

    return [slope(place) for place in range(len(values))]


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


def push_factors(push: Any, factors: Sequence[Any], result: Any) -> list[Any]:
    """Return the factors of the arrays in a result: what a function makes of the tangents of each source."""
    if not len(factors[0]):  # numbers without a source, such as a sum of nothing
        return [value[None][:0] for value in list_parts(result)]
    if all(holds(ops.isfinite(factor), traced=True) for factor in factors):
        return _push_rows(push, factors)
    # What is not finite goes apart: a derivative of 0 times inf or nan is 0.
    finite = _push_rows(push, [ops.where(ops.isfinite(factor), factor, 0) for factor in factors])
    marked = _push_rows(push, [_marks(factor) for factor in factors])
    unknown = reduce(ops.logical_or, [ops.any(ops.isnan(_rows(factor)), axis=1) for factor in factors])
    size = ops.where(unknown, float("nan"), float("inf"))
    return [_with_infinities(*pair, size) for pair in zip(finite, marked, strict=True)]


def _rows(factor: Any) -> Any:
    """Return a factor as a matrix: a row for each source."""
    return ops.reshape(factor, (len(factor), -1))


def _marks(factor: Any) -> Any:
    """Return 1 or -1 where a factor is not finite, by its sign, and 0 elsewhere."""
    sign = ops.where(ops.isnan(factor), 1.0, ops.sign(factor))
    return ops.astype(ops.where(ops.isfinite(factor), 0.0, sign), factor.dtype)


def _with_infinities(finite: Any, marked: Any, size: Any) -> Any:
    """Return a factor, inf or nan in the places that depend on what is not finite; `size` is that of each source."""
    size = ops.astype(ops.reshape(size, (-1, *(1,) * (marked.ndim - 1))), marked.dtype)
    still = marked == 0
    return finite + ops.where(still, 0, marked) * ops.where(still, 1, size)


def _push_rows(push: Any, factors: Sequence[Any]) -> list[Any]:
    """Return what a function makes of the tangents of each source."""
    try:
        pushed: list[Any] = func.vmap(push)(*factors)
    except (TransformError, TypeError, ValueError):  # what batches cannot do is done source by source
        pushed = [ops.stack(rows) for rows in zip(*map(push, *factors), strict=True)]
    return pushed
