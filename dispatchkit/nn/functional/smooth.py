"""Activations that are smooth: `gelu`, `silu`, `mish`, `softplus`, `softsign`, `logsigmoid`, `glu`."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Literal

import numpy as np

from dispatchkit.backends.arrays import computes_alone
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.samples import draw, sample
from dispatchkit.nn.functional import smooth_numpy
from dispatchkit.nn.functional.rows import DTYPES
from dispatchkit.nn.functional.shared import activation, called, function, real_floats
from dispatchkit.ops.elementwise.exponential import sigmoid
from dispatchkit.ops.shared import along, normal_axis, shape_of
from dispatchkit.ops.special import ndtr
from dispatchkit.tensor import Tensor

__all__ = ["gelu", "glu", "logsigmoid", "mish", "silu", "softplus", "softsign"]

Approximation = Literal["none", "tanh"]
ROOT, CUBIC = smooth_numpy.ROOT, smooth_numpy.CUBIC
# From here on the hyperbolic tangents below are 1 and the normal density is 0 in double precision.
SATURATED = 40.0
# Elements from which on loops in single precision take less time than SciPy, and compute a derivative with the value.
FEWEST = 1 << 12


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
    if _exact_single(approximate, x, g):
        return smooth_numpy.gelu_slope(g, x)
    return g * gelu_partial(xp, x, approximate)


def gelu_numpy_flow(x, /, *, approximate="none"):
    if type(x) is not np.ndarray or x.dtype not in DTYPES or not x.ndim or not computes_alone("numpy"):
        return NotImplemented
    if approximate == "tanh":
        return smooth_numpy.gelu_by_tanh(x, SATURATED)
    if not _exact_single(approximate, x) or _is_few(x):
        return smooth_numpy.gelu_of_normal(x, _normal(numpy_namespace, x, approximate), SATURATED)
    if x.size < FEWEST:  # the formula takes as long
        return NotImplemented
    y, slope = smooth_numpy.gelu_and_slope(x)
    return y, lambda g, wanted: (g[0] * slope,)


@gelu.def_kernel("numpy", flow=gelu_numpy_flow, reads=("x",))
def gelu_numpy(x, /, *, approximate="none"):
    if not _exact_single(approximate, x):
        return NotImplemented
    if _is_few(x):
        return smooth_numpy.gelu_of_normal(x, _normal(numpy_namespace, x, approximate), SATURATED)[0]
    return smooth_numpy.gelu(x)


def _is_few(x: Any) -> bool:
    """Return whether SciPy takes less time than the loops in single precision, whose calls take longer."""
    return x.ndim > 0 and x.size < FEWEST and _has_scipy()


@cache
def _has_scipy() -> bool:
    try:
        _normal(numpy_namespace, np.zeros(1), "none")
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
    # Of few the rule takes as long.
    if not smooth_numpy.are_alike(x) or x.size < FEWEST or not computes_alone("numpy"):
        return NotImplemented
    y, s = smooth_numpy.silu_and_sigmoid(x)
    return y, lambda g, wanted: (smooth_numpy.silu_slope(g[0], x, s),)


@silu.def_kernel("numpy", flow=silu_numpy_flow, reads=("x",))
def silu_numpy(x, /):
    if not smooth_numpy.are_alike(x):
        return _silu(numpy_namespace, x)
    return smooth_numpy.silu(x)


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


@softplus.def_kernel("numpy")
def softplus_numpy(x, /, beta=1.0, threshold=20.0):
    if type(x) is not np.ndarray or x.dtype not in DTYPES or beta != 1 or type(threshold) not in (int, float):
        return _softplus(numpy_namespace, x, beta, threshold)
    y, beyond = numpy_namespace.logaddexp(x, 0.0), x > threshold
    if beyond.any():
        return numpy_namespace.where(beyond, x, y)
    return y


@softplus.def_partial
def softplus_partial(xp, x, beta, threshold):
    return xp.where(x * beta > threshold, 1.0, called(xp, sigmoid, x * beta))


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
    return -xp.logaddexp(-real_floats(xp, logsigmoid, x), 0.0)


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
