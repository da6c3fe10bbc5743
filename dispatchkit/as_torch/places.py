"""Functions of PyTorch that read, write and look up elements at places, in terms of operations."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.as_torch.further_functions import div
from dispatchkit.as_torch.shared import (
    gradient_alone,
    in_dtype_of,
    in_memory,
    in_spelling_of,
    index_along,
    number_for,
    plain_array,
    times,
    written_functions,
)
from dispatchkit.as_torch.table import TRANSLATIONS, Values, is_array
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.indexing.selecting import places_of_elements


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    if repeats is None:  # how often each number is repeated
        return repeat_interleave(xp.arange(input.shape[0]), input, 0)
    return xp.repeat(input, repeats, axis=dim)


def index_add(input, dim, index, source, *, alpha=1):
    places = index_along(input, dim, xp.reshape(index, (-1,)))
    return xp.index_put(input, places, times(source, alpha), accumulate=True)


def index_fill(input, dim, index, value):
    return xp.index_put(input, index_along(input, dim, index), xp.asarray(number_for(input, value), dtype=input.dtype))


def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError(f"scatter(): reduce argument must be either add or multiply, found {reduce!r}")
    if not index.size:
        return xp.clone(input)
    if value is not None:
        src = value
    if not is_array(src):
        src = in_dtype_of(input, src)
    if reduce is not None:
        if not is_array(src):
            src = xp.full(index.shape, src, dtype=input.dtype)
        return scatter_reduce(input, dim, index, src, {"add": "sum", "multiply": "prod"}[reduce])
    if not input.ndim or not index.ndim:
        parts = [xp.reshape(x, (-1,)) if is_array(x) else x for x in (input, index, src)]
        return xp.reshape(scatter(parts[0], 0, *parts[1:]), input.shape)
    if not is_array(src):
        elements = xp.asarray(src, dtype=input.dtype)
    elif not src.ndim:
        elements = xp.reshape(src, (1,) * index.ndim)
    else:
        elements = src[tuple(map(slice, index.shape))]
    arrays = [plain_array(x) for x in (input, index, elements)]
    if all(x is not None for x in arrays):
        y, at = arrays[0].copy(), [*places_of_elements(index.shape)]
        at[dim] = arrays[1]
        y[tuple(at)] = arrays[2]
        return in_spelling_of(input, y)
    if in_memory(input):
        places = [in_spelling_of(input, along) for along in places_of_elements(index.shape)]
    else:
        places = [xp.asarray(along, like=input) for along in np.indices(index.shape, sparse=True)]
    places[dim] = index
    return xp.index_put(input, tuple(places), elements)


def take_along_dim(input, indices, dim=None):
    if dim is None:
        return xp.take_along_axis(xp.reshape(input, (-1,)), xp.reshape(indices, (-1,)), axis=0)
    length = input.shape[dim]
    if not length:
        return xp.take_along_axis(input, indices, axis=dim)
    return xp.take_along_axis(input, indices % length, axis=dim)


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    if side == "left" and right:
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got 'left' and True")
    side = side or ("right" if right else "left")
    if sorted_sequence.ndim > 1:
        places = _places_in_rows(sorted_sequence, input, side, sorter)
    else:
        places = xp.searchsorted(sorted_sequence, input, side=side, sorter=sorter)
    if out_int32:
        return xp.astype(places, xp.int32)
    return places


def _places_in_rows(rows, values, side, sorter):
    """Return how many elements of sorted rows stand before values, which are in rows, too."""
    if not is_array(values):
        raise RuntimeError(
            f"torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, found "
            f"{rows.ndim}"
        )
    if tuple(rows.shape[:-1]) != tuple(values.shape[:-1]):
        raise RuntimeError(
            f"torch.searchsorted(): boundaries tensor should have the same dimensions as the input but the last one, "
            f"found {[*rows.shape]} and {[*values.shape]}"
        )
    if sorter is not None and tuple(sorter.shape) != tuple(rows.shape):
        raise RuntimeError("torch.searchsorted(): boundary and sorter must have the same size")
    if sorter is not None:
        rows = xp.take_along_axis(rows, sorter, axis=-1)
    rows, values = rows[..., None, :], values[..., None]
    # NaN is behind all numbers.
    if side == "left":
        is_before = (rows < values) | (xp.isnan(values) & ~xp.isnan(rows))
    else:
        is_before = (rows <= values) | xp.isnan(values)
    return xp.count_nonzero(is_before, axis=-1)


def bucketize(input, boundaries, *, out_int32=False, right=False):
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    low, high = -np.inf, np.inf
    if xp.isdtype(input.dtype, "integral"):
        low, high = xp.iinfo(input.dtype).min, xp.iinfo(input.dtype).max
    elif input.dtype == xp.bool:
        low, high = False, True
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    start: Any = {"sum": 0, "mean": 0, "prod": 1, "amax": low, "amin": high}.get(reduce)
    if start is None:
        raise RuntimeError(f"reduce argument must be one of sum, prod, mean, amax, amin, found {reduce!r}")
    if not index.size:
        return xp.clone(input)
    if not (input.ndim and index.ndim and src.ndim):
        parts = (xp.reshape(x, (-1,)) for x in (input, index, src))
        one, places, elements = parts
        y = scatter_reduce(one, 0, places, elements, reduce, include_self=include_self)
        return xp.reshape(y, input.shape)
    base = input
    if not include_self:
        base = scatter(input, dim, index, value=start)
    if reduce == "sum":
        return xp.scatter_add(base, dim, index, src)
    if reduce == "mean":
        pairs = (input, src), (xp.ones_like(input), xp.ones_like(src))
        total, counts = (scatter_reduce(x, dim, index, y, "sum", include_self=include_self) for x, y in pairs)
        rounding: str | None = None
        if xp.isdtype(input.dtype, "integral"):
            rounding = "floor"
        return div(total, counts, rounding_mode=rounding)
    # Elements stand behind what their place has, along a last axis.
    region = tuple(slice(None if axis == dim % input.ndim else length) for axis, length in enumerate(index.shape))
    index, elements = (xp.moveaxis(x, dim, -1) for x in (index, src[tuple(map(slice, index.shape))]))
    hits = xp.expand_dims(index, axis=-2) == xp.reshape(xp.arange(input.shape[dim]), (-1, 1))
    elements = xp.where(hits, xp.expand_dims(elements, axis=-2), xp.asarray(start, dtype=input.dtype))
    before = xp.expand_dims(xp.moveaxis(base[region], dim, -1), axis=-1)
    reduced = getattr(xp, reduce)(xp.concat([before, elements], axis=-1), axis=-1)
    return xp.index_put(base, region, xp.moveaxis(reduced, -1, dim))


def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    index = xp.reshape(index, (-1, *(1,) * (input.ndim - dim % input.ndim - 1)))
    return scatter_reduce(input, dim, xp.broadcast_to(index, source.shape), source, reduce, include_self=include_self)


def masked_scatter(input, mask, source):
    input, mask = xp.broadcast_arrays(input, mask)
    source = xp.ravel(source)
    if not holds(xp.count_nonzero(mask) <= source.size, traced=True):
        raise ValueError(f"masked_scatter: mask is true more often than source has elements: {source.size}")
    if not source.size:
        return xp.clone(input)
    # The source's elements in order, one wherever the mask is true.
    places = xp.cumulative_sum(xp.astype(xp.ravel(mask), np.int64)) - 1
    values = xp.take(source, xp.clip(places, 0, source.size - 1))
    return xp.where(mask, xp.reshape(values, mask.shape), input)


def _pick(input: Any, places: Any, dim: int, keepdim: bool) -> Values:
    """Return the elements at one place each along an axis, and the places."""
    array = plain_array(input)
    if array is not None and in_memory(places) and places.ndim:
        order = places.array
        found = np.take_along_axis(array, order, dim)
        if not keepdim:
            found, order = found.squeeze(dim), order.squeeze(dim)
        return Values(in_spelling_of(input, found), in_spelling_of(input, order))
    elements = xp.take_along_axis(input, places, axis=dim), places
    return Values(*(x if keepdim else xp.squeeze(x, axis=dim) for x in elements))


def kthvalue(input, k, dim=-1, keepdim=False):
    return _pick(input, xp.take(xp.argsort(input, axis=dim), xp.asarray([k - 1]), axis=dim), dim, keepdim)


def _median(counted, /, input, dim=None, keepdim=False):
    if dim is None:
        return _median_of_all(counted, input)
    if in_memory(input) and input.ndim:
        array = input.array
        order = array.argsort(dim, "stable")
        places = xp.asarray(_places_of_medians(array, order, dim, counts_all=counted is xp.ones_like))
        return _pick(input, places, dim, keepdim)
    order, count = xp.argsort(input, axis=dim), xp.count_nonzero(counted(input), axis=dim, keepdims=True)
    place = (xp.maximum(count, 1) - 1) // 2
    if counted is xp.ones_like:
        # NaN is behind all numbers, and where there is some, it is the median.
        numbers = xp.count_nonzero(~xp.isnan(input), axis=dim, keepdims=True)
        place = xp.where(numbers < count, numbers, place)
    return _pick(input, xp.take_along_axis(order, place, axis=dim), dim, keepdim)


def _places_of_medians(array: Any, order: Any, dim: int, *, counts_all: bool) -> Any:
    """Return where the medians stand along an axis, which stays: the first NaN where there is one and all count.

    Parameters
    ----------
    array : of NumPy, of shape (..., n, ...)
    order : the indices that sort it along the axis, NaN last
    dim : the axis
    counts_all : whether NaN counts, too
    """
    n = array.shape[dim]
    if array.dtype.kind == "f":
        numbers = np.count_nonzero(~np.isnan(array), axis=dim, keepdims=True)
        if numbers.size and numbers.min() < n:
            place = np.where(numbers < n, numbers, (n - 1) // 2)
            if not counts_all:
                place = (np.maximum(numbers, 1) - 1) // 2
            return np.take_along_axis(order, place, dim)
    return order.take([(n - 1) // 2], dim)


def _median_of_array(x: Any, *, counts_all: bool) -> Any:
    """Return the median of a vector of NumPy as an array without axes; NaN if there is one and all elements count."""
    rank, largest = (x.size - 1) // 2, x.max()
    if x.dtype.kind == "f" and math.isnan(largest):
        if counts_all:
            return np.asarray(largest)
        rank = (max(int(np.count_nonzero(~np.isnan(x))), 1) - 1) // 2
    return np.asarray(np.partition(x, rank)[rank])


def _median_of_all(counted, input):
    if not input.size:
        with np.errstate(invalid="ignore"):
            return xp.astype(xp.asarray(np.nan), input.dtype)
    if in_memory(input):
        array = input.array
        median = _median_of_array(array.reshape(-1), counts_all=counted is xp.ones_like)
        value = in_spelling_of(input, median)
        if input._node is None:
            return value
        if np.isfinite(median):
            # The gradient goes to all elements that are the median.
            shares = (array == median).astype(array.dtype)
            shares /= np.add.reduce(shares, None)
            with np.errstate(invalid="ignore"):  # of infinities that have no share
                return value + gradient_alone(xp.sum(input * in_spelling_of(input, shares)))
    value = _median(counted, xp.reshape(input, (-1,)), 0).values
    if not xp.isdtype(input.dtype, "real floating"):
        return value
    value = value.detach()
    # The gradient goes to all elements that are the median, which may be infinite or NaN.
    is_median = (input == value) | (xp.isnan(input) & xp.isnan(value))
    with np.errstate(invalid="ignore"):
        share = xp.sum(xp.where(is_median, input, 0)) / xp.astype(xp.count_nonzero(is_median), input.dtype)
        return xp.where(xp.isfinite(value), value + gradient_alone(share), share)


TRANSLATIONS["median"] = partial(_median, xp.ones_like)
TRANSLATIONS["nanmedian"] = partial(_median, lambda input: ~xp.isnan(input))


def mode(input, dim=-1, keepdim=False):
    rows = xp.moveaxis(input, dim, -1)
    counts = xp.count_nonzero(rows[..., None] == rows[..., None, :], axis=-1)
    value = xp.min(xp.where(counts == xp.max(counts, axis=-1, keepdims=True), rows, np.inf), axis=-1, keepdims=True)
    places = xp.max(xp.where(rows == value, xp.arange(rows.shape[-1]), 0), axis=-1, keepdims=True)
    return _pick(input, xp.moveaxis(places, -1, dim), dim, keepdim)


TRANSLATIONS.update(written_functions(globals()))
