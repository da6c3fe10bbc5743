"""NumPy's histograms, made of operations: the edges are of the type of the data, in their unit.

An array type of which some elements are not counted, or whose axes have names, takes part by a method
``__elements__(self)``: it returns the elements as a vector, and booleans that say which are there, None where all are.
"""

from __future__ import annotations

import math
import operator
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
    """Return the edges of bins, in the dtype of floating-point data; `NotImplemented` of what has no order.

    Parameters
    ----------
    a : vector of the data
    bins : their number, the method by which NumPy estimates it, or the edges
    limits : the outer edges; None for those of the data

    Raises
    ------
    TypeError : if the number is no integer
    ValueError : if there are none, the outer edges are not in order or not finite, or no numbers lie between the edges
    """
    if a.dtype.kind not in "fiub":
        return NotImplemented
    if isinstance(bins, str):
        bins = _estimated_number(a, bins, limits)
    edges = _steps(a, bins, limits)
    if np.ndim(bins):
        return edges
    edges = xp.astype(edges, _dtype_of_edges(a, limits))
    if bool(xp.any(edges[:-1] >= edges[1:])):
        raise ValueError(f"Too many bins for data range. Cannot create {edges.size - 1} finite-sized bins.")
    return edges


def _steps(a: Any, bins: Any, limits: Any) -> Any:
    """Return the edges that are given, or so many as make a number of bins of one width."""
    if np.ndim(bins) > 1:
        raise ValueError(f"`bins` must be 1d, when an array, found shape {tuple(np.shape(bins))}")
    if np.ndim(bins) == 1:
        edges, known = elements_of(as_array(bins))
        if known is not None and not bool(xp.all(known)):
            raise ValueError("`bins` must not have missing elements")
        if bool(xp.any(edges[1:] < edges[:-1])):
            raise ValueError("`bins` must increase monotonically, when an array")
        return edges
    try:
        count = operator.index(bins)
    except TypeError as error:
        raise TypeError(f"`bins` must be an integer, a string, or an array, found {bins!r}") from error
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    low, high = _outer_edges(a, limits)
    return xp.linspace(low, high, count + 1)


def _dtype_of_edges(a: Any, limits: Any) -> Any:
    """Return the dtype of edges of one width, which Python numbers among the outer ones do not decide."""
    ends: tuple[Any, ...] = ()
    if limits is not None:
        ends = tuple(getattr(end, "dtype", end) for end in limits)
    dtype = np.result_type(a.dtype, *ends)
    if dtype.kind == "f":
        return dtype
    return np.dtype(np.float64)


def _estimated_number(a: Any, method: str, limits: Any) -> int:
    """Return how many bins NumPy estimates: of what has a unit by its shares of the range, which have none."""
    numbers, bounds = a, limits
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


def _counts(a: Any, edges: Any) -> Any:
    """Return how many elements lie in each bin, the last of which has both its edges."""
    rising = xp.sort(a)
    first = xp.searchsorted(rising, edges[:-1], side="left")
    places = xp.concat([first, xp.searchsorted(rising, edges[-1:], side="right")])
    return places[1:] - places[:-1]


def _sums(places: Any, weights: Any, length: int) -> Any:
    """Return the sums of the weights of each of so many places, in the dtype of the weights."""
    if weights.dtype.kind == "c":
        return _sums(places, xp.real(weights), length) + 1j * _sums(places, xp.imag(weights), length)
    sums = xp.bincount(places, weights=xp.astype(weights, np.float64), minlength=length)
    return xp.astype(sums, weights.dtype)


@composition
def bincount(x: Array, weights: Array | None = None, minlength: int = 0) -> Any:
    if x.ndim != 1:
        raise ValueError(f"bincount: x must be a vector, found shape {tuple(x.shape)}")
    if weights is not None and weights.dtype.kind == "c":
        return NotImplemented
    if x.dtype.kind == "b":
        x = xp.astype(x, np.int64)
    if weights is None or tuple(weights.shape) == tuple(x.shape):
        x, weights = elements_together(x, weights)
    if weights is not None:
        weights = xp.astype(weights, np.float64)
    return xp.bincount(x, weights=weights, minlength=minlength)


def _check_weights(a: Any, bins: Any, weights: Any) -> None:
    """Raise for weights of another shape than the data, and for those of bins whose number is estimated."""
    if weights is not None and tuple(weights.shape) != tuple(a.shape):
        raise ValueError(
            f"weights should have the same shape as a., which is {tuple(a.shape)}, found {tuple(weights.shape)}"
        )
    if weights is not None and isinstance(bins, str):
        raise TypeError("Automated estimation of the number of bins is not supported for weighted data")


