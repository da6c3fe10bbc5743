"""A training step of networks made of layers: a small convolutional one, and one of linear layers.

Both sides start from the same numbers in float64 and compute the same: forward, cross-entropy, backward, gradient
descent by the library's own optimiser. Over PyTorch's arrays there are recurrent layers, too, all in float32.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import dispatchkit as dk

from .harness import Row, Side, pytorch
from .mlp import LARGE, MIDDLE, SMALL

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


def perceptron(nn: Any, *widths: int) -> list[Any]:
    """Linear layers, with rectifiers between them."""
    return [(nn.Linear(*pair), pair[1] != widths[-1]) for pair in pairwise(widths)]


def stepping(
    net: Any, optimiser: Any, loss_of: Callable[[Any, Any], Any], x: Any, target: Any
) -> Callable[[], tuple[Any, list[Any]]]:
    def step() -> tuple[Any, list[Any]]:
        optimiser.zero_grad()
        loss = loss_of(net(x), target)
        loss.backward()
        optimiser.step()
        return loss, list(net.parameters())

    return step


def sides(make: Callable[..., list[Any]], shape: tuple[int, ...], *sizes: int) -> tuple[Side, Side]:
    """Return the steps of both libraries, on inputs of a shape, one of ten classes for each."""
    torch = pytorch()
    rng = np.random.default_rng(0)
    x, target = rng.standard_normal(shape), rng.integers(10, size=shape[0])
    ours = network(dk, dk.relu, make(dk.nn, *sizes))
    theirs = network(torch, torch.relu, make(torch.nn, *sizes)).double()
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        q.data.copy_(torch.tensor(p.detach().numpy()))
    steps = [
        stepping(
            net,
            library.optim.SGD(net.parameters(), lr=RATE),
            library.nn.functional.cross_entropy,
            library.tensor(x),
            library.tensor(target),
        )
        for library, net in ((dk, ours), (torch, theirs))
    ]
    one, other = (Side("step()", {"step": step}) for step in steps)
    return one, other


def last_output(library: Any, layer: str) -> Any:
    """Give a module of a recurrent layer, which classifies sequences by their last output."""

    class Net(library.nn.Module):  # type: ignore[misc]  # of either library
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.head = getattr(library.nn, layer)(64, 64), library.nn.Linear(64, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.layer(x)[0][-1])

    return Net()


def attending(library: Any, _: Any) -> Any:
    """Give a module of one layer of an encoder, which classifies sequences by their last output."""

    class Net(library.nn.Module):  # type: ignore[misc]  # of either library
        def __init__(self) -> None:
            super().__init__()
            self.layer = library.nn.TransformerEncoderLayer(64, 4, 128, 0.0, activation="gelu", batch_first=True)
            self.head = library.nn.Linear(64, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.layer(x)[:, -1])

    return Net()


def last_state(library: Any, cell: str) -> Any:
    """Give a module that classifies by the state of a cell after a step."""

    class Net(library.nn.Module):  # type: ignore[misc]  # of either library
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.head = getattr(library.nn, cell)(64, 64), library.nn.Linear(64, 10)

        def forward(self, x: Any) -> Any:
            h = self.layer(x)
            if cell == "LSTMCell":
                h = h[0]
            return self.head(h)

    return Net()


def in_single(
    make: Callable[[Any, Any], Any], shape: tuple[int, ...], batch: int, *, of_numpy: bool = False
) -> tuple[Side, Side]:
    """Return the steps of both libraries in single precision, as such networks are trained.

    Those of this library are on PyTorch's arrays, or on NumPy's.
    """
    torch = pytorch()
    rng = np.random.default_rng(0)
    x, target = torch.tensor(rng.standard_normal(shape)).float(), torch.tensor(rng.integers(10, size=batch))
    theirs = make(torch, torch.relu).float()
    held = [dk.asarray(array.numpy() if of_numpy else array) for array in (x, target)]
    ours = make(dk, dk.relu).to(like=held[0]).float()
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        q.data.copy_(torch.asarray(p.detach().array))
    sides = []
    for library, net, data in ((dk, ours, held), (torch, theirs, [x, target])):
        optimiser = library.optim.Adam(net.parameters(), lr=0.0)  # the same step each time
        step = stepping(net, optimiser, library.nn.functional.cross_entropy, *data)
        sides.append(Side("step()", {"step": lambda step=step: round(step()[0].item(), 4)}))
    return sides[0], sides[1]


def of_recurrent(layer: str) -> Row:
    build = partial(in_single, lambda library, _: last_output(library, layer), (32, 16, 64), 16)
    return Row("layers", f"{layer} step 32×16×64 over PyTorch's arrays", "PyTorch", 1.3, build)


def of_layers(work: str, layers: Callable[..., list[Any]], shape: tuple[int, ...], *sizes: int) -> Row:
    def make(library: Any, relu: Any) -> Any:
        return network(library, relu, layers(library.nn, *sizes))

    build = partial(in_single, make, shape, shape[0])
    return Row("layers", f"{work} over PyTorch's arrays", "PyTorch", 1.3, build)


def of_one(work: str, make: Callable[[Any, Any], Any], shape: tuple[int, ...], *, of_numpy: bool) -> Row:
    arrays = "PyTorch's"
    if of_numpy:
        arrays = "NumPy's"
    build = partial(in_single, make, shape, shape[0], of_numpy=of_numpy)
    return Row("layers", f"{work} over {arrays} arrays", "PyTorch", 1.3, build)


def of_cell(cell: str, *, of_numpy: bool) -> Row:
    return of_one(f"{cell} step 16×64", lambda library, _: last_state(library, cell), (16, 64), of_numpy=of_numpy)


def of_perceptron(batch: int, *widths: int) -> Row:
    name = "×".join(map(str, (batch, *widths)))
    build = partial(sides, perceptron, (batch, widths[0]), *widths)
    return Row("layers", f"MLP of layers step {name}", "PyTorch", 0.85, build)


ROWS = [
    Row("layers", "conv net step 64×28×28", "PyTorch", 1.3, partial(sides, convolutional, (64, 1, 28, 28), 28)),
    Row("layers", "conv net step 64×8×8", "PyTorch", 1.3, partial(sides, convolutional, (64, 1, 8, 8), 8)),
    *(of_perceptron(*size) for size in (SMALL, MIDDLE, LARGE)),
    *map(of_recurrent, ("LSTM", "GRU")),
    of_layers("MLP step 32×64×32×10", perceptron, (32, 64), 64, 32, 10),
    of_layers("MLP step 64×784×256×10", perceptron, (64, 784), 784, 256, 10),
    of_layers("conv net step 64×28×28", convolutional, (64, 1, 28, 28), 28),
    *(of_one("encoder layer step 16×32×64", attending, (16, 32, 64), of_numpy=numpy) for numpy in (True, False)),
    *(of_cell(cell, of_numpy=numpy) for cell in ("LSTMCell", "GRUCell") for numpy in (True, False)),
]
