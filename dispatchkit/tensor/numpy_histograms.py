"""NumPy's histograms, made of operations: the edges are of the type of the data, in their unit.

An array type of which some elements are not counted, or whose axes have names, takes part by a method
``__elements__(self)``: it returns the elements as a vector, and booleans that say which are there, None where all are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.typing import Array
from dispatchkit.graph.storage import Storage
from dispatchkit.tensor.conversion import dense_form
from dispatchkit.tensor.numpy_arguments import as_array
from dispatchkit.tensor.numpy_shapes import composition


def edges_of(a: Any, bins: Any, limits: Any) -> Any:
    """Return the edges of bins; `NotImplemented` of what has no order.

    Parameters
    ----------
    a : vector of the data
    bins : their number, the method by which NumPy estimates it, or the edges
    limits : the outer edges; None for those of the data

    Raises
    ------
    ValueError : if there are none, or the outer edges are not in order or not finite
    """
    if a.dtype.kind not in "fiub":
        return NotImplemented
    if isinstance(bins, str):
        bins = _estimated_number(a, bins, limits)
    if np.ndim(bins) == 1:
        edges, known = elements_of(as_array(bins))
        if known is not None and not bool(xp.all(known)):
            raise ValueError("`bins` must not have missing elements")
        if not bool(xp.all(edges[1:] >= edges[:-1])):
            raise ValueError("`bins` must increase monotonically, when an array")
        return edges
    count = int(bins)
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    low, high = _outer_edges(a, limits)
    return xp.linspace(low, high, count + 1)


def _estimated_number(a: Any, method: str, limits: Any) -> int:
    """Return how many bins NumPy estimates: of what has a unit by its shares of the range, which have none."""
    numbers, bounds = a, limits
    if not a.size:
        return 1
    if not isinstance(a, Storage):
        low, high = _outer_edges(a, limits)
        numbers, bounds = (a - low) / (high - low), (0.0, 1.0)
    return len(np.histogram_bin_edges(dense_form(numbers).detach().numpy(), method, bounds)) - 1


def elements_of(a: Any) -> tuple[Any, Any]:
    """Return the elements of an array as a vector, and which of them are there; None where all are.

    Parameters
    ----------
    a : array
    """
    method = getattr(type(a), "__elements__", None)
    if method is None:
        return xp.ravel(a), None
    vector, known = method(a)
    return vector, known


def elements_together(*arrays: Any) -> list[Any]:
    """Return arrays as vectors without the places at which one of them has no element.

    Parameters
    ----------
    *arrays : of the same size; None stays None
    """
    vectors, known = [], None
    for array in arrays:
        vector, there = None, None
        if array is not None:
            vector, there = elements_of(array)
        if there is not None:
            known = there if known is None else known & there
        vectors.append(vector)
    if known is None:
        return vectors
    places = xp.nonzero(known)[0]
    return [vector if vector is None else xp.take(vector, places) for vector in vectors]


def _outer_edges(a: Any, limits: Any) -> tuple[Any, Any]:
    """Return the first and the last edge, half a unit to either side of data that are all one number."""
    if limits is not None:
        low, high = map(_floating, limits)
        if not bool(low <= high):
            raise ValueError("max must be larger than min in range parameter.")
    elif not a.size:
        low, high = np.zeros(1, like=a)[0], np.ones(1, like=a)[0]
    else:
        low, high = _floating(xp.min(a)), _floating(xp.max(a))
    if not bool(xp.isfinite(low) & xp.isfinite(high)):
        raise ValueError(f"range of [{low}, {high}] is not finite")
    if bool(low == high):
        half = (xp.ones_like(low) - xp.zeros_like(low)) * 0.5  # a difference, of points on a scale, too
        low, high = low - half, high + half
    return low, high


def _floating(x: Any) -> Any:
    array = as_array(x)
    if array.dtype.kind == "f":
        return array
    return xp.astype(array, np.float64)


def _counts(a: Any, edges: Any, weights: Any) -> Any:
    """Return how many elements lie in each bin, the last of which has both its edges, or their weights together."""
    order = xp.argsort(a)
    rising = xp.take(a, order)
    first = xp.searchsorted(rising, edges[:-1], side="left")
    places = xp.concat([first, xp.searchsorted(rising, edges[-1:], side="right")])
    if weights is None:
        return places[1:] - places[:-1]
    sums = xp.cumulative_sum(xp.take(weights, order), include_initial=True)
    return xp.astype(xp.take(sums, places[1:]) - xp.take(sums, places[:-1]), weights.dtype)


@composition
def bincount(x: Array, weights: Array | None = None, minlength: int = 0) -> Any:
    if weights is not None and weights.dtype.kind == "c":
        return NotImplemented
    if weights is None or tuple(weights.shape) == tuple(x.shape):
        x, weights = elements_together(x, weights)
    if weights is not None:
        weights = xp.astype(weights, np.float64)
    return xp.bincount(x, weights=weights, minlength=minlength)


@composition
def histogram_bin_edges(a: Array, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:  # NumPy's name
    (present,) = elements_together(a)
    return edges_of(present, bins, range)


@composition
def histogram(
    a: Array,
    bins: Any = 10,
    range: Any = None,  # NumPy's name
    density: bool | None = None,
    weights: Array | None = None,
) -> Any:
    if weights is not None and tuple(weights.shape) != tuple(a.shape):
        raise ValueError("weights should have the same shape as a.")
    if weights is not None and isinstance(bins, str):
        raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
    a, weights = elements_together(a, weights)
    edges = edges_of(a, bins, range)
    if edges is NotImplemented or not edges.size:
        return NotImplemented
    counts = _counts(a, edges, weights)
    if density:
        return counts / (edges[1:] - edges[:-1]) / xp.sum(counts), edges
    return counts, edges


@composition
def histogramdd(
    sample: object, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Array | None = None
) -> Any:
    *columns, weights = elements_together(*_columns(sample), weights)
    several = isinstance(bins, (list, tuple))
    if several and len(bins) != len(columns):
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if several:
        of_columns = list(bins)
    else:
        of_columns = [bins] * len(columns)
    if range is None:
        limits = [None] * len(columns)
    else:
        limits = list(range)
    edges = [edges_of(*parts) for parts in zip(columns, of_columns, limits, strict=True)]
    if any(part is NotImplemented for part in edges):
        return NotImplemented
    shape = tuple(part.size - 1 for part in edges)
    place, inside = _places(columns, edges, shape)
    if weights is None:
        shares = xp.ones(inside.shape)
    else:
        shares = xp.take(weights, inside)
    counts = xp.reshape(xp.bincount(xp.take(place, inside), weights=shares, minlength=math.prod(shape)), shape)
    if density:
        counts = _density(counts, edges)
    return counts, edges


def _columns(sample: Any) -> list[Any]:
    """Return the coordinates of points: the members of a list, or the columns of a matrix."""
    if isinstance(sample, (list, tuple)):
        return [as_array(part) for part in sample]
    points = as_array(sample)
    if points.ndim <= 1:
        points = xp.reshape(points, (-1, 1))
    return list(xp.unstack(points, axis=1))


def _places(columns: Sequence[Any], edges: Sequence[Any], shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the numbers of the bins of points, and which points are in any."""
    place, valid = xp.zeros(columns[0].shape, dtype=np.int64), xp.ones(columns[0].shape, dtype=np.bool_)
    for column, steps, length in zip(columns, edges, shape, strict=True):
        number = xp.searchsorted(steps, column, side="right") - 1
        number = xp.where(column == steps[-1], length - 1, number)
        valid = valid & (number >= 0) & (number < length)
        place = place * length + number
    return place, xp.nonzero(valid)[0]


def _density(counts: Any, edges: Sequence[Any]) -> Any:
    density = counts / xp.sum(counts)
    for axis, steps in enumerate(edges):
        widths = steps[1:] - steps[:-1]
        density = density / xp.reshape(widths, (-1, *(1,) * (len(edges) - axis - 1)))
    return density


@composition
def histogram2d(
    x: Array, y: Array, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Array | None = None
) -> Any:
    if x.size != y.size:
        raise ValueError("x and y must have the same length.")
    if hasattr(bins, "__len__") and len(bins) != 2 and not isinstance(bins, str):
        bins = [bins, bins]
    result = histogramdd([x, y], bins, range, density, weights)
    if result is NotImplemented:
        return NotImplemented
    return (result[0], *result[1])
