"""Element-wise hyperbolic functions and their inverses."""

from __future__ import annotations

from dispatchkit.declare.decorators import alias, hyperbolic
from dispatchkit.declare.typing import Array, Namespace

__all__ = [
    "acosh",
    "arccosh",
    "arcsinh",
    "arctanh",
    "asinh",
    "atanh",
    "cosh",
    "sinh",
    "tanh",
]


@hyperbolic(passthrough=True, gives="float")
def sinh(xp: Namespace, x: Array, /) -> Array:
    """Return the hyperbolic sine of each element.

    Notes
    -----
    ``dy/dx = cosh(x)``. Source: array API standard, `sinh`.

    Examples
    --------
    >>> dk.sinh(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """
    return xp.sinh(x)


@sinh.def_partial
def sinh_partial(xp, x):
    return xp.cosh(x)


@hyperbolic(passthrough=True, gives="float")
def cosh(xp: Namespace, x: Array, /) -> Array:
    """Return the hyperbolic cosine of each element.

    Notes
    -----
    ``dy/dx = sinh(x)``. Source: array API standard, `cosh`.

    Examples
    --------
    >>> dk.cosh(dk.asarray([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """
    return xp.cosh(x)


@cosh.def_partial
def cosh_partial(xp, x):
    return xp.sinh(x)


@hyperbolic(passthrough=True, gives="float")
def tanh(xp: Namespace, x: Array, /) -> Array:
    """Return the hyperbolic tangent of each element.

    Notes
    -----
    ``dy/dx = 1 - y**2``. Source: array API standard, `tanh`.

    Examples
    --------
    >>> dk.tanh(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
    return xp.tanh(x)


@tanh.def_partial
def tanh_partial(y):
    return 1 - y * y


@hyperbolic(passthrough=True, gives="float")
def asinh(xp: Namespace, x: Array, /) -> Array:
    """Return the inverse hyperbolic sine of each element.

    Notes
    -----
    ``dy/dx = 1 / sqrt(x**2 + 1)``. Source: array API standard, `asinh`.

    Examples
    --------
    >>> dk.asinh(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """
    return xp.asinh(x)


@asinh.def_partial
def asinh_partial(xp, x):
    return 1 / xp.sqrt(x * x + 1)


@hyperbolic(passthrough=True, domain=(1.1, 3.0), gives="float", special="NaN below 1")
def acosh(xp: Namespace, x: Array, /) -> Array:
    """Return the inverse hyperbolic cosine of each element.

    Notes
    -----
    ``dy/dx = 1 / (sqrt(x - 1) * sqrt(x + 1))``, infinite at 1; one root of the product would have the
    wrong sign in the left half of the complex plane. Source: array API standard, `acosh`.

    Examples
    --------
    >>> dk.acosh(dk.asarray([1.0, 3.0]))
    tensor([0.0000, 1.7627])
    """
    return xp.acosh(x)


@acosh.def_partial
def acosh_partial(xp, x):
    return 1 / (xp.sqrt(x - 1) * xp.sqrt(x + 1))


@hyperbolic(passthrough=True, domain=(-0.9, 0.9), gives="float", special="infinite at -1 and 1, NaN beyond")
def atanh(xp: Namespace, x: Array, /) -> Array:
    """Return the inverse hyperbolic tangent of each element.

    Notes
    -----
    ``dy/dx = 1 / (1 - x**2)``, infinite at -1 and 1. Source: array API standard, `atanh`.

    Examples
    --------
    >>> dk.atanh(dk.asarray([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """
    return xp.atanh(x)


@atanh.def_partial
def atanh_partial(x):
    return 1 / (1 - x * x)


arcsinh = alias("arcsinh", asinh)
arccosh = alias("arccosh", acosh)
arctanh = alias("arctanh", atanh)
