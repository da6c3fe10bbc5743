"""Layers that multiply by a matrix or change nothing but the shape: `Linear`, `Identity`, `Flatten`."""

from __future__ import annotations

import math
from typing import Any

from typing_extensions import override

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.nn.functional.affine import linear
from dispatchkit.nn.init import kaiming_uniform_, uniform_
from dispatchkit.nn.module import Module
from dispatchkit.nn.parameter import Parameter
from dispatchkit.ops.shared.arguments import integer

__all__ = ["Flatten", "Identity", "Linear", "start_uniform"]


class Identity(Module):
    """A layer that gives what it is given.

    Parameters
    ----------
    *args, **kwargs : of any kind, without effect

    Notes
    -----
    Source: PyTorch, `torch.nn.Identity`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Identity()(dk.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        """Return the input.

        Parameters
        ----------
        x : array of any shape
        """
        return x


class Flatten(Module):
    """A layer that makes one axis of several.

    Parameters
    ----------
    start_dim, end_dim : the first and the last of the axes

    Notes
    -----
    Source: PyTorch, `torch.nn.Flatten`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Flatten()(dk.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Any) -> Any:
        """Flatten the axes.

        Parameters
        ----------
        x : array that has them

        Returns
        -------
        Array
            Array with one axis in their place.
        """
        return tensor_namespace.flatten(x, self.start_dim, self.end_dim)

    @override
    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Linear(Module):
    """A layer that multiplies vectors by a matrix and adds a bias.

    Parameters
    ----------
    in_features, out_features : lengths of the vectors it takes and gives
    bias : whether one is added
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    weight : parameter of shape (out_features, in_features)
    bias : parameter of shape (out_features,), or None

    Raises
    ------
    TypeError : if a length is no int
    ValueError : if one is negative

    Notes
    -----
    ``x @ weight.T + bias``. Weight and bias start uniform between ``±1 / sqrt(in_features)``. The weight may be
    replaced by a parameter that holds an array type, such as a `ScalarTensor`. Source: PyTorch, `torch.nn.Linear`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.Linear(3, 2)
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    >>> layer(dk.ones((4, 3))).shape
    (4, 2)
    """

    weight: Any
    bias: Any

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = integer(type(self), "in_features", in_features, least=0)
        self.out_features = integer(type(self), "out_features", out_features, least=0)
        made = {"device": device, "dtype": dtype}
        self.weight = Parameter(tensor_namespace.zeros((self.out_features, self.in_features), **made))
        self.register_parameter(
            "bias", Parameter(tensor_namespace.zeros((self.out_features,), **made)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        start_uniform(self.weight, self.bias, self.in_features)

    def forward(self, x: Any) -> Any:
        """Compute the output.

        Parameters
        ----------
        x : array of shape (..., in_features)

        Returns
        -------
        Array
            Array of shape (..., out_features).
        """
        return linear(x, self.weight, self.bias)

    @override
    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


def start_uniform(weight: Any, bias: Any, inputs: int) -> None:
    """Fill weight and bias with uniform numbers, by how many inputs an output has."""
    if weight.size:
        kaiming_uniform_(weight, math.sqrt(5))
    if bias is not None and inputs > 0:
        bound = 1 / math.sqrt(inputs)
        uniform_(bias, -bound, bound)
