"""Special functions."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from dispatchkit.accelerator import computed_by
from dispatchkit.backends.arrays import holds_complex, is_inexact, is_lazy
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.numpy_special import erf as erf_of_singles
from dispatchkit.backends.numpy_sums import DOUBLE, HALF, SINGLE
from dispatchkit.declare.decorators import special
from dispatchkit.declare.namespace import enter
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.declare.wrapping import holds, values_of_batch
from dispatchkit.ops.creation.dtypes import dtype_of_scalar
from dispatchkit.ops.elementwise.exponential import sigmoid
from dispatchkit.ops.shared import Named, integer

__all__ = ["digamma", "erf", "erfc", "erfinv", "expit", "gammaln", "logit", "ndtr", "polygamma", "xlogy"]


def compute(xp: Namespace, op: Named, *args: Any) -> Any:
    """Return a special function of arrays.

    Parameters
    ----------
    xp : namespace that computes on the arrays
    op : the operation of that name
    args : as both SciPy and PyTorch take them

    Raises
    ------
    TypeError : for complex numbers
    ImportError : where SciPy is needed and not installed
    """
    for arg in args:
        if holds_complex(arg):
            raise TypeError(f"{op.__name__}: takes real numbers, found complex ones: {getattr(arg, 'dtype', arg)}")
    if xp is numpy_namespace:
        return _in_half_precision(args, scipy_function(op.__name__)(*args))
    if hasattr(xp, "special"):
        return getattr(xp.special, op.__name__)(*args)
    if xp.__name__ == "jax.numpy" and (function := _jax_function(op.__name__)) is not None:
        return function(*args)
    numbers = [arg if isinstance(arg, (int, float)) or is_lazy(arg) else np.asarray(arg) for arg in args]
    return xp.asarray(scipy_function(op.__name__)(*numbers))


def _in_half_precision(args: tuple[Any, ...], y: Any) -> Any:
    """Return what SciPy gives, which has no functions in half precision, in the dtype that NumPy's functions give."""
    if any(getattr(arg, "dtype", None) is HALF for arg in args):
        return y.astype(np.result_type(*args), copy=False)
    return y


@functools.cache
def _jax_function(name: str) -> Any:
    """Return the function of JAX, which keeps its special functions apart from its array namespace."""
    from jax.scipy import special  # noqa: PLC0415  # optional dependency

    return getattr(special, name, None)


@functools.cache
def scipy_function(name: str) -> Any:
    """Return the function of SciPy of a name.

    Raises
    ------
    ImportError : where SciPy is not installed
    """
    try:
        from scipy import special  # noqa: PLC0415  # optional dependency
    except ImportError as error:
        raise ImportError(
            f'dispatchkit.special.{name} computes with SciPy, which is not installed: pip install "dispatchkit[scipy]"'
        ) from error
    return getattr(special, name)


@special(special="from -1 to 1")
def erf(xp: Namespace, x: Array, /) -> Array:
    """Return the error function of each element.

    Raises
    ------
    ImportError : where SciPy is needed and not installed

    Notes
    -----
    The integral of ``2 / sqrt(pi) * exp(-t**2)`` from 0 to x, so ``dy/dx = 2 / sqrt(pi) * exp(-x**2)``. Source:
    SciPy, `scipy.special.erf`.

    Examples
    --------
    >>> dk.special.erf(dk.asarray([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """
    return compute(xp, erf, x)


# Elements from which on SciPy, which computes in double precision, takes longer.
MANY = 1 << 9


@erf.def_kernel("numpy")
def erf_numpy(x, /):
    if type(x) is np.ndarray and x.dtype is SINGLE and x.size >= MANY:
        return erf_of_singles(x)
    if type(x) is np.ndarray and x.dtype is DOUBLE and x.ndim:
        return _erf_of_doubles(x, scipy_function("erf"))
    return compute(numpy_namespace, erf, x)


@computed_by("error_function")
def _erf_of_doubles(x: Any, erf_of_scipy: Any) -> Any:
    return erf_of_scipy(x)


@erf.def_partial
def erf_partial(xp, x):
    return 2 / math.sqrt(math.pi) * xp.exp(-x * x)


@erf.def_vjp
def erf_vjp(xp, g, x):
    if type(g) is type(x) is np.ndarray:
        return _erf_slope(g, x)
    return g * erf_partial(xp, x)


@computed_by("error_function_slope")
def _erf_slope(g: Any, x: Any) -> Any:
    return g * erf_partial(np, x)