@composition
def histogram_bin_edges(a: Array, bins: Any = 10, range: Any = None, weights: Array | None = None) -> Any:
    _check_weights(a, bins, weights)
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
    _check_weights(a, bins, weights)
    a, weights = elements_together(a, weights)
    edges = edges_of(a, bins, range)
    if edges is NotImplemented or not edges.size:
        return NotImplemented
    if weights is None:
        counts = _counts(a, edges)
    else:
        length = edges.size - 1
        place, inside = _places([a], [edges], (length,))
        counts = _sums(xp.take(place, inside), xp.take(weights, inside), length)
    if density:
        widths = xp.astype(edges[1:] - edges[:-1], np.float64)
        return counts / widths / xp.sum(counts), edges
    return counts, edges


@composition
def histogramdd(
    sample: object, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Array | None = None
) -> Any:
    columns = _columns(sample)
    if any(column.dtype.kind not in "fiub" for column in columns):
        return NotImplemented
    if weights is not None and (weights.dtype.kind == "c" or tuple(weights.shape) != tuple(columns[0].shape)):
        return NotImplemented
    *columns, weights = elements_together(*columns, weights)
    edges = [
        _steps(*parts)
        for parts in zip(columns, _bins_of_columns(bins, columns), _limits_of_columns(range, columns), strict=True)
    ]
    if not all(part.size for part in edges):
        return NotImplemented
    shape = tuple(part.size - 1 for part in edges)
    place, inside = _places(columns, edges, shape)
    if weights is None:
        shares = xp.ones(inside.shape)
    else:
        shares = xp.astype(xp.take(weights, inside), np.float64)
    counts = xp.reshape(xp.bincount(xp.take(place, inside), weights=shares, minlength=math.prod(shape)), shape)
    if density:
        counts = _density(counts, edges)
    return counts, edges


def _bins_of_columns(bins: Any, columns: Sequence[Any]) -> list[Any]:
    """Return the bins of each column."""
    length = _length(bins)
    if length is None:
        bins = [bins] * len(columns)
    elif length != len(columns):
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    for number, of_column in enumerate(bins):
        if not np.ndim(of_column) and of_column < 1:
            raise ValueError(f"`bins[{number}]` must be positive, when an integer, found {of_column}")
    return list(bins)


def _length(value: Any) -> int | None:
    """Return the length of a list or an array, None of what has none."""
    try:
        return len(value)
    except TypeError:
        return None


def _limits_of_columns(limits: Any, columns: Sequence[Any]) -> list[Any]:
    """Return the outer edges of each column, None for those of its data."""
    if limits is None:
        return [None] * len(columns)
    if len(limits) != len(columns):
        raise ValueError("range argument must have one entry per dimension")
    return list(limits)


def _columns(sample: Any) -> list[Any]:
    """Return the coordinates of points in one dtype: the members of a list, or the columns of a matrix."""
    if isinstance(sample, (list, tuple)):
        columns = [as_array(part) for part in sample]
        if not any(column.ndim for column in columns):
            columns = [xp.stack(columns)]
    else:
        points = as_array(sample)
        if points.ndim <= 1:
            points = xp.reshape(points, (-1, 1))
        columns = list(xp.unstack(points, axis=1))
    shapes = {tuple(column.shape) for column in columns}
    if len(shapes) != 1 or any(len(shape) > 1 for shape in shapes):
        raise ValueError(
            f"the sample must be a matrix, or vectors of one length, found coordinates of the shapes {sorted(shapes)}"
        )
    dtype = np.result_type(*(column.dtype for column in columns))
    return [as_array(column, dtype) for column in columns]


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
    density = counts
    for axis, steps in enumerate(edges):
        widths = steps[1:] - steps[:-1]
        density = density / xp.reshape(widths, (-1, *(1,) * (len(edges) - axis - 1)))
    return density / xp.sum(counts)


@composition
def histogram2d(
    x: Array, y: Array, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Array | None = None
) -> Any:
    if len(x) != len(y):
        raise ValueError(f"x and y must have the same length, found {len(x)} and {len(y)}.")
    if _length(bins) not in (None, 1, 2):
        bins = [bins, bins]
    result = histogramdd([x, y], bins, range, density, weights)
    if result is NotImplemented:
        return NotImplemented
    return (result[0], *result[1])
