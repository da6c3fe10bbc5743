"""Along an axis, keeping it: cumulative sums and products, differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.declare.axes import Axes, only_axis
from dispatchkit.declare.decorators import alias, operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, DType, Namespace
from dispatchkit.ops.shared.arrays import conjugate
from dispatchkit.ops.shared.axes import along, lanes, normal_axis
from dispatchkit.protocol.kinds import kinds

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "diff"]

CUMULATIVE_SAMPLES = [
    sample(draw(5)),
    sample(draw(2, 3), axis=0),
    sample(draw(2, 3), axis=-1, include_initial=True),
    sample(draw(3, low=-3, high=3, content="integer"), dtype=np.dtype("float64")),
]


@operation(
    passthrough=True,
    kind=kinds.function,
    namespace="dispatchkit",
    samples=CUMULATIVE_SAMPLES,
    axis=Axes(("axis",), only_axis),
)
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
    Linear: each element receives the cotangents of the sums it is in. Source: array API standard,
    `cumulative_sum`.

    Examples
    --------
    >>> dk.cumulative_sum(dk.asarray([1.0, 2.0, 3.0]))
    tensor([1., 3., 6.])
    """
    return xp.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


@cumulative_sum.def_transpose
def cumulative_sum_transpose(xp, g, x, axis, include_initial):
    axis = 0 if axis is None else normal_axis(axis, x.ndim)
    if include_initial:
        g = g[along(axis, slice(1, None))]
    return xp.flip(xp.cumulative_sum(xp.flip(g, axis=axis), axis=axis), axis=axis)


@operation(
    passthrough=True,
    kind=kinds.function,
    namespace="dispatchkit",
    samples=CUMULATIVE_SAMPLES,
    axis=Axes(("axis",), only_axis),
)
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
    computed without division. Source: array API standard, `cumulative_prod`.

    Examples
    --------
    >>> dk.cumulative_prod(dk.asarray([1.0, 2.0, 3.0]))
    tensor([1., 2., 6.])
    """
    return xp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


@cumulative_prod.def_vjp
def cumulative_prod_vjp(xp, g, x, axis, include_initial):
    x, g = lanes(xp, conjugate(xp, x), axis), lanes(xp, g, axis)
    if include_initial:
        g = g[..., 1:]
    found = _products_before(xp, x) * _recurrence(xp, x[..., 1:], g)
    return found if axis is None else xp.moveaxis(found, -1, axis)


@cumulative_prod.def_jvp
def cumulative_prod_jvp(xp, t, x, axis, include_initial):
    x, t = lanes(xp, x, axis), lanes(xp, t, axis)
    own = xp.flip(t * _products_before(xp, x), axis=-1)
    found = xp.flip(_recurrence(xp, xp.flip(x[..., 1:], axis=-1), own), axis=-1)
    if include_initial:
        initial = xp.zeros((*found.shape[:-1], 1), dtype=found.dtype)
        found = xp.concat([initial, found], axis=-1)
    return found if axis is None else xp.moveaxis(found, -1, axis)


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
    namespace="dispatchkit",
    methods=("diff",),
    samples=[
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
