"""Layers of PyTorch that have weights or several forms: `Bilinear`, `EmbeddingBag`, `Unflatten`, ..."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dispatchkit import nn
from dispatchkit.as_torch.network_functions.grids import renormalize
from dispatchkit.as_torch.spelling import FUNCTIONS, HOME, Module, Tensor
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import no_grad
from dispatchkit.marks import override
from dispatchkit.nn.init import normal_, uniform_


def _parameter(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a parameter of zeros."""
    return nn.Parameter(Tensor(xp.zeros(shape, dtype=dtype or xp.get_default_dtype())))


class Bilinear(Module):
    """A layer of products of each element of a vector with each of another, weighted.

    Parameters
    ----------
    in1_features, in2_features, out_features : lengths of the vectors and of the result
    bias : whether there is one
    device, dtype : of the parameters

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 3)).shape
    (5, 4)
    """

    __module__ = f"{HOME}.nn"

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"Bilinear: in1_features must be greater than 0, found {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = _parameter((out_features, in1_features, in2_features), dtype)
        self.bias = None
        if bias:
            self.bias = _parameter((out_features,), dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, uniform between ``±1 / sqrt(in1_features)``."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            uniform_(parameter, -bound, bound)

    @override
    def forward(self, input1: Any, input2: Any) -> Any:
        """Compute the products."""
        return FUNCTIONS["nn.functional.bilinear"](input1, input2, self.weight, self.bias)

    @override
    def extra_repr(self) -> str:
        """Return the lengths, as PyTorch shows them."""
        lengths = f"in1_features={self.in1_features}, in2_features={self.in2_features}"
        return f"{lengths}, out_features={self.out_features}, bias={self.bias is not None}"


class EmbeddingBag(Module):
    """A layer that adds up, or averages, the vectors of several numbers.

    Parameters
    ----------
    num_embeddings, embedding_dim : number and length of the vectors
    max_norm, norm_type, scale_grad_by_freq, sparse : as of `Embedding`
    mode : ``"mean"``, ``"sum"`` or ``"max"``
    include_last_offset : whether the last offset is the end of the last bag
    padding_idx : of the vector that does not count
    device, dtype : of the vectors

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.nn.EmbeddingBag(10, 3)(torch.tensor([1, 2, 4, 5]), torch.tensor([0, 3])).shape
    (2, 3)
    """

    __module__ = f"{HOME}.nn"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.include_last_offset, self.padding_idx = include_last_offset, padding_idx
        self.weight = _parameter((num_embeddings, embedding_dim), dtype)
        with no_grad():
            if _weight is not None:
                self.weight = type(self.weight)(_weight.detach())
            else:
                normal_(self.weight)
                if padding_idx is not None:
                    self.weight[padding_idx] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **options: Any) -> EmbeddingBag:
        """Return a layer with given vectors.

        Parameters
        ----------
        embeddings : the vectors, of shape (number, length)
        freeze : whether they get no gradient
        **options : of the layer
        """
        number, length = embeddings.shape
        layer = cls(number, length, _weight=embeddings, **options)
        layer.weight.requires_grad_(not freeze)
        return layer

    @override
    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Add up vectors.

        Parameters
        ----------
        input : numbers, of shape (bags, length), or (all,) with `offsets`
        offsets : where the bags begin
        per_sample_weights : factors of the vectors, in the mode ``"sum"``
        """
        if self.max_norm is not None:
            renormalize(self.weight, input, self.max_norm, self.norm_type)
        return FUNCTIONS["nn.functional.embedding_bag"](
            input,
            self.weight,
            offsets,
            None,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            False,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    @override
    def extra_repr(self) -> str:
        """Return the sizes, as PyTorch shows them."""
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"


class Unflatten(Module):
    """A layer that makes several axes of one.

    Parameters
    ----------
    dim : the axis
    unflattened_size : lengths of the axes in its place

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.nn.Unflatten(1, (2, 3))(torch.ones(4, 6)).shape
    (4, 2, 3)
    """

    __module__ = f"{HOME}.nn"

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    @override
    def forward(self, input: Any) -> Any:
        """Return the array with more axes."""
        return FUNCTIONS["unflatten"](input, self.dim, self.unflattened_size)

    @override
    def extra_repr(self) -> str:
        """Return the axes, as PyTorch shows them."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Softmax2d(Module):
    """A layer that computes the softmax over the channels of images."""

    __module__ = f"{HOME}.nn"

    @override
    def forward(self, input: Any) -> Any:
        """Compute the softmax."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return xp.softmax(input, axis=-3)


class DataParallel(Module):
    """A module that would be run on several devices; on one it calls the module that it holds.

    Parameters
    ----------
    module : the module
    device_ids, output_device, dim : which say nothing here
    """

    __module__ = f"{HOME}.nn"

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module

    @override
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*args, **kwargs)