@special(special="from 0 to 2")
def erfc(xp: Namespace, x: Array, /) -> Array:
    """Return one minus the error function of each element, accurately where that is near 1.

    Raises
    ------
    ImportError : where SciPy is needed and not installed

    Notes
    -----
    ``dy/dx = -2 / sqrt(pi) * exp(-x**2)``. Source: SciPy, `scipy.special.erfc`.

    Examples
    --------
    >>> dk.special.erfc(dk.asarray([0.0, 1.0]))
    tensor([1.0000, 0.1573])
    """
    return compute(xp, erfc, x)


erfc.def_partial(lambda xp, x: -2 / math.sqrt(math.pi) * xp.exp(-x * x))


@special(domain=(-0.9, 0.9), special="infinite at -1 and 1, NaN beyond")
def erfinv(xp: Namespace, x: Array, /) -> Array:
    """Return the inverse of the error function of each element.

    Raises
    ------
    ImportError : where SciPy is needed and not installed

    Notes
    -----
    ``dy/dx = sqrt(pi) / 2 * exp(y**2)``, infinite at -1 and 1. Source: SciPy, `scipy.special.erfinv`.

    Examples
    --------
    >>> dk.special.erfinv(dk.asarray([0.0, 0.5]))
    tensor([0.0000, 0.4769])
    """
    return compute(xp, erfinv, x)


@erfinv.def_partial
def erfinv_partial(xp: Namespace, x: Array) -> Array:
    y = compute(xp, erfinv, x)  # computed again, as in PyTorch: a program may change the result in place
    return math.sqrt(math.pi) / 2 * xp.exp(y * y)


@special(special="from 0 to 1")
def ndtr(xp: Namespace, x: Array, /) -> Array:
    """Return the distribution function of the standard normal distribution at each element.

    Raises
    ------
    ImportError : where SciPy is needed and not installed

    Notes
    -----
    ``dy/dx = exp(-x**2 / 2) / sqrt(2 * pi)``, the density. Source: SciPy, `scipy.special.ndtr`.

    Examples
    --------
    >>> dk.special.ndtr(dk.asarray([0.0, 2.0]))
    tensor([0.5000, 0.9772])
    """
    return compute(xp, ndtr, x)


ndtr.def_partial(lambda xp, x: xp.exp(-x * x / 2) / math.sqrt(2 * math.pi))


@special(domain=(0.5, 4.0), special="infinite at 0 and the negative integers")
def gammaln(xp: Namespace, x: Array, /) -> Array:
    """Return the logarithm of the absolute value of the gamma function of each element.

    Raises
    ------
    ImportError : where SciPy is needed and not installed

    Notes
    -----
    ``dy/dx = digamma(x)``, infinite at 0 and NaN at the negative integers. Source: SciPy, `scipy.special.gammaln`.

    Examples
    --------
    >>> dk.special.gammaln(dk.asarray([1.0, 4.0]))
    tensor([0.0000, 1.7918])
    """
    return compute(xp, gammaln, x)


@gammaln.def_partial
def gammaln_partial(xp, x):
    return compute(xp, digamma, x)


@special(domain=(0.5, 4.0), special="infinite at 0, NaN at the negative integers")
def digamma(xp: Namespace, x: Array, /) -> Array:
    """Return the derivative of the logarithm of the gamma function at each element.

    Raises
    ------
    ImportError : where SciPy is needed and not installed

    Notes
    -----
    ``dy/dx = polygamma(1, x)``, infinite at 0 and the negative integers, where PyTorch has large numbers.
    Source: SciPy, `scipy.special.digamma`.

    Examples
    --------
    >>> dk.special.digamma(dk.asarray([1.0, 2.0]))
    tensor([-0.5772,  0.4228])
    """
    return compute(xp, digamma, x)


@digamma.def_partial
def digamma_partial(xp, x):
    return compute(xp, polygamma, 1, x)


