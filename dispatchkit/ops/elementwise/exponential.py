"""Element-wise exponentials, logarithms, powers and roots, and the parts of complex numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.accelerator import computed_by
from dispatchkit.backends.arrays import holds_complex, of_parts
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.numpy_choices import BLOCK, slices
from dispatchkit.backends.numpy_numbers import ONE
from dispatchkit.backends.numpy_sums import HALF
from dispatchkit.declare.decorators import additive, alias, body_on_numpy, complex_parts, exponential, multiplicative
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared import floating


@exponential(passthrough=True, gives="float")
def exp(xp: Namespace, x: Array, /) -> Array:
    """Raise e to the power of each element.

    Notes
    -----
    ``dy/dx = y``.

    Examples
    --------
    >>> dk.exp(dk.asarray([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """
    return xp.exp(x)


exp.def_partial(lambda y: y)


@exponential(passthrough=True, gives="float")
def expm1(xp: Namespace, x: Array, /) -> Array:
    """Raise e to the power of each element and subtract one, accurately near 0.

    Notes
    -----
    ``dy/dx = y + 1``. At complex infinities it is the limit of ``exp(x) - 1``, as in the standard, where NumPy has
    NaN.

    Examples
    --------
    >>> dk.expm1(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 1.7183])
    """
    return xp.expm1(x)


expm1.def_partial(lambda y: y + 1)


@exponential(passthrough=True, domain=(0.1, 3.0), gives="float", special="-inf at 0, NaN for negative numbers")
def log(xp: Namespace, x: Array, /) -> Array:
    """Return the natural logarithm of each element.

    Notes
    -----
    ``dy/dx = 1 / x``.

    Examples
    --------
    >>> dk.log(dk.asarray([1.0, 2.0]))
    tensor([0.0000, 0.6931])
    """
    return xp.log(x)


log.def_partial(lambda x: 1 / x)


@exponential(passthrough=True, domain=(-0.5, 2.0), gives="float", special="-inf at -1, NaN below")
def log1p(xp: Namespace, x: Array, /) -> Array:
    """Return the natural logarithm of one plus each element, accurately near 0.

    Notes
    -----
    ``dy/dx = 1 / (1 + x)``.

    Examples
    --------
    >>> dk.log1p(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 0.6931])
    """
    return xp.log1p(x)


log1p.def_partial(lambda x: 1 / (1 + x))


@exponential(passthrough=True, domain=(0.1, 3.0), gives="float", special="-inf at 0, NaN for negative numbers")
def log2(xp: Namespace, x: Array, /) -> Array:
    """Return the logarithm to the base 2 of each element.

    Notes
    -----
    ``dy/dx = 1 / (x * log(2))``.

    Examples
    --------
    >>> dk.log2(dk.asarray([1.0, 8.0]))
    tensor([0., 3.])
    """
    return xp.log2(x)


log2.def_partial(lambda x: 1 / (x * math.log(2)))


@exponential(passthrough=True, domain=(0.1, 3.0), gives="float", special="-inf at 0, NaN for negative numbers")
def log10(xp: Namespace, x: Array, /) -> Array:
    """Return the logarithm to the base 10 of each element.

    Notes
    -----
    ``dy/dx = 1 / (x * log(10))``.

    Examples
    --------
    >>> dk.log10(dk.asarray([1.0, 100.0]))
    tensor([0., 2.])
    """
    return xp.log10(x)


log10.def_partial(lambda x: 1 / (x * math.log(10)))


@exponential(passthrough=True, commutative=True, real=True, gives="float")
def logaddexp(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Add numbers that are given by their logarithms: ``log(exp(x1) + exp(x2))`` without overflow.

    Notes
    -----
    ``dy/dx1 = sigmoid(x1 - x2)``, ``dy/dx2 = sigmoid(x2 - x1)``; equal infinities share evenly, where PyTorch has NaN.

    Examples
    --------
    >>> dk.logaddexp(dk.asarray([1000.0]), 1000.0)
    tensor([1000.6931])
    """
    return xp.logaddexp(x1, x2)


logaddexp.def_partial("x1")(lambda xp, x1, x2: logistic(xp, _lead(xp, x1, x2)))
logaddexp.def_partial("x2")(lambda xp, x1, x2: logistic(xp, _lead(xp, x2, x1)))


def _lead(xp: Namespace, x1: Any, x2: Any) -> Any:
    """Return the difference of two logarithms, which keeps what their sum rounds away; 0 for equal infinities."""
    with np.errstate(invalid="ignore"):
        d = x1 - x2
    if isinstance(d, np.ndarray):  # which is not followed
        np.copyto(d, 0.0, where=x1 == x2)
        return d
    return xp.where((x1 == x2) & xp.isnan(d), 0.0, d)


@exponential(gives="float")
def sigmoid(xp: Namespace, x: Array, /) -> Array:
    """Return the logistic function of each element: ``1 / (1 + exp(-x))``, for real numbers without overflow.

    Notes
    -----
    ``dy/dx = y * (1 - y)``. Source: PyTorch, `torch.sigmoid`.

    Examples
    --------
    >>> dk.sigmoid(dk.asarray([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """
    if holds_complex(x):
        return xp.reciprocal(xp.add(xp.exp(xp.negative(x)), 1))
    return _sigmoid_of_real(xp, x)


def _sigmoid_of_real(xp: Namespace, x: Any) -> Any:
    if isinstance(x, np.ndarray) and x.dtype is not HALF:  # which does not hold large exponentials
        return _sigmoid_of_numpy(x)
    return logistic(xp, x)


@computed_by("sigmoid")
@np.errstate(over="ignore")
def _sigmoid_of_numpy(x: Any) -> Any:
    one = ONE.get(x.dtype)
    if one is None:
        return to_reciprocals(np.asarray(np.multiply(x, -1.0)))
    y = np.empty(x.shape, x.dtype)
    if x.size <= BLOCK:
        np.negative(x, y)
        return to_reciprocals(y, one)
    flat, out = x.reshape(-1), y.reshape(-1)
    for block in slices(x.size):
        part = np.negative(flat[block], out[block])
        to_reciprocals(part, one)
    return y


def to_reciprocals(x: Any, one: Any = 1) -> Any:
    """Replace NumPy's numbers by ``1 / (1 + exp(x))``, which is 0 where the exponential leaves the range of the dtype.

    Each pass writes into the memory of `x`: half as many passes as `logistic` takes, and no memory beside it. NumPy
    divides in half the time that it takes for reciprocals, and an array for the number one needs no conversion.
    """
    np.exp(x, x)
    np.add(x, one, x)
    return np.divide(one, x, x)


def logistic(xp: Namespace, x: Any) -> Any:
    """Return the logistic function of real numbers, precise also where it is next to 0."""
    opposite = xp.multiply(x, -1.0)
    if isinstance(x, np.ndarray):  # which is not followed: one exponential will do
        e = np.exp(np.minimum(x, opposite))
        return np.maximum(e, x >= 0) / (e + 1)
    # All exponents are at most 0. At 0 the derivatives are those of exp(x / 2) / (exp(x / 2) + exp(-x / 2)), the same,
    # so those of all orders are right.
    grows, falls = xp.exp(xp.minimum(x, 0.0)), xp.exp(xp.minimum(opposite, 0.0))
    return xp.divide(grows, xp.add(grows, falls))


@sigmoid.def_kernel("numpy")
def sigmoid_numpy(x, /):
    if type(x) is np.ndarray and x.dtype in ONE:
        return _sigmoid_of_numpy(x)
    return body_on_numpy(sigmoid)(x)


@sigmoid.def_partial
def sigmoid_partial(y):
    return y * (1 - y)


@sigmoid.def_vjp
def sigmoid_vjp(xp, g, y):
    if type(g) is type(y) is np.ndarray and g.dtype is y.dtype and y.dtype in ONE:
        return _sigmoid_slope(g, y)
    slope = sigmoid_partial(y)
    if holds_complex(slope):
        slope = xp.conj(slope)
    return g * slope


@computed_by("sigmoid_slope")
def _sigmoid_slope(g: Any, y: Any) -> Any:
    return g * (y * (1 - y))


@complex_parts(passthrough=True, properties=("real",), gives="real", special="in memory of its own")
def real(xp: Namespace, x: Array, /) -> Array:
    """Return the real part of each element.

    Notes
    -----
    A real cotangent is that of `x`.

    Examples
    --------
    >>> dk.real(dk.asarray([1 + 2j]))
    tensor([1.])
    """
    return xp.real(x)


real.def_transpose(lambda g: g)


@complex_parts(
    passthrough=True, properties=("imag",), gives="real", special="in memory of its own, zeros where `x` is real"
)
def imag(xp: Namespace, x: Array, /) -> Array:
    """Return the imaginary part of each element.

    Notes
    -----
    The cotangent of `x` is the real one multiplied by ``1j``.

    Examples
    --------
    >>> dk.imag(dk.asarray([1 + 2j]))
    tensor([2.])
    """
    return xp.imag(x)


imag.def_transpose(lambda xp, g, x: of_parts(xp.zeros_like(g), g) if holds_complex(x) else xp.zeros_like(g))


@complex_parts(passthrough=True, gives="same")
def conj(xp: Namespace, x: Array, /) -> Array:
    """Return the complex conjugate of each element.

    Notes
    -----
    The cotangent of `x` is the conjugate one.

    Examples
    --------
    >>> dk.conj(dk.asarray([1 + 2j]))
    tensor([1.-2.j])
    """
    return xp.conj(x)


conj.def_transpose(lambda xp, g: xp.conj(g))


conjugate = alias("conjugate", conj)


@multiplicative(passthrough=True, operator="__pow__", domain=(0.5, 2.0), gives="same")
def pow(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Raise to a power: ``x1 ** x2``.

    Raises
    ------
    ValueError : for integers to negative integer powers

    Notes
    -----
    ``dy/dx1 = x2 * x1**(x2 - 1)``, 0 where `x2` is; ``dy/dx2 = x1**x2 * log(x1)``, 0 at ``x1 = 0`` unless
    ``x2 < 0``.

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
        if x2 != 0:
            return x2 * x1 ** (x2 - 1)
        return xp.zeros_like(x1)
    x2 = floating(xp, x2)
    # Changing the exponent, not the result, keeps 0 * inf out of the derivatives of this rule, too.
    exponent = xp.where((x2 == 0) & ~xp.isfinite(1 / x1), 1, x2)
    return x2 * x1 ** (exponent - 1)


@pow.def_partial("x2")
def pow_partial_x2(xp, x1, x2):
    # Computed again: the output, which a program may change in place, is kept for neither argument.
    power = x1**x2
    if isinstance(x1, (int, float, complex)):
        base = xp.asarray(x1, dtype=power.dtype)
    else:
        base = floating(xp, x1)
    if holds_complex(power):
        # The real logarithm of a negative base is NaN.
        base = xp.astype(base, power.dtype, copy=False)
    exponent = x2
    if holds_complex(x2):
        exponent = xp.real(x2)
    return power * xp.log(xp.where(xp.logical_and(base == 0, exponent >= 0), 1, base))


@multiplicative(gives="same")
def square(xp: Namespace, x: Array, /) -> Array:
    """Multiply each element by itself.

    Notes
    -----
    ``dy/dx = 2 * x``.

    Examples
    --------
    >>> dk.square(dk.asarray([1.0, -2.0]))
    tensor([1., 4.])
    """
    return xp.multiply(x, x)


square.def_partial(lambda x: 2 * x)


@multiplicative(domain=(0.5, 2.0), gives="float")
def reciprocal(xp: Namespace, x: Array, /) -> Array:
    """Return one divided by each element.

    Notes
    -----
    ``dy/dx = -1 / x**2``.

    Examples
    --------
    >>> dk.reciprocal(dk.asarray([0.5, -1.0]))
    tensor([ 2., -1.])
    """
    return xp.divide(1, x)


@multiplicative(passthrough=True, domain=(0.1, 3.0), gives="float", special="NaN for negative numbers")
def sqrt(xp: Namespace, x: Array, /) -> Array:
    """Return the square root of each element.

    Notes
    -----
    ``dy/dx = 0.5 / y``, infinite at 0.

    Examples
    --------
    >>> dk.sqrt(dk.asarray([1.0, 4.0]))
    tensor([1., 2.])
    """
    return xp.sqrt(x)


sqrt.def_partial(lambda y: 0.5 / y)


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
    >>> dk.cbrt(dk.asarray(1000.0))
    tensor(10.)
    """
    x = floating(xp, x)
    if xp is numpy_namespace:
        return np.cbrt(x)  # type: ignore[return-value]  # an array, as its argument
    negative = xp.signbit(x)
    root = xp.pow(xp.where(negative, -x, x), 1 / 3)
    return xp.where(negative, -root, root)


cbrt.def_partial(lambda y: 1 / (3 * y * y))


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


rsqrt.def_partial(lambda y: -0.5 * y * y * y)


@additive(passthrough=True, commutative=True, domain=(0.5, 2.0), real=True, gives="float")
def hypot(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return the length of the hypotenuse over two legs: ``sqrt(x1**2 + x2**2)`` without overflow.

    Notes
    -----
    ``dy/dx1 = x1 / y``, ``dy/dx2 = x2 / y``; NaN where both legs are 0, as in PyTorch.

    Examples
    --------
    >>> dk.hypot(dk.asarray([3.0, 5.0]), dk.asarray([4.0, 12.0]))
    tensor([ 5., 13.])
    """
    return xp.hypot(x1, x2)


hypot.def_partial("x1")(lambda y, x1: x1 / y)
hypot.def_partial("x2")(lambda y, x2: x2 / y)


power = alias("power", pow)
