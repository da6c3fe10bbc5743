"""`layer_norm` and `rms_norm` of NumPy arrays, a block of rows at a time, whose backward passes are given factors."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite, prod
from types import NoneType
from typing import Any

import numpy as np

from dispatchkit.nn.functional.rows import DTYPES, FAR, LONG, steps
from dispatchkit.nn.functional.shared import result_of
from dispatchkit.nn.functional.small_norms_numpy import FEW, SmallNorm, equal_shares, number_of, of_rows

# Elements of a block, which stays in the cache.
BLOCK = 1 << 15


def layer_norm_alone(x: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Return standardized rows; NotImplemented for calls that the body is for.

    Those are calls of other arrays, and of numbers whose variance is infinite or none.

    Parameters
    ----------
    x, normalized_shape, weight, bias, eps : as `layer_norm` takes them
    """
    layout = _small_rows(x, normalized_shape, weight, bias, eps)
    if layout is not None:
        y = layout.norm(x, weight, bias, eps)
        if y is not NotImplemented:
            return y
    return result_of(_layer_norm_by_blocks(x, normalized_shape, weight, bias, eps))


def layer_norm_flow(x: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Return standardized rows and what takes cotangents back; NotImplemented likewise."""
    layout = _small_rows(x, normalized_shape, weight, bias, eps)
    if layout is not None:
        answer = layout.flow(x, weight, bias, eps)
        if answer is not NotImplemented:
            return answer
    return _layer_norm_by_blocks(x, normalized_shape, weight, bias, eps)


def _small_rows(x: Any, normalized_shape: Any, weight: Any, bias: Any, eps: Any) -> SmallNorm | None:
    """Return how a small array is rows of its last axis; None for other calls."""
    if type(x) is not np.ndarray or x.nbytes > FEW or x.dtype not in DTYPES or type(eps) is not float:
        return None
    lengths = lengths_of(normalized_shape)
    if not x.size or not lengths or x.shape[-1:] != lengths:
        return None
    for parameter in (weight, bias):
        if parameter is not None and (
            type(parameter) is not np.ndarray or parameter.dtype != x.dtype or parameter.shape != lengths
        ):
            return None
    return of_rows(x.size // lengths[0], lengths[0], x.dtype)


@np.errstate(over="ignore", invalid="ignore")
def _layer_norm_by_blocks(x: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    rows = rows_at_end(x, normalized_shape, weight, bias)
    if rows is None or type(eps) not in (int, float):
        return NotImplemented
    size, count = rows.shape
    share, least = equal_shares(count, x.dtype), number_of(eps, x.dtype)
    y, means, factors = np.empty(x.shape, x.dtype), np.empty(size, x.dtype), np.empty(size, x.dtype)
    rows_of_y, step = y.reshape(rows.shape), min(size, max(BLOCK // count, 1))
    scratch, scale, offset = np.empty((step, count), x.dtype), _spread(weight, step), _spread(bias, step)
    finite = all(
        standardize_rows(
            rows[block], means[block], factors[block], rows_of_y[block], scratch, share, scale, offset, least
        )
        for block in steps(size, step)
    )
    if not finite:
        return NotImplemented

    def pull(g: Any, wanted: Any) -> Any:
        of_x, *of_parameters = _cotangents(g[0].reshape(rows.shape), rows, means, factors, share, _row(weight))
        lengths = lengths_of(normalized_shape)
        return of_x.reshape(x.shape), *(part.reshape(lengths) for part in of_parameters)

    return y, pull


def standardize_rows(
    rows: Any, mean: Any, factor: Any, part: Any, scratch: Any, share: Any, scale: Any, offset: Any, eps: Any
) -> bool:
    """Write standardized rows, and their means and factors; return whether their sums and variances are finite.

    What broadcasts takes longer than to write numbers of rows where each has its place, and to compute with these.

    Parameters
    ----------
    rows : array of shape (m, n)
    mean, factor : arrays of shape (m,), written to
    part : array of the shape of the rows, written to
    scratch : array of at least as many rows, written to
    share : one divided by n, for each element of a row
    scale, offset : arrays of as many rows, each the same, or None for none
    eps : added to variances, array of shape ()
    """
    count = len(rows)
    scratch = scratch[:count]
    rows.dot(share, out=mean)
    scratch[...] = mean[:, None]
    np.subtract(rows, scratch, out=part)
    variance, farthest = _mean_squares(part, scratch, share, factor), _farthest(mean)
    # Of elements whose sum is infinite the body gives what is not a number.
    if not (isfinite(variance[variance.argmax()]) and isfinite(share.dtype.type(farthest * len(share)))):
        return False
    if _are_far(mean, variance, farthest):
        # Of numbers far from 0 the mean is not precise, that of what it was subtracted from is.
        rest = part.dot(share)
        mean += rest
        part -= rest[:, None]
        variance = _mean_squares(part, scratch, share, factor)
    variance += eps
    np.sqrt(variance, out=variance)
    np.reciprocal(variance, out=variance)
    scratch[...] = variance[:, None]
    part *= scratch
    if scale is not None:
        part *= scale[:count]
    if offset is not None:
        part += offset[:count]
    return True


def _mean_squares(rows: Any, scratch: Any, share: Any, out: Any) -> Any:
    """Write the mean of the squares of each row; `scratch`, of the shape of the rows, is written to."""
    if len(share) < LONG:
        return np.multiply(rows, rows, out=scratch).dot(share, out=out)
    np.vecdot(rows, rows, out=out)
    out *= share[0]
    return out


def _spread(parameter: Any, count: int) -> Any:
    """Return a parameter as so many rows, each the same; None for none."""
    if parameter is None:
        return None
    rows = np.empty((count, parameter.size), parameter.dtype)
    rows[...] = parameter.reshape(-1)
    return rows


def _farthest(mean: Any) -> float:
    """Return how far the mean is from 0 that is so most."""
    distance = np.abs(mean)
    return float(distance[distance.argmax()])


def _are_far(mean: Any, variance: Any, farthest: float) -> bool:
    """Return whether the square of a mean is more than `FAR` times its variance; how far one is at most is given."""
    if farthest * farthest <= FAR * float(variance[variance.argmin()]):
        return False
    room = FAR * variance
    room -= mean * mean
    return not room[room.argmin()] >= 0


def _row(parameter: Any) -> Any:
    if parameter is None:
        return None
    return parameter.reshape(-1)


def rows_at_end(x: Any, normalized_shape: Any, weight: Any, bias: Any) -> Any:
    """Return an array as rows of the last axes, of shape (m, n); None for calls of which the body says what is wrong.

    Parameters
    ----------
    x, normalized_shape, weight, bias : as `layer_norm` takes them
    """
    lengths = lengths_of(normalized_shape)
    if type(lengths) is not tuple or type(x) is not np.ndarray or x.dtype not in DTYPES:
        return None
    if not lengths or not x.size or x.shape[-len(lengths) :] != lengths:
        return None
    for parameter in (weight, bias):
        if parameter is None:
            continue
        if type(parameter) is not np.ndarray or parameter.dtype != x.dtype or parameter.shape != lengths:
            return None
    if x.ndim == 2 and len(lengths) == 1:
        return x
    return x.reshape(-1, prod(lengths))


def lengths_of(normalized_shape: Any) -> Any:
    """Return the lengths of the last axes that `layer_norm` takes, as a tuple where they are ints or a list."""
    if type(normalized_shape) is int:
        return (normalized_shape,)
    if type(normalized_shape) is list:
        return tuple(normalized_shape)
    return normalized_shape


def _cotangents(g: Any, rows: Any, means: Any, factors: Any, share: Any, scale: Any) -> tuple[Any, Any, Any]:
    """Return the cotangents of rows, of their weights and of what is added to them.

    With z the standardized elements and h the cotangent times the weight, that of a row is
    ``factor * (h - mean(h) - z * mean(h * z))``.

    Parameters
    ----------
    g : cotangent of the result, of the shape of the rows
    rows, means, factors : what was standardized, by which numbers
    share : one divided by the length of a row, for each element of one
    scale : the weights, None for none
    """
    shares = share
    if scale is not None:
        shares = share * scale
    count, far = rows.shape[1], _are_far(means, np.reciprocal(factors * factors), _farthest(means))
    of_rows, of_parameters = np.empty(rows.shape, rows.dtype), np.zeros((2, count), rows.dtype)
    step = min(len(rows), max(BLOCK // count, 1))
    scratch, scales = np.empty((step, count), rows.dtype), _spread(scale, step)
    for block in steps(len(rows), step):
        part, elements, mean, factor, of_part = g[block], rows[block], means[block], factors[block], of_rows[block]
        if far:  # else the products below are too large for the precision of what is left of them
            elements = elements - mean[:, None]
            mean = elements.dot(share)
        np.multiply(part, elements, out=of_part)
        # The products with z are those with the elements, less the mean times those with 1.
        by_row = np.ones((2, len(part)), rows.dtype)
        np.multiply(mean, -factor, out=by_row[0])
        of_parameters += by_row.dot(part)
        of_parameters[0] += factor.dot(of_part)
        offset, slope = part.dot(shares), of_part.dot(shares)
        slope -= mean * offset
        slope *= factor
        slope *= factor
        offset -= mean * slope
        numbers = scratch[: len(part)]
        numbers[...] = factor[:, None]
        np.multiply(part, numbers, out=of_part)
        if scale is not None:
            of_part *= scales[: len(part)]
        slope *= factor
        numbers[...] = slope[:, None]
        numbers *= elements
        of_part -= numbers
        offset *= factor
        of_part -= offset[:, None]
    return of_rows, of_parameters[0], of_parameters[1]


def rms_norm_flow(x: Any, normalized_shape: Any, weight: Any, eps: float | None) -> Any:
    """Return rows divided by their root mean squares and what takes cotangents back; NotImplemented as above.

    Parameters
    ----------
    x, normalized_shape, weight, eps : as `rms_norm` takes them
    """
    rows = rows_at_end(x, normalized_shape, weight, None)
    if rows is None or type(eps) not in (int, float, NoneType):
        return NotImplemented
    least = eps
    if eps is None:
        least = np.finfo(x.dtype).eps
    size, count = rows.shape
    share, scale = equal_shares(count, x.dtype), _row(weight)
    y, factors = np.empty(rows.shape, x.dtype), np.empty(size, x.dtype)
    for block in _blocks(size, count):
        part, factor = y[block], factors[block]
        np.multiply(rows[block], rows[block], out=part)
        with np.errstate(invalid="ignore"):  # on some processors BLAS multiplies by zeros of its own
            part.dot(share, out=factor)
        if not isfinite(factor[factor.argmax()]):
            return NotImplemented
        factor += least
        np.reciprocal(np.sqrt(factor, out=factor), out=factor)
        np.multiply(rows[block], factor[:, None], out=part)
        if scale is not None:
            part *= scale

    def pull(g: Any, wanted: Any) -> Any:
        of_x, of_scale = _cotangents_of_lengths(g[0].reshape(rows.shape), rows, factors, share, scale)
        return of_x.reshape(x.shape), of_scale.reshape(lengths_of(normalized_shape))

    return y.reshape(x.shape), pull


def _blocks(size: int, count: int) -> Iterable[slice]:
    """Return as many rows at a time as stay in the cache, of so many rows of so many numbers."""
    if size * count <= BLOCK:
        return (slice(None),)
    return steps(size, BLOCK // count)


def _cotangents_of_lengths(g: Any, rows: Any, factors: Any, share: Any, scale: Any) -> tuple[Any, Any]:
    """Return the cotangents of rows that were divided by their lengths, and of their weights.

    With z the divided elements and h the cotangent times the weight, that of a row is
    ``factor * (h - z * mean(h * z))``.

    Parameters
    ----------
    g : cotangent of the result, of the shape of the rows
    rows, factors : what was multiplied by which numbers
    share : one divided by the length of a row, for each element of one
    scale : the weights, None for none
    """
    shares = share
    if scale is not None:
        shares = share * scale
    of_rows, of_scale = np.empty(rows.shape, rows.dtype), np.zeros(rows.shape[1], rows.dtype)
    for block in _blocks(*rows.shape):
        part, factor, of_part = g[block], factors[block], of_rows[block]
        products = np.multiply(part, rows[block], out=of_part)
        of_scale += factor.dot(products)
        slope = products.dot(shares)
        slope *= factor
        slope *= factor
        np.multiply(rows[block], -slope[:, None], out=of_part)
        if scale is None:
            of_part += part
        else:
            of_part += part * scale
        of_part *= factor[:, None]
    return of_rows, of_scale
