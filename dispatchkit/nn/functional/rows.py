"""Large arrays as rows, which are standardized in blocks that fit into the cache, in few passes."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.backends.numpy_sums import DOUBLE, SINGLE

# Elements of an array from which on the formula takes longer, of a block, the most of a row, the fewest of rows that
# share a mean.
FEWEST, BLOCK, LONGEST, SHORTEST = 1 << 14, 1 << 16, 1 << 16, 16
# Elements of a row from which on NumPy's loop over rows takes less than a product of matrices in its place.
LONG = 256
DTYPES = (SINGLE, DOUBLE)  # of the machine's byte order
# Times the variance that the square of a mean may be before it is subtracted first.
FAR = 4


def rows_of(
    axes: tuple[int, ...], x: Any, weight: Any, bias: Any, *others: Any, fewest: int | None = None
) -> Rows | None:
    """Return how an array is rows, None where it is small, or none that this module takes.

    Parameters
    ----------
    axes : that are standardized
    x : array of shape (...)
    weight, bias : arrays that broadcast with `x`, with a number for each row or for each column; none if None
    others : arrays that have to have its dtype
    fewest : elements from which on the caller takes less time than the formula; `FEWEST` if None
    """
    if fewest is None:
        fewest = FEWEST
    if type(x) is not np.ndarray or x.dtype not in DTYPES or x.size < fewest:
        return None
    parameters = [p for p in (weight, bias) if p is not None]
    if any(p.dtype != x.dtype for p in (*parameters, *others)):
        return None
    trailing = _trailing(axes, x.ndim, parameters)
    columns = not trailing
    if columns:
        trailing = _trailing(axes, x.ndim, [])
    lead, tail = x.shape[: x.ndim - trailing], x.shape[x.ndim - trailing :]
    shared = tuple(axis for axis in axes if axis < len(lead))
    if columns and (shared or any(p.shape != tail for p in parameters)):
        return None
    if not trailing or not (SHORTEST if shared else 1) <= prod(tail) <= LONGEST:
        return None
    return Rows(lead or (1,), tail, shared, columns)


def _trailing(axes: tuple[int, ...], ndim: int, parameters: list[Any]) -> int:
    """Return how many axes at the end are standardized, and of length 1 in parameters."""
    count = 0
    while ndim - 1 - count in axes and all(p.ndim <= count or p.shape[-1 - count] == 1 for p in parameters):
        count += 1
    return count


class Rows(NamedTuple):
    """How an array is rows.

    Attributes
    ----------
    lead : lengths of the axes that count rows
    tail : lengths of the axes that make one
    shared : axes of `lead` along which rows share a mean
    columns : whether a weight and a bias have a number for each column; else they have one for each row
    """

    lead: tuple[int, ...]
    tail: tuple[int, ...]
    shared: tuple[int, ...]
    columns: bool

    def standardized(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        """Return rows less their means, divided by their standard deviations, then multiplied and moved."""
        y = np.empty(x.shape, x.dtype)
        rows, result_rows = self._matrices(x, y)
        weights, biases, both = self._parameters(x, weight, bias)
        scratch = np.empty(min(BLOCK, x.size), x.dtype)
        for part in self._parts():
            block_rows, mean, factor = self._moments(rows[part], eps)
            if weights is not None:
                factor *= weights[part]
            mean *= -factor
            if biases is not None:
                mean += biases[part]
            target = result_rows[part]
            for block in steps(len(block_rows), BLOCK // block_rows.shape[1]):
                out = _scale(block_rows[block], factor[block], both, scratch, target[block])
                out += _spread(mean[block], 1, both, scratch)
        return y

    def cotangents(self, g: Any, x: Any, weight: Any, bias: Any, eps: float) -> list[Any]:
        """Return what the cotangent of standardized rows makes of the array, of the weight and of the bias."""
        of_x = np.empty(x.shape, x.dtype)
        cotangents, rows, result_rows = self._matrices(g, x, of_x)
        weights, _, both = self._parameters(x, weight, None)
        plain = self._plain(x)
        length = rows.shape[1]
        if both is None:
            column = np.full(length, 1 / length, x.dtype)
        else:
            column = both[0] / length
        of_rows, of_columns = np.empty((2, len(rows)), x.dtype), np.zeros((2, length), x.dtype)
        scratch = np.empty((2, min(BLOCK, x.size)), x.dtype)
        for part in self._parts():
            of_g, target = cotangents[part], result_rows[part]
            block_rows, mean, factor = self._moments(rows[part], eps)
            # The means of the cotangents, and of their products with standardized elements.
            moved, scaled = of_rows[1, part], of_rows[0, part]
            np.dot(of_g, column, out=moved)
            if self.columns:
                products = np.multiply(of_g, block_rows, out=target)
                np.dot(products, column, out=scaled)
                of_columns[0] += np.dot(factor, products)
                of_columns -= np.dot(np.stack([mean * factor, np.full_like(mean, -1)]), of_g)
            else:
                np.vecdot(of_g, block_rows, out=scaled)
                scaled /= length
            scaled -= mean * moved
            scaled *= factor
            if weights is not None:
                moved, scaled = moved * weights[part], scaled * weights[part]
            moved, scaled = self._mean_of_rows(moved), self._mean_of_rows(scaled)
            slope = factor * factor * scaled
            offset = slope * mean - factor * moved
            if weights is not None:
                factor *= weights[part]
            for block in steps(len(block_rows), BLOCK // length):
                out = _scale(of_g[block], factor[block], both, scratch[0], target[block])
                share = scratch[1, : out.size].reshape(out.shape)
                out -= _scale(block_rows[block], slope[block], plain, scratch[0], share)
                out += _spread(offset[block], 0, plain, scratch[0])
        if self.columns:
            return [of_x, *of_columns.reshape(2, *self.tail)]
        of_rows *= length
        return [of_x, *of_rows.reshape(2, *self.lead, *[1] * len(self.tail))]

    def _matrices(self, *arrays: Any) -> list[Any]:
        return [x.reshape(-1, prod(self.tail)) for x in arrays]

    def _parameters(self, x: Any, weight: Any, bias: Any) -> tuple[Any, Any, Any]:
        """Return weights and biases of rows, None for none, and for `_spread` those of columns."""
        if not self.columns:
            return self.of_rows(weight), self.of_rows(bias), self._plain(x)
        both = np.empty((2, prod(self.tail)), x.dtype)
        both[0], both[1] = 1, 0
        if weight is not None:
            both[0] = weight.reshape(-1)
        if bias is not None:
            both[1] = bias.reshape(-1)
        return None, None, both

    def _plain(self, x: Any) -> Any:
        """Return ones and zeros for `_spread`, None for long rows."""
        length = prod(self.tail)
        if length >= LONG:
            return None
        plain = np.zeros((2, length), x.dtype)
        plain[0] = 1
        return plain

    def of_rows(self, parameter: Any) -> Any:
        """Return the number of a parameter that each row has, None for none."""
        if parameter is None:
            return None
        shape = parameter.shape[: max(parameter.ndim - len(self.tail), 0)]
        return np.broadcast_to(parameter.reshape(shape), self.lead).reshape(-1)

    def _parts(self) -> Iterator[slice]:
        """Yield the rows as many at a time as stay in the cache, those that share a mean together."""
        count = prod(self.lead)
        if 0 in self.shared:
            return steps(count, count)
        together = 1
        if self.shared:
            together = count // self.lead[0]
        return steps(count, BLOCK // prod(self.tail) // together * together or together)

    def _mean_of_rows(self, of_row: Any) -> Any:
        """Return the mean of a number of each row over the rows of a part that share it."""
        if not self.shared:
            return of_row
        of_row = of_row.reshape(-1, *self.lead[1:])
        return np.broadcast_to(of_row.mean(axis=self.shared, keepdims=True), of_row.shape).flatten()

    def _moments(self, x: Any, eps: float) -> tuple[Any, Any, Any]:
        """Return the rows of a part, their means, and one divided by their standard deviations.

        Where rows are far from 0 they are less their means: the variance is the difference of two sums.
        """
        mean, square, variance = self._estimates(x)
        if not (square <= FAR * variance).all():
            x = x - mean[:, None]
            mean, _, variance = self._estimates(x)
            np.maximum(variance, 0, out=variance)
        variance += eps
        factor = np.sqrt(variance, out=variance)
        return x, mean, np.reciprocal(factor, out=factor)

    def _estimates(self, x: Any) -> tuple[Any, Any, Any]:
        """Return the means of rows, their squares, and the variances."""
        n = x.shape[1]
        mean = self._mean_of_rows(np.dot(x, np.full(n, 1 / n, x.dtype)))
        with np.errstate(over="ignore", invalid="ignore"):
            square = mean * mean
            variance = self._mean_of_rows(np.vecdot(x, x))
            variance /= n
            variance -= square
        return mean, square, variance


def steps(count: int, step: int) -> Iterator[slice]:
    """Yield slices of as many rows, at least one, of so many in all."""
    step = max(step, 1)
    return (slice(start, start + step) for start in range(0, count, step))


def _scale(x: Any, numbers: Any, both: Any, scratch: Any, out: Any) -> Any:
    """Write rows times a number of each, and times `both[0]`."""
    if both is None:
        return np.einsum("ij,i->ij", x, numbers, out=out)
    return np.multiply(x, _spread(numbers, 0, both, scratch), out=out)


def _spread(numbers: Any, second: float, both: Any, scratch: Any) -> Any:
    """Return what broadcasts with rows: a number of each times `both[0]`, plus `second` times `both[1]`."""
    if both is None:
        return numbers[:, None]
    # Of two columns, also where one would do: BLAS takes longer for one.
    pairs = np.empty((len(numbers), 2), numbers.dtype)
    pairs[:, 0], pairs[:, 1] = numbers, second
    return np.dot(pairs, both, out=scratch[: len(numbers) * both.shape[1]].reshape(len(numbers), -1))
