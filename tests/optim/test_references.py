"""Optimisers against their formulas, written out in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

from .problems import DECAY_OPTIONS, SGD_OPTIONS, Problem


def sgd(
    p: Any,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
) -> Any:
    """Give, for each gradient sent in, the parameter after the step."""
    b = None
    while True:
        g = yield p
        g = (-g if maximize else g) + weight_decay * p
        if momentum:
            b = g if b is None else momentum * b + (1 - dampening) * g
            g = g + momentum * b if nesterov else b
        p = p - lr * g


def adam(
    p: Any,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
    maximize: bool = False,
    decoupled: bool = False,
) -> Any:
    m, v, largest = 0 * p, 0 * p, 0 * p
    for t in count(1):
        g = yield p
        g = -g if maximize else g
        if decoupled:
            p = p - lr * weight_decay * p
        else:
            g = g + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        largest = np.maximum(largest, v)
        root = np.sqrt((largest if amsgrad else v) / (1 - betas[1] ** t))
        p = p - lr * m / (1 - betas[0] ** t) / (root + eps)


def adamw(p: Any, lr: float, weight_decay: float = 1e-2, **options: Any) -> Any:
    return adam(p, lr, weight_decay=weight_decay, decoupled=True, **options)


def name_of(value: Any) -> str:
    return str(getattr(value, "__name__", value))


CASES: list[tuple[Any, Callable[..., Any], dict[str, Any]]] = [
    *[(dk.optim.SGD, sgd, {"lr": 0.05, **options}) for options in SGD_OPTIONS],
    *[(dk.optim.Adam, adam, {"lr": 0.02, **options}) for options in DECAY_OPTIONS],
    *[(dk.optim.AdamW, adamw, {"lr": 0.02, **options}) for options in DECAY_OPTIONS],
]


@pytest.mark.parametrize(("make", "reference", "options"), CASES, ids=name_of)
def test_options(make: Any, reference: Callable[..., Any], options: dict[str, Any]) -> None:
    problem = Problem(dk)
    optimizer = make(problem.parameters, **options)
    references = [reference(np.array(p.array), **options) for p in problem.parameters]
    for each in references:
        next(each)
    for _ in range(100):
        optimizer.zero_grad()
        problem.loss().backward()
        gradients = [np.array(p.grad.array) for p in problem.parameters]
        optimizer.step()
        for p, g, each in zip(problem.parameters, gradients, references, strict=True):
            np.testing.assert_allclose(p.array, each.send(g), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(), (1,), (3, 500, 100), (1, 200_000), (150_000,), (0,), (0, 4)])
@pytest.mark.parametrize("make", [dk.optim.SGD, dk.optim.Adam])
def test_shapes_small_and_large(make: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    start, g = rng.standard_normal(shape), rng.standard_normal(shape)
    p = dk.tensor(start, requires_grad=True)
    options: Any = {"momentum": 0.9} if make is dk.optim.SGD else {"amsgrad": True}
    reference = (sgd if make is dk.optim.SGD else adam)(start, lr=0.1, **options)
    next(reference)
    optimizer = make([p], lr=0.1, **options)
    for _ in range(3):
        p.grad = dk.tensor(g)
        optimizer.step()
        np.testing.assert_allclose(p.array, reference.send(g), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("make", [dk.optim.SGD, dk.optim.Adam])
def test_memory_in_any_order(make: Any) -> None:
    rng = np.random.default_rng(0)
    start, g = rng.standard_normal((600, 500)), rng.standard_normal((500, 600))
    made = []
    starts = (start.copy(), start.T.copy().T, start.copy()[::-1])
    for array, gradient in zip(starts, (g.T, np.ascontiguousarray(g.T), g.T), strict=True):
        p = dk.asarray(array).requires_grad_()
        p.grad = dk.asarray(gradient)
        before = np.array(p.array)
        make([p], lr=0.1).step()
        made.append(p.array - before)
    np.testing.assert_allclose(made[0], made[1], rtol=1e-12)
    np.testing.assert_allclose(made[0], made[2], rtol=1e-9)
