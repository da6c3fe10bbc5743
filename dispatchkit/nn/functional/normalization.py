"""Values brought to mean 0 and variance 1, or to length 1."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.backends.arrays import same_dtype
from dispatchkit.backends.numpy_sums import HALF
from dispatchkit.declare.samples import draw, sample
from dispatchkit.nn.functional.normalization_numpy import rms_norm_flow
from dispatchkit.nn.functional.norms_of_core import (
    batch_norm_alone,
    batch_norm_flow,
    group_norm_alone,
    group_norm_flow,
    layer_norm_alone,
    layer_norm_flow,
)
from dispatchkit.nn.functional.rows import FAR, rows_of
from dispatchkit.nn.functional.shared import broadcasts, called, expect, function, real_numbers, result_of
from dispatchkit.ops.shared import Axis, Named, floating, integer, normal_axes, shape_of
from dispatchkit.protocol.kinds import kinds
from dispatchkit.tensor import Tensor

__all__ = ["batch_norm", "group_norm", "layer_norm", "normalize", "rms_norm", "standardize"]


@function(
    kind=kinds.normalization,
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
    if same_dtype(x.dtype, HALF):  # which does not hold the powers
        wide = xp.astype(x, xp.float32)
        norms = xp.linalg.vector_norm(wide, axis=axis, keepdims=True, ord=p)
        return xp.astype(wide / xp.maximum(norms, xp.asarray(eps, dtype=norms.dtype)), HALF)
    norms = xp.linalg.vector_norm(x, axis=axis, keepdims=True, ord=p)
    return x / xp.maximum(norms, xp.asarray(eps, dtype=norms.dtype))


Lengths: TypeAlias = int | Sequence[int]


@function(
    kind=kinds.normalization,
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
    if same_dtype(x.dtype, HALF):  # which does not hold the squares
        y, factor = _by_formula(xp, xp.astype(x, xp.float32), axes, eps)
        return xp.astype(y, x.dtype), xp.astype(factor, x.dtype)
    mean = xp.mean(x, axis=axes, keepdims=True)
    d = x - mean
    variance = xp.mean(d * d, axis=axes, keepdims=True)
    if type(x) is np.ndarray and not _are_near(mean, variance):
        # Of numbers far from 0 the mean is not precise, that of what it was subtracted from is.
        d = d - xp.mean(d, axis=axes, keepdims=True)
        variance = xp.mean(d * d, axis=axes, keepdims=True)
    factor = 1.0 / xp.sqrt(variance + eps)
    return d * factor, factor


def _are_near(mean: Any, variance: Any) -> bool:
    """Return whether the square of each mean is at most `FAR` times the variance, as of numbers around 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((mean * mean <= FAR * variance).all())


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
    of_weight = None
    if weight is not None:
        of_weight = g * y
    return centred * factor, of_weight, g


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
    kind=kinds.normalization,
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


def layer_norm_numpy_flow(x, /, normalized_shape, weight=None, bias=None, eps=1e-5):
    return layer_norm_flow(x, normalized_shape, weight, bias, eps)


@layer_norm.def_kernel("numpy", flow=layer_norm_numpy_flow, reads=("x", "weight"))
def layer_norm_numpy(x, /, normalized_shape, weight=None, bias=None, eps=1e-5):
    return layer_norm_alone(x, normalized_shape, weight, bias, eps)


def _last_axes(op: Named, x: Any, normalized_shape: Lengths, **parameters: Any) -> tuple[int, ...]:
    """Return the axes at the end that have given lengths.

    Raises
    ------
    TypeError : for complex numbers, or lengths that are no ints
    ValueError : if shapes do not fit
    """
    if isinstance(normalized_shape, (tuple, list)):
        lengths = normalized_shape
    else:
        lengths = (normalized_shape,)
    lengths = tuple(integer(op, "normalized_shape", length, least=0) for length in lengths)
    shape = shape_of(x)
    right = bool(lengths) and shape[-len(lengths) :] == lengths
    expect(op, "x", shape, right, f"(..., {', '.join(map(str, lengths))}) for normalized_shape={lengths}")
    _check_parameters(op, {"x": x, **parameters}, lengths)
    return tuple(range(len(shape) - len(lengths), len(shape)))


@function(
    kind=kinds.normalization,
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
    if same_dtype(x.dtype, HALF):  # which does not hold the squares
        wide = xp.astype(x, xp.float32)
        y = xp.astype(wide * (1.0 / xp.sqrt(xp.mean(wide * wide, axis=axes, keepdims=True) + eps)), x.dtype)
    else:
        y = x * (1.0 / xp.sqrt(xp.mean(x * x, axis=axes, keepdims=True) + eps))
    if weight is None:
        return y
    return y * weight


def rms_norm_numpy_flow(x, /, normalized_shape, weight=None, eps=None):
    return rms_norm_flow(x, normalized_shape, weight, eps)


@rms_norm.def_kernel("numpy", flow=rms_norm_numpy_flow, reads=("x", "weight"))
def rms_norm_numpy(x, /, normalized_shape, weight=None, eps=None):
    return result_of(rms_norm_flow(x, normalized_shape, weight, eps))


def _check_parameters(op: Named, arrays: dict[str, Any], shape: tuple[int, ...]) -> None:
    """Raise if an array is complex, or one but the first has another shape."""
    for name, value in arrays.items():
        if value is not None:
            real_numbers(op, name, value)
            if name != "x" and shape_of(value) != shape:
                expect(op, name, shape_of(value), False, f"{shape} for x of shape {shape_of(arrays['x'])}")


@function(
    kind=kinds.normalization,
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
        name = "running_var"
        if running_mean is None:
            name = "running_mean"
        raise ValueError(f"{op.__name__}: argument '{name}' is None, expected shape {of_channels} when not training")
    factor = 1.0 / xp.sqrt(running_var + eps)
    if weight is not None:
        factor = factor * weight
    offset = -running_mean * factor
    if bias is not None:
        offset = offset + bias
    return x * xp.reshape(factor, per_channel) + xp.reshape(offset, per_channel)


def _fit_channels(x: Any, *statistics: Any) -> bool:
    """Return whether statistics, which are not read in training, are real numbers of a batch's channels."""
    return all(s is None or (s.shape == x.shape[1:2] and s.dtype.kind != "c") for s in statistics)


def batch_norm_numpy_flow(
    x, /, running_mean=None, running_var=None, weight=None, bias=None, *, training=False, eps=1e-5
):
    if not (training and _fit_channels(x, running_mean, running_var)):
        return NotImplemented
    return batch_norm_flow(x, weight, bias, eps)


@batch_norm.def_kernel("numpy", flow=batch_norm_numpy_flow, reads=("x", "weight"))
def batch_norm_numpy(x, /, running_mean=None, running_var=None, weight=None, bias=None, *, training=False, eps=1e-5):
    if not (training and _fit_channels(x, running_mean, running_var)):
        return NotImplemented
    return batch_norm_alone(x, weight, bias, eps)


@function(
    kind=kinds.normalization,
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


def group_norm_numpy_flow(x, /, num_groups, weight=None, bias=None, eps=1e-5):
    return group_norm_flow(x, num_groups, weight, bias, eps)


@group_norm.def_kernel("numpy", flow=group_norm_numpy_flow, reads=("x", "weight"))
def group_norm_numpy(x, /, num_groups, weight=None, bias=None, eps=1e-5):
    return group_norm_alone(x, num_groups, weight, bias, eps)
