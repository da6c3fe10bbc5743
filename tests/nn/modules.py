"""Modules that the tests share."""

from collections import OrderedDict
from typing import Any

import dispatchkit as dk
from dispatchkit import nn


class Scale(nn.Module):
    """Multiplies by a weight."""

    steps: dk.Tensor

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor
        self.weight = nn.Parameter(dk.tensor([factor]))
        self.register_parameter("bias", None)
        self.register_buffer("steps", dk.zeros(1, dtype=dk.int64), persistent=False)

    def forward(self, x: Any, more: Any = 0.0) -> Any:
        return x * self.weight + more

    def extra_repr(self) -> str:
        return f"factor={self.factor}"


class Net(nn.Module):
    """Parameters, buffers and modules at several depths."""

    count: dk.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.gain: Any = nn.Parameter(dk.ones(1))
        self.register_buffer("count", dk.zeros(1))
        self.first: Any = Scale(2.0)
        self.tail = nn.Sequential(Scale(3.0), Scale(4.0))

    def forward(self, x: Any, spoil: Any = 0.0) -> Any:
        return self.tail(self.first(x, spoil)) * self.gain


class Structured(nn.Module):
    """A layer whose weight is a scaled identity plus something."""

    def __init__(self) -> None:
        super().__init__()
        self.weight: Any = nn.Parameter(dk.types.ScalarTensor(3, 2.0))
        self.offset = nn.Parameter(dk.zeros(3))

    def forward(self, x: Any) -> Any:
        return x @ self.weight + self.offset


def named(**modules: nn.Module) -> nn.Sequential:
    """Return modules one after the other, by their names."""
    return nn.Sequential(OrderedDict(modules))
