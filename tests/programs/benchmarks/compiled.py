"""Compiled training steps beside those of the library that compiles them.

``python -m tests.programs.benchmarks.compiled`` times them.

A step is forward pass, cross-entropy, backward pass and gradient descent with momentum, in float32. The sides of a row
start from the same numbers and end with the same loss; they are timed by turns, one thread each, the least of the
repeats counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import dispatchkit as dk

SIZES = [(32, 64, 32, 10), (64, 784, 256, 10), (256, 784, 1024, 10)]
RATE, MOMENTUM = 0.01, 0.9
Step = Callable[[], Any]


def numbers(batch: int, *widths: int) -> tuple[Any, Any, list[Any]]:
    """Return inputs, labels, and weights (outputs, inputs) and biases of the layers in turn."""
    rng = np.random.default_rng(0)
    layers = []
    for inputs, outputs in pairwise(widths):
        layers.append((rng.normal(size=(outputs, inputs)) / inputs**0.5).astype(np.float32))
        layers.append(np.zeros(outputs, np.float32))
    return rng.normal(size=(batch, widths[0])).astype(np.float32), rng.integers(widths[-1], size=batch), layers


def dispatchkit_step(
    make: Callable[[Any], Any], backend: str | None, size: tuple[int, ...], *, keeps_gradients: bool = False
) -> Step:
    """Return the step as one writes it for dispatchkit: it ends without gradients, or with those of its loss."""
    x, y, layers = numbers(*size)
    leaves = [dk.Tensor(make(layer), requires_grad=True) for layer in layers]
    inputs, labels = dk.Tensor(make(x)), dk.Tensor(make(y))
    optimizer = dk.optim.SGD(leaves, lr=RATE, momentum=MOMENTUM)

    def step(inputs: Any, labels: Any) -> Any:
        w1, b1, w2, b2 = leaves
        if keeps_gradients:
            optimizer.zero_grad()
        loss = dk.nn.functional.cross_entropy(dk.relu(inputs @ w1.T + b1) @ w2.T + b2, labels)
        loss.backward()
        optimizer.step()
        if not keeps_gradients:
            optimizer.zero_grad()
        return loss

    run = step if backend is None else dk.compile(step, state=[optimizer], backend=backend)
    return lambda: run(inputs, labels).array


def jax_step(size: tuple[int, ...]) -> Step:
    """Return the step as one writes it for `jax.jit`."""
    import jax  # one of the sides
    import jax.numpy as jnp

    x, y, layers = numbers(*size)
    inputs, labels = jnp.asarray(x), jnp.asarray(y)

    def loss(weights: Any, x: Any, y: Any) -> Any:
        w1, b1, w2, b2 = weights
        scores = jax.nn.log_softmax(jax.nn.relu(x @ w1.T + b1) @ w2.T + b2)
        return -jnp.mean(jnp.take_along_axis(scores, y[:, None], axis=1))

    def step(weights: Any, buffers: Any, x: Any, y: Any) -> Any:
        value, slopes = jax.value_and_grad(loss)(weights, x, y)
        buffers = [MOMENTUM * b + g for b, g in zip(buffers, slopes, strict=True)]
        return [w - RATE * b for w, b in zip(weights, buffers, strict=True)], buffers, value

    compiled = jax.jit(step)
    held = [list(map(jnp.asarray, layers)), [jnp.zeros_like(layer) for layer in layers]]

    def run() -> Any:
        held[0], held[1], value = compiled(*held, inputs, labels)
        return value

    return run


def torch_step(size: tuple[int, ...], *, compiled: bool) -> Step:
    """Return the step as one writes it for PyTorch."""
    import torch  # one of the sides

    x, y, layers = numbers(*size)
    leaves = [torch.tensor(layer, requires_grad=True) for layer in layers]
    inputs, labels = torch.tensor(x), torch.tensor(y)
    optimizer = torch.optim.SGD(leaves, lr=RATE, momentum=MOMENTUM)

    def loss(x: Any, y: Any) -> Any:
        w1, b1, w2, b2 = leaves
        return torch.nn.functional.cross_entropy(torch.relu(x @ w1.T + b1) @ w2.T + b2, y)

    forward = torch.compile(loss) if compiled else loss

    def step() -> Any:
        optimizer.zero_grad()
        value = forward(inputs, labels)
        value.backward()
        optimizer.step()
        return value.detach()

    return step


def timed(sides: dict[str, Step], repeats: int) -> dict[str, float]:
    """Return the least time of each side, after ten steps that give the same losses."""
    losses = {name: [float(step()) for _ in range(10)] for name, step in sides.items()}
    first = next(iter(losses.values()))
    for found in losses.values():
        np.testing.assert_allclose(found, first, rtol=1e-4)
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(repeats):
        for name, step in sides.items():
            start = time.perf_counter()
            np.asarray(step())
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main(backend: str) -> None:
    """Print the table of a backend, its reference first."""
    for size in SIZES:
        if backend == "jax":
            import jax.numpy as jnp

            sides = {
                "jax.jit": jax_step(size),
                "dk.compile": dispatchkit_step(jnp.asarray, "jax", size),
                "dk.compile, gradients kept": dispatchkit_step(jnp.asarray, "jax", size, keeps_gradients=True),
                "as written, over JAX": dispatchkit_step(jnp.asarray, None, size),
            }
        else:
            import torch

            torch.set_num_threads(1)
            sides = {
                "PyTorch": torch_step(size, compiled=False),
                "torch.compile of the loss": torch_step(size, compiled=True),
                "dk.compile": dispatchkit_step(torch.tensor, "torch", size),
                "as written, over torch": dispatchkit_step(torch.tensor, None, size),
            }
        best = timed(sides, 300 if size[0] < 256 else 60)
        reference = next(iter(best.values()))
        for name, seconds in best.items():
            print(f"{'x'.join(map(str, size)):>18} {name:28} {1e3 * seconds:8.3f} ms {seconds / reference:6.2f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "jax")
