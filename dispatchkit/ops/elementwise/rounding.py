"""Element-wise sign, magnitude and rounding."""

from __future__ import annotations

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.declare.decorators import additive, alias, arithmetic, predicate, rounding
from dispatchkit.declare.typing import Array, Namespace

__all__ = [
    "abs",
    "absolute",
    "ceil",
    "copysign",
    "floor",
    "nextafter",
    "round",
    "sgn",
    "sign",
    "signbit",
    "trunc",
]


@additive(passthrough=True, operator="__abs__", gives="real")
def abs(xp: Namespace, x: Array, /) -> Array:
    """Return the magnitude of each element.

    Notes
    -----
    ``dy/dx = sign(x)``, 0 at 0; the cotangent of a complex `x` is ``g * sign(x)``. Source: array API
    standard, `abs`.

    Examples
    --------
    >>> dk.abs(dk.asarray([-1.0, 2.0]))
    tensor([1., 2.])
    """
    return xp.abs(x)


@abs.def_vjp
def abs_vjp(xp, g, x):
    return g * xp.sign(x)


@abs.def_jvp
def abs_jvp(xp, t, x):
    if holds_complex(x):
        return xp.real(t * xp.conj(xp.sign(x)))
    return t * xp.sign(x)


@arithmetic(passthrough=True, gives="same")
def sign(xp: Namespace, x: Array, /) -> Array:
    """Return -1, 0 or 1 for each real element, ``x / abs(x)`` or 0 for each complex one.

    Notes
    -----
    The derivative of a real `x` is 0; along a complex direction `t` it is
    ``(t - y * real(conj(y) * t)) / abs(x)``, and 0 at 0. A complex number with a NaN in either part has the sign NaN,
    as in the standard, where NumPy looks at the other part. Source: array API standard, `sign`.

    Examples
    --------
    >>> dk.sign(dk.asarray([-3.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """
    return xp.sign(x)


@sign.def_vjp
def sign_vjp(xp, g, y, x):
    return _across(xp, g, y, x)


@sign.def_jvp
def sign_jvp(xp, t, y, x):
    return _across(xp, t, y, x)


def _across(xp: Namespace, t: Array, y: Array, x: Array) -> Array:
    """Return the part of a direction at right angles to `x`, divided by the magnitude of `x`."""
    if not holds_complex(x):
        return xp.zeros_like(t)
    size = xp.abs(x)
    across = (t - y * xp.real(xp.conj(y) * t)) / xp.where(size == 0, 1, size)
    return xp.where(size == 0, 0, across)


@predicate(passthrough=True, differentiable=False, real=True, gives="bool")
def signbit(xp: Namespace, x: Array, /) -> Array:
    """Return whether the sign bit of each element is set: below zero, for ``-0.0``, and for some NaNs.

    Notes
    -----
    Source: array API standard, `signbit`.

    Examples
    --------
    >>> dk.signbit(dk.asarray([-1.0, -0.0, 0.0]))
    tensor([ True,  True, False])
    """
    return xp.signbit(x)


@additive(passthrough=True, real=True, gives="float")
def copysign(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Give the elements of one array the signs of those of another.

    Parameters
    ----------
    x1 : magnitudes, real numbers
    x2 : signs, real numbers that broadcast with `x1`; one of the two may be a Python scalar

    Notes
    -----
    ``dy/dx1 = sign(x1) * sign(y)``, 0 where `x1` is 0; ``dy/dx2 = 0``. Source: array API standard,
    `copysign`.

    Examples
    --------
    >>> dk.copysign(dk.asarray([1.0, -2.0]), -1.0)
    tensor([-1., -2.])
    """
    return xp.copysign(x1, x2)


@copysign.def_partial("x1")
def copysign_partial_x1(xp, y, x1):
    return xp.sign(x1) * xp.sign(y)


copysign.def_partial(None, 0)


@additive(passthrough=True, real=True)
def nextafter(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return the next floating-point number on the way from each element to another.

    Parameters
    ----------
    x1 : where to start, floating-point
    x2 : where to go, of the dtype of `x1` and broadcasting with it; one of the two may be a Python scalar

    Returns
    -------
    array of the broadcast shape and the dtype of `x1`

    Notes
    -----
    ``dy/dx1 = 1``, ``dy/dx2 = 0``. Source: array API standard, `nextafter`.

    Examples
    --------
    >>> dk.nextafter(dk.asarray([1.0]), 2.0) - 1.0 < 1e-15
    tensor([ True])
    """
    return xp.nextafter(x1, x2)


nextafter.def_partial(1, 0)


@rounding(passthrough=True, real=True, gives="same")
def floor(xp: Namespace, x: Array, /) -> Array:
    """Round each element down.

    Notes
    -----
    The derivative is 0. Source: array API standard, `floor`.

    Examples
    --------
    >>> dk.floor(dk.asarray([-1.5, 1.5]))
    tensor([-2.,  1.])
    """
    return xp.floor(x)


floor.def_partial(0)


@rounding(passthrough=True, real=True, gives="same")
def ceil(xp: Namespace, x: Array, /) -> Array:
    """Round each element up.

    Notes
    -----
    The derivative is 0. Source: array API standard, `ceil`.

    Examples
    --------
    >>> dk.ceil(dk.asarray([-1.5, 1.5]))
    tensor([-1.,  2.])
    """
    return xp.ceil(x)


ceil.def_partial(0)


@rounding(passthrough=True, real=True, gives="same")
def trunc(xp: Namespace, x: Array, /) -> Array:
    """Round each element towards zero.

    Notes
    -----
    The derivative is 0. Source: array API standard, `trunc`.

    Examples
    --------
    >>> dk.trunc(dk.asarray([-1.5, 1.5]))
    tensor([-1.,  1.])
    """
    return xp.trunc(x)


trunc.def_partial(0)


@rounding(passthrough=True, gives="same", special="the parts of complex numbers are rounded by themselves")
def round(xp: Namespace, x: Array, /) -> Array:
    """Round each element to the nearest integer, halves to the even one.

    Notes
    -----
    The derivative is 0. Source: array API standard, `round`.

    Examples
    --------
    >>> dk.round(dk.asarray([0.5, 1.5, 2.3]))
    tensor([0., 2., 2.])
    """
    return xp.round(x)


round.def_partial(0)


absolute = alias("absolute", abs)
sgn = alias("sgn", sign)
