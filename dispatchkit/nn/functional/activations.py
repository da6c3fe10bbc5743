"""Activations of straight lines, and those with an exponential on the negative side."""

from __future__ import annotations

from math import isfinite, prod
from typing import Any

import numpy as np

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.numpy_numbers import are_numbers_of, bounded
from dispatchkit.declare.namespace import enter
from dispatchkit.declare.samples import draw, sample
from dispatchkit.nn.functional import activations_numpy
from dispatchkit.nn.functional.rows import DTYPES
from dispatchkit.nn.functional.shared import activation, expect, function, real_floats
from dispatchkit.ops.elementwise.comparison import relu
from dispatchkit.ops.elementwise.exponential import sigmoid
from dispatchkit.ops.elementwise.trigonometry import tanh
from dispatchkit.ops.reductions.softmaxes import log_softmax, softmax
from dispatchkit.ops.shared import shape_of
from dispatchkit.tensor import Tensor

__all__ = [
    "celu",
    "elu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "softmax",
    "tanh",
    "threshold",
]

for _function in (log_softmax, relu, sigmoid, softmax, tanh):
    enter(f"nn.functional.{_function.__name__}", _function)


LEAST = 1e-30  # slope that is none of 0 in single precision
PLAIN = [sample(draw(2, 3, low=-6, high=6)), sample(draw(low=-6, high=6)), sample(draw(0, 2))]


