"""Handwritten digits: a small convolutional network, and the same one with a weight of low rank.

Run it with ``python docs/digits.py``; docs/training-digits.md tells of it. It needs scikit-learn, which brings the
data: 1,797 images of 8 × 8 pixels, a part of the set "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak,
1998, UCI Machine Learning Repository). With matplotlib it draws the loss into docs/digits-loss.svg.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import nn

# 1. The data: three quarters to learn from, a quarter to be asked about.


def load() -> tuple[dk.data.TensorDataset, dk.data.TensorDataset]:
    """Return images to train on and images to test with, each with its digit."""
    from sklearn.datasets import load_digits  # noqa: PLC0415  # the rest of the program can be had without it

    pixels, digits = load_digits(return_X_y=True)
    images = (pixels.reshape(-1, 1, 8, 8) / 16).astype(np.float32)  # (N, channels, height, width), from 0 to 1
    order = np.random.default_rng(0).permutation(len(images))
    train, test = order[: len(order) * 3 // 4], order[len(order) * 3 // 4 :]
    return (
        dk.data.TensorDataset(images[train], digits[train]),
        dk.data.TensorDataset(images[test], digits[test]),
    )


# 2. The model: two convolutions, a pooling, two linear layers.


def network() -> nn.Sequential:
    """Return a network for images of 8 × 8 pixels, untrained."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    ).float()


# 3. A type of our own: nine tenths of the parameters are in one matrix of 128 × 512. A product of two thin matrices
#    has fewer. Two rules are all that a linear layer asks of it.


@dk.array_type(fallback=dk.fallback.decompose)
class LowRank:
    """The matrix ``left @ right``, with few columns in `left` and as many rows in `right`."""

    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right

    @property
    def shape(self) -> tuple[int, int]:
        return self.left.shape[0], self.right.shape[1]

    @property
    def dtype(self) -> Any:
        return self.left.dtype

    def to_dense(self) -> Any:
        return self.left @ self.right


@dk.implements(dk.matrix_transpose)
def transpose_low_rank(x: LowRank, /) -> LowRank:
    return LowRank(x.right.mT, x.left.mT)


@dk.implements(dk.matmul)
def matmul_tensor_low_rank(x1: dk.Tensor, x2: LowRank, /) -> Any:
    return (x1 @ x2.left) @ x2.right


def thin_network(rank: int = 8) -> nn.Sequential:
    """Return the network with a weight of low rank in its first linear layer."""
    model = network()
    outputs, inputs = model[6].weight.shape
    left = dk.randn(outputs, rank, dtype=dk.float32) / rank**0.5
    right = dk.randn(rank, inputs, dtype=dk.float32) / inputs**0.5
    model[6].weight = nn.Parameter(LowRank(left, right))
    return model


# 4. Training.


@dataclass
class Run:
    """What came of training a model."""

    name: str
    parameters: int
    losses: list[float]  # of each step
    accuracy: float  # on images that were not trained on
    seconds: float


def train(
    name: str, model: nn.Module, images: dk.data.TensorDataset, asked: dk.data.TensorDataset, *, epochs: int = 6
) -> Run:
    """Train a model, and ask it about images it has not seen."""
    loader = dk.data.DataLoader(images, batch_size=64, shuffle=True, drop_last=True)
    optimizer = dk.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-2)
    schedule = dk.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
    losses = []
    start = perf_counter()
    for x, digit in shown(name, (batch for _ in range(epochs) for batch in loader), epochs * len(loader)):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), digit)
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    seconds = perf_counter() - start
    return Run(name, sum(p.size for p in model.parameters()), losses, accuracy(model, asked), seconds)


def accuracy(model: nn.Module, asked: dk.data.TensorDataset) -> float:
    """Return the share of images for which the right digit has the highest score."""
    model.eval()
    right = 0
    with dk.no_grad():
        for x, digit in dk.data.DataLoader(asked, batch_size=256):
            right += dk.sum(dk.argmax(model(x), axis=1) == digit).item()
    return right / len(asked)


def shown(name: str, steps: Iterable[Any], total: int) -> Iterator[Any]:
    """Pass steps on, and draw on a terminal how many of them are done."""
    width, terminal = 40, sys.stderr.isatty()
    for done, step in enumerate(steps, 1):
        yield step
        if terminal:
            bar = "#" * (done * width // total)
            print(f"\r{name:9} [{bar:.<{width}}] {done}/{total}", end="", file=sys.stderr, flush=True)
    if terminal:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


# 5. Both, side by side.


def table(runs: Iterable[Run]) -> str:
    """Return a line for each run."""
    lines = [f"{'weight':9} {'parameters':>10} {'accuracy':>9} {'seconds':>8}"]
    lines += [f"{run.name:9} {run.parameters:10,} {run.accuracy:9.1%} {run.seconds:8.1f}" for run in runs]
    return "\n".join(lines)


def plot(runs: Iterable[Run], path: Path) -> None:
    """Draw the losses of all steps, each with the mean of its neighbours, into a file."""
    import matplotlib as mpl  # noqa: PLC0415  # optional
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for run, colour in zip(runs, ("tab:blue", "tab:orange"), strict=True):
        axes.semilogy(run.losses, color=colour, alpha=0.25, linewidth=1)
        window = np.ones(min(11, len(run.losses)))
        mean = np.convolve(run.losses, window, "same") / np.convolve(np.ones(len(run.losses)), window, "same")
        label = f"{run.name}: {run.parameters:,} parameters, {run.accuracy:.1%} right"
        axes.semilogy(mean, color=colour, linewidth=2, label=label)
    axes.set(xlabel="step", ylabel="cross-entropy", title="Training on 1,347 handwritten digits")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    with mpl.rc_context({"svg.hashsalt": "digits", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    """Train both networks, print a table, draw the losses."""
    images, asked = load()
    runs = []
    for name, make in (("dense", network), ("low rank", thin_network)):
        dk.manual_seed(0)
        runs.append(train(name, make(), images, asked))
    print(table(runs))
    path = Path(__file__).with_name("digits-loss.svg")
    try:
        plot(runs, path)
    except ImportError:
        print("pip install matplotlib draws the loss")
    else:
        print(f"The loss: {path.parent.name}/{path.name}")


if __name__ == "__main__":
    main()