@special(
    samples=[
        *[sample(n, draw(2, 3, low=0.5, high=4.0)) for n in (0, 1, 2)],
        sample(1, draw(low=0.5, high=4.0)),
        sample(np.asarray([0, 3, 1]), draw(2, 3, low=0.5, high=4.0)),
    ]
)
def polygamma(xp: Namespace, n: int | Array, x: Array, /) -> Array:
    """Return the n-th derivative of `digamma` at each element.

    Parameters
    ----------
    n : an int from 0 on, or an array of ints, which broadcasts with `x`

    Raises
    ------
    TypeError : if `n` is no int, and no array of ints; for complex numbers
    ValueError : if `n`, or one of its elements, is negative
    ImportError : where SciPy is needed and not installed

    Notes
    -----
    ``dy/dx = polygamma(n + 1, x)``. Source: SciPy, `scipy.special.polygamma`.

    Examples
    --------
    >>> dk.special.polygamma(1, dk.asarray([1.0, 2.0]))
    tensor([1.6449, 0.6449])
    """
    if getattr(n, "ndim", 0):
        y = _of_orders(xp, n, x)
    else:
        y = compute(xp, polygamma, integer(polygamma, "n", n, least=0), x)
    dtype = dtype_of_scalar(x)
    # SciPy's goes by way of double precision.
    if is_inexact(dtype):
        return xp.astype(y, dtype, copy=False)
    return y


def _of_orders(xp: Namespace, n: Any, x: Any) -> Any:
    """Return derivatives of `digamma` by an array of orders."""
    if not xp.isdtype(n.dtype, "integral"):
        raise TypeError(f"{polygamma.__name__}: n must be an int or an array of ints, found one of {n.dtype}")
    if not holds(n >= 0, traced=True):
        raise ValueError(f"{polygamma.__name__}: n must be at least 0 everywhere, found {n}")
    if xp is numpy_namespace or not hasattr(xp, "special"):
        return compute(xp, polygamma, n, x)
    # PyTorch takes one order.
    y = x + xp.zeros_like(n, dtype=x.dtype)
    orders = values_of_batch(n)
    if hasattr(orders, "tolist"):  # of PyTorch, which gives NumPy no array of a GPU
        orders = orders.tolist()
    for order in np.unique(np.asarray(orders)).tolist():
        y = xp.where(n == order, compute(xp, polygamma, order, x), y)
    return y


@polygamma.def_partial("x")
def polygamma_partial_x(xp, n, x):
    if getattr(n, "ndim", 0):
        return _of_orders(xp, n + 1, x)
    return compute(xp, polygamma, n + 1, x)


@special(domain=(0.1, 3.0))
def xlogy(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Return ``x1 * log(x2)``, and 0 where `x1` is 0.

    Returns
    -------
    array of the broadcast shape, floating-point; NaN where `x2` is, also where `x1` is 0

    Raises
    ------
    ImportError : where SciPy is needed and not installed

    Notes
    -----
    ``dy/dx1 = log(x2)``, and 0 where `x1` is 0 and `x2` not positive; ``dy/dx2 = x1 / x2``, NaN where both are 0.
    Source: SciPy, `scipy.special.xlogy`; PyTorch for the derivatives where `x1` is 0.

    Examples
    --------
    >>> dk.special.xlogy(dk.asarray([0.0, 2.0]), dk.asarray([0.0, 3.0]))
    tensor([0.0000, 2.1972])
    """
    return compute(xp, xlogy, _beside(xp, x1, x2), _beside(xp, x2, x1))


def _beside(xp: Namespace, value: Any, other: Any) -> Any:
    """Return a Python number as an array of the other argument's dtype, since SciPy would make it float64."""
    dtype = getattr(other, "dtype", None)
    weak = type(value) in (bool, int, float) and dtype is not None and is_inexact(dtype)
    if weak:
        return xp.asarray(value, dtype=dtype)
    return value


@xlogy.def_partial("x1")
def xlogy_partial_x1(xp, x1, x2):
    nothing = (x1 == 0) & (x2 <= 0)
    return xp.where(nothing, 0.0, xp.log(xp.where(nothing, 1.0, x2)))


xlogy.def_partial("x2")(lambda x1, x2: x1 / x2)


@special(domain=(0.1, 0.9), special="infinite at 0 and 1, NaN beyond")
def logit(xp: Namespace, x: Array, /) -> Array:
    """Return ``log(x / (1 - x))`` of each element, the inverse of `expit`.

    Raises
    ------
    ImportError : where SciPy is needed and not installed

    Notes
    -----
    ``dy/dx = 1 / (x * (1 - x))``, infinite at 0 and 1, NaN beyond. Source: SciPy, `scipy.special.logit`.

    Examples
    --------
    >>> dk.special.logit(dk.asarray([0.5, 0.75]))
    tensor([0.0000, 1.0986])
    """
    return compute(xp, logit, x)


@logit.def_partial
def logit_partial(xp, x):
    # The absolute value of -0.0 is 0.0: the logarithm rises on either side.
    return xp.where((x < 0) | (x > 1), math.nan, 1 / (xp.abs(x) * (1 - x)))


expit = sigmoid
enter("special.expit", sigmoid)
