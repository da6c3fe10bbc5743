"""Values brought to mean 0 and variance 1, or to length 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dispatchkit.declare.samples import draw, sample
from dispatchkit.nn.functional.shared import broadcasts, called, expect, function, real_numbers
from dispatchkit.ops.shared import Axis, Named, floating, integer, normal_axes, shape_of
from dispatchkit.tensor import Tensor

__all__ = ["batch_norm", "group_norm", "layer_norm", "normalize", "rms_norm", "standardize"]


@function(
    samples=lambda: [
        sample(draw(2, 3, low=0.5)),
        sample(draw(2, 3, low=0.5), 3.0, axis=0),
        sample(draw(3, low=0.5), 1, axis=0),
        sample(draw(2, 2), axis=1, eps=10.0),
    ],
)
def normalize(xp: Any, x: Tensor, /, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> Tensor:
    """Divide vectors by their norms.

    Parameters
    ----------
    x : array with vectors along an axis
    p : order of the norm
    axis : of the vectors
    eps : the least that is divided by

    Returns
    -------
    floating-point array of the shape of `x`

    Raises
    ------
    ValueError : if there is no such axis

    Notes
    -----
    ``x / max(norm(x), eps)``. Source: PyTorch, `torch.nn.functional.normalize`.

    Examples
    --------
    >>> dk.nn.functional.normalize(dk.asarray([[3.0, 4.0], [0.0, 0.0]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    normal_axes(axis, len(shape_of(x)), normalize.__name__)
    x = floating(xp, x)
    norms = xp.linalg.vector_norm(x, axis=axis, keepdims=True, ord=p)
    return x / xp.maximum(norms, xp.asarray(eps, dtype=norms.dtype))


# Elements of an array from which on the formula takes longer, of a block, the most of a row, the fewest of rows that
# share a mean.
FEWEST, BLOCK, LONGEST, SHORTEST = 1 << 14, 1 << 16, 1 << 16, 16
# Elements of a row from which on NumPy's loop over rows takes less than a product of matrices in its place.
LONG = 256
# Of the machine's byte order.
DTYPES = (np.dtype("float32"), np.dtype("float64"))
# Times the variance that the square of a mean may be before it is subtracted first.
FAR = 4


def rows_of(axes: tuple[int, ...], x: Any, weight: Any, bias: Any, *others: Any) -> Rows | None:
    """Return how an array is rows, None where it is small, or none that this module takes.

    Parameters
    ----------
    axes : that are standardized
    x : array of shape (...)
    weight, bias : arrays that broadcast with `x`, with a number for each row or for each column; none if None
    others : arrays that have to have its dtype
    """
    if type(x) is not np.ndarray or x.dtype not in DTYPES or x.size < FEWEST:
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
            for block in _steps(len(block_rows), BLOCK // block_rows.shape[1]):
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
        column = np.full(length, 1 / length, x.dtype) if both is None else both[0] / length
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
            for block in _steps(len(block_rows), BLOCK // length):
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
            return _steps(count, count)
        together = count // self.lead[0] if self.shared else 1
        return _steps(count, BLOCK // prod(self.tail) // together * together or together)

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


def _steps(count: int, step: int) -> Iterator[slice]:
    return (slice(start, start + step) for start in range(0, count, max(step, 1)))


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


Lengths: TypeAlias = int | Sequence[int]


@function(
    samples=lambda: [
        sample(draw(2, 3)),
        sample(draw(3, 2), axis=0, eps=0.1),
        sample(draw(2, 2, 3), draw(2, 1), draw(2, 1), axis=(0, 2)),
        sample(draw(2, 3), draw(3), draw(3)),
        sample(draw(4), None, draw(), axis=None),
        sample(draw(0, 3)),
    ],
    real=True,
)
def standardize(
    xp: Any,
    x: Tensor,
    /,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    axis: Axis = -1,
    eps: float = 1e-5,
) -> Tensor:
    """Subtract the mean along an axis and divide by the standard deviation, then scale and move the elements.

    Parameters
    ----------
    weight : array that broadcasts to the shape of `x`, which the result is multiplied by; none if None
    bias : array that broadcasts to the shape of `x`, which is added; none if None
    axis : along which the elements are one sample, one or several; None means all

    Returns
    -------
    floating-point array of the shape of `x`

    Raises
    ------
    ValueError : if shapes do not fit

    Notes
    -----
    ``(x - mean) / sqrt(var + eps) * weight + bias`` with the variance divided by the number of elements. What
    `layer_norm`, `group_norm` and `batch_norm` are made of. With s the square root, z the standardized elements and h
    the cotangent times the weight, the cotangent of `x` is ``(h - mean(h) - z * mean(h * z)) / s``. Source: Ioffe and
    Szegedy, 2015, section 3.

    Examples
    --------
    >>> dk.nn.functional.standardize(dk.asarray([1.0, 2.0, 3.0]), eps=0.0)
    tensor([-1.2247,  0.0000,  1.2247])
    """
    shape = shape_of(x)
    real_numbers(standardize, "x", x)
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None:
            real_numbers(standardize, name, parameter)
            of_parameter = shape_of(parameter)
            if not broadcasts(of_parameter, shape):
                expect(standardize, name, of_parameter, False, f"one that broadcasts to {shape}")
    axes = normal_axes(axis, len(shape), standardize.__name__)
    x = floating(xp, x)
    rows = rows_of(axes, x, weight, bias)
    if rows is not None:
        return rows.standardized(x, weight, bias, eps)
    y, _ = _by_formula(xp, x, axes, eps)
    if weight is not None:
        y = y * weight
    if bias is None:
        return y
    return y + bias


def _by_formula(xp: Any, x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """Return the elements less their mean, divided by the standard deviation, and one divided by that."""
    d = x - xp.mean(x, axis=axes, keepdims=True)
    factor = 1.0 / xp.sqrt(xp.mean(d * d, axis=axes, keepdims=True) + eps)
    return d * factor, factor


@standardize.def_vjp("x", "weight", "bias")
def standardize_vjp(xp, g, x, weight, bias, axis, eps):
    axes, x = normal_axes(axis, x.ndim), floating(xp, x)
    rows = rows_of(axes, x, weight, bias, g)
    if rows is not None:
        return rows.cotangents(g, x, weight, bias, eps)
    y, factor = _by_formula(xp, x, axes, eps)
    h = g
    if weight is not None:
        h = g * weight
    centred = h - xp.mean(h, axis=axes, keepdims=True) - y * xp.mean(h * y, axis=axes, keepdims=True)
    return centred * factor, None if weight is None else g * y, g


@standardize.def_jvp("x")
def standardize_jvp_x(xp, t, x, weight, axis, eps):
    # The derivative of the elements that are not scaled yet is a symmetric matrix.
    moved = standardize_vjp(xp, t, x, None, None, axis, eps)[0]
    if weight is None:
        return moved
    return moved * weight


@standardize.def_jvp("weight")
def standardize_jvp_weight(xp, t, x, axis, eps):
    return _by_formula(xp, floating(xp, x), normal_axes(axis, x.ndim), eps)[0] * t


@standardize.def_jvp("bias")
def standardize_jvp_bias(xp, t, y):
    return xp.broadcast_to(t, y.shape)


@function(
    samples=lambda: [
        sample(draw(2, 3), 3),
        sample(draw(2, 3), (3,), draw(3), draw(3)),
        sample(draw(2, 2, 3), (2, 3), draw(2, 3), eps=0.1),
        sample(draw(0, 3), 3, None, draw(3)),
    ],
    real=True,
)
def layer_norm(
    xp: Any,
    x: Tensor,
    /,
    normalized_shape: Lengths,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Standardize the last axes of an array, then scale and move each of their elements.

    Parameters
    ----------
    x : array of shape (..., *normalized_shape), of real numbers
    normalized_shape : lengths of the axes that are one sample
    weight : array of the normalized shape that the result is multiplied by; none if None
    bias : array of the normalized shape that is added; none if None

    Returns
    -------
    floating-point array of the shape of `x`

    Raises
    ------
    ValueError : if shapes do not fit

    Notes
    -----
    Source: Ba, Kiros and Hinton, 2016; PyTorch, `torch.nn.functional.layer_norm`.

    Examples
    --------
    >>> dk.nn.functional.layer_norm(dk.asarray([[1.0, 3.0], [2.0, 2.0]]), 2, eps=0.0001)
    tensor([[-1.0000,  1.0000],
            [ 0.0000,  0.0000]])
    """
    axes = _last_axes(layer_norm, x, normalized_shape, weight=weight, bias=bias)
    return called(xp, standardize, x, weight, bias, axis=axes, eps=eps)


def _last_axes(op: Named, x: Any, normalized_shape: Lengths, **parameters: Any) -> tuple[int, ...]:
    """Return the axes at the end that have given lengths.

    Raises
    ------
    TypeError : for complex numbers, or lengths that are no ints
    ValueError : if shapes do not fit
    """
    lengths = normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
    lengths = tuple(integer(op, "normalized_shape", length, least=0) for length in lengths)
    shape = shape_of(x)
    right = bool(lengths) and shape[-len(lengths) :] == lengths
    expect(op, "x", shape, right, f"(..., {', '.join(map(str, lengths))}) for normalized_shape={lengths}")
    _check_parameters(op, {"x": x, **parameters}, lengths)
    return tuple(range(len(shape) - len(lengths), len(shape)))


@function(
    samples=lambda: [
        sample(draw(2, 3, low=0.5), 3),
        sample(draw(2, 3, low=0.5), (3,), draw(3)),
        sample(draw(2, 2, 3, low=0.5), (2, 3), draw(2, 3), eps=0.1),
        sample(draw(0, 3), 3),
    ],
    real=True,
)
def rms_norm(
    xp: Any, x: Tensor, /, normalized_shape: Lengths, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide the last axes of an array by their root mean square, then scale each of their elements.

    Parameters
    ----------
    x : array of shape (..., *normalized_shape), of real numbers
    normalized_shape : lengths of the axes that are one sample
    weight : array of the normalized shape that the result is multiplied by; none if None
    eps : added to the mean square; that of the dtype if None

    Returns
    -------
    floating-point array of the shape of `x`

    Raises
    ------
    ValueError : if shapes do not fit

    Notes
    -----
    Source: Zhang and Sennrich, 2019; PyTorch, `torch.nn.functional.rms_norm`.

    Examples
    --------
    >>> dk.nn.functional.rms_norm(dk.asarray([[1.0, 7.0]]), 2)
    tensor([[0.2000, 1.4000]])
    """
    axes = _last_axes(rms_norm, x, normalized_shape, weight=weight)
    x = floating(xp, x)
    if eps is None:
        eps = xp.finfo(x.dtype).eps
    y = x * (1.0 / xp.sqrt(xp.mean(x * x, axis=axes, keepdims=True) + eps))
    if weight is None:
        return y
    return y * weight


def _check_parameters(op: Named, arrays: dict[str, Any], shape: tuple[int, ...]) -> None:
    """Raise if an array is complex, or one but the first has another shape."""
    for name, value in arrays.items():
        if value is not None:
            real_numbers(op, name, value)
            if name != "x" and shape_of(value) != shape:
                expect(op, name, shape_of(value), False, f"{shape} for x of shape {shape_of(arrays['x'])}")


@function(
    samples=lambda: [
        sample(draw(4, 2), training=True),
        sample(draw(3, 2), draw(2), draw(2, low=0.5), draw(2), draw(2)),
        sample(draw(2, 2, 2, 1), None, None, draw(2), draw(2), training=True, eps=0.1),
        sample(draw(2, 2, 3), draw(2), draw(2, low=0.5), None, draw(2)),
    ],
    real=True,
)
def batch_norm(
    xp: Any,
    x: Tensor,
    /,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    training: bool = False,
    eps: float = 1e-5,
) -> Tensor:
    """Standardize each channel over a batch, or by known means and variances, then scale and move it.

    Parameters
    ----------
    x : array of shape (N, C, ...), of real numbers
    running_mean, running_var : means and variances of the channels, arrays of shape (C,); they are not read in training
    weight : array of shape (C,) that the channels are multiplied by; none if None
    bias : array of shape (C,) that is added; none if None
    training : whether mean and variance are those of the batch

    Returns
    -------
    floating-point array of the shape of `x`

    Raises
    ------
    ValueError : if shapes do not fit, in training each channel has one value, or else a mean or variance is missing

    Notes
    -----
    Unlike PyTorch's the function changes nothing: the layers keep the running statistics. Source: Ioffe and Szegedy,
    2015; PyTorch, `torch.nn.functional.batch_norm`.

    Examples
    --------
    >>> x = dk.asarray([[1.0, 0.0], [3.0, 4.0]])
    >>> dk.nn.functional.batch_norm(x, training=True, eps=0.0)
    tensor([[-1., -1.],
            [ 1.,  1.]])
    >>> dk.nn.functional.batch_norm(x, dk.ones(2), dk.full(2, 4.0), eps=0.0)
    tensor([[ 0.0000, -0.5000],
            [ 1.0000,  1.5000]])
    """
    op, shape = batch_norm, shape_of(x)
    expect(op, "x", shape, len(shape) >= 2, "(N, C, ...)")
    of_channels = (shape[1],)
    arrays = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    _check_parameters(op, {"x": x, **arrays}, of_channels)
    per_channel = (shape[1],) + (1,) * (len(shape) - 2)
    x = floating(xp, x)
    if training:
        if prod(shape) <= shape[1]:
            raise ValueError(
                f"{op.__name__}: argument 'x' has shape {shape}, expected more than 1 value per channel when training"
            )
        axes = (0, *range(2, len(shape)))
        weight, bias = (None if p is None else xp.reshape(p, per_channel) for p in (weight, bias))
        return called(xp, standardize, x, weight, bias, axis=axes, eps=eps)
    if running_mean is None or running_var is None:
        name = "running_mean" if running_mean is None else "running_var"
        raise ValueError(f"{op.__name__}: argument '{name}' is None, expected shape {of_channels} when not training")
    factor = 1.0 / xp.sqrt(running_var + eps)
    if weight is not None:
        factor = factor * weight
    offset = -running_mean * factor
    if bias is not None:
        offset = offset + bias
    return x * xp.reshape(factor, per_channel) + xp.reshape(offset, per_channel)


@function(
    samples=lambda: [
        sample(draw(2, 4, 2), 2),
        sample(draw(1, 4, 2, 1), 2, draw(4), draw(4)),
        sample(draw(2, 3), 1, draw(3), eps=0.1),
    ],
    real=True,
)
def group_norm(
    xp: Any,
    x: Tensor,
    /,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Standardize each group of channels of each sample, then scale and move each channel.

    Parameters
    ----------
    x : array of shape (N, C, ...), of real numbers
    num_groups : into which the channels are divided
    weight : array of shape (C,) that the channels are multiplied by; none if None
    bias : array of shape (C,) that is added; none if None

    Returns
    -------
    floating-point array of the shape of `x`

    Raises
    ------
    ValueError : if shapes do not fit, or the groups do not divide the channels

    Notes
    -----
    Source: Wu and He, 2018; PyTorch, `torch.nn.functional.group_norm`.

    Examples
    --------
    >>> dk.nn.functional.group_norm(dk.asarray([[1.0, 3.0, 0.0, 4.0]]), 2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """
    op, shape = group_norm, shape_of(x)
    expect(op, "x", shape, len(shape) >= 2, "(N, C, ...)")
    groups = integer(op, "num_groups", num_groups, least=1)
    if shape[1] % groups:
        raise ValueError(
            f"{op.__name__}: num_groups={groups} do not divide the {shape[1]} channels of x, shape {shape}"
        )
    _check_parameters(op, {"x": x, "weight": weight, "bias": bias}, (shape[1],))
    each = shape[1] // groups
    weight, bias = (None if p is None else xp.reshape(p, (groups, each, 1)) for p in (weight, bias))
    grouped = xp.reshape(x, (shape[0], groups, each, prod(shape[2:])))
    return xp.reshape(called(xp, standardize, grouped, weight, bias, axis=(2, 3), eps=eps), shape)
