"""Layers without further structure: `Linear`, `Embedding`, `Dropout`, `Identity`, `Flatten`."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.graph.recording import no_grad
from dispatchkit.marks import override
from dispatchkit.nn.functional.affine import embedding, linear, padding_row
from dispatchkit.nn.functional.attention import dropout, probability
from dispatchkit.nn.init import kaiming_uniform_, normal_, uniform_
from dispatchkit.nn.module import DeclaredModule, Module, declared
from dispatchkit.nn.parameter import Parameter
from dispatchkit.ops.shared import integer

__all__ = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Embedding", "Flatten", "Identity", "Linear"]


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


@declared(tensor_namespace.flatten)
class Flatten(DeclaredModule):
    """A layer that makes one axis of several.

    Parameters
    ----------
    start_dim : the first of the axes
    end_dim : the last of them

    Notes
    -----
    See `dispatchkit.flatten`. Source: PyTorch, `torch.nn.Flatten`.

    Examples
    --------
    >>> dk.nn.Flatten()(dk.ones((2, 3, 4))).shape
    (2, 12)
    """

    start_dim: int = 1
    end_dim: int = -1


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
        shape = self.out_features, self.in_features
        of_bias = None
        if bias:
            of_bias = shape[:1]
        register_zeros(self, device, dtype, weight=shape, bias=of_bias)
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


def register_zeros(module: Module, device: Any, dtype: Any, **shapes: tuple[int, ...] | None) -> None:
    """Give a module parameters of zeros by name, or None in the place of one that has no shape."""
    for name, shape in shapes.items():
        zeros = None
        if shape is not None:
            zeros = Parameter(tensor_namespace.zeros(shape, device=device, dtype=dtype))
        module.register_parameter(name, zeros)


def start_uniform(weight: Any, bias: Any, inputs: int) -> None:
    """Fill weight and bias with uniform numbers, by how many inputs an output has."""
    if weight.size:
        kaiming_uniform_(weight, math.sqrt(5))
    if bias is not None and inputs > 0:
        bound = 1 / math.sqrt(inputs)
        uniform_(bias, -bound, bound)


class Embedding(Module):
    """A layer that gives a vector for each number.

    Parameters
    ----------
    num_embeddings : of vectors, which are numbered from 0 on
    embedding_dim : length of a vector
    padding_idx : of the vector that starts as zeros and gets no gradient; negative ones count from the end
    device, dtype : of the vectors; the default floating-point dtype if None

    Attributes
    ----------
    weight : parameter of shape (num_embeddings, embedding_dim)

    Raises
    ------
    TypeError : if a size is no int
    ValueError : if one is negative, or there is no vector `padding_idx`

    Notes
    -----
    The vectors start with standard normal numbers. Source: PyTorch, `torch.nn.Embedding`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.Embedding(10, 3, padding_idx=0)
    >>> layer
    Embedding(10, 3, padding_idx=0)
    >>> layer(dk.asarray([0, 0]))
    tensor([[0., 0., 0.],
            [0., 0., 0.]], grad_fn=<EmbeddingBackward>)
    """

    weight: Any

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = integer(type(self), "num_embeddings", num_embeddings, least=0)
        self.embedding_dim = integer(type(self), "embedding_dim", embedding_dim, least=0)
        self.padding_idx = padding_row(type(self), padding_idx, self.num_embeddings)
        register_zeros(self, device, dtype, weight=(self.num_embeddings, self.embedding_dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the vectors anew."""
        normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    def forward(self, x: Any) -> Any:
        """Look up vectors.

        Parameters
        ----------
        x : array of integers of shape (...)

        Returns
        -------
        Array
            Array of shape (..., embedding_dim).
        """
        return embedding(x, self.weight, padding_idx=self.padding_idx)

    @override
    def extra_repr(self) -> str:
        padding = ""
        if self.padding_idx is not None:
            padding = f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class Dropout(Module):
    """A layer that in training replaces elements by zeros at random, and scales the others.

    Parameters
    ----------
    p : probability that an element is replaced

    Raises
    ------
    ValueError : if the probability is not between 0 and 1

    Notes
    -----
    Source: PyTorch, `torch.nn.Dropout`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.Dropout(0.2)
    >>> layer.eval()(dk.ones(2))
    tensor([1., 1.])
    """

    _shown = "p={0.p}"

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = probability(type(self), "p", p)

    def forward(self, x: Any) -> Any:
        """Replace elements in training, none in evaluation.

        Parameters
        ----------
        x : array of any shape

        Returns
        -------
        Array
            Array of the shape of `x`; `x` itself where nothing is replaced.
        """
        if self.p == 0 or not self.training:
            return x
        return dropout(x, self.p)


class DropoutOfChannels(Dropout):
    """What layers share that replace whole channels; a subclass says how many axes one has."""

    axes: ClassVar[int]

    @override
    def forward(self, x: Any) -> Any:
        """Replace channels in training, none in evaluation.

        Parameters
        ----------
        x : array with an axis of channels before the axes that each of them has

        Returns
        -------
        Array
            Array of the shape of `x`.

        Raises
        ------
        ValueError : for an array of fewer axes
        """
        if x.ndim <= self.axes:
            raise ValueError(
                f"{type(self).__name__}: x must have an axis of channels before its last {self.axes}, found the shape "
                f"{tuple(x.shape)}"
            )
        if self.p == 0 or not self.training:
            return x
        channels = *x.shape[: -self.axes], *(1,) * self.axes
        return x * dropout(tensor_namespace.ones(channels, dtype=x.dtype), self.p)


class Dropout1d(DropoutOfChannels):
    """A layer that in training replaces channels of sequences by zeros at random, and scales the others.

    Parameters
    ----------
    p : probability that a channel is replaced

    Raises
    ------
    ValueError : if the probability is not between 0 and 1

    Notes
    -----
    Takes arrays of shape (..., C, L). Source: PyTorch, `torch.nn.Dropout1d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Dropout1d(0.2).eval()(dk.ones((1, 2)))
    tensor([[1., 1.]])
    """

    axes = 1


class Dropout2d(DropoutOfChannels):
    """A layer that in training replaces channels of images by zeros at random, and scales the others.

    Parameters
    ----------
    p : probability that a channel is replaced

    Raises
    ------
    ValueError : if the probability is not between 0 and 1

    Notes
    -----
    Takes arrays of shape (..., C, H, W). Source: PyTorch, `torch.nn.Dropout2d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Dropout2d(0.2).eval()(dk.ones((1, 1, 2)))
    tensor([[[1., 1.]]])
    """

    axes = 2


class Dropout3d(DropoutOfChannels):
    """A layer that in training replaces channels of volumes by zeros at random, and scales the others.

    Parameters
    ----------
    p : probability that a channel is replaced

    Raises
    ------
    ValueError : if the probability is not between 0 and 1

    Notes
    -----
    Takes arrays of shape (..., C, D, H, W). Source: PyTorch, `torch.nn.Dropout3d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Dropout3d(0.2).eval()(dk.ones((1, 1, 1, 2)))
    tensor([[[[1., 1.]]]])
    """

    axes = 3
