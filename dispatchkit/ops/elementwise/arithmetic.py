"""Element-wise arithmetic: what the operators compute, sign, magnitude and rounding."""

from __future__ import annotations

from math import inf

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.declare.decorators import (
    additive,
    alias,
    arithmetic,
    multiplicative,
    predicate,
    rounding,
)
from dispatchkit.declare.typing import Array, Namespace


@additive(passthrough=True, commutative=True, operator="__add__", gives="same")
def add(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Add two arrays: ``x1 + x2``.

    Notes
    -----
    ``dy/dx1 = dy/dx2 = 1``.

    Examples
    --------
    >>> dk.add(dk.asarray([1.0, 2.0]), dk.asarray([3.0, 4.0]))
    tensor([4., 6.])
    """
    return xp.add(x1, x2)


add.def_partial(1, 1)


@additive(passthrough=True, operator="__sub__", gives="same")
def subtract(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Subtract one array from another: ``x1 - x2``.

    Notes
    -----
    ``dy/dx1 = 1``, ``dy/dx2 = -1``.

    Examples
    --------
    >>> dk.subtract(dk.asarray([1.0, 2.0]), dk.asarray([3.0, 1.0]))
    tensor([-2.,  1.])
    """
    return xp.subtract(x1, x2)


subtract.def_partial(1, -1)


@multiplicative(passthrough=True, commutative=True, operator="__mul__", gives="same")
def multiply(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Multiply two arrays element by element: ``x1 * x2``.

    Notes
    -----
    ``dy/dx1 = x2``, ``dy/dx2 = x1``.

    Examples
    --------
    >>> dk.multiply(dk.asarray([1.0, 2.0]), 3)
    tensor([3., 6.])
    """
    return xp.multiply(x1, x2)


multiply.def_partial("x1")(lambda x2: x2)
multiply.def_partial("x2")(lambda x1: x1)


@multiplicative(passthrough=True, operator="__truediv__", domain=(0.5, 2.0), gives="float")
def divide(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Divide one array by another: ``x1 / x2``.

    Notes
    -----
    ``dy/dx1 = 1 / x2``, ``dy/dx2 = -x1 / x2**2``.

    Examples
    --------
    >>> dk.divide(dk.asarray([2, 4]), 2)
    tensor([1., 2.])
    """
    return xp.divide(x1, x2)


divide.def_transpose("x1")(lambda xp, g, x2: g / xp.conj(x2) if holds_complex(x2) else g / x2)


@divide.def_partial("x2")
def divide_partial_x2(x1, x2):
    # Not by the output, which a program may change in place; x2 is not squared, which overflows sooner.
    return -(x1 / x2) / x2


@multiplicative(
    passthrough=True,
    operator="__floordiv__",
    domain=(0.5, 2.0),
    real=True,
    gives="same",
    special="with infinities ``floor(x1 / x2)``",
)
def floor_divide(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Divide and round down: ``x1 // x2``.

    Notes
    -----
    The derivative is 0. With infinities NumPy has NaN or -1 where the standard has infinities and zeros.

    Examples
    --------
    >>> dk.floor_divide(dk.asarray([7, -7]), 2)
    tensor([ 3, -4])
    """
    return xp.floor_divide(x1, x2)


floor_divide.def_partial(0, 0)


@additive(passthrough=True, operator="__mod__", domain=(0.5, 2.0), real=True, gives="same")
def remainder(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return what division leaves, with the sign of the divisor: ``x1 % x2``.

    Notes
    -----
    ``dy/dx1 = 1``, ``dy/dx2 = -floor(x1 / x2)``, which is 1 where `x2` is infinite and of the other sign.

    Examples
    --------
    >>> dk.remainder(dk.asarray([7, -7]), 4)
    tensor([3, 1])
    """
    return xp.remainder(x1, x2)


remainder.def_partial(1, None)


@remainder.def_partial("x2")
def remainder_partial_x2(xp, x1, x2):
    # The quotient of opposite signs rounds down to -1 also where it is too small for a number, and so 0.
    opposite = ((x1 < 0) & (x2 == inf)) | ((x1 > 0) & (x2 == -inf))
    return xp.where(opposite & (xp.abs(x1) < inf), 1, -xp.floor_divide(x1, x2))


@additive(passthrough=True, operator="__neg__", gives="same")
def negative(xp: Namespace, x: Array, /) -> Array:
    """Change the sign of each element: ``-x``.

    Notes
    -----
    ``dy/dx = -1``.

    Examples
    --------
    >>> dk.negative(dk.asarray([1.0, -2.0]))
    tensor([-1.,  2.])
    """
    return xp.negative(x)


negative.def_partial(-1)


@additive(passthrough=True, operator="__pos__", gives="same")
def positive(xp: Namespace, x: Array, /) -> Array:
    """Return a copy of each element: ``+x``.

    Notes
    -----
    ``dy/dx = 1``.

    Examples
    --------
    >>> dk.positive(dk.asarray([1.0, -2.0]))
    tensor([ 1., -2.])
    """
    return xp.positive(x)


positive.def_partial(1)


sub = alias("sub", subtract)
mul = alias("mul", multiply)
div = alias("div", divide)
true_divide = alias("true_divide", divide)
mod = alias("mod", remainder)
neg = alias("neg", negative)


@additive(passthrough=True, operator="__abs__", gives="real")
def abs(xp: Namespace, x: Array, /) -> Array:
    """Return the magnitude of each element.

    Notes
    -----
    ``dy/dx = sign(x)``, 0 at 0; the cotangent of a complex `x` is ``g * sign(x)``.

    Examples
    --------
    >>> dk.abs(dk.asarray([-1.0, 2.0]))
    tensor([1., 2.])
    """
    return xp.abs(x)


abs.def_vjp(lambda xp, g, x: g * xp.sign(x))


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
    as in the standard, where NumPy looks at the other part.

    Examples
    --------
    >>> dk.sign(dk.asarray([-3.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """
    return xp.sign(x)


@sign.def_jvp
def sign_jvp(xp, t, x):
    """Return the part of a direction at right angles to `x`, divided by the magnitude of `x`."""
    if not holds_complex(x):
        return xp.zeros_like(t)
    y, size = xp.sign(x), xp.abs(x)  # computed again: a program may change the result in place
    across = (t - y * xp.real(xp.conj(y) * t)) / xp.where(size == 0, 1, size)
    return xp.where(size == 0, 0, across)


@sign.def_vjp
def sign_vjp(xp, g, x):
    return sign_jvp(xp, g, x)


@predicate(passthrough=True, differentiable=False, real=True, gives="bool")
def signbit(xp: Namespace, x: Array, /) -> Array:
    """Return whether the sign bit of each element is set: below zero, for ``-0.0``, and for some NaNs.

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
    ``dy/dx1 = sign(x1) * sign(y)``, 0 where `x1` is 0; ``dy/dx2 = 0``.

    Examples
    --------
    >>> dk.copysign(dk.asarray([1.0, -2.0]), -1.0)
    tensor([-1., -2.])
    """
    return xp.copysign(x1, x2)


copysign.def_partial("x1")(lambda xp, y, x1: xp.sign(x1) * xp.sign(y))
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
    ``dy/dx1 = 1``, ``dy/dx2 = 0``.

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
    The derivative is 0.

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
    The derivative is 0.

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
    The derivative is 0.

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
    The derivative is 0.

    Examples
    --------
    >>> dk.round(dk.asarray([0.5, 1.5, 2.3]))
    tensor([0., 2., 2.])
    """
    return xp.round(x)


round.def_partial(0)


absolute = alias("absolute", abs)
sgn = alias("sgn", sign)
