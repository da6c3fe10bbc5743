"""A small problem that several libraries can be set: a perceptron with one hidden layer and a quadratic loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["DECAY_OPTIONS", "SGD_OPTIONS", "Problem"]

# Every option of an optimiser, alone and with those it acts on; climbing slowly, lest the numbers explode.
SGD_OPTIONS: list[dict[str, Any]] = [
    {},
    {"momentum": 0.9},
    {"momentum": 0.9, "dampening": 0.3},
    {"momentum": 0.9, "nesterov": True},
    {"weight_decay": 0.1},
    {"weight_decay": 0.1, "momentum": 0.5, "nesterov": True},
    {"maximize": True, "lr": 1e-3},
    {"maximize": True, "lr": 1e-3, "weight_decay": 0.1, "momentum": 0.5, "dampening": 0.1},
]
DECAY_OPTIONS: list[dict[str, Any]] = [
    {},
    {"betas": (0.8, 0.95)},
    {"betas": (0.0, 0.5), "eps": 1e-3},
    {"weight_decay": 0.1},
    {"weight_decay": 0.1, "maximize": True},
    {"amsgrad": True},
    {"amsgrad": True, "weight_decay": 0.2, "eps": 1e-2},
    {"maximize": True},
]


class Problem:
    """The problem in one library.

    Parameters
    ----------
    library : gives ``tensor`` and ``tanh``
    dtype : of the numbers, by NumPy's name
    """

    def __init__(self, library: Any, dtype: str = "float64") -> None:
        rng = np.random.default_rng(3)

        def tensor(*shape: int, scale: float = 1.0, **keywords: Any) -> Any:
            values = scale * rng.standard_normal(shape)
            return library.tensor(values, dtype=getattr(library, dtype), **keywords)

        self.tanh: Callable[[Any], Any] = library.tanh
        self.x, self.y = tensor(16, 5), tensor(16, 3)
        self.parameters = [tensor(*shape, scale=0.5, requires_grad=True) for shape in ((5, 4), (4,), (4, 3), (3,))]

    def loss(self) -> Any:
        w1, b1, w2, b2 = self.parameters
        residual = self.tanh(self.x @ w1 + b1) @ w2 + b2 - self.y
        return (residual * residual).mean()

    def run(self, optimizer: Any, steps: int = 100, *, closure: bool = False, schedule: Any = None) -> list[Any]:
        """Take steps; return the parameters after each, and what a closure gave."""

        def evaluate() -> Any:
            optimizer.zero_grad()
            loss = self.loss()
            loss.backward()
            return loss

        seen = []
        for _ in range(steps):
            if closure:
                seen.append(np.asarray(optimizer.step(evaluate).item()))
            else:
                evaluate()
                optimizer.step()
            if schedule is not None:
                schedule.step()
            seen += [np.array(p.detach().numpy()) for p in self.parameters]
        return seen
