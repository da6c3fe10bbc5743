"""Activations that consist of straight lines: `leaky_relu`, `prelu`, `hardtanh`, `relu6`, `hardsigmoid`, ..."""

from __future__ import annotations

from math import prod
from typing import Any

from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.nn.functional.bodies import real_floats
from dispatchkit.nn.functional.shapes import FUNCTIONAL, expect
from dispatchkit.ops.shared.arrays import shape_of
from dispatchkit.protocol.kinds import kinds

__all__ = ["hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "prelu", "relu6", "threshold"]

PLAIN = [sample(draw(2, 3, low=-6, high=6)), sample(draw(low=-6, high=6)), sample(draw(0, 2))]


@operation(
    kind=kinds.activation,
    namespace=FUNCTIONAL,
    samples=[*PLAIN, sample(draw(3), 0.2), sample(draw(2, 2), negative_slope=-1.5)],
    real=True,
    gives="float",
)
def leaky_relu(xp: Namespace, x: Array, /, negative_slope: float = 0.01) -> Array:
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
    x = real_floats(xp, leaky_relu, x)
    return xp.where(x > 0, x, x * negative_slope)


@leaky_relu.def_partial
def leaky_relu_partial(xp, x, negative_slope):
    return xp.where(x > 0, xp.ones_like(x), negative_slope)


@operation(
    kind=kinds.function,
    namespace=FUNCTIONAL,
    samples=[
        sample(draw(2, 3), draw(1)),
        sample(draw(2, 3), draw(3)),
        sample(draw(2, 2, 3), draw(2)),
        sample(draw(3), draw(1)),
        sample(draw(), draw()),
    ],
    real=True,
)
def prelu(xp: Namespace, x: Array, weight: Array, /) -> Array:
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
        channels = shape[1] if len(shape) > 1 else 1
        wanted = f"({channels},), a slope for each channel of an x of shape {shape}, or (1,), one for all"
        expect(prelu, "weight", shape_of(weight), shape_of(weight) == (channels,), wanted)
        slopes = xp.reshape(weight, (channels,) + (1,) * (len(shape) - 2))
    return xp.where(x > 0, x, x * slopes)


@operation(
    kind=kinds.activation,
    namespace=FUNCTIONAL,
    samples=[*PLAIN, sample(draw(2, 3), -0.5, 1.5), sample(draw(3), max_val=0.25)],
    real=True,
    gives="float",
)
def hardtanh(xp: Namespace, x: Array, /, min_val: float = -1.0, max_val: float = 1.0) -> Array:
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
    if min_val > max_val:
        raise ValueError(f"{hardtanh.__name__}: min_val must not exceed max_val, found {min_val} and {max_val}")
    return xp.clip(real_floats(xp, hardtanh, x), min_val, max_val)


@hardtanh.def_partial
def hardtanh_partial(xp, x, min_val, max_val):
    return _not_beyond(xp, x, min_val, max_val)


def _not_beyond(xp: Namespace, x: Any, low: float, high: float) -> Any:
    """Return 0 where one of two bounds is reached, 1 elsewhere: PyTorch lets NaN pass."""
    return xp.astype(~((x <= low) | (x >= high)), x.dtype)


@operation(kind=kinds.activation, namespace=FUNCTIONAL, domain=(-2.0, 8.0), real=True, gives="float")
def relu6(xp: Namespace, x: Array, /) -> Array:
    """Bring each element into the range from 0 to 6.

    Notes
    -----
    ``dy/dx`` is 1 between 0 and 6 and 0 elsewhere, also on the bounds. Source: PyTorch, `torch.nn.functional.relu6`.

    Examples
    --------
    >>> dk.nn.functional.relu6(dk.asarray([-1.0, 2.0, 7.0]))
    tensor([0., 2., 6.])
    """
    return xp.clip(real_floats(xp, relu6, x), 0.0, 6.0)


@relu6.def_partial
def relu6_partial(xp, x):
    return _not_beyond(xp, x, 0.0, 6.0)


@operation(kind=kinds.activation, namespace=FUNCTIONAL, domain=(-5.0, 5.0), real=True, gives="float")
def hardsigmoid(xp: Namespace, x: Array, /) -> Array:
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


@operation(kind=kinds.activation, namespace=FUNCTIONAL, domain=(-5.0, 5.0), real=True, gives="float")
def hardswish(xp: Namespace, x: Array, /) -> Array:
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
    x = real_floats(xp, hardswish, x)
    bounded = xp.clip(x, -3.0, 3.0)
    return xp.where(x >= 3, x, bounded * (bounded + 3.0) / 6.0)


@hardswish.def_partial
def hardswish_partial(xp, x):
    return xp.where(x <= -3, 0.0, xp.where(x >= 3, xp.ones_like(x), x / 3.0 + 0.5))


@operation(
    kind=kinds.activation,
    namespace=FUNCTIONAL,
    samples=[sample(draw(2, 3), 0.5, -1.0), sample(draw(), 0.5, -1.0), sample(draw(0, 2), threshold=0.1, value=20)],
    real=True,
    gives="float",
)
def threshold(xp: Namespace, x: Array, /, threshold: float, value: float) -> Array:
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
