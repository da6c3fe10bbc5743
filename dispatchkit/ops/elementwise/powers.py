"""Element-wise powers and roots."""

from __future__ import annotations

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.declare.decorators import additive, alias, multiplicative
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared.arrays import floating

__all__ = ["cbrt", "hypot", "pow", "power", "reciprocal", "rsqrt", "sqrt", "square"]


@multiplicative(passthrough=True, operator="__pow__", domain=(0.5, 2.0), gives="same")
def pow(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Raise to a power: ``x1 ** x2``.

    Raises
    ------
    ValueError : for integers to negative integer powers

    Notes
    -----
    ``dy/dx1 = x2 * x1**(x2 - 1)``, 0 where `x2` is; ``dy/dx2 = x1**x2 * log(x1)``, 0 at ``x1 = 0`` unless
    ``x2 < 0``. Source: array API standard, `pow`.

    Examples
    --------
    >>> dk.pow(dk.asarray([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    return xp.pow(x1, x2)


@pow.def_partial("x1")
def pow_partial_x1(xp, x1, x2):
    if isinstance(x2, (int, float, complex)):
        if x2 == 2:
            return 2 * x1
        return x2 * x1 ** (x2 - 1) if x2 != 0 else xp.zeros_like(x1)
    x2 = floating(xp, x2)
    # Changing the exponent, not the result, keeps 0 * inf out of the derivatives of this rule, too.
    exponent = xp.where((x2 == 0) & ~xp.isfinite(1 / x1), 1, x2)
    return x2 * x1 ** (exponent - 1)


@pow.def_partial("x2")
def pow_partial_x2(xp, x1, x2):
    # Computed again: the output, which a program may change in place, is kept for neither argument.
    power = x1**x2
    base = xp.asarray(x1, dtype=power.dtype) if isinstance(x1, (int, float, complex)) else floating(xp, x1)
    if holds_complex(power):
        # The real logarithm of a negative base is NaN.
        base = xp.astype(base, power.dtype, copy=False)
    exponent = xp.real(x2) if holds_complex(x2) else x2
    return power * xp.log(xp.where(xp.logical_and(base == 0, exponent >= 0), 1, base))


@multiplicative(gives="same")
def square(xp: Namespace, x: Array, /) -> Array:
    """Multiply each element by itself.

    Notes
    -----
    ``dy/dx = 2 * x``. Source: array API standard, `square`.

    Examples
    --------
    >>> dk.square(dk.asarray([1.0, -2.0]))
    tensor([1., 4.])
    """
    return xp.multiply(x, x)


@square.def_partial
def square_partial(x):
    return 2 * x


@multiplicative(domain=(0.5, 2.0), gives="float")
def reciprocal(xp: Namespace, x: Array, /) -> Array:
    """Return one divided by each element.

    Notes
    -----
    ``dy/dx = -1 / x**2``. Source: array API standard, `reciprocal`.

    Examples
    --------
    >>> dk.reciprocal(dk.asarray([0.5, -1.0]))
    tensor([ 2., -1.])
    """
    return xp.divide(1, x)


@reciprocal.def_partial
def reciprocal_partial(x):
    part = 1 / x
    return -part * part


@multiplicative(passthrough=True, domain=(0.1, 3.0), gives="float", special="NaN for negative numbers")
def sqrt(xp: Namespace, x: Array, /) -> Array:
    """Return the square root of each element.

    Notes
    -----
    ``dy/dx = 0.5 / y``, infinite at 0. Source: array API standard, `sqrt`.

    Examples
    --------
    >>> dk.sqrt(dk.asarray([1.0, 4.0]))
    tensor([1., 2.])
    """
    return xp.sqrt(x)


@sqrt.def_partial
def sqrt_partial(y):
    return 0.5 / y


@multiplicative(real=True, gives="float", domain=(0.1, 3.0))
def cbrt(xp: Namespace, x: Array, /) -> Array:
    """Return the cube root of each element.

    Notes
    -----
    ``dy/dx = 1 / (3 * y**2)``, infinite at 0. Source: NumPy, `numpy.cbrt`.

    Examples
    --------
    >>> dk.cbrt(dk.asarray([2.0, -3.0]))
    tensor([ 1.2599, -1.4422])
    """
    x = floating(xp, x)
    negative = xp.signbit(x)
    root = xp.pow(xp.where(negative, -x, x), 1 / 3)
    return xp.where(negative, -root, root)


@cbrt.def_partial
def cbrt_partial(y):
    return 1 / (3 * y * y)


@multiplicative(domain=(0.1, 3.0), gives="float", special="NaN for negative numbers")
def rsqrt(xp: Namespace, x: Array, /) -> Array:
    """Return one divided by the square root of each element.

    Notes
    -----
    ``dy/dx = -0.5 * y**3``, infinite at 0. Source: PyTorch, `torch.rsqrt`.

    Examples
    --------
    >>> dk.rsqrt(dk.asarray([0.25, 1.0]))
    tensor([2., 1.])
    """
    return xp.reciprocal(xp.sqrt(x))


@rsqrt.def_partial
def rsqrt_partial(y):
    return -0.5 * y * y * y


@additive(passthrough=True, domain=(0.5, 2.0), real=True, gives="float")
def hypot(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return the length of the hypotenuse over two legs: ``sqrt(x1**2 + x2**2)`` without overflow.

    Notes
    -----
    ``dy/dx1 = x1 / y``, ``dy/dx2 = x2 / y``; NaN where both legs are 0, as in PyTorch. Source: array API
    standard, `hypot`.

    Examples
    --------
    >>> dk.hypot(dk.asarray([3.0, 5.0]), dk.asarray([4.0, 12.0]))
    tensor([ 5., 13.])
    """
    return xp.hypot(x1, x2)


@hypot.def_partial("x1")
def hypot_partial_x1(y, x1):
    return x1 / y


@hypot.def_partial("x2")
def hypot_partial_x2(y, x2):
    return x2 / y


power = alias("power", pow)
