"""Activations that are exponentials on the negative side: `elu`, `selu`, `celu`."""

from __future__ import annotations

from typing import Any

from dispatchkit.declare.decorators import operation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.nn.functional.bodies import real_floats
from dispatchkit.nn.functional.shapes import FUNCTIONAL
from dispatchkit.protocol.kinds import kinds

__all__ = ["celu", "elu", "selu"]

SAMPLES = [sample(draw(2, 3)), sample(draw()), sample(draw(0, 2)), sample(draw(3), 0.5), sample(draw(2, 2), alpha=2.0)]
# With these the activations of a wide network keep mean 0 and variance 1: Klambauer et al., "Self-Normalizing Neural
# Networks", 2017.
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


@operation(kind=kinds.activation, namespace=FUNCTIONAL, samples=SAMPLES, real=True, gives="float")
def elu(xp: Namespace, x: Array, /, alpha: float = 1.0) -> Array:
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
    x = real_floats(xp, elu, x)
    return xp.where(x > 0, x, alpha * xp.expm1(xp.where(x > 0, 0.0, x)))


@elu.def_partial
def elu_partial(xp, x, alpha):
    return xp.where(x > 0, 1.0, alpha * xp.exp(_negative_part(xp, x)))


def _negative_part(xp: Namespace, x: Any) -> Any:
    """Return an array with 0 for positive elements, whose exponentials may overflow.

    At 0 it is a constant for rules, whose own derivative is PyTorch's there, and the element in bodies.
    """
    return xp.where(x >= 0, 0.0, x)


@operation(kind=kinds.activation, namespace=FUNCTIONAL, real=True, gives="float")
def selu(xp: Namespace, x: Array, /) -> Array:
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
    x = real_floats(xp, selu, x)
    return SELU_SCALE * xp.where(x > 0, x, SELU_ALPHA * xp.expm1(xp.where(x > 0, 0.0, x)))


@selu.def_partial
def selu_partial(xp, x):
    return SELU_SCALE * xp.where(x > 0, 1.0, SELU_ALPHA * xp.exp(_negative_part(xp, x)))


@operation(kind=kinds.activation, namespace=FUNCTIONAL, samples=SAMPLES, real=True, gives="float")
def celu(xp: Namespace, x: Array, /, alpha: float = 1.0) -> Array:
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
    return xp.where(x > 0, x, alpha * xp.expm1(xp.where(x > 0, 0.0, x) / alpha))


@celu.def_partial
def celu_partial(xp, x, alpha):
    return xp.where(x > 0, 1.0, xp.exp(_negative_part(xp, x) / alpha))
