"""Reductions to fewer elements; cumulative sums and products, differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.backends.arrays import same_dtype
from dispatchkit.backends.numpy_sums import HALF, SINGLE
from dispatchkit.backends.numpy_sums import cumulative_sum as cumulative_sum_along
from dispatchkit.declare.axes import Axes, only_axis
from dispatchkit.declare.decorators import alias, operation, reduction
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, DType, Namespace
from dispatchkit.ops.shared import Axis, along, conjugate, count, inverse, lanes, normal_axes, normal_axis, restore_axes
from dispatchkit.protocol.kinds import kinds


@reduction(passthrough=True)
def sum(xp: Namespace, x: Array, /, *, axis: Axis = None, keepdims: bool = False, dtype: DType = None) -> Array:
    """Sum the elements.

    Parameters
    ----------
    dtype : of the result; small integers are summed in the default integer

    Returns
    -------
    array without the axes summed along; 0 where there are no elements

    Notes
    -----
    Linear: each element receives the cotangent of its sum.

    Examples
    --------
    >>> dk.sum(dk.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    tensor([4., 6.])
    """
    return xp.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)


@sum.def_transpose
def sum_transpose(xp, g, x, axis, keepdims):
    if axis is not None:
        g = restore_axes(xp, g, x.shape, axis, keepdims)
    return xp.broadcast_to(g, x.shape)


@reduction(passthrough=True)
def mean(xp: Namespace, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Average the elements.

    Returns
    -------
    array without the axes averaged along; NaN where there are no elements

    Notes
    -----
    Linear: each of n elements receives the cotangent of its mean, divided by n.

    Examples
    --------
    >>> dk.mean(dk.asarray([[1.0, 3.0], [3.0, 5.0]]), axis=1)
    tensor([2., 4.])
    """
    return xp.mean(x, axis=axis, keepdims=keepdims)


@mean.def_transpose
def mean_transpose(xp, g, x, axis, keepdims):
    return xp.broadcast_to(restore_axes(xp, g / count(x.shape, axis), x.shape, axis, keepdims), x.shape)


@reduction(
    passthrough=True,
    samples=lambda: [
        sample(draw(2, 3)),
        sample(draw(), keepdims=True),
        sample(draw(2, 3), axis=-1),
        sample(draw(2, 3, 2), axis=(2, 0), keepdims=True),
        sample(draw(4, low=0, high=1, content="integer"), dtype=np.dtype("float64")),
    ],
)
def prod(xp: Namespace, x: Array, /, *, axis: Axis = None, keepdims: bool = False, dtype: DType = None) -> Array:
    """Multiply the elements.

    Parameters
    ----------
    dtype : of the result; small integers are multiplied in the default integer

    Returns
    -------
    array without the axes multiplied along; 1 where there are no elements

    Notes
    -----
    The derivative by an element is the product of the others, also where some are 0; it is computed without
    division.

    Examples
    --------
    >>> dk.prod(dk.asarray([2.0, 3.0, 4.0]))
    tensor(24.)
    """
    return xp.prod(x, axis=axis, dtype=dtype, keepdims=keepdims)


@prod.def_vjp
def prod_vjp(xp, g, x, axis, keepdims):
    x = in_kind_of(xp, x, g)
    g = restore_axes(xp, g, x.shape, axis, keepdims)
    if same_dtype(x.dtype, HALF):  # which may not hold the products
        return xp.astype(g * _others(xp, xp.astype(x, SINGLE), axis), HALF)
    return g * _others(xp, conjugate(xp, x), axis)


@prod.def_jvp
def prod_jvp(xp, t, x, y, axis, dtype, keepdims):
    x, t = in_kind_of(xp, x, y), in_kind_of(xp, t, y)
    if same_dtype(x.dtype, HALF):  # which may not hold the products
        return xp.astype(xp.sum(t * _others(xp, xp.astype(x, SINGLE), axis), axis=axis, keepdims=keepdims), y.dtype)
    return xp.sum(t * _others(xp, x, axis), axis=axis, dtype=dtype, keepdims=keepdims)


def in_kind_of(xp: Namespace, x: Any, y: Any) -> Any:
    """Return the real parts of factors where these alone have part in a result, which is asked for as real numbers."""
    if xp.isdtype(x.dtype, "complex floating") and not xp.isdtype(y.dtype, "complex floating"):
        return xp.real(x)
    return x


def _others(xp: Namespace, x: Any, axis: Axis) -> Any:
    """Return for each element the product of all others that are reduced with it."""
    axes = normal_axes(axis, x.ndim)
    order = (*(i for i in range(x.ndim) if i not in axes), *axes)
    shape = tuple(x.shape[i] for i in order)
    rows = lanes(xp, x, axes)
    before = xp.cumulative_prod(rows, axis=-1, include_initial=True)[..., :-1]
    after = xp.cumulative_prod(xp.flip(rows, axis=-1), axis=-1, include_initial=True)[..., :-1]
    return xp.permute_dims(xp.reshape(before * xp.flip(after, axis=-1), shape), inverse(order))


@reduction(passthrough=True, takes="real numbers")
def max(xp: Namespace, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Find the largest of the elements.

    Returns
    -------
    array without the axes looked along; NaN where an element is NaN

    Raises
    ------
    ValueError : if there are no elements

    Notes
    -----
    Elements that tie for the largest share the cotangent evenly, as in `torch.amax`; where some are NaN,
    these do.

    Examples
    --------
    >>> dk.max(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
    tensor([3., 5.])
    """
    return xp.max(x, axis=axis, keepdims=keepdims)


@reduction(passthrough=True, takes="real numbers")
def min(xp: Namespace, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Find the smallest of the elements.

    Returns
    -------
    array without the axes looked along; NaN where an element is NaN

    Raises
    ------
    ValueError : if there are no elements

    Notes
    -----
    Elements that tie for the smallest share the cotangent evenly, as in `torch.amin`; where some are NaN,
    these do.

    Examples
    --------
    >>> dk.min(dk.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=0)
    tensor([1., 4.])
    """
    return xp.min(x, axis=axis, keepdims=keepdims)


@max.def_vjp
@min.def_vjp
def extreme_vjp(xp, g, y, x, axis, keepdims):
    return restore_axes(xp, g, x.shape, axis, keepdims) * _shares(xp, y, x, axis, keepdims)


@max.def_jvp
@min.def_jvp
def extreme_jvp(xp, t, y, x, axis, keepdims):
    return xp.sum(t * _shares(xp, y, x, axis, keepdims), axis=axis, keepdims=keepdims)


def _shares(xp: Namespace, y: Any, x: Any, axis: Axis, keepdims: bool) -> Any:
    """Return for each element its share in the extreme of its group."""
    ties = xp.logical_or(xp.equal(x, restore_axes(xp, y, x.shape, axis, keepdims)), xp.isnan(x))
    ties = xp.astype(ties, x.dtype)
    return ties / xp.sum(ties, axis=axis, keepdims=True)


@reduction(passthrough=True, differentiable=False)
def all(xp: Namespace, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Tell whether all elements are true, that is, other than 0.

    Returns
    -------
    array of booleans without the axes looked along; True where there are no elements

    Examples
    --------
    >>> dk.all(dk.asarray([[True, False], [True, True]]), axis=1)
    tensor([False,  True])
    """
    return xp.all(x, axis=axis, keepdims=keepdims)


@reduction(passthrough=True, differentiable=False)
def any(xp: Namespace, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Tell whether any element is true, that is, other than 0.

    Returns
    -------
    array of booleans without the axes looked along; False where there are no elements

    Examples
    --------
    >>> dk.any(dk.asarray([[True, False], [False, False]]), axis=1)
    tensor([ True, False])
    """
    return xp.any(x, axis=axis, keepdims=keepdims)


@reduction(passthrough=True, differentiable=False)
def count_nonzero(xp: Namespace, x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Count the elements other than 0.

    Returns
    -------
    array of integers without the axes counted along

    Examples
    --------
    >>> dk.count_nonzero(dk.asarray([[1, 0], [2, 3]]), axis=0)
    tensor([2, 1])
    """
    return xp.count_nonzero(x, axis=axis, keepdims=keepdims)


amax = alias("amax", max)
amin = alias("amin", min)


CUMULATIVE_SAMPLES = [
    sample(draw(5)),
    sample(draw(2, 3), axis=0),
    sample(draw(2, 3), axis=-1, include_initial=True),
    sample(draw(3, low=-3, high=3, content="integer"), dtype=np.dtype("float64")),
]


@operation(passthrough=True, kind=kinds.function, samples=CUMULATIVE_SAMPLES, axis=Axes(("axis",), only_axis))
def cumulative_sum(
    xp: Namespace,
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType = None,
    include_initial: bool = False,
) -> Array:
    """Sum the elements up to each one.

    Parameters
    ----------
    axis : to sum along; needed unless `x` has one axis
    dtype : of the result; small integers are summed in the default integer
    include_initial : whether the sum of none, 0, stands first

    Returns
    -------
    array of the shape of `x`, one longer along the axis with `include_initial`

    Raises
    ------
    ValueError : if `axis` is missing

    Notes
    -----
    Linear: each element receives the cotangents of the sums it is in.

    Examples
    --------
    >>> dk.cumulative_sum(dk.asarray([1.0, 2.0, 3.0]))
    tensor([1., 3., 6.])
    """
    return xp.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


@cumulative_sum.def_transpose
def cumulative_sum_transpose(xp, g, x, axis, include_initial):
    if axis is None:
        axis = 0
    else:
        axis = normal_axis(axis, x.ndim)
    if type(g) is np.ndarray and not include_initial:
        return cumulative_sum_along(g, axis, True)  # by position
    if include_initial:
        g = g[along(axis, slice(1, None))]
    return xp.flip(xp.cumulative_sum(xp.flip(g, axis=axis), axis=axis), axis=axis)


@operation(passthrough=True, kind=kinds.function, samples=CUMULATIVE_SAMPLES, axis=Axes(("axis",), only_axis))
def cumulative_prod(
    xp: Namespace,
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType = None,
    include_initial: bool = False,
) -> Array:
    """Multiply the elements up to each one.

    Parameters
    ----------
    axis : to multiply along; needed unless `x` has one axis
    dtype : of the result; small integers are multiplied in the default integer
    include_initial : whether the product of none, 1, stands first

    Returns
    -------
    array of the shape of `x`, one longer along the axis with `include_initial`

    Raises
    ------
    ValueError : if `axis` is missing

    Notes
    -----
    The derivative of a product by an element in it is the product of the others, also where some are 0; it is
    computed without division.

    Examples
    --------
    >>> dk.cumulative_prod(dk.asarray([1.0, 2.0, 3.0]))
    tensor([1., 2., 6.])
    """
    return xp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


@cumulative_prod.def_vjp
def cumulative_prod_vjp(xp, g, x, axis, include_initial):
    x, g = lanes(xp, conjugate(xp, in_kind_of(xp, x, g)), axis), lanes(xp, g, axis)
    if include_initial:
        g = g[..., 1:]
    cotangent = _products_before(xp, x) * _recurrence(xp, x[..., 1:], g)
    if axis is None:
        return cotangent
    return xp.moveaxis(cotangent, -1, axis)


@cumulative_prod.def_jvp
def cumulative_prod_jvp(xp, t, x, y, axis, include_initial):
    x, t = lanes(xp, in_kind_of(xp, x, y), axis), lanes(xp, in_kind_of(xp, t, y), axis)
    direct = xp.flip(t * _products_before(xp, x), axis=-1)
    tangent = xp.flip(_recurrence(xp, xp.flip(x[..., 1:], axis=-1), direct), axis=-1)
    if include_initial:
        initial = xp.zeros((*tangent.shape[:-1], 1), dtype=tangent.dtype)
        tangent = xp.concat([initial, tangent], axis=-1)
    if axis is None:
        return tangent
    return xp.moveaxis(tangent, -1, axis)


def _products_before(xp: Namespace, x: Any) -> Any:
    """Return for each element of a lane the product of those before it."""
    return xp.cumulative_prod(x, axis=-1, include_initial=True)[..., :-1]


def _recurrence(xp: Namespace, a: Any, b: Any) -> Any:
    """Return h with ``h[i] = b[i] + a[i] * h[i + 1]`` along the last axis, in log2(n) doubling steps.

    After a step of width w, ``b[i]`` holds the terms of the 2w elements from i on, and ``a[i]`` the product
    of the factors that lead past them.
    """
    n = b.shape[-1]
    width = 1
    while width < n:
        b = xp.concat([b[..., : n - width] + a * b[..., width:], b[..., n - width :]], axis=-1)
        if 2 * width < n:
            a = a[..., : n - 2 * width] * a[..., width:]
        width *= 2
    return b


@operation(
    kind=kinds.function,
    methods=("diff",),
    samples=lambda: [
        sample(draw(4)),
        sample(draw(3, 2), axis=0),
        sample(draw(2, 4), n=2),
        sample(draw(2, 3), prepend=draw(2, 1), append=draw(2, 2)),
    ],
)
def diff(
    xp: Namespace,
    x: Array,
    /,
    n: int = 1,
    *,
    axis: int = -1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Subtract from each element the one before it.

    Parameters
    ----------
    n : how often to take differences
    axis : to take them along
    prepend, append : arrays to join before and after `x` along the axis

    Returns
    -------
    array that is shorter by n along the axis

    Raises
    ------
    ValueError : if `n` is negative

    Notes
    -----
    Source: array API standard, `diff`, where `n` is keyword-only.

    Examples
    --------
    >>> dk.diff(dk.asarray([1.0, 4.0, 9.0, 16.0]))
    tensor([3., 5., 7.])
    """
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1:
        x = xp.concat(parts, axis=axis)
    if n < 0:
        raise ValueError(f"{diff.__name__}: n must not be negative, found n = {n}")
    axis = normal_axis(axis, x.ndim, "diff")
    for _ in range(n):
        x = x[along(axis, slice(1, None))] - x[along(axis, slice(None, -1))]
    return x


cumprod = alias("cumprod", cumulative_prod)
cumsum = alias("cumsum", cumulative_sum)
