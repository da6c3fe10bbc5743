"""A step of an optimiser on the parameters of the perceptrons in `mlp`, whose gradients stay as they are.

Both programs start from the same numbers in float64; PyTorch's optimiser is as it comes, for all parameters at once.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import dispatchkit as dk

from .harness import Row, Side, pytorch
from .mlp import LARGE, MIDDLE, SMALL, problem

__all__ = ["ROWS"]

RATE = 1e-6  # small enough for thousands of timed steps to stay ordinary numbers


def stepper(make: Callable[..., Any], library: Any, size: tuple[int, ...], options: dict[str, float]) -> Side:
    rng = np.random.default_rng(1)
    parameters = []
    for array in (array for layer in problem(*size).layers for array in layer):
        parameter = library.tensor(array, requires_grad=True)
        parameter.grad = library.tensor(rng.standard_normal(array.shape))
        parameters.append(parameter)
    optimizer = make(parameters, lr=RATE, **options)

    def step() -> list[Any]:
        optimizer.step()
        return parameters

    return Side("step()", {"step": step})


def against(name: str, options: dict[str, float], size: tuple[int, ...]) -> tuple[Side, Side]:
    torch = pytorch()
    ours, theirs = getattr(dk.optim, name), getattr(torch.optim, name)
    return stepper(ours, dk, size, options), stepper(theirs, torch, size, options)


def row(name: str, options: dict[str, float], size: tuple[int, ...], hold: float) -> Row:
    work = f"{' '.join((name, *options))} step {'×'.join(map(str, size))}"
    return Row("optim", work, "PyTorch", hold, partial(against, name, options, size))


MOMENTUM = {"momentum": 0.9}

ROWS = [
    *(row("SGD", MOMENTUM, size, hold) for size, hold in ((SMALL, 1.0), (MIDDLE, 1.5), (LARGE, 1.5))),
    *(row("Adam", {}, size, hold) for size, hold in ((SMALL, 0.85), (MIDDLE, 1.1), (LARGE, 1.1))),
]
