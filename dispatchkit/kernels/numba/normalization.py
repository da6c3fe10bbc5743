"""Standardization of rows and its cotangents, by the formulas of `normalization.Rows`."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from dispatchkit.kernels.numba.rows import contiguous, summing_loop
from dispatchkit.nn.functional.normalization import layer_norm, standardize
from dispatchkit.nn.functional.normalization_numpy import lengths_of, rows_at_end
from dispatchkit.nn.functional.rows import Rows, rows_of
from dispatchkit.nn.functional.shared import result_of
from dispatchkit.ops.shared import normal_axes


@summing_loop
def _sum(x: Any, a: int, b: int, c: int) -> Any:
    s = x.dtype.type(0)
    for j in range(x.shape[3]):
        s += x[a, b, c, j]
    return s


@summing_loop
def _sums_of_distances(x: Any, a: int, b: int, c: int, mean: Any) -> tuple[Any, Any]:
    """Return the sums of distances from a number, and of their squares."""
    total = square = x.dtype.type(0)
    for j in range(x.shape[3]):
        d = x[a, b, c, j] - mean
        total += d
        square += d * d
    return total, square


@summing_loop
def _moments(x: Any, b: int, eps: float) -> tuple[Any, Any, Any]:
    """Return the mean of the rows `x[:, b]` in two parts, and one divided by their standard deviation.

    The mean of rows far from 0 has fewer digits than what is left when it is subtracted: the second part is the mean of
    that, which is 0 but for rounding.
    """
    count, total, moved, square = x.shape[0] * x.shape[2] * x.shape[3], 0.0, 0.0, 0.0
    for a in range(x.shape[0]):
        for c in range(x.shape[2]):
            total += _sum(x, a, b, c)
    mean = x.dtype.type(total / count)
    for a in range(x.shape[0]):
        for c in range(x.shape[2]):
            distance, of_squares = _sums_of_distances(x, a, b, c, mean)
            moved += distance
            square += of_squares
    moved /= count
    return mean, x.dtype.type(moved), x.dtype.type(1 / np.sqrt(square / count - moved * moved + eps))


@summing_loop
def _standardize(x: Any, weight: Any, bias: Any, eps: float, y: Any) -> None:
    for b in range(x.shape[1]):
        mean, rest, factor = _moments(x, b, eps)
        for a in range(x.shape[0]):
            for c in range(x.shape[2]):
                scale, offset = factor * weight[a, b, c], bias[a, b, c]
                for j in range(x.shape[3]):
                    y[a, b, c, j] = (x[a, b, c, j] - mean - rest) * scale + offset


@summing_loop
def _standardize_columns(x: Any, weight: Any, bias: Any, eps: float, y: Any) -> None:
    for b in range(x.shape[1]):
        mean, rest, factor = _moments(x, b, eps)
        for j in range(x.shape[3]):
            y[0, b, 0, j] = (x[0, b, 0, j] - mean - rest) * factor * weight[j] + bias[j]


@summing_loop
def _sums(g: Any, x: Any, a: int, b: int, c: int, mean: Any, rest: Any) -> tuple[Any, Any]:
    """Return the sums of cotangents, and of their products with elements less the mean."""
    total = product = x.dtype.type(0)
    for j in range(x.shape[3]):
        total += g[a, b, c, j]
        product += g[a, b, c, j] * (x[a, b, c, j] - mean - rest)
    return total, product


@summing_loop
def _differentiate(g: Any, x: Any, weight: Any, eps: float, of_x: Any, of_weight: Any, of_bias: Any) -> None:
    number = x.dtype.type
    count = x.shape[0] * x.shape[2] * x.shape[3]
    for b in range(x.shape[1]):
        mean, rest, factor = _moments(x, b, eps)
        moved = scaled = 0.0
        for a in range(x.shape[0]):
            for c in range(x.shape[2]):
                total, product = _sums(g, x, a, b, c, mean, rest)
                of_bias[a, b, c], of_weight[a, b, c] = total, product * factor
                moved += total * weight[a, b, c]
                scaled += product * factor * weight[a, b, c]
        offset, slope = number(moved / count * factor), number(scaled / count * factor * factor)
        for a in range(x.shape[0]):
            for c in range(x.shape[2]):
                scale = factor * weight[a, b, c]
                for j in range(x.shape[3]):
                    of_x[a, b, c, j] = g[a, b, c, j] * scale - (x[a, b, c, j] - mean - rest) * slope - offset


@summing_loop
def _sums_of_columns(g: Any, x: Any, weight: Any, b: int, mean: Any, rest: Any) -> tuple[Any, Any]:
    total = product = x.dtype.type(0)
    for j in range(x.shape[3]):
        total += g[0, b, 0, j] * weight[j]
        product += g[0, b, 0, j] * weight[j] * (x[0, b, 0, j] - mean - rest)
    return total, product


@summing_loop
def _differentiate_columns(g: Any, x: Any, weight: Any, eps: float, of_x: Any, of_weight: Any, of_bias: Any) -> None:
    number, length = x.dtype.type, x.shape[3]
    for b in range(x.shape[1]):
        mean, rest, factor = _moments(x, b, eps)
        total, product = _sums_of_columns(g, x, weight, b, mean, rest)
        moved, scaled = number(total / length), number(product / length) * factor
        for j in range(length):
            z = (x[0, b, 0, j] - mean - rest) * factor
            of_x[0, b, 0, j] = (g[0, b, 0, j] * weight[j] - moved - z * scaled) * factor
            of_weight[j] += g[0, b, 0, j] * z
            of_bias[j] += g[0, b, 0, j]


@summing_loop
def _standardize_rows(x: Any, weight: Any, bias: Any, eps: float, y: Any, moments: Any) -> bool:
    """Write rows of shape (m, n), and what `_moments` gives of each; return whether all variances are finite."""
    number, length = x.dtype.type, x.shape[1]
    for i in range(x.shape[0]):
        total = moved = square = number(0)
        for j in range(length):
            total += x[i, j]
        mean = number(total / length)
        for j in range(length):
            d = x[i, j] - mean
            moved += d
            square += d * d
        if not np.isfinite(square):
            return False
        rest = number(moved / length)
        factor = number(1 / np.sqrt(max(square / length - rest * rest, number(0)) + eps))
        moments[0, i], moments[1, i], moments[2, i] = mean, rest, factor
        for j in range(length):
            y[i, j] = (x[i, j] - mean - rest) * factor * weight[j] + bias[j]
    return True


@summing_loop
def _differentiate_rows(g: Any, x: Any, weight: Any, moments: Any, of_x: Any, of_weight: Any, of_bias: Any) -> None:
    number, length = x.dtype.type, x.shape[1]
    for i in range(x.shape[0]):
        mean, rest, factor = moments[0, i], moments[1, i], moments[2, i]
        total = product = number(0)
        for j in range(length):
            h = g[i, j] * weight[j]
            total += h
            product += h * (x[i, j] - mean - rest)
        moved, scaled = number(total / length), number(product / length) * factor
        for j in range(length):
            z = (x[i, j] - mean - rest) * factor
            of_x[i, j] = (g[i, j] * weight[j] - moved - z * scaled) * factor
            of_weight[j] += g[i, j] * z
            of_bias[j] += g[i, j]


def _shape(rows: Rows) -> tuple[int, int, int, int] | None:
    """Return lengths of axes, of which the second one counts means; None where the rows that share one lie apart."""
    count, ndim, length = len(rows.shared), len(rows.lead), prod(rows.tail)
    if rows.shared == tuple(range(count)):
        return prod(rows.lead[:count]), prod(rows.lead[count:]), 1, length
    if rows.shared == tuple(range(ndim - count, ndim)):
        return 1, prod(rows.lead[: ndim - count]), prod(rows.lead[ndim - count :]), length
    return None


def _parameter(rows: Rows, shape: tuple[int, ...], parameter: Any, default: float, x: Any) -> Any:
    """Return a weight or bias of columns, or of rows in the shape of the first axes; `default` for None."""
    if rows.columns:
        shape = shape[3:]
    else:
        shape = shape[:3]
    if parameter is None:
        return np.full(shape, default, x.dtype)
    if rows.columns:
        return contiguous(parameter, *shape)
    return contiguous(rows.of_rows(parameter), *shape)


def _standardized_gradients(g: Any, x: Any, weight: Any, bias: Any, axis: Any, eps: float) -> Any:
    rows = rows_of(normal_axes(axis, x.ndim), x, weight, bias, g, fewest=1)
    shape = rows and _shape(rows)
    if rows is None or shape is None:
        return NotImplemented
    of_x = np.empty(x.shape, x.dtype)
    weight = _parameter(rows, shape, weight, 1, x)
    of_weight, of_bias = np.zeros((2, *weight.shape), x.dtype)
    differentiate = _differentiate
    if rows.columns:
        differentiate = _differentiate_columns
    differentiate(contiguous(g, *shape), contiguous(x, *shape), weight, eps, of_x.reshape(shape), of_weight, of_bias)
    if rows.columns:
        of_parameters = rows.tail
    else:
        of_parameters = (*rows.lead, *[1] * len(rows.tail))
    return [of_x, of_weight.reshape(of_parameters), of_bias.reshape(of_parameters)]


@standardize.def_kernel("numba", gradients=_standardized_gradients)
def standardized_rows(x, /, weight=None, bias=None, *, axis=-1, eps=1e-5):
    if type(x) is not np.ndarray:
        return NotImplemented
    rows = rows_of(normal_axes(axis, x.ndim), x, weight, bias, fewest=1)
    shape = rows and _shape(rows)
    if rows is None or shape is None:
        return NotImplemented
    y = np.empty(x.shape, x.dtype)
    weight, bias = _parameter(rows, shape, weight, 1, x), _parameter(rows, shape, bias, 0, x)
    compute = _standardize
    if rows.columns:
        compute = _standardize_columns
    compute(contiguous(x, *shape), weight, bias, eps, y.reshape(shape))
    return y


@lru_cache(maxsize=64)
def _filled(count: int, value: float, dtype: Any) -> Any:
    """Return so many equal numbers, which are not to be changed."""
    return np.full(count, value, dtype)


def layer_norm_of_rows_flow(x, /, normalized_shape, weight=None, bias=None, eps=1e-5):
    rows = rows_at_end(x, normalized_shape, weight, bias)
    if rows is None or type(eps) not in (int, float):
        return NotImplemented
    rows, (size, count) = np.ascontiguousarray(rows), rows.shape
    scale, offset = _filled(count, 1, x.dtype), _filled(count, 0, x.dtype)
    if weight is not None:
        scale = contiguous(weight, -1)
    if bias is not None:
        offset = contiguous(bias, -1)
    y, moments = np.empty(x.shape, x.dtype), np.empty((3, size), x.dtype)
    if not _standardize_rows(rows, scale, offset, eps, y.reshape(rows.shape), moments):
        return NotImplemented

    def pull(g: Any, wanted: Any) -> Any:
        of_x, of_parameters = np.empty(x.shape, x.dtype), np.zeros((2, count), x.dtype)
        cotangents, written = contiguous(g[0], *rows.shape), of_x.reshape(rows.shape)
        _differentiate_rows(cotangents, rows, scale, moments, written, *of_parameters)
        return of_x, *of_parameters.reshape(2, *lengths_of(normalized_shape))

    return y, pull


@layer_norm.def_kernel("numba", flow=layer_norm_of_rows_flow, reads=("x", "weight"))
def layer_norm_of_rows(x, /, normalized_shape, weight=None, bias=None, eps=1e-5):
    return result_of(layer_norm_of_rows_flow(x, normalized_shape, weight, bias, eps))
