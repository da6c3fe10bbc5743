"""Activations that are smooth: `gelu`, `silu`, `mish`, `softplus`, `softsign`, `logsigmoid`, `glu`."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Literal

import numpy as np

from dispatchkit.accelerator import core
from dispatchkit.backends.arrays import computes_alone
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.numpy_choices import DTYPES
from dispatchkit.backends.numpy_sums import SINGLE
from dispatchkit.declare.samples import draw, sample
from dispatchkit.nn.functional import smooth_numpy
from dispatchkit.nn.functional.shared import activation, called, function, real_floats
from dispatchkit.ops.elementwise.exponential import sigmoid
from dispatchkit.ops.shared import along, normal_axis, shape_of
from dispatchkit.ops.special import ndtr, scipy_function
from dispatchkit.tensor import Tensor

__all__ = ["gelu", "glu", "logsigmoid", "mish", "silu", "softplus", "softsign"]

Approximation = Literal["none", "tanh"]
ROOT, CUBIC = smooth_numpy.ROOT, smooth_numpy.CUBIC
# From here on the hyperbolic tangents below are 1 and the normal density is 0 in double precision.
SATURATED = 40.0
# Elements from which on loops in single precision take less time than SciPy, and compute a derivative with the value.
FEWEST = 1 << 12
# Elements from which on the logistic function is kept for the derivative of silu.
FLOWING = 1 << 13


@activation(
    samples=lambda: [
        sample(draw(2, 3), approximate="tanh"),
        sample(draw(2, 3)),
        sample(draw(), approximate="tanh"),
        sample(draw(0, 2), approximate="none"),
    ],
    special="NaN at minus infinity",
)
def gelu(xp: Any, x: Tensor, /, *, approximate: Approximation = "none") -> Tensor:
    """Multiply each element by the standard normal distribution function at it.

    Parameters
    ----------
    approximate : ``"none"`` for the exact function, which SciPy computes but in single precision; ``"tanh"`` for one
        made of a hyperbolic tangent

    Raises
    ------
    ValueError : for another `approximate`
    ImportError : where SciPy is needed and not installed

    Notes
    -----
    ``x * ndtr(x)``, or ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``. Source: PyTorch,
    `torch.nn.functional.gelu`.

    Examples
    --------
    >>> dk.nn.functional.gelu(dk.asarray([-1.0, 0.0, 2.0]))
    tensor([-0.1587,  0.0000,  1.9545])
    """
    x = real_floats(xp, gelu, x)
    if approximate == "tanh":
        return 0.5 * x * (1.0 + xp.tanh(_argument(xp, x)))
    return x * _normal(xp, x, approximate)


@gelu.def_partial
def gelu_partial(xp, x, approximate):
    if approximate == "tanh":
        t = xp.tanh(_argument(xp, x))
        bounded = xp.clip(x, -SATURATED, SATURATED)
        slope = ROOT * (1.0 + 3.0 * CUBIC * bounded * bounded)
        return 0.5 * (1.0 + t) + 0.5 * bounded * (1.0 - t * t) * slope
    if _exact_single(approximate, x):
        return smooth_numpy.gelu_slope(xp.ones_like(x), x)
    bounded = xp.clip(x, -SATURATED, SATURATED)
    density = xp.exp(-0.5 * bounded * bounded) / math.sqrt(2 * math.pi)
    return _normal(xp, x, approximate) + bounded * density


@gelu.def_vjp
def gelu_vjp(xp, g, x, approximate):
    if smooth_numpy.are_alike(x, g):
        if approximate == "tanh":
            return smooth_numpy.slope_by_tanh(g, x, SATURATED)
        if not _exact_single(approximate, x, g):
            return smooth_numpy.gelu_slope_by(g, x, lambda x: _normal(xp, x, approximate), SATURATED)
        ndtr_of_scipy = _ndtr_of_scipy(x)
        if x.size < FEWEST and ndtr_of_scipy is not None:
            return smooth_numpy.slope_of_normal(g, x, ndtr_of_scipy(x), SATURATED)
        return smooth_numpy.gelu_slope(g, x)
    return g * gelu_partial(xp, x, approximate)


def gelu_numpy_flow(x, /, *, approximate="none"):
    # The compiled core computes the derivative of its own in the time that memory for what it is made of would take.
    if core is not None or approximate != "none" or type(x) is not np.ndarray or not computes_alone("numpy"):
        return NotImplemented
    if smooth_numpy.is_single(x):
        y, slope = smooth_numpy.gelu_and_slope(x)
        return y, lambda g, wanted: (g[0] * slope,)
    if not smooth_numpy.are_alike(x) or (ndtr_of_scipy := _ndtr_of_scipy(x)) is None:
        return NotImplemented
    normal = ndtr_of_scipy(x)
    y = smooth_numpy.gelu_of_normal(x, normal.copy())
    return y, lambda g, wanted: (smooth_numpy.slope_of_normal(g[0], x, normal, SATURATED),)


@gelu.def_kernel("numpy", flow=gelu_numpy_flow, reads=("x",), fewest=FEWEST)
def gelu_numpy(x, /, *, approximate="none"):
    if type(x) is np.ndarray and x.dtype not in DTYPES:
        x = real_floats(numpy_namespace, gelu, x)
    if not smooth_numpy.are_alike(x):
        return NotImplemented
    if approximate == "tanh":
        return smooth_numpy.gelu_by_tanh(x)
    if approximate != "none":
        return NotImplemented
    # Of few elements SciPy takes less time than loops in single precision, whose calls take longer.
    ndtr_of_scipy = _ndtr_of_scipy(x)
    if x.dtype is SINGLE and (x.size >= FEWEST or ndtr_of_scipy is None):
        return smooth_numpy.gelu(x)
    if ndtr_of_scipy is None:
        return NotImplemented
    return smooth_numpy.gelu_by(x, ndtr_of_scipy)


def _ndtr_of_scipy(x: Any) -> Any:
    """Return what computes the normal distribution function of an array, None of one without axes."""
    if x.ndim and _has_scipy():
        try:
            return scipy_function("ndtr")
        except ImportError:  # the body says what to install
            pass
    return None


@cache
def _has_scipy() -> bool:
    try:
        scipy_function("ndtr")
    except ImportError:
        return False
    return True


def _exact_single(approximate: str, *arrays: Any) -> bool:
    return approximate == "none" and smooth_numpy.is_single(*arrays)


def _argument(xp: Any, x: Any) -> Any:
    """Return what the hyperbolic tangent is taken of, without overflow."""
    x = xp.clip(x, -SATURATED, SATURATED)
    return ROOT * (x + CUBIC * x * x * x)


def _normal(xp: Any, x: Any, approximate: str) -> Any:
    """Return the standard normal distribution function.

    Raises
    ------
    ValueError : for another approximation than none
    ImportError : where SciPy is needed and not installed
    """
    if approximate != "none":
        raise ValueError(f"{gelu.__name__}: approximate must be 'none' or 'tanh', found {approximate!r}")
    try:
        return called(xp, ndtr, x)
    except ImportError as error:
        raise ImportError(
            f"{gelu.__name__}: the exact function is computed with SciPy, which is not installed: "
            f'pip install "dispatchkit[scipy]", or choose approximate="tanh"'
        ) from error


@activation(special="NaN at minus infinity")
def silu(xp: Any, x: Tensor, /) -> Tensor:
    """Multiply each element by its logistic function: ``x * sigmoid(x)``, also called swish.

    Notes
    -----
    ``dy/dx = s * (1 + x * (1 - s))`` with ``s = sigmoid(x)``. Source: PyTorch, `torch.nn.functional.silu`.

    Examples
    --------
    >>> dk.nn.functional.silu(dk.asarray([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """
    return _silu(xp, x)


def _silu(xp: Any, x: Any) -> Any:
    x = real_floats(xp, silu, x)
    return x * called(xp, sigmoid, x)


def silu_numpy_flow(x, /):
    if core is not None or not smooth_numpy.are_alike(x) or not computes_alone("numpy"):
        return NotImplemented
    y, s = smooth_numpy.silu_and_sigmoid(x)
    return y, lambda g, wanted: (smooth_numpy.silu_slope(g[0], x, s),)


@silu.def_kernel("numpy", flow=silu_numpy_flow, reads=("x",), fewest=FLOWING)
def silu_numpy(x, /):
    if type(x) is np.ndarray and x.dtype in DTYPES:
        return smooth_numpy.silu(x)
    return _silu(numpy_namespace, x)


@silu.def_partial
def silu_partial(xp, x):
    s = called(xp, sigmoid, x)
    return s * (1.0 + x * (1.0 - s))


@silu.def_vjp
def silu_vjp(xp, g, x):
    if smooth_numpy.are_alike(x, g):
        return smooth_numpy.silu_slope(g, x)
    return g * silu_partial(xp, x)


@activation(special="NaN at minus infinity")
def mish(xp: Any, x: Tensor, /) -> Tensor:
    """Multiply each element by the hyperbolic tangent of its softplus.

    Notes
    -----
    ``x * tanh(log(1 + exp(x)))``. Source: PyTorch, `torch.nn.functional.mish`.

    Examples
    --------
    >>> dk.nn.functional.mish(dk.asarray([-1.0, 0.0, 2.0]))
    tensor([-0.3034,  0.0000,  1.9440])
    """
    x = real_floats(xp, mish, x)
    return x * xp.tanh(xp.logaddexp(x, 0.0))


@mish.def_partial
def mish_partial(xp, x):
    t = xp.tanh(xp.logaddexp(x, 0.0))
    return t + x * (1.0 - t * t) * called(xp, sigmoid, x)


@activation(
    samples=lambda: [
        sample(draw(2, 3)),
        sample(draw(3), 2.0, 1.0),
        sample(draw(2, 2), beta=0.5, threshold=0.5),
        sample(draw()),
        sample(draw(0, 2)),
    ],
)
def softplus(xp: Any, x: Tensor, /, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return ``log(1 + exp(beta * x)) / beta`` of each element, and the element where that is as good as equal.

    Parameters
    ----------
    beta : how sharp the bend at 0 is
    threshold : where ``beta * x`` is above, the element itself is returned

    Raises
    ------
    ValueError : if `beta` is 0

    Notes
    -----
    ``dy/dx = sigmoid(beta * x)``, and 1 above the threshold. Source: PyTorch, `torch.nn.functional.softplus`.

    Examples
    --------
    >>> dk.nn.functional.softplus(dk.asarray([-1.0, 0.0, 30.0]))
    tensor([ 0.3133,  0.6931, 30.0000])
    """
    return _softplus(xp, x, beta, threshold)


def _softplus(xp: Any, x: Any, beta: float, threshold: float) -> Any:
    if beta == 0:
        raise ValueError(f"{softplus.__name__}: beta must not be 0")
    x = real_floats(xp, softplus, x)
    scaled = x * beta
    return xp.where(scaled > threshold, x, xp.logaddexp(scaled, 0.0) / beta)


# Where the exponential of the opposite is less than what single precision tells apart.
FAR_SINGLE = 18


@softplus.def_kernel("numpy")
def softplus_numpy(x, /, beta=1.0, threshold=20.0):
    if not smooth_numpy.are_alike(x) or beta != 1 or type(threshold) not in (int, float):
        return _softplus(numpy_namespace, x, beta, threshold)
    y = smooth_numpy.softplus(x)
    if x.dtype is SINGLE and threshold >= FAR_SINGLE:
        return y
    beyond = x > threshold
    if x.size < FEWEST:
        np.copyto(y, x, where=beyond)
    elif beyond.any():
        return numpy_namespace.where(beyond, x, y)
    return y


@softplus.def_partial
def softplus_partial(xp, x, beta, threshold):
    return xp.where(x * beta > threshold, 1.0, called(xp, sigmoid, x * beta))


@softplus.def_vjp
def softplus_vjp(xp, g, x, beta, threshold):
    if smooth_numpy.are_alike(x, g) and beta == 1 and type(threshold) in (int, float):
        return smooth_numpy.softplus_slope(g, x, float(threshold))
    return g * softplus_partial(xp, x, beta, threshold)


@activation(special="NaN at infinities")
def softsign(xp: Any, x: Tensor, /) -> Tensor:
    """Divide each element by one plus its absolute value.

    Notes
    -----
    ``dy/dx = 1 / (1 + abs(x))**2``. Source: PyTorch, `torch.nn.functional.softsign`.

    Examples
    --------
    >>> dk.nn.functional.softsign(dk.asarray([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    x = real_floats(xp, softsign, x)
    return x / (xp.abs(x) + 1.0)


@softsign.def_partial
def softsign_partial(xp, x):
    part = 1.0 / (xp.abs(x) + 1.0)
    return part * part


@activation()
def logsigmoid(xp: Any, x: Tensor, /) -> Tensor:
    """Return the logarithm of the logistic function of each element, without overflow.

    Notes
    -----
    ``-log(1 + exp(-x))``, so ``dy/dx = sigmoid(-x)``. Source: PyTorch, `torch.nn.functional.logsigmoid`.

    Examples
    --------
    >>> dk.nn.functional.logsigmoid(dk.asarray([-50.0, 0.0]))
    tensor([-50.0000,  -0.6931])
    """
    return _logsigmoid(xp, x)


def _logsigmoid(xp: Any, x: Any) -> Any:
    return -xp.logaddexp(-real_floats(xp, logsigmoid, x), 0.0)


@logsigmoid.def_kernel("numpy")
def logsigmoid_numpy(x, /):
    if smooth_numpy.are_alike(x):
        return smooth_numpy.logsigmoid(x)
    return _logsigmoid(numpy_namespace, x)


@logsigmoid.def_partial
def logsigmoid_partial(xp, x):
    return called(xp, sigmoid, -x)


@function(
    samples=lambda: [sample(draw(2, 4)), sample(draw(2, 3), axis=0), sample(draw(6)), sample(draw(2, 0))],
    real=True,
)
def glu(xp: Any, x: Tensor, /, axis: int = -1) -> Tensor:
    """Multiply the first half of the elements along an axis by the logistic function of the second.

    Parameters
    ----------
    x : array of real numbers, of shape (..., 2 * n, ...)
    axis : that is halved

    Returns
    -------
    array of shape (..., n, ...), floating-point also for integers

    Raises
    ------
    ValueError : if there is an odd number of elements along the axis

    Notes
    -----
    ``a * sigmoid(b)`` for the halves `a` and `b`. Source: PyTorch, `torch.nn.functional.glu`, with `dim`.

    Examples
    --------
    >>> dk.nn.functional.glu(dk.asarray([1.0, 2.0, 0.0, 100.0]))
    tensor([0.5000, 2.0000])
    """
    x = real_floats(xp, glu, x)
    place = normal_axis(axis, x.ndim, glu.__name__)
    half, odd = divmod(x.shape[place], 2)
    if odd:
        raise ValueError(
            f"{glu.__name__}: axis {axis} must have an even number of elements, found {x.shape[place]} in the "
            f"shape {shape_of(x)}"
        )
    return x[along(place, slice(None, half))] * called(xp, sigmoid, x[along(place, slice(half, None))])
