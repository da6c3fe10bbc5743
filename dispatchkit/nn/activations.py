"""Activations as modules, of straight lines: `ReLU` and its like. Each calls the functional of its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from typing_extensions import override

from dispatchkit.declare.inplace import apply_in_place
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.nn import functional
from dispatchkit.nn.module import Module
from dispatchkit.nn.parameter import Parameter
from dispatchkit.ops.creation.creation import full
from dispatchkit.protocol.instance import tensor_protocol

__all__ = [
    "Activation",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "PReLU",
    "ReLU",
    "ReLU6",
    "Threshold",
]


class Activation(Module):
    """What the activations share: options that are attributes, handed to a functional.

    Attributes
    ----------
    function : the functional
    options : names of the attributes that it is given
    inplace : whether the input is overwritten with the result
    """

    function: ClassVar[Callable[..., Any]]
    options: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, x: Any) -> Any:
        """Apply the functional.

        Parameters
        ----------
        x : array of any shape

        Raises
        ------
        AutogradError : with `inplace`, for a leaf that requires a gradient
        """
        own = self.__dict__
        kwargs = {name: own[name] for name in self.options}
        if not self.inplace:
            return self.function(x, **kwargs)
        operation = tensor_protocol.operation(self.function)
        assert isinstance(operation, DeclaredOperation)
        return apply_in_place(operation, x, (), kwargs)

    @override
    def extra_repr(self) -> str:
        """Return the options, as PyTorch shows them."""
        shown = [f"{name}={getattr(self, name)!r}" for name in self.options]
        return ", ".join([*shown, "inplace=True"] if self.inplace else shown)


class ReLU(Activation):
    """Replace negative elements by zero.

    Parameters
    ----------
    inplace : whether the input is overwritten with the result

    Notes
    -----
    See `dispatchkit.nn.functional.relu`. Source: PyTorch, `torch.nn.ReLU`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.ReLU()(dk.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    function = staticmethod(functional.relu)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class ReLU6(Activation):
    """Bring each element into the range from 0 to 6.

    Parameters
    ----------
    inplace : whether the input is overwritten with the result

    Notes
    -----
    See `dispatchkit.nn.functional.relu6`. Source: PyTorch, `torch.nn.ReLU6`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.ReLU6()(dk.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    function = staticmethod(functional.relu6)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class LeakyReLU(Activation):
    """Multiply negative elements by a slope.

    Parameters
    ----------
    negative_slope : factor of negative elements
    inplace : whether the input is overwritten with the result

    Notes
    -----
    See `dispatchkit.nn.functional.leaky_relu`. Source: PyTorch, `torch.nn.LeakyReLU`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.LeakyReLU()(dk.tensor([-1.0, 2.0]))
    tensor([-0.0100,  2.0000])
    """

    function = staticmethod(functional.leaky_relu)
    options = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)
        self.negative_slope = negative_slope


class Hardtanh(Activation):
    """Bring each element into the range between two numbers.

    Parameters
    ----------
    min_val : the lower bound
    max_val : the upper bound
    inplace : whether the input is overwritten with the result

    Notes
    -----
    See `dispatchkit.nn.functional.hardtanh`. Source: PyTorch, `torch.nn.Hardtanh`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Hardtanh()(dk.tensor([-1.0, 2.0]))
    tensor([-1.,  1.])
    """

    function = staticmethod(functional.hardtanh)
    options = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)
        self.min_val = min_val
        self.max_val = max_val


class Hardsigmoid(Activation):
    """Approximate the logistic function by a line between -3 and 3.

    Parameters
    ----------
    inplace : whether the input is overwritten with the result

    Notes
    -----
    See `dispatchkit.nn.functional.hardsigmoid`. Source: PyTorch, `torch.nn.Hardsigmoid`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Hardsigmoid()(dk.tensor([-1.0, 2.0]))
    tensor([0.3333, 0.8333])
    """

    function = staticmethod(functional.hardsigmoid)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class Hardswish(Activation):
    """Multiply each element by its `Hardsigmoid`.

    Parameters
    ----------
    inplace : whether the input is overwritten with the result

    Notes
    -----
    See `dispatchkit.nn.functional.hardswish`. Source: PyTorch, `torch.nn.Hardswish`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Hardswish()(dk.tensor([-1.0, 2.0]))
    tensor([-0.3333,  1.6667])
    """

    function = staticmethod(functional.hardswish)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class Threshold(Activation):
    """Replace what is not above a threshold by a value.

    Parameters
    ----------
    threshold : what elements must exceed to stay
    value : what replaces the others
    inplace : whether the input is overwritten with the result

    Notes
    -----
    See `dispatchkit.nn.functional.threshold`. Source: PyTorch, `torch.nn.Threshold`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Threshold(0.5, -1.0)(dk.tensor([-1.0, 2.0]))
    tensor([-1.,  2.])
    """

    function = staticmethod(functional.threshold)
    options = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)
        self.threshold = threshold
        self.value = value


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

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(full((num_parameters,), init, dtype=dtype, device=device))

    def forward(self, x: Any) -> Any:
        """Apply the functional.

        Parameters
        ----------
        x : array of shape (N, C, ...), or any for a single slope
        """
        return functional.prelu(x, self.weight)

    @override
    def extra_repr(self) -> str:
        """Return the number of slopes, as PyTorch shows it."""
        return f"num_parameters={self.num_parameters}"
