"""A small transformer that learns one text, and adapts to another with int8 weights and updates of low rank.

Run it with ``python docs/examples/adapters.py``; docs/examples/adapters.md explains it. With matplotlib it
draws the losses into docs/examples/adapters.svg.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.nn import functional
from dispatchkit.types import LoraTensor, QuantizedTensor

FIRST = (
    "the sun was up and the men went down to the boats. the wind was low and the sea was still. "
    "they put out the nets and sat and told old tales until the tide came in. "
)
SECOND = (
    "shall i compare thee to a summer's day? thou art more lovely and more temperate. "
    "rough winds do shake the darling buds of may, and summer's lease hath all too short a date. "
)
LETTERS = sorted(set(FIRST + SECOND))
LENGTH, WIDTH, HEADS = 16, 64, 4


class Block(nn.Module):
    """Attention to what came before, and a layer for each place."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query_key_value, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        """Compute the output of shape (batch, length, width)."""
        batch, length, width = x.shape
        parts = self.query_key_value(self.before(x)).reshape(batch, length, 3, HEADS, width // HEADS)
        q, k, v = dk.permute_dims(parts, (2, 0, 3, 1, 4))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(dk.permute_dims(y, (0, 2, 1, 3)).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.wide(self.between(x))))


class Transformer(nn.Module):
    """Letters in, scores of the next letter out."""

    def __init__(self) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(len(LETTERS), WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(WIDTH, len(LETTERS))

    def forward(self, x: Any) -> Any:
        """Compute scores of shape (batch, length, letters)."""
        return self.head(self.blocks(self.letters(x) + self.places(dk.arange(LENGTH))))


def batches(text: str, steps: int, seed: int) -> Any:
    """Yield letters and the letters that follow them."""
    codes = np.asarray([LETTERS.index(letter) for letter in text * 2])
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        at = rng.integers(0, len(text), size=(16, 1)) + np.arange(LENGTH)
        yield dk.asarray(codes[at]), dk.asarray(codes[at + 1])


def train(model: Any, text: str, steps: int, lr: float) -> tuple[list[float], float]:
    """Return the loss at each step, and the seconds for one."""
    optimizer = dk.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    losses, start = [], perf_counter()
    for x, y in batches(text, steps, seed=1):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x).reshape(-1, len(LETTERS)), y.reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, (perf_counter() - start) / steps


def adapted(model: Any, made: Callable[[Any], Any]) -> Any:
    """Return a copy of a model in which the matrices of the blocks are made anew, and these alone are trained."""
    model = copy.deepcopy(model).requires_grad_(False)
    for layer in model.blocks.modules():
        if isinstance(layer, nn.Linear):
            layer.weight = nn.Parameter(made(layer.weight.detach()))
    return model


class Dense(nn.Module):
    """The same update, added to a dense matrix at each step: what adapters are compared with."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        w = layer.weight
        self.left, self.right = nn.Parameter(w.left.detach().clone()), nn.Parameter(w.right.detach().clone())
        self.base, self.bias, self.scale = w.base.to_dense(), layer.bias, w.scale

    def forward(self, x: Any) -> Any:
        """Compute the output of the layer."""
        return functional.linear(x, self.base + self.scale * (self.left @ self.right), self.bias)


def dense_twin(model: Any) -> Any:
    """Return the same model with dense matrices in place of array types."""
    twin = copy.deepcopy(model)
    for block in twin.blocks:
        for name, layer in list(block.named_children()):
            if isinstance(layer, nn.Linear):
                setattr(block, name, Dense(layer))
    return twin


def stored(model: Any) -> int:
    """Return the bytes of the matrices of the blocks."""
    return sum(x.array.nbytes for name, x in model.blocks.state_dict().items() if ".weight." in name)


def run(steps: int = 120) -> dict[str, Any]:
    """Train on the first text, adapt to the second in both ways, and return what came out."""
    dk.manual_seed(0)
    model = Transformer()
    first, _ = train(model, FIRST, steps, lr=3e-3)
    lora = adapted(model, lambda w: LoraTensor.from_dense(QuantizedTensor.from_dense(w), rank=4, scale=2.0))
    twin = dense_twin(lora)
    dense_bytes = sum(layer.weight.array.nbytes for layer in model.blocks.modules() if isinstance(layer, nn.Linear))
    with dk.densify(on="error"):
        structured, of_structured = train(lora, SECOND, steps, lr=1e-2)
    dense, of_dense = train(twin, SECOND, steps, lr=1e-2)
    return {
        "first": first,
        "structured": structured,
        "dense": dense,
        "difference": max(abs(a - b) / b for a, b in zip(structured, dense, strict=True)),
        "time": of_structured / of_dense,
        "memory": stored(lora) / dense_bytes,
        "trained": sum(p.size for p in lora.parameters() if p.requires_grad) / sum(p.size for p in model.parameters()),
    }


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw the losses."""
    from matplotlib import pyplot as plt  # noqa: PLC0415  # the rest of the program can be had without it

    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    steps = len(found["first"])
    axes.plot(range(steps), found["first"], color="#888888", label="first text, dense, all trained")
    later = range(steps, 2 * steps)
    axes.plot(later, found["dense"], color="#d95f02", linewidth=4, alpha=0.4, label="second text, dense products")
    axes.plot(later, found["structured"], color="#1b6ca8", label="second text, LoraTensor on int8")
    axes.set(xlabel="step", ylabel="cross-entropy", ylim=(0, None))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    found = run()
    print(f"first text: loss {found['first'][0]:.2f} to {found['first'][-1]:.2f}")
    print(f"second text, LoRA on int8: loss {found['structured'][0]:.2f} to {found['structured'][-1]:.2f}")
    print(f"largest relative difference to the dense computation: {found['difference']:.0e}")
    print(f"bytes of the matrices, by dense ones: {found['memory']:.2f}; numbers trained: {found['trained']:.2f}")
    print(f"time of a step, by the dense computation: {found['time']:.2f}")
    draw(found, Path(__file__).with_suffix(".svg"))
