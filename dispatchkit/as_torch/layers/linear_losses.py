"""`LinearCrossEntropyLoss`: the cross entropy of classes with the linear function that gives their scores."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Any

from dispatchkit.as_torch.spelling import FUNCTIONS, HOME, Module
from dispatchkit.marks import override
from dispatchkit.nn import Linear

METHODS = re.compile("auto|aspect_ratio(:0*[1-9][0-9]*)?")
POLICIES = ("auto", "accurate", "balanced", "compact")


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """How PyTorch divides `linear_cross_entropy` into parts; they change no result, and here all is computed at once.

    Parameters
    ----------
    allow_retain_graph : whether a backward pass can be repeated; here it always can
    batch_chunk_size : rows of the batch in a part
    chunking_method : "auto", "aspect_ratio", "aspect_ratio:N", or None
    acc_policy : "auto", "accurate", "balanced" or "compact"
    acc_dtype : dtype of sums

    Raises
    ------
    ValueError : for a policy, a method or a size that PyTorch does not have

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.nn.LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size
    64
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: object = None

    def __post_init__(self) -> None:
        if self.acc_policy not in POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method is not None and not METHODS.fullmatch(self.chunking_method):
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size: Any = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")


LinearCrossEntropyOptions.__module__ = f"{HOME}.nn"


class LinearCrossEntropyLoss(Module):
    """The cross entropy of classes whose scores are a linear function of the input, with the weights of that function.

    Parameters
    ----------
    in_features : length of the vectors
    num_classes : number of classes
    out_features : lengths of further axes of the targets
    bias : whether the scores have a bias
    device, dtype : of the parameters
    reduction : "mean", "sum" or "none"
    weight : of each class, of shape (num_classes,)
    ignore_index : the target that counts nothing; None for -100
    label_smoothing : the share of a target that all classes get, from 0 to 1
    options : how PyTorch divides the work, which changes no result

    Raises
    ------
    RuntimeError : for a weight of another shape, or a share that is not from 0 to 1

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> loss = torch.nn.LinearCrossEntropyLoss(8, 10, reduction="none")
    >>> loss(torch.ones(4, 8), torch.tensor([0, 4, 9, 2])).shape
    (4,)
    """

    __module__ = f"{HOME}.nn"

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Any = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__()
        self.register_buffer("weight", weight)
        self.reduction, self.num_classes, self.out_features = reduction, num_classes, tuple(out_features)
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        self.linear = Linear(in_features, num_classes * prod(self.out_features), bias, device=device, dtype=dtype)

    @override
    def forward(self, input: Any, target: Any) -> Any:
        """Compute the loss.

        Parameters
        ----------
        input : vectors, of shape (N, in_features) or (in_features,)
        target : classes, of shape (N, *out_features), or probabilities, of shape (N, num_classes, *out_features)
        """
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        if bias is not None:
            bias = bias.reshape(shape)
        return FUNCTIONS["nn.functional.linear_cross_entropy"](
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=bias,
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    @override
    def extra_repr(self) -> str:
        told = {
            "in_features": self.linear.in_features,
            "num_classes": self.num_classes,
            "out_features": self.out_features,
            "bias": self.linear.bias is not None,
            "reduction": self.reduction,
            "ignore_index": self.ignore_index,
            "label_smoothing": self.label_smoothing,
            "options": self.options,
        }
        return ", ".join(f"{name}={value}" for name, value in told.items())
