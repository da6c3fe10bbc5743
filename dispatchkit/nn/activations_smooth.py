"""Activations as modules, with exponentials in them: `ELU`, `GELU`, `Softmax` and others."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from dispatchkit.nn import functional
from dispatchkit.nn.activations import Activation
from dispatchkit.nn.functional.activations.smooth import Approximation
from dispatchkit.nn.module import Module

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


class ELU(Activation):
    """Replace each element that is not positive by ``alpha * (exp(x) - 1)``.

    Parameters
    ----------
    alpha : minus the limit for large negative numbers
    inplace : whether the input is overwritten with the result

    Notes
    -----
    See `dispatchkit.nn.functional.elu`. Source: PyTorch, `torch.nn.ELU`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.ELU()(dk.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    function = staticmethod(functional.elu)
    options = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)
        self.alpha = alpha


class SELU(Activation):
    """Apply `ELU`, scaled such that activations keep their mean and variance.

    Parameters
    ----------
    inplace : whether the input is overwritten with the result

    Notes
    -----
    See `dispatchkit.nn.functional.selu`. Source: PyTorch, `torch.nn.SELU`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.SELU()(dk.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    function = staticmethod(functional.selu)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class CELU(Activation):
    """Replace each element that is not positive by ``alpha * (exp(x / alpha) - 1)``.

    Parameters
    ----------
    alpha : minus the limit for large negative numbers
    inplace : whether the input is overwritten with the result

    Notes
    -----
    See `dispatchkit.nn.functional.celu`. Source: PyTorch, `torch.nn.CELU`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.CELU()(dk.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    function = staticmethod(functional.celu)
    options = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)
        self.alpha = alpha


class GELU(Activation):
    """Multiply each element by the standard normal distribution function at it.

    Parameters
    ----------
    approximate : ``"none"``, which needs SciPy, or ``"tanh"``

    Notes
    -----
    See `dispatchkit.nn.functional.gelu`. Source: PyTorch, `torch.nn.GELU`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.GELU()(dk.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """

    function = staticmethod(functional.gelu)
    options = ("approximate",)

    def __init__(self, approximate: Approximation = "none") -> None:
        super().__init__()
        self.approximate = approximate


class SiLU(Activation):
    """Multiply each element by its logistic function; also called swish.

    Parameters
    ----------
    inplace : whether the input is overwritten with the result

    Notes
    -----
    See `dispatchkit.nn.functional.silu`. Source: PyTorch, `torch.nn.SiLU`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.SiLU()(dk.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    function = staticmethod(functional.silu)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class Mish(Activation):
    """Multiply each element by the hyperbolic tangent of its softplus.

    Parameters
    ----------
    inplace : whether the input is overwritten with the result

    Notes
    -----
    See `dispatchkit.nn.functional.mish`. Source: PyTorch, `torch.nn.Mish`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Mish()(dk.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """

    function = staticmethod(functional.mish)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class Sigmoid(Activation):
    """Apply the logistic function.

    Notes
    -----
    See `dispatchkit.nn.functional.sigmoid`. Source: PyTorch, `torch.nn.Sigmoid`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Sigmoid()(dk.tensor([-1.0, 2.0]))
    tensor([0.2689, 0.8808])
    """

    function = staticmethod(functional.sigmoid)


class LogSigmoid(Activation):
    """Apply the logarithm of the logistic function, without overflow.

    Notes
    -----
    See `dispatchkit.nn.functional.logsigmoid`. Source: PyTorch, `torch.nn.LogSigmoid`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.LogSigmoid()(dk.tensor([-1.0, 2.0]))
    tensor([-1.3133, -0.1269])
    """

    function = staticmethod(functional.logsigmoid)


class Tanh(Activation):
    """Apply the hyperbolic tangent.

    Notes
    -----
    See `dispatchkit.nn.functional.tanh`. Source: PyTorch, `torch.nn.Tanh`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Tanh()(dk.tensor([-1.0, 2.0]))
    tensor([-0.7616,  0.9640])
    """

    function = staticmethod(functional.tanh)


class Softplus(Activation):
    """Apply ``log(1 + exp(beta * x)) / beta``.

    Parameters
    ----------
    beta : how sharp the bend at 0 is
    threshold : where ``beta * x`` is above, elements stay as they are

    Notes
    -----
    See `dispatchkit.nn.functional.softplus`. Source: PyTorch, `torch.nn.Softplus`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Softplus()(dk.tensor([-1.0, 2.0]))
    tensor([0.3133, 2.1269])
    """

    function = staticmethod(functional.softplus)
    options = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold


class Softsign(Activation):
    """Divide each element by one plus its absolute value.

    Notes
    -----
    See `dispatchkit.nn.functional.softsign`. Source: PyTorch, `torch.nn.Softsign`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Softsign()(dk.tensor([-1.0, 2.0]))
    tensor([-0.5000,  0.6667])
    """

    function = staticmethod(functional.softsign)


class Softmax(Module):
    """Divide the exponential of each element by the sum of those along an axis.

    Parameters
    ----------
    dim : the axis

    Notes
    -----
    See `dispatchkit.nn.functional.softmax`. Source: PyTorch, `torch.nn.Softmax`, which has no default for `dim`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Softmax(dim=0)(dk.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Any) -> Any:
        """Apply the functional.

        Parameters
        ----------
        x : array with that axis
        """
        return functional.softmax(x, axis=self.dim)

    @override
    def extra_repr(self) -> str:
        """Return the axis, as PyTorch shows it."""
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """Compute the logarithm of `Softmax`, without overflow.

    Parameters
    ----------
    dim : the axis

    Notes
    -----
    See `dispatchkit.nn.functional.log_softmax`. Source: PyTorch, `torch.nn.LogSoftmax`, which has no default for `dim`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.LogSoftmax(dim=0)(dk.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Any) -> Any:
        """Apply the functional.

        Parameters
        ----------
        x : array with that axis
        """
        return functional.log_softmax(x, axis=self.dim)

    @override
    def extra_repr(self) -> str:
        """Return the axis, as PyTorch shows it."""
        return f"dim={self.dim}"


class GLU(Module):
    """Multiply the first half of the elements along an axis by the logistic function of the second.

    Parameters
    ----------
    dim : the axis

    Notes
    -----
    See `dispatchkit.nn.functional.glu`. Source: PyTorch, `torch.nn.GLU`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.GLU(dim=0)(dk.tensor([0.0, 0.0]))
    tensor([0.])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Any) -> Any:
        """Apply the functional.

        Parameters
        ----------
        x : array with that axis
        """
        return functional.glu(x, axis=self.dim)

    @override
    def extra_repr(self) -> str:
        """Return the axis, as PyTorch shows it."""
        return f"dim={self.dim}"
