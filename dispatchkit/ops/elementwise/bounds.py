"""Element-wise bounds: the larger or smaller of two elements, and elements kept within a range."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.declare.decorators import activation, alias, bounds
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace

__all__ = ["clamp", "clip", "maximum", "minimum", "relu"]


@bounds(passthrough=True, takes="real numbers", gives="same")
def maximum(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return the larger of each two elements, NaN where one of them is.

    Notes
    -----
    The gradient goes to the larger; equal elements get half of it each. Source: array API standard,
    `maximum`.

    Examples
    --------
    >>> dk.maximum(dk.asarray([1.0, 3.0]), dk.asarray([2.0, 2.0]))
    tensor([2., 3.])
    """
    return xp.maximum(x1, x2)


@maximum.def_partial("x1")
def maximum_partial_x1(xp, x1, x2):
    return _share(xp, x1, x1 < x2, x1 == x2)


@maximum.def_partial("x2")
def maximum_partial_x2(xp, x1, x2):
    return _share(xp, x2, x2 < x1, x1 == x2)


@bounds(passthrough=True, takes="real numbers", gives="same")
def minimum(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return the smaller of each two elements, NaN where one of them is.

    Notes
    -----
    The gradient goes to the smaller; equal elements get half of it each. Source: array API standard,
    `minimum`.

    Examples
    --------
    >>> dk.minimum(dk.asarray([1.0, 3.0]), dk.asarray([2.0, 2.0]))
    tensor([1., 2.])
    """
    return xp.minimum(x1, x2)


@minimum.def_partial("x1")
def minimum_partial_x1(xp, x1, x2):
    return _share(xp, x1, x1 > x2, x1 == x2)


@minimum.def_partial("x2")
def minimum_partial_x2(xp, x1, x2):
    return _share(xp, x2, x2 > x1, x1 == x2)


def _share(xp: Namespace, x: Array, loses: Array, ties: Array) -> Array:
    """Return what part of the gradient goes to an argument, in its dtype."""
    return xp.where(loses, 0, xp.where(ties, 0.5, xp.ones_like(x)))


@activation(real=True, gives="same")
def relu(xp: Namespace, x: Array, /) -> Array:
    """Replace negative elements by zero.

    Notes
    -----
    ``dy/dx`` is 1 for positive elements and 0 for the others, 0 included. Source: PyTorch, `torch.relu`.

    Examples
    --------
    >>> dk.relu(dk.asarray([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if holds_complex(x):
        raise TypeError(f"{relu.__name__}: x must be of real numbers, found {x.dtype}")
    return xp.maximum(x, 0)


@relu.def_partial
def relu_partial(xp, y):
    return xp.sign(y)


@bounds(
    samples=[
        sample(draw(2, 3), -0.5, 0.5),
        sample(draw(3), min=-0.5),
        sample(draw(2, 3), max=draw(3, low=0.5)),
        sample(draw(2, 1), draw(3, high=-0.5), draw(2, 3, low=0.5)),
        sample(draw(), None, 1),
        sample(draw(0, 2)),
    ],
    takes="real numbers",
)
def clip(xp: Namespace, x: Array, /, min: Array | float | None = None, max: Array | float | None = None) -> Array:
    """Bring each element into the range from `min` to `max`.

    Parameters
    ----------
    min, max : bounds, scalars or arrays of the dtype of `x` that broadcast with it; None for no bound

    Returns
    -------
    array of the broadcast shape; NaN where an element or bound is, `max` where the bounds cross

    Notes
    -----
    The gradient goes to the element inside the bounds and on them, else to the bound that replaced it.
    Source: array API standard, `clip`.

    Examples
    --------
    >>> dk.clip(dk.asarray([-1.0, 1.0, 3.0]), 0, 2)
    tensor([0., 1., 2.])
    """
    if min is None and max is None:
        return xp.positive(x)
    raised = x if min is None else xp.maximum(x, min)
    return raised if max is None else xp.minimum(raised, max)


NUMBERS = (int, float)
# Elements from which the fixed cost of NumPy's own function is less than that of a second pass.
ONE_PASS = 2048


@clip.def_numpy
def clip_numpy(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Clip; many floating-point elements between two numbers in one pass."""
    if min is None and max is None:
        return np.positive(x)
    if min is None or max is None:
        return np.minimum(x, max) if min is None else np.maximum(x, min)
    many = type(x) is np.ndarray and x.dtype.kind == "f" and x.size >= ONE_PASS
    if many and type(min) in NUMBERS and type(max) in NUMBERS:
        return np.clip(x, min, max)
    return np.minimum(np.maximum(x, min), max)


@clip.def_vjp("x")
def clip_vjp_x(xp, g, x, min, max):
    return _inside(xp, g, x, min, max)


@clip.def_jvp("x")
def clip_jvp_x(xp, t, x, min, max):
    return _inside(xp, t, x, min, max)


@clip.def_vjp("min")
def clip_vjp_min(xp, g, x, min, max):
    return _below(xp, g, x, min, max)


@clip.def_jvp("min")
def clip_jvp_min(xp, t, x, min, max):
    return _below(xp, t, x, min, max)


@clip.def_vjp("max")
def clip_vjp_max(xp, g, x, min, max):
    return _above(xp, g, x, min, max)


@clip.def_jvp("max")
def clip_jvp_max(xp, t, x, min, max):
    return _above(xp, t, x, min, max)


def _inside(xp: Namespace, t: Array, x: Array, min: Array | None, max: Array | None) -> Array:
    """Return `t` where neither bound replaces the element, else 0."""
    if min is not None:
        t = xp.where(x >= min, t, 0)
    return t if max is None else xp.where(x <= max, t, 0)


def _below(xp: Namespace, t: Array, x: Array, min: Array, max: Array | None) -> Array:
    """Return `t` where the lower bound is the result, else 0."""
    t = xp.where(x < min, t, 0)
    return t if max is None else xp.where(min < max, t, 0)


def _above(xp: Namespace, t: Array, x: Array, min: Array | None, max: Array) -> Array:
    """Return `t` where the upper bound is the result, else 0."""
    kept = xp.where(x > max, t, 0)
    return kept if min is None else xp.where(min > max, t, kept)


clamp = alias("clamp", clip)
