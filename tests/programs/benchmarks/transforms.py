"""Jacobians of a function of 100 numbers to 100, all rows or columns at once, against a loop over them.

The function is three layers of ``tanh(W @ x)``. The loops run it once for each unit cotangent or tangent; the third
runs it once, and pulls one unit cotangent after the other back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import dispatchkit as dk

from .harness import Row, Side

__all__ = ["ROWS"]

SIZE, LAYERS = 100, 3


def layers() -> tuple[Callable[[Any], Any], dk.Tensor]:
    """Return the function and where it is differentiated."""
    rng = np.random.default_rng(0)
    weights = [dk.tensor(rng.standard_normal((SIZE, SIZE)) / np.sqrt(SIZE)) for _ in range(LAYERS)]

    def func(x: Any) -> Any:
        for w in weights:
            x = dk.tanh(w @ x)
        return x

    return func, dk.tensor(rng.standard_normal(SIZE))


def by_vjp(func: Callable[[Any], Any], x: Any, units: Any) -> Any:
    return dk.stack([dk.func.vjp(func, x)[1](unit)[0] for unit in units])


def by_pull(func: Callable[[Any], Any], x: Any, units: Any) -> Any:
    _, pull = dk.func.vjp(func, x)
    return dk.stack([pull(unit)[0] for unit in units])


def by_jvp(func: Callable[[Any], Any], x: Any, units: Any) -> Any:
    return dk.stack([dk.func.jvp(func, (x,), (unit,))[1] for unit in units], axis=-1)


def jacobians(transform: Callable[..., Any], loop: Callable[..., Any]) -> tuple[Side, Side]:
    func, x = layers()
    units = list(dk.eye(SIZE))
    ours = Side("jacobian(x)", {"jacobian": transform(func), "x": x})
    return ours, Side("loop(func, x, units)", {"loop": loop, "func": func, "x": x, "units": units})


ROWS = [
    Row("func", "jacrev, 100 to 100", "a loop of vjp calls", 0.1, partial(jacobians, dk.func.jacrev, by_vjp)),
    Row("func", "jacfwd, 100 to 100", "a loop of jvp calls", 0.1, partial(jacobians, dk.func.jacfwd, by_jvp)),
    Row("func", "jacrev, 100 to 100", "one vjp, its pull in a loop", 0.15, partial(jacobians, dk.func.jacrev, by_pull)),
]
