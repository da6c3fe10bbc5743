"""Element-wise trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

import math

import numpy as np

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.decorators import alias, hyperbolic, trigonometric
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared import floating


@trigonometric(passthrough=True, takes="angles in radians", gives="float")
def sin(xp: Namespace, x: Array, /) -> Array:
    """Return the sine of each element.

    Notes
    -----
    ``dy/dx = cos(x)``.

    Examples
    --------
    >>> dk.sin(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 0.8415])
    """
    return xp.sin(x)


sin.def_partial(lambda xp, x: xp.cos(x))


@trigonometric(passthrough=True, takes="angles in radians", gives="float")
def cos(xp: Namespace, x: Array, /) -> Array:
    """Return the cosine of each element.

    Notes
    -----
    ``dy/dx = -sin(x)``.

    Examples
    --------
    >>> dk.cos(dk.asarray([0.0, 1.0]))
    tensor([1.0000, 0.5403])
    """
    return xp.cos(x)


cos.def_partial(lambda xp, x: -xp.sin(x))


@trigonometric(passthrough=True, domain=(-1.0, 1.0), takes="angles in radians", gives="float")
def tan(xp: Namespace, x: Array, /) -> Array:
    """Return the tangent of each element.

    Notes
    -----
    ``dy/dx = 1 + y**2``.

    Examples
    --------
    >>> dk.tan(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 1.5574])
    """
    return xp.tan(x)


tan.def_partial(lambda y: 1 + y * y)


@trigonometric(passthrough=True, domain=(-0.9, 0.9), gives="float", special="angles in radians, NaN beyond [-1, 1]")
def asin(xp: Namespace, x: Array, /) -> Array:
    """Return the inverse sine of each element.

    Notes
    -----
    ``dy/dx = 1 / sqrt(1 - x**2)``, infinite at -1 and 1.

    Examples
    --------
    >>> dk.asin(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """
    return xp.asin(x)


asin.def_partial(lambda xp, x: 1 / xp.sqrt(1 - x * x))


@trigonometric(passthrough=True, domain=(-0.9, 0.9), gives="float", special="angles in radians, NaN beyond [-1, 1]")
def acos(xp: Namespace, x: Array, /) -> Array:
    """Return the inverse cosine of each element.

    Notes
    -----
    ``dy/dx = -1 / sqrt(1 - x**2)``, infinite at -1 and 1.

    Examples
    --------
    >>> dk.acos(dk.asarray([0.0, 1.0]))
    tensor([1.5708, 0.0000])
    """
    return xp.acos(x)


acos.def_partial(lambda xp, x: -1 / xp.sqrt(1 - x * x))


@trigonometric(passthrough=True, gives="float", special="angles in radians")
def atan(xp: Namespace, x: Array, /) -> Array:
    """Return the inverse tangent of each element.

    Notes
    -----
    ``dy/dx = 1 / (1 + x**2)``.

    Examples
    --------
    >>> dk.atan(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """
    return xp.atan(x)


atan.def_partial(lambda x: 1 / (1 + x * x))


@trigonometric(passthrough=True, domain=(0.5, 2.0), real=True, gives="float", special="angles in radians from -π to π")
def atan2(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return the angle between the positive first axis and the point ``(x2, x1)``.

    Parameters
    ----------
    x1 : second coordinates, real numbers
    x2 : first coordinates, which broadcast with `x1`; one of the two may be a Python scalar

    Notes
    -----
    ``dy/dx1 = x2 / (x1**2 + x2**2)``, ``dy/dx2 = -x1 / (x1**2 + x2**2)``, both 0 at the origin.

    Examples
    --------
    >>> dk.atan2(dk.asarray([1.0, -1.0]), dk.asarray([1.0, 0.0]))
    tensor([ 0.7854, -1.5708])
    """
    return xp.atan2(x1, x2)


@atan2.def_partial("x1")
def atan2_partial_x1(xp, x1, x2):
    r = _distance(xp, x1, x2)
    return x2 / r / r


@atan2.def_partial("x2")
def atan2_partial_x2(xp, x1, x2):
    r = _distance(xp, x2, x1)
    return -floating(xp, x1) / r / r


def _distance(xp: Namespace, x: Array, other: Array) -> Array:
    """Return the distance from the origin, 1 there; its square, which may underflow or overflow, is not computed."""
    x, other = floating(xp, x), floating(xp, other)
    # The distance itself has no derivative at the origin.
    return xp.hypot(xp.where((x == 0) & (other == 0), 1, x), other)


arcsin = alias("arcsin", asin)
arccos = alias("arccos", acos)
arctan = alias("arctan", atan)
arctan2 = alias("arctan2", atan2)


@hyperbolic(passthrough=True, gives="float")
def sinh(xp: Namespace, x: Array, /) -> Array:
    """Return the hyperbolic sine of each element.

    Notes
    -----
    ``dy/dx = cosh(x)``.

    Examples
    --------
    >>> dk.sinh(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """
    return xp.sinh(x)


sinh.def_partial(lambda xp, x: xp.cosh(x))


@hyperbolic(passthrough=True, gives="float")
def cosh(xp: Namespace, x: Array, /) -> Array:
    """Return the hyperbolic cosine of each element.

    Notes
    -----
    ``dy/dx = sinh(x)``.

    Examples
    --------
    >>> dk.cosh(dk.asarray([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """
    return xp.cosh(x)


cosh.def_partial(lambda xp, x: xp.sinh(x))


@hyperbolic(passthrough=True, gives="float")
def tanh(xp: Namespace, x: Array, /) -> Array:
    """Return the hyperbolic tangent of each element.

    Notes
    -----
    ``dy/dx = 1 - y**2``.

    Examples
    --------
    >>> dk.tanh(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
    return xp.tanh(x)


tanh.def_partial(lambda y: 1 - y * y)


@hyperbolic(passthrough=True, gives="float")
def asinh(xp: Namespace, x: Array, /) -> Array:
    """Return the inverse hyperbolic sine of each element.

    Notes
    -----
    ``dy/dx = 1 / sqrt(x**2 + 1)``.

    Examples
    --------
    >>> dk.asinh(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """
    return xp.asinh(x)


asinh.def_partial(lambda xp, x: 1 / xp.sqrt(x * x + 1))


@hyperbolic(passthrough=True, domain=(1.1, 3.0), gives="float", special="NaN below 1")
def acosh(xp: Namespace, x: Array, /) -> Array:
    """Return the inverse hyperbolic cosine of each element.

    Notes
    -----
    ``dy/dx = 1 / (sqrt(x - 1) * sqrt(x + 1))``, infinite at 1; one root of the product would have the
    wrong sign in the left half of the complex plane.

    Examples
    --------
    >>> dk.acosh(dk.asarray([1.0, 3.0]))
    tensor([0.0000, 1.7627])
    """
    return xp.acosh(x)


acosh.def_partial(lambda xp, x: 1 / (xp.sqrt(x - 1) * xp.sqrt(x + 1)))


@hyperbolic(passthrough=True, domain=(-0.9, 0.9), gives="float", special="infinite at -1 and 1, NaN beyond")
def atanh(xp: Namespace, x: Array, /) -> Array:
    """Return the inverse hyperbolic tangent of each element.

    Notes
    -----
    ``dy/dx = 1 / (1 - x**2)``, infinite at -1 and 1.

    Examples
    --------
    >>> dk.atanh(dk.asarray([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """
    return xp.atanh(x)


atanh.def_partial(lambda x: 1 / (1 - x * x))


arcsinh = alias("arcsinh", asinh)
arccosh = alias("arccosh", acosh)
arctanh = alias("arctanh", atanh)


@trigonometric(real=True, takes="angles in degrees", gives="float")
def deg2rad(xp: Namespace, x: Array, /) -> Array:
    """Convert angles from degrees to radians.

    Notes
    -----
    A quantity is in radians afterwards, whatever unit of angle it was in. ``dy/dx = pi / 180``. Source: NumPy,
    `numpy.deg2rad`.

    Examples
    --------
    >>> dk.deg2rad(dk.asarray([180.0, 90.0]))
    tensor([3.1416, 1.5708])
    >>> dk.deg2rad(dk.types.QuantityTensor(180.0, "deg"))
    QuantityTensor(3.1416, 'rad')
    """
    x = floating(xp, x)
    if xp is numpy_namespace:
        return np.deg2rad(x)  # type: ignore[return-value]  # an array, as its argument
    return x * (math.pi / 180)


deg2rad.def_partial(math.pi / 180)


@trigonometric(real=True, takes="angles in radians", gives="float")
def rad2deg(xp: Namespace, x: Array, /) -> Array:
    """Convert angles from radians to degrees.

    Notes
    -----
    A quantity is in degrees afterwards, whatever unit of angle it was in. ``dy/dx = 180 / pi``. Source: NumPy,
    `numpy.rad2deg`.

    Examples
    --------
    >>> dk.rad2deg(dk.asarray([1.0, 2.0]))
    tensor([ 57.2958, 114.5916])
    >>> dk.rad2deg(dk.types.QuantityTensor(0.5, "turn"))
    QuantityTensor(180., 'deg')
    """
    x = floating(xp, x)
    if xp is numpy_namespace:
        return np.rad2deg(x)  # type: ignore[return-value]  # an array, as its argument
    return x * (180 / math.pi)


rad2deg.def_partial(180 / math.pi)