@activation(
    samples=lambda: [*PLAIN, sample(draw(3), 0.2), sample(draw(2, 2), negative_slope=-1.5)],
)
def leaky_relu(xp: Any, x: Tensor, /, negative_slope: float = 0.01) -> Tensor:
    """Multiply negative elements by a slope.

    Parameters
    ----------
    negative_slope : the factor

    Notes
    -----
    ``dy/dx`` is 1 for positive elements and the slope for the others, 0 included. Source: PyTorch,
    `torch.nn.functional.leaky_relu`.

    Examples
    --------
    >>> dk.nn.functional.leaky_relu(dk.asarray([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return _leaky_relu(xp, x, negative_slope)


def _leaky_relu(xp: Any, x: Any, negative_slope: float) -> Any:
    x = real_floats(xp, leaky_relu, x)
    return xp.where(x > 0, x, x * negative_slope)


@leaky_relu.def_partial
def leaky_relu_partial(xp, x, negative_slope):
    return xp.where(x > 0, xp.ones_like(x), negative_slope)


@leaky_relu.def_vjp
def leaky_relu_vjp(xp, g, x, negative_slope):
    return xp.where(x > 0, g, g * negative_slope)


@leaky_relu.def_kernel("numpy")
def leaky_relu_numpy(x, /, negative_slope=0.01):
    # Between 0 and 1 the product is the smaller one of positive elements alone; of infinity times 0 it is no number.
    if type(x) is np.ndarray and x.dtype in DTYPES and type(negative_slope) is float and LEAST <= negative_slope <= 1:
        y = np.asarray(x * negative_slope)
        return np.maximum(x, y, out=y)
    return _leaky_relu(numpy_namespace, x, negative_slope)


@function(
    samples=lambda: [
        sample(draw(2, 3), draw(1)),
        sample(draw(2, 3), draw(3)),
        sample(draw(2, 2, 3), draw(2)),
        sample(draw(3), draw(1)),
        sample(draw(), draw()),
    ],
    real=True,
)
def prelu(xp: Any, x: Tensor, weight: Tensor, /) -> Tensor:
    """Multiply negative elements by slopes that can be learned, one for all or one for each channel.

    Parameters
    ----------
    x : array of real numbers, of shape (N, C, ...), or any for a single slope
    weight : the slopes, array of shape (C,), (1,) or ()

    Returns
    -------
    array of the shape of `x`, floating-point also for integers

    Raises
    ------
    ValueError : if there are several slopes, and not one for each channel

    Notes
    -----
    ``dy/dx`` is 1 for positive elements and the slope for the others, 0 included. Source: PyTorch,
    `torch.nn.functional.prelu`.

    Examples
    --------
    >>> dk.nn.functional.prelu(dk.asarray([[-1.0, -1.0], [2.0, 2.0]]), dk.asarray([0.1, 0.5]))
    tensor([[-0.1000, -0.5000],
            [ 2.0000,  2.0000]])
    """
    x, weight = real_floats(xp, prelu, x), real_floats(xp, prelu, weight, "weight")
    shape = shape_of(x)
    if prod(weight.shape) == 1:
        slopes = xp.reshape(weight, ())
    else:
        channels = 1
        if len(shape) > 1:
            channels = shape[1]
        wanted = f"({channels},), a slope for each channel of an x of shape {shape}, or (1,), one for all"
        expect(prelu, "weight", shape_of(weight), shape_of(weight) == (channels,), wanted)
        slopes = xp.reshape(weight, (channels,) + (1,) * (len(shape) - 2))
    return xp.where(x > 0, x, x * slopes)


@activation(
    samples=lambda: [*PLAIN, sample(draw(2, 3), -0.5, 1.5), sample(draw(3), max_val=0.25)],
    decomposes=False,  # its derivative on the bounds is not that of clip
)
def hardtanh(xp: Any, x: Tensor, /, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Bring each element into the range between two numbers.

    Parameters
    ----------
    min_val, max_val : the bounds

    Raises
    ------
    ValueError : if the bounds cross

    Notes
    -----
    ``dy/dx`` is 1 between the bounds and 0 elsewhere, also on them, where that of `dk.clip` is 1. Source: PyTorch,
    `torch.nn.functional.hardtanh`.

    Examples
    --------
    >>> dk.nn.functional.hardtanh(dk.asarray([-3.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    return _hardtanh(xp, x, min_val, max_val)


def _hardtanh(xp: Any, x: Any, min_val: float, max_val: float) -> Any:
    if min_val > max_val:
        raise ValueError(f"{hardtanh.__name__}: min_val must not exceed max_val, found {min_val} and {max_val}")
    return xp.clip(real_floats(xp, hardtanh, x), min_val, max_val)


@hardtanh.def_kernel("numpy")
def hardtanh_numpy(x, /, min_val=-1.0, max_val=1.0):
    if type(x) is np.ndarray and x.dtype not in DTYPES:
        x = real_floats(numpy_namespace, hardtanh, x)
    if are_numbers_of(x, min_val, max_val) and min_val <= max_val:
        return bounded(x, min_val, max_val)
    return _hardtanh(numpy_namespace, x, min_val, max_val)


@hardtanh.def_partial
def hardtanh_partial(xp, x, min_val, max_val):
    return _not_beyond(xp, x, min_val, max_val)


def _not_beyond(xp: Any, x: Any, low: float, high: float) -> Any:
    """Return 0 where one of two bounds is reached, 1 elsewhere: PyTorch lets NaN pass."""
    return xp.astype(~((x <= low) | (x >= high)), x.dtype)


@activation(domain=(-2.0, 8.0))
def relu6(xp: Any, x: Tensor, /) -> Tensor:
    """Bring each element into the range from 0 to 6.

    Notes
    -----
    ``dy/dx`` is 1 between 0 and 6 and 0 elsewhere, also on the bounds. Source: PyTorch, `torch.nn.functional.relu6`.

    Examples
    --------
    >>> dk.nn.functional.relu6(dk.asarray([-1.0, 2.0, 7.0]))
    tensor([0., 2., 6.])
    """
    return _relu6(xp, x)


def _relu6(xp: Any, x: Any) -> Any:
    return xp.clip(real_floats(xp, relu6, x), 0.0, 6.0)


@relu6.def_kernel("numpy")
def relu6_numpy(x, /):
    if type(x) is np.ndarray and x.dtype not in DTYPES:
        x = real_floats(numpy_namespace, relu6, x)
    if are_numbers_of(x):
        return bounded(x, 0.0, 6.0)
    return _relu6(numpy_namespace, x)


@relu6.def_partial
def relu6_partial(xp, x):
    return _not_beyond(xp, x, 0.0, 6.0)


@activation(domain=(-5.0, 5.0))
def hardsigmoid(xp: Any, x: Tensor, /) -> Tensor:
    """Approximate the logistic function by a line between -3 and 3, by 0 and 1 beyond.

    Notes
    -----
    ``dy/dx`` is 1/6 between -3 and 3 and 0 elsewhere, also at both. Source: PyTorch,
    `torch.nn.functional.hardsigmoid`.

    Examples
    --------
    >>> dk.nn.functional.hardsigmoid(dk.asarray([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return xp.clip(real_floats(xp, hardsigmoid, x) + 3.0, 0.0, 6.0) / 6.0


@hardsigmoid.def_partial
def hardsigmoid_partial(xp, x):
    return xp.astype((x > -3.0) & (x < 3.0), x.dtype) / 6.0


@activation(domain=(-5.0, 5.0))
def hardswish(xp: Any, x: Tensor, /) -> Tensor:
    """Multiply each element by its `hardsigmoid`.

    Notes
    -----
    ``x * (x + 3) / 6`` between -3 and 3, where ``dy/dx = x / 3 + 1 / 2``; 0 below, `x` above. At -3 the derivative
    is 0, at 3 it is 1. Source: PyTorch, `torch.nn.functional.hardswish`.

    Examples
    --------
    >>> dk.nn.functional.hardswish(dk.asarray([-1.0, 1.0, 4.0]))
    tensor([-0.3333,  0.6667,  4.0000])
    """
    return _hardswish(xp, x)


def _hardswish(xp: Any, x: Any) -> Any:
    x = real_floats(xp, hardswish, x)
    bounded = xp.clip(x, -3.0, 3.0)
    return xp.where(x >= 3, x, bounded * (bounded + 3.0) / 6.0)


@hardswish.def_kernel("numpy")
def hardswish_numpy(x, /):
    if type(x) is np.ndarray and x.dtype not in DTYPES:
        x = real_floats(numpy_namespace, hardswish, x)
    if are_numbers_of(x):
        return activations_numpy.hardswish(x)
    return _hardswish(numpy_namespace, x)


@hardswish.def_partial
def hardswish_partial(xp, x):
    return xp.where(x <= -3, 0.0, xp.where(x >= 3, xp.ones_like(x), x / 3.0 + 0.5))


@hardswish.def_vjp
def hardswish_vjp(xp, g, x):
    if xp is numpy_namespace and are_numbers_of(x) and type(g) is np.ndarray:
        return activations_numpy.hardswish_slope(g, x)
    return g * hardswish_partial(xp, x)


@activation(
    samples=[sample(draw(2, 3), 0.5, -1.0), sample(draw(), 0.5, -1.0), sample(draw(0, 2), threshold=0.1, value=20)],
)
def threshold(xp: Any, x: Tensor, /, threshold: float, value: float) -> Tensor:
    """Replace what is not above a threshold by a value.

    Parameters
    ----------
    threshold : the threshold
    value : what replaces

    Notes
    -----
    ``dy/dx`` is 1 above the threshold and 0 elsewhere. Source: PyTorch, `torch.nn.functional.threshold`.

    Examples
    --------
    >>> dk.nn.functional.threshold(dk.asarray([0.5, 2.0]), 1.0, -1.0)
    tensor([-1.,  2.])
    """
    x = real_floats(xp, _threshold, x)
    # Only what is a number and not above: PyTorch lets NaN pass.
    return xp.where(x <= threshold, value, x)


_threshold = threshold


@threshold.def_partial
def threshold_partial(xp, x, threshold):
    return xp.where(x <= threshold, 0.0, xp.ones_like(x))


SAMPLES = [sample(draw(2, 3)), sample(draw()), sample(draw(0, 2)), sample(draw(3), 0.5), sample(draw(2, 2), alpha=2.0)]
# With these the activations of a wide network keep mean 0 and variance 1: Klambauer et al., "Self-Normalizing Neural
# Networks", 2017.
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


@activation(samples=SAMPLES)
def elu(xp: Any, x: Tensor, /, alpha: float = 1.0) -> Tensor:
    """Replace each element that is not positive by ``alpha * (exp(x) - 1)``.

    Parameters
    ----------
    alpha : minus the limit for large negative numbers

    Notes
    -----
    ``dy/dx`` is 1 for positive elements and ``alpha * exp(x)`` for the others. Source: PyTorch,
    `torch.nn.functional.elu`.

    Examples
    --------
    >>> dk.nn.functional.elu(dk.asarray([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _elu(xp, x, alpha)


def _elu(xp: Any, x: Any, alpha: float) -> Any:
    x = real_floats(xp, elu, x)
    return xp.where(_is_kept(x, alpha), x, alpha * xp.expm1(xp.where(x > 0, 0.0, x)))


@elu.def_kernel("numpy")
def elu_numpy(x, /, alpha=1.0):
    if type(x) is np.ndarray and x.dtype not in DTYPES:
        x = real_floats(numpy_namespace, elu, x)
    if are_numbers_of(x, alpha) and 0 < alpha <= 1:
        return activations_numpy.elu(x, alpha)
    return _elu(numpy_namespace, x, alpha)


@elu.def_partial
def elu_partial(xp, x, alpha):
    return xp.where(x > 0, 1.0, alpha * xp.exp(_negative_part(xp, x)))


@elu.def_vjp
def elu_vjp(xp, g, x, alpha):
    if xp is numpy_namespace and are_numbers_of(x, alpha) and type(g) is np.ndarray:
        return activations_numpy.elu_slope(g, x, 1.0, float(alpha))
    return g * elu_partial(xp, x, alpha)


def _is_kept(x: Any, alpha: float) -> Any:
    """Return which elements stay as they are: 0 is none of them, as `alpha` is the slope there, unless it is infinite.

    No number is the product of 0 and an infinite `alpha`.
    """
    if isfinite(alpha):
        return x > 0
    return x >= 0


def _negative_part(xp: Any, x: Any) -> Any:
    """Return an array with 0 for positive elements, whose exponentials may overflow.

    At 0 it is a constant for rules, whose own derivative is PyTorch's there, and the element in bodies.
    """
    return xp.where(x >= 0, 0.0, x)


@activation()
def selu(xp: Any, x: Tensor, /) -> Tensor:
    """Apply `elu`, scaled such that activations keep their mean and variance from layer to layer.

    Notes
    -----
    ``scale * elu(x, alpha)`` with the scale 1.0507 and the alpha 1.6733. Source: PyTorch,
    `torch.nn.functional.selu`; Klambauer et al., "Self-Normalizing Neural Networks", 2017.

    Examples
    --------
    >>> dk.nn.functional.selu(dk.asarray([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return _selu(xp, x)


def _selu(xp: Any, x: Any) -> Any:
    x = real_floats(xp, selu, x)
    return SELU_SCALE * xp.where(x > 0, x, SELU_ALPHA * xp.expm1(xp.where(x > 0, 0.0, x)))


@selu.def_kernel("numpy")
def selu_numpy(x, /):
    if type(x) is np.ndarray and x.dtype not in DTYPES:
        x = real_floats(numpy_namespace, selu, x)
    if are_numbers_of(x):
        return activations_numpy.selu(x, SELU_SCALE, SELU_ALPHA)
    return _selu(numpy_namespace, x)


@selu.def_partial
def selu_partial(xp, x):
    return SELU_SCALE * xp.where(x > 0, 1.0, SELU_ALPHA * xp.exp(_negative_part(xp, x)))


@selu.def_vjp
def selu_vjp(xp, g, x):
    if xp is numpy_namespace and are_numbers_of(x) and type(g) is np.ndarray:
        return activations_numpy.elu_slope(g, x, SELU_SCALE, SELU_ALPHA)
    return g * selu_partial(xp, x)


@activation(samples=SAMPLES)
def celu(xp: Any, x: Tensor, /, alpha: float = 1.0) -> Tensor:
    """Replace each element that is not positive by ``alpha * (exp(x / alpha) - 1)``, which makes `elu` smooth.

    Parameters
    ----------
    alpha : minus the limit for large negative numbers

    Raises
    ------
    ValueError : if `alpha` is 0

    Notes
    -----
    ``dy/dx`` is 1 for positive elements and ``exp(x / alpha)`` for the others. Source: PyTorch,
    `torch.nn.functional.celu`.

    Examples
    --------
    >>> dk.nn.functional.celu(dk.asarray([-1.0, 2.0]), 2.0)
    tensor([-0.7869,  2.0000])
    """
    if alpha == 0:
        raise ValueError(f"{celu.__name__}: alpha must not be 0")
    x = real_floats(xp, celu, x)
    return xp.where(_is_kept(x, alpha), x, alpha * xp.expm1(xp.where(x > 0, 0.0, x) / alpha))


@celu.def_partial
def celu_partial(xp, x, alpha):
    return xp.where(x > 0, 1.0, xp.exp(_negative_part(xp, x) / alpha))
