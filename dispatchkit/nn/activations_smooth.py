"""Activations as modules, with exponentials in them: `ELU`, `GELU`, `Softmax` and others."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from typing_extensions import override

from dispatchkit.nn import functional
from dispatchkit.nn.activations import Activation
from dispatchkit.nn.declared import declared
from dispatchkit.nn.functional.activations.smooth import Approximation

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Softsign",
    "Tanh",
]


@declared(functional.elu)
class ELU(Activation):
    """Replace each element that is not positive by ``alpha * (exp(x) - 1)``.

    Parameters
    ----------
    alpha : minus the limit for large negative numbers

    Examples
    --------
    >>> dk.nn.ELU()(dk.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    alpha: float = 1.0
    inplace: bool = False


@declared(functional.selu)
class SELU(Activation):
    """Apply `ELU`, scaled such that activations keep their mean and variance.

    Examples
    --------
    >>> dk.nn.SELU()(dk.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    inplace: bool = False


@declared(functional.celu)
class CELU(Activation):
    """Replace each element that is not positive by ``alpha * (exp(x / alpha) - 1)``.

    Parameters
    ----------
    alpha : minus the limit for large negative numbers

    Examples
    --------
    >>> dk.nn.CELU()(dk.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    alpha: float = 1.0
    inplace: bool = False


@declared(functional.gelu)
class GELU(Activation):
    """Multiply each element by the standard normal distribution function at it.

    Parameters
    ----------
    approximate : ``"none"``, which needs SciPy, or ``"tanh"``

    Examples
    --------
    >>> dk.nn.GELU()(dk.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """

    approximate: Approximation = "none"


@declared(functional.silu)
class SiLU(Activation):
    """Multiply each element by its logistic function; also called swish.

    Examples
    --------
    >>> dk.nn.SiLU()(dk.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    inplace: bool = False


@declared(functional.mish)
class Mish(Activation):
    """Multiply each element by the hyperbolic tangent of its softplus.

    Examples
    --------
    >>> dk.nn.Mish()(dk.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """

    inplace: bool = False


@declared(functional.sigmoid)
class Sigmoid(Activation):
    """Apply the logistic function.

    Examples
    --------
    >>> dk.nn.Sigmoid()(dk.tensor([-1.0, 2.0]))
    tensor([0.2689, 0.8808])
    """

    _: KW_ONLY
    inplace: bool = False


@declared(functional.logsigmoid)
class LogSigmoid(Activation):
    """Apply the logarithm of the logistic function, without overflow.

    Examples
    --------
    >>> dk.nn.LogSigmoid()(dk.tensor([-1.0, 2.0]))
    tensor([-1.3133, -0.1269])
    """

    _: KW_ONLY
    inplace: bool = False


@declared(functional.tanh)
class Tanh(Activation):
    """Apply the hyperbolic tangent.

    Examples
    --------
    >>> dk.nn.Tanh()(dk.tensor([-1.0, 2.0]))
    tensor([-0.7616,  0.9640])
    """

    _: KW_ONLY
    inplace: bool = False


@declared(functional.softplus)
class Softplus(Activation):
    """Apply ``log(1 + exp(beta * x)) / beta``.

    Parameters
    ----------
    beta : how sharp the bend at 0 is
    threshold : where ``beta * x`` is above, elements stay as they are

    Examples
    --------
    >>> dk.nn.Softplus()(dk.tensor([-1.0, 2.0]))
    tensor([0.3133, 2.1269])
    """

    beta: float = 1.0
    threshold: float = 20.0


@declared(functional.softsign)
class Softsign(Activation):
    """Divide each element by one plus its absolute value.

    Examples
    --------
    >>> dk.nn.Softsign()(dk.tensor([-1.0, 2.0]))
    tensor([-0.5000,  0.6667])
    """

    _: KW_ONLY
    inplace: bool = False


class AlongAxis(Activation):
    """An activation that works along an axis, which PyTorch calls `dim`."""

    dim: Any

    @override
    def forward(self, x: Any) -> Any:
        """Apply the functional.

        Parameters
        ----------
        x : array with that axis

        Returns
        -------
        Array
            Array of the shape of `x`; of `GLU` with half the length along that axis.
        """
        return self.function(x, axis=self.dim)


@declared(functional.softmax)
class Softmax(AlongAxis):
    """Divide the exponential of each element by the sum of those along an axis.

    Notes
    -----
    See `dispatchkit.nn.functional.softmax`. Source: PyTorch, `torch.nn.Softmax`, which has no default for `dim`.

    Examples
    --------
    >>> dk.nn.Softmax(dim=0)(dk.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    dim: int = -1


@declared(functional.log_softmax)
class LogSoftmax(AlongAxis):
    """Compute the logarithm of `Softmax`, without overflow.

    Notes
    -----
    See `dispatchkit.nn.functional.log_softmax`. Source: PyTorch, `torch.nn.LogSoftmax`, which has no default for `dim`.

    Examples
    --------
    >>> dk.nn.LogSoftmax(dim=0)(dk.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

    dim: int = -1


@declared(functional.glu)
class GLU(AlongAxis):
    """Multiply the first half of the elements along an axis by the logistic function of the second.

    Examples
    --------
    >>> dk.nn.GLU(dim=0)(dk.tensor([0.0, 0.0]))
    tensor([0.])
    """

    dim: int = -1
