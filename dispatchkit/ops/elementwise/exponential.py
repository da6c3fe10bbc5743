"""Element-wise exponentials, logarithms, what is made of them, and the parts of complex numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.declare.decorators import alias, complex_parts, exponential
from dispatchkit.declare.typing import Array, Namespace

__all__ = [
    "conj",
    "conjugate",
    "exp",
    "expm1",
    "imag",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "real",
    "sigmoid",
]


@exponential(passthrough=True, gives="float")
def exp(xp: Namespace, x: Array, /) -> Array:
    """Raise e to the power of each element.

    Notes
    -----
    ``dy/dx = y``. Source: array API standard, `exp`.

    Examples
    --------
    >>> dk.exp(dk.asarray([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """
    return xp.exp(x)


@exp.def_partial
def exp_partial(y):
    return y


@exponential(passthrough=True, gives="float")
def expm1(xp: Namespace, x: Array, /) -> Array:
    """Raise e to the power of each element and subtract one, accurately near 0.

    Notes
    -----
    ``dy/dx = y + 1``. At complex infinities it is the limit of ``exp(x) - 1``, as in the standard, where NumPy has
    NaN. Source: array API standard, `expm1`.

    Examples
    --------
    >>> dk.expm1(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 1.7183])
    """
    return xp.expm1(x)


@expm1.def_partial
def expm1_partial(y):
    return y + 1


@exponential(passthrough=True, domain=(0.1, 3.0), gives="float", special="-inf at 0, NaN for negative numbers")
def log(xp: Namespace, x: Array, /) -> Array:
    """Return the natural logarithm of each element.

    Notes
    -----
    ``dy/dx = 1 / x``. Source: array API standard, `log`.

    Examples
    --------
    >>> dk.log(dk.asarray([1.0, 2.0]))
    tensor([0.0000, 0.6931])
    """
    return xp.log(x)


@log.def_partial
def log_partial(x):
    return 1 / x


@exponential(passthrough=True, domain=(-0.5, 2.0), gives="float", special="-inf at -1, NaN below")
def log1p(xp: Namespace, x: Array, /) -> Array:
    """Return the natural logarithm of one plus each element, accurately near 0.

    Notes
    -----
    ``dy/dx = 1 / (1 + x)``. Source: array API standard, `log1p`.

    Examples
    --------
    >>> dk.log1p(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 0.6931])
    """
    return xp.log1p(x)


@log1p.def_partial
def log1p_partial(x):
    return 1 / (1 + x)


@exponential(passthrough=True, domain=(0.1, 3.0), gives="float", special="-inf at 0, NaN for negative numbers")
def log2(xp: Namespace, x: Array, /) -> Array:
    """Return the logarithm to the base 2 of each element.

    Notes
    -----
    ``dy/dx = 1 / (x * log(2))``. Source: array API standard, `log2`.

    Examples
    --------
    >>> dk.log2(dk.asarray([1.0, 8.0]))
    tensor([0., 3.])
    """
    return xp.log2(x)


@log2.def_partial
def log2_partial(x):
    return 1 / (x * math.log(2))


@exponential(passthrough=True, domain=(0.1, 3.0), gives="float", special="-inf at 0, NaN for negative numbers")
def log10(xp: Namespace, x: Array, /) -> Array:
    """Return the logarithm to the base 10 of each element.

    Notes
    -----
    ``dy/dx = 1 / (x * log(10))``. Source: array API standard, `log10`.

    Examples
    --------
    >>> dk.log10(dk.asarray([1.0, 100.0]))
    tensor([0., 2.])
    """
    return xp.log10(x)


@log10.def_partial
def log10_partial(x):
    return 1 / (x * math.log(10))


@exponential(passthrough=True, real=True, gives="float")
def logaddexp(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Add numbers that are given by their logarithms: ``log(exp(x1) + exp(x2))`` without overflow.

    Notes
    -----
    ``dy/dx1 = sigmoid(x1 - x2)``, ``dy/dx2 = sigmoid(x2 - x1)``; equal infinities share evenly, where PyTorch has NaN.
    Source: array API standard, `logaddexp`.

    Examples
    --------
    >>> dk.logaddexp(dk.asarray([1000.0]), 1000.0)
    tensor([1000.6931])
    """
    return xp.logaddexp(x1, x2)


@logaddexp.def_partial("x1")
def logaddexp_partial_x1(xp, x1, x2):
    return logistic(xp, _lead(xp, x1, x2))


@logaddexp.def_partial("x2")
def logaddexp_partial_x2(xp, x1, x2):
    return logistic(xp, _lead(xp, x2, x1))


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
    return logistic(xp, x)


def logistic(xp: Namespace, x: Any) -> Any:
    """Return the logistic function of real numbers."""
    opposite = xp.multiply(x, -1.0)
    if isinstance(x, np.ndarray):  # which is not followed: one exponential will do
        e = np.exp(np.minimum(x, opposite))
        return np.maximum(e, x >= 0) / (e + 1)
    # All exponents are at most 0. At 0 the derivatives are those of exp(x / 2) / (exp(x / 2) + exp(-x / 2)), the same,
    # so those of all orders are right.
    grows, falls = xp.exp(xp.minimum(x, 0.0)), xp.exp(xp.minimum(opposite, 0.0))
    return xp.divide(grows, xp.add(grows, falls))


@sigmoid.def_partial
def sigmoid_partial(y):
    return y * (1 - y)


@complex_parts(passthrough=True, properties=("real",), gives="real", special="in memory of its own")
def real(xp: Namespace, x: Array, /) -> Array:
    """Return the real part of each element.

    Notes
    -----
    A real cotangent is that of `x`. Source: array API standard, `real`.

    Examples
    --------
    >>> dk.real(dk.asarray([1 + 2j]))
    tensor([1.])
    """
    return xp.real(x)


@real.def_transpose
def real_transpose(g):
    return g


@complex_parts(
    passthrough=True, properties=("imag",), gives="real", special="in memory of its own, zeros where `x` is real"
)
def imag(xp: Namespace, x: Array, /) -> Array:
    """Return the imaginary part of each element.

    Notes
    -----
    The cotangent of `x` is the real one multiplied by ``1j``. Source: array API standard, `imag`.

    Examples
    --------
    >>> dk.imag(dk.asarray([1 + 2j]))
    tensor([2.])
    """
    return xp.imag(x)


@imag.def_transpose
def imag_transpose(xp, g, x):
    return 1j * xp.astype(g, x.dtype) if holds_complex(x) else xp.zeros_like(g)


@complex_parts(passthrough=True, gives="same")
def conj(xp: Namespace, x: Array, /) -> Array:
    """Return the complex conjugate of each element.

    Notes
    -----
    The cotangent of `x` is the conjugate one. Source: array API standard, `conj`.

    Examples
    --------
    >>> dk.conj(dk.asarray([1 + 2j]))
    tensor([1.-2.j], dtype=complex128)
    """
    return xp.conj(x)


@conj.def_transpose
def conj_transpose(xp, g):
    return xp.conj(g)


conjugate = alias("conjugate", conj)
