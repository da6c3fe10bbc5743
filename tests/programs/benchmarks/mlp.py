"""A training step of a multi-layer perceptron: forward, cross-entropy, backward, gradient descent.

All three programs start from the same numbers in float64 and compute the same formula; after a step, loss and
parameters are the same. A size reads batch × inputs × hidden × classes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dispatchkit as dk

from .harness import Row, Side, pytorch

__all__ = ["LARGE", "MIDDLE", "ROWS", "SMALL"]

RATE = 1e-3  # small enough for thousands of timed steps to stay ordinary numbers

Array = NDArray[np.float64]
Step = Callable[[], tuple[Any, list[Any]]]


@dataclass(frozen=True)
class Problem:
    """Inputs (batch, inputs), a label for each, and the layers' weights (outputs, inputs) and biases."""

    x: Array
    labels: NDArray[np.int64]
    one_hot: Array
    layers: list[tuple[Array, Array]]


def problem(batch: int, *widths: int) -> Problem:
    rng = np.random.default_rng(0)
    labels = rng.integers(widths[-1], size=batch)
    layers = [
        (rng.standard_normal((outputs, inputs)) / np.sqrt(inputs), 0.1 * rng.standard_normal(outputs))
        for inputs, outputs in pairwise(widths)
    ]
    return Problem(rng.standard_normal((batch, widths[0])), labels, np.eye(widths[-1])[labels], layers)


def dispatchkit_step(p: Problem) -> Step:
    x, labels = dk.tensor(p.x), dk.tensor(p.labels)
    layers: list[Any] = [[dk.tensor(array, requires_grad=True) for array in layer] for layer in p.layers]
    parameters = [parameter for layer in layers for parameter in layer]
    *hidden, (last_w, last_b) = layers
    relu, cross_entropy = dk.relu, dk.nn.functional.cross_entropy

    def step() -> tuple[Any, list[Any]]:
        h: Any = x
        for w, b in hidden:
            h = relu(h @ w.T + b)
        loss = cross_entropy(h @ last_w.T + last_b, labels)
        loss.backward()
        with dk.no_grad():
            for parameter in parameters:
                parameter -= RATE * parameter.grad
                parameter.grad = None
        return loss, parameters

    return step


def torch_step(p: Problem) -> Step:
    torch = pytorch()
    relu, cross_entropy = torch.nn.functional.relu, torch.nn.functional.cross_entropy
    x, labels = torch.tensor(p.x), torch.tensor(p.labels)
    layers: list[Any] = [[torch.tensor(array, requires_grad=True) for array in layer] for layer in p.layers]
    parameters = [parameter for layer in layers for parameter in layer]
    *hidden, (last_w, last_b) = layers

    def step() -> tuple[Any, list[Any]]:
        h = x
        for w, b in hidden:
            h = relu(h @ w.T + b)
        loss = cross_entropy(h @ last_w.T + last_b, labels)
        loss.backward()
        with torch.no_grad():
            for parameter in parameters:
                parameter -= RATE * parameter.grad
                parameter.grad = None
        return loss, parameters

    return step


def numpy_step(p: Problem) -> Step:
    x, one_hot, batch = p.x, p.one_hot, len(p.labels)
    layers = [(w.copy(), b.copy()) for w, b in p.layers]
    parameters = [parameter for layer in layers for parameter in layer]
    *hidden, (last_w, last_b) = layers

    def step() -> tuple[Any, list[Any]]:
        inputs = [x]
        for w, b in hidden:
            inputs.append(np.maximum(inputs[-1] @ w.T + b, 0.0))
        logits = inputs[-1] @ last_w.T + last_b
        shifted = logits - np.max(logits, axis=1, keepdims=True)
        exps = np.exp(shifted)
        total = np.sum(exps, axis=1, keepdims=True)
        loss = -np.sum(one_hot * (shifted - np.log(total))) / batch
        g = (exps / total - one_hot) / batch
        gradients = []
        for (w, _), h in zip(reversed(layers), reversed(inputs), strict=True):
            gradients += [np.sum(g, axis=0), g.T @ h]
            if h is not x:
                g = (g @ w) * (h > 0)
        for parameter, gradient in zip(parameters, reversed(gradients), strict=True):
            parameter -= RATE * gradient
        return loss, parameters

    return step


def against(reference: Callable[[Problem], Step], size: tuple[int, ...]) -> tuple[Side, Side]:
    p = problem(*size)
    return Side("step()", {"step": dispatchkit_step(p)}), Side("step()", {"step": reference(p)})


def row(size: tuple[int, ...], name: str, hold: float, reference: Callable[[Problem], Step]) -> Row:
    return Row("mlp", f"MLP step {'×'.join(map(str, size))}", name, hold, partial(against, reference, size))


SMALL, MIDDLE, LARGE = (32, 64, 32, 10), (64, 784, 256, 10), (256, 784, 1024, 10)

ROWS = [
    *(row(size, "PyTorch", 0.85, torch_step) for size in (SMALL, MIDDLE, LARGE)),
    row(SMALL, "hand-written NumPy", 6.0, numpy_step),
    row(MIDDLE, "hand-written NumPy", 1.5, numpy_step),
    row(LARGE, "hand-written NumPy", 1.1, numpy_step),
]
