"""Fast paths for NumPy arrays of what finds and tells apart elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.declare.decorators import body_on_numpy
from dispatchkit.ops.manipulation.splitting import argwhere
from dispatchkit.ops.searching.sets import (
    UniqueAllResult,
    UniqueCountsResult,
    UniqueInverseResult,
    isin,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)

__all__: list[str] = []

_any_of: Any = np.logical_or.reduce


# Integers from which a table of those between the smallest and the largest is made in less time than an order.
MANY = 1000
# Pairs of elements that are compared in less time than both arrays are put in order.
FEW = 1000


def _counted(x: Any) -> tuple[Any, Any, Any] | None:
    """Return the integers held, how often each, and what numbers each element by them; None if they lie apart.

    What numbers them is a function, since it takes another pass over the array.
    """
    if x.size > MANY and x.dtype.kind == "i":
        low, high = int(x.min()), int(x.max())
        if high - low < x.size:
            places = x.astype(np.intp, copy=False)  # differences may be more than a short integer holds
            places = places - low if low else places
            counts = np.bincount(places.reshape(-1))
            held = counts.nonzero()[0]
            values = (held + low).astype(x.dtype, copy=False)
            return values, counts[held], lambda: ((counts > 0).cumsum() - 1)[places]
    return None


def _first_of_equals(y: Any) -> Any:
    """Tell for each element of a sorted vector whether it differs from the one before; a NaN differs from all."""
    first = np.empty(y.shape, bool)
    first[:1] = True
    np.not_equal(y[1:], y[:-1], first[1:])
    return first


def _lengths(first: Any) -> Any:
    """Return how many equal elements there are from each first one on."""
    begins = first.nonzero()[0]
    lengths = np.empty_like(begins)
    np.subtract(begins[1:], begins[:-1], lengths[:-1])
    lengths[-1:] = first.size - begins[-1:]
    return lengths


@unique_values.def_numpy
def unique_values_numpy(x: Any, /) -> Any:
    """Tell values apart: integers that lie close by a table of them, others by their order."""
    x = np.asarray(x)
    counted = _counted(x)
    if counted is not None:
        return counted[0]
    y = x.flatten()
    y.sort()
    return y[_first_of_equals(y)]


@unique_counts.def_numpy
def unique_counts_numpy(x: Any, /) -> Any:
    """Count values: integers that lie close by a table of them, others by their order."""
    x = np.asarray(x)
    counted = _counted(x)
    if counted is not None:
        return UniqueCountsResult(*counted[:2])
    y = x.flatten()
    y.sort()
    first = _first_of_equals(y)
    return UniqueCountsResult(y[first], _lengths(first))


@unique_inverse.def_numpy
def unique_inverse_numpy(x: Any, /) -> Any:
    """Find values and number each by theirs: integers that lie close by a table of them, others by their order."""
    x = np.asarray(x)
    counted = _counted(x)
    if counted is not None:
        return UniqueInverseResult(counted[0], counted[2]())
    order = x.reshape(-1).argsort()
    y = x.reshape(-1)[order]
    first = _first_of_equals(y)
    return UniqueInverseResult(y[first], _inverse(order, first).reshape(x.shape))


def _inverse(order: Any, first: Any) -> Any:
    """Return for each element its number among the distinct ones."""
    numbers = np.empty_like(order)
    numbers[order] = first.cumsum() - 1
    return numbers


@unique_all.def_numpy
def unique_all_numpy(x: Any, /) -> Any:
    """Tell values apart, find, number and count them by their order; that of equal ones is as they came."""
    x = np.asarray(x)
    order = x.reshape(-1).argsort(kind="stable")
    y = x.reshape(-1)[order]
    first = _first_of_equals(y)
    return UniqueAllResult(y[first], order[first], _inverse(order, first).reshape(x.shape), _lengths(first))


_isin_any = body_on_numpy(isin)


@isin.def_numpy
def isin_numpy(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Compare few elements with each other; NumPy's function puts them in order."""
    if type(x1) is type(x2) is np.ndarray and x1.dtype == x2.dtype and x1.size * x2.size <= FEW:
        found = _any_of(x1[..., None] == x2.reshape(-1), -1)
        return ~found if invert else found
    return _isin_any(x1, x2, invert=invert)


@argwhere.def_numpy
def argwhere_numpy(x: Any, /) -> Any:
    return np.array(x.nonzero()).T if x.ndim else np.argwhere(x)
