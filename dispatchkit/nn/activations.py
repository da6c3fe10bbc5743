"""Activations as modules. Each calls the functional it is named after."""

from __future__ import annotations

from typing import Any

from dispatchkit.declare.inplace import apply_in_place
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.marks import override
from dispatchkit.nn import functional
from dispatchkit.nn.functional.smooth import Approximation
from dispatchkit.nn.module import DeclaredModule, Module, declared
from dispatchkit.nn.parameter import Parameter
from dispatchkit.ops.creation.creation import full
from dispatchkit.protocol.instance import tensor_protocol


class Activation(DeclaredModule):
    """What the activations share: options handed to a functional, and the input overwritten where that is asked for."""

    @override
    def forward(self, x: Any) -> Any:
        """Apply the functional.

        Parameters
        ----------
        x : array of any shape

        Returns
        -------
        Array
            Array of the shape of `x`; with `inplace` that is `x` itself.

        Raises
        ------
        AutogradError : with `inplace`, for a leaf that requires a gradient
        """
        options = self._values()
        if not options.pop("inplace", False):
            return self.function(x, **options)
        operation = tensor_protocol.operation(self.function)
        assert isinstance(operation, DeclaredOperation)
        return apply_in_place(operation, x, (), options)


@declared(None)
class InPlace(Activation):
    """An activation whose one option is whether it works in place."""

    inplace: bool = False


@declared(functional.relu)
class ReLU(InPlace):
    """Replace negative elements by zero.

    Examples
    --------
    >>> dk.nn.ReLU()(dk.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """


@declared(functional.relu6)
class ReLU6(InPlace):
    """Bring each element into the range from 0 to 6.

    Examples
    --------
    >>> dk.nn.ReLU6()(dk.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """


@declared(functional.leaky_relu)
class LeakyReLU(Activation):
    """Multiply negative elements by a slope.

    Parameters
    ----------
    negative_slope : factor of negative elements

    Examples
    --------
    >>> dk.nn.LeakyReLU()(dk.tensor([-1.0, 2.0]))
    tensor([-0.0100,  2.0000])
    """

    negative_slope: float = 0.01
    inplace: bool = False


@declared(functional.hardtanh)
class Hardtanh(Activation):
    """Bring each element into the range between two numbers.

    Parameters
    ----------
    min_val : the lower bound
    max_val : the upper bound

    Examples
    --------
    >>> dk.nn.Hardtanh()(dk.tensor([-1.0, 2.0]))
    tensor([-1.,  1.])
    """

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False


@declared(functional.hardsigmoid)
class Hardsigmoid(InPlace):
    """Approximate the logistic function by a line between -3 and 3.

    Examples
    --------
    >>> dk.nn.Hardsigmoid()(dk.tensor([-1.0, 2.0]))
    tensor([0.3333, 0.8333])
    """


@declared(functional.hardswish)
class Hardswish(InPlace):
    """Multiply each element by its `Hardsigmoid`.

    Examples
    --------
    >>> dk.nn.Hardswish()(dk.tensor([-1.0, 2.0]))
    tensor([-0.3333,  1.6667])
    """


@declared(functional.threshold)
class Threshold(Activation):
    """Replace what is not above a threshold by a value.

    Parameters
    ----------
    threshold : what elements must exceed to stay
    value : what replaces the others

    Examples
    --------
    >>> dk.nn.Threshold(0.5, -1.0)(dk.tensor([-1.0, 2.0]))
    tensor([-1.,  2.])
    """

    threshold: float
    value: float
    inplace: bool = False


class PReLU(Module):
    """Multiply negative elements by slopes that are learned.

    Parameters
    ----------
    num_parameters : 1, or the number of channels, each of which gets a slope of its own
    init : the slopes to begin with
    device : of the slopes
    dtype : of the slopes

    Attributes
    ----------
    weight : the slopes, array of shape (num_parameters,)

    Notes
    -----
    See `dispatchkit.nn.functional.prelu`. Source: PyTorch, `torch.nn.PReLU`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.PReLU(2)(dk.tensor([[-1.0, 2.0]]))
    tensor([[-0.2500,  2.0000]], grad_fn=<WhereBackward>)
    """

    _shown = "num_parameters={0.num_parameters}"

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(full((num_parameters,), init, dtype=dtype, device=device))

    def forward(self, x: Any) -> Any:
        """Apply the functional.

        Parameters
        ----------
        x : array of shape (N, C, ...), or any for a single slope

        Returns
        -------
        Array
            Array of the shape of `x`.
        """
        return functional.prelu(x, self.weight)


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
class SELU(InPlace):
    """Apply `ELU`, scaled such that activations keep their mean and variance.

    Examples
    --------
    >>> dk.nn.SELU()(dk.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """


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
class SiLU(InPlace):
    """Multiply each element by its logistic function; also called swish.

    Examples
    --------
    >>> dk.nn.SiLU()(dk.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """


@declared(functional.mish)
class Mish(InPlace):
    """Multiply each element by the hyperbolic tangent of its softplus.

    Examples
    --------
    >>> dk.nn.Mish()(dk.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """


@declared(functional.sigmoid)
class Sigmoid(InPlace):
    """Apply the logistic function.

    Examples
    --------
    >>> dk.nn.Sigmoid()(dk.tensor([-1.0, 2.0]))
    tensor([0.2689, 0.8808])
    """


@declared(functional.logsigmoid)
class LogSigmoid(InPlace):
    """Apply the logarithm of the logistic function, without overflow.

    Examples
    --------
    >>> dk.nn.LogSigmoid()(dk.tensor([-1.0, 2.0]))
    tensor([-1.3133, -0.1269])
    """


@declared(functional.tanh)
class Tanh(InPlace):
    """Apply the hyperbolic tangent.

    Examples
    --------
    >>> dk.nn.Tanh()(dk.tensor([-1.0, 2.0]))
    tensor([-0.7616,  0.9640])
    """


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
class Softsign(InPlace):
    """Divide each element by one plus its absolute value.

    Examples
    --------
    >>> dk.nn.Softsign()(dk.tensor([-1.0, 2.0]))
    tensor([-0.5000,  0.6667])
    """


@declared(None)
class AlongAxis(Activation):
    """An activation that works along an axis, which PyTorch calls `dim`."""

    dim: int = -1

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


@declared(functional.glu)
class GLU(AlongAxis):
    """Multiply the first half of the elements along an axis by the logistic function of the second.

    Examples
    --------
    >>> dk.nn.GLU(dim=0)(dk.tensor([0.0, 0.0]))
    tensor([0.])
    """
