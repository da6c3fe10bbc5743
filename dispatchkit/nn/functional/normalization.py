"""Values brought to mean 0 and variance 1: `standardize`, `layer_norm`, `batch_norm`, `group_norm`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.nn.functional.bodies import called
from dispatchkit.nn.functional.normalization_numpy import rows_of
from dispatchkit.nn.functional.shapes import FUNCTIONAL, expect, real_numbers
from dispatchkit.ops.shared.arguments import Named, integer
from dispatchkit.ops.shared.arrays import floating, shape_of
from dispatchkit.ops.shared.axes import Axis, normal_axes
from dispatchkit.protocol.kinds import kinds

__all__ = ["batch_norm", "group_norm", "layer_norm", "standardize"]

Lengths: TypeAlias = int | Sequence[int]


@operation(
    kind=kinds.function,
    namespace=FUNCTIONAL,
    samples=[
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
    xp: Namespace,
    x: Array,
    /,
    weight: Array | None = None,
    bias: Array | None = None,
    *,
    axis: Axis = -1,
    eps: float = 1e-5,
) -> Array:
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
    for name, one in (("weight", weight), ("bias", bias)):
        if one is not None:
            real_numbers(standardize, name, one)
            own = shape_of(one)
            if not _broadcasts(own, shape):
                expect(standardize, name, own, False, f"one that broadcasts to {shape}")
    axes = normal_axes(axis, len(shape), standardize.__name__)
    x = floating(xp, x)
    rows = rows_of(axes, x, weight, bias)
    if rows is not None:
        return rows.standardized(x, weight, bias, eps)
    y, _ = _by_formula(xp, x, axes, eps)
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias


def _broadcasts(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return len(given) <= len(shape) and all(n in (1, m) for n, m in zip(given[::-1], shape[::-1], strict=False))


def _by_formula(xp: Namespace, x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any]:
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
    h = g if weight is None else g * weight
    centred = h - xp.mean(h, axis=axes, keepdims=True) - y * xp.mean(h * y, axis=axes, keepdims=True)
    return centred * factor, None if weight is None else g * y, g


@standardize.def_jvp("x")
def standardize_jvp_x(xp, t, x, weight, axis, eps):
    # The derivative of the elements that are not scaled yet is a symmetric matrix.
    moved = standardize_vjp(xp, t, x, None, None, axis, eps)[0]
    return moved if weight is None else moved * weight


@standardize.def_jvp("weight")
def standardize_jvp_weight(xp, t, x, axis, eps):
    return _by_formula(xp, floating(xp, x), normal_axes(axis, x.ndim), eps)[0] * t


@standardize.def_jvp("bias")
def standardize_jvp_bias(xp, t, y):
    return xp.broadcast_to(t, y.shape)


@operation(
    kind=kinds.function,
    namespace=FUNCTIONAL,
    samples=[
        sample(draw(2, 3), 3),
        sample(draw(2, 3), (3,), draw(3), draw(3)),
        sample(draw(2, 2, 3), (2, 3), draw(2, 3), eps=0.1),
        sample(draw(0, 3), 3, None, draw(3)),
    ],
    real=True,
)
def layer_norm(
    xp: Namespace,
    x: Array,
    /,
    normalized_shape: Lengths,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
) -> Array:
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
    lengths = _lengths(normalized_shape)
    shape = shape_of(x)
    right = bool(lengths) and shape[-len(lengths) :] == lengths
    expect(layer_norm, "x", shape, right, f"(..., {', '.join(map(str, lengths))}) for normalized_shape={lengths}")
    _check_parameters(layer_norm, {"x": x, "weight": weight, "bias": bias}, lengths)
    axes = tuple(range(len(shape) - len(lengths), len(shape)))
    return called(xp, standardize, x, weight, bias, axis=axes, eps=eps)


def _lengths(normalized_shape: Lengths) -> tuple[int, ...]:
    given = normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
    return tuple(integer(layer_norm, "normalized_shape", one, least=0) for one in given)


def _check_parameters(op: Named, given: dict[str, Any], shape: tuple[int, ...]) -> None:
    """Raise if an array is complex, or one but the first has another shape."""
    for name, value in given.items():
        if value is not None:
            real_numbers(op, name, value)
            if name != "x" and shape_of(value) != shape:
                expect(op, name, shape_of(value), False, f"{shape} for x of shape {shape_of(given['x'])}")


@operation(
    kind=kinds.function,
    namespace=FUNCTIONAL,
    samples=[
        sample(draw(4, 2), training=True),
        sample(draw(3, 2), draw(2), draw(2, low=0.5), draw(2), draw(2)),
        sample(draw(2, 2, 2, 1), None, None, draw(2), draw(2), training=True, eps=0.1),
        sample(draw(2, 2, 3), draw(2), draw(2, low=0.5), None, draw(2)),
    ],
    real=True,
)
def batch_norm(
    xp: Namespace,
    x: Array,
    /,
    running_mean: Array | None = None,
    running_var: Array | None = None,
    weight: Array | None = None,
    bias: Array | None = None,
    *,
    training: bool = False,
    eps: float = 1e-5,
) -> Array:
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
    own = (shape[1],)
    arrays = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    _check_parameters(op, {"x": x, **arrays}, own)
    per_channel = (shape[1],) + (1,) * (len(shape) - 2)
    x = floating(xp, x)
    if training:
        if prod(shape) <= shape[1]:
            raise ValueError(
                f"{op.__name__}: argument 'x' has shape {shape}, expected more than 1 value per channel when training"
            )
        axes = (0, *range(2, len(shape)))
        weight, bias = (None if one is None else xp.reshape(one, per_channel) for one in (weight, bias))
        return called(xp, standardize, x, weight, bias, axis=axes, eps=eps)
    if running_mean is None or running_var is None:
        name = "running_mean" if running_mean is None else "running_var"
        raise ValueError(f"{op.__name__}: argument '{name}' is None, expected shape {own} when not training")
    factor = 1.0 / xp.sqrt(running_var + eps)
    if weight is not None:
        factor = factor * weight
    offset = -running_mean * factor
    if bias is not None:
        offset = offset + bias
    return x * xp.reshape(factor, per_channel) + xp.reshape(offset, per_channel)


@operation(
    kind=kinds.function,
    namespace=FUNCTIONAL,
    samples=[
        sample(draw(2, 4, 2), 2),
        sample(draw(1, 4, 2, 1), 2, draw(4), draw(4)),
        sample(draw(2, 3), 1, draw(3), eps=0.1),
    ],
    real=True,
)
def group_norm(
    xp: Namespace,
    x: Array,
    /,
    num_groups: int,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
) -> Array:
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
    weight, bias = (None if one is None else xp.reshape(one, (groups, each, 1)) for one in (weight, bias))
    grouped = xp.reshape(x, (shape[0], groups, each, prod(shape[2:])))
    return xp.reshape(called(xp, standardize, grouped, weight, bias, axis=(2, 3), eps=eps), shape)
