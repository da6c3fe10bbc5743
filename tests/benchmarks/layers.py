"""A training step of networks made of layers: a small convolutional one, and one of linear layers.

Both sides start from the same numbers in float64 and compute the same: forward, mean square, backward, gradient
descent by the library's own optimiser.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import dispatchkit as dk

from .harness import Row, Side, pytorch

__all__ = ["ROWS"]

RATE = 1e-3


def network(library: Any, relu: Callable[[Any], Any], layers: list[Any]) -> Any:
    """Give a module that calls layers in order, with a rectifier after those that have a `True` beside them."""

    class Net(library.nn.Module):  # type: ignore[misc]  # of either library
        def __init__(self) -> None:
            super().__init__()
            self.layers = library.nn.ModuleList([layer for layer, _ in layers])
            self.rectified = [rectified for _, rectified in layers]

        def forward(self, x: Any) -> Any:
            for layer, rectified in zip(self.layers, self.rectified, strict=True):
                x = layer(x)
                if rectified:
                    x = relu(x)
            return x

    return Net()


def convolutional(nn: Any, size: int) -> list[Any]:
    """Two convolutions with poolings behind them, for images of size × size."""
    kernel = 3 if size > 10 else 2
    left = ((size - 2) // 2 - kernel + 1) // 2
    return [
        (nn.Conv2d(1, 8, 3), True),
        (nn.MaxPool2d(2), False),
        (nn.Conv2d(8, 16, kernel), True),
        (nn.MaxPool2d(2), False),
        (nn.Flatten(), False),
        (nn.Linear(16 * left * left, 10), False),
    ]


def perceptron(nn: Any, size: int) -> list[Any]:
    """Two linear layers for images of size × size."""
    return [(nn.Flatten(), False), (nn.Linear(size * size, 256), True), (nn.Linear(256, 10), False)]


def stepping(net: Any, optimiser: Any, x: Any, target: Any) -> Callable[[], tuple[Any, list[Any]]]:
    def step() -> tuple[Any, list[Any]]:
        optimiser.zero_grad()
        difference = net(x) - target
        loss = (difference * difference).mean()
        loss.backward()
        optimiser.step()
        return loss, list(net.parameters())

    return step


def sides(make: Callable[[Any, int], list[Any]], size: int) -> tuple[Side, Side]:
    torch = pytorch()
    rng = np.random.default_rng(0)
    x, target = rng.standard_normal((64, 1, size, size)), rng.standard_normal((64, 10))
    ours = network(dk, dk.relu, make(dk.nn, size))
    theirs = network(torch, torch.relu, make(torch.nn, size)).double()
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        q.data.copy_(torch.tensor(p.detach().numpy()))
    optimisers = dk.optim.SGD(ours.parameters(), lr=RATE), torch.optim.SGD(theirs.parameters(), lr=RATE)
    return (
        Side("step()", {"step": stepping(ours, optimisers[0], dk.tensor(x), dk.tensor(target))}),
        Side("step()", {"step": stepping(theirs, optimisers[1], torch.tensor(x), torch.tensor(target))}),
    )


ROWS = [
    Row("layers", "conv net step 64×28×28", "PyTorch", 1.3, partial(sides, convolutional, 28)),
    Row("layers", "conv net step 64×8×8", "PyTorch", 1.3, partial(sides, convolutional, 8)),
    Row("layers", "MLP of layers step 64×28×28", "PyTorch", 1.0, partial(sides, perceptron, 28)),
    Row("layers", "MLP of layers step 64×8×8", "PyTorch", 1.0, partial(sides, perceptron, 8)),
]
