"""The same derivatives in other libraries: JAX, HIPS autograd, MyGrad, and PyTorch's function transforms."""

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import dispatchkit as dk

from .harness import Row, Side, Unavailable, pytorch
from .tensors import A, chain

__all__ = ["ROWS"]

W = [-0.5] * 4
SIZE = 100


def library(name: str, package: str = "") -> Any:
    """Give a library that may not be installed, from the package of its name or of another."""
    try:
        return importlib.import_module(name)
    except ImportError:
        root = name.partition(".")[0]
        raise Unavailable(f"{root} not installed: pip install {package or root}") from None


def jax() -> Any:
    """Give JAX in double precision."""
    found = library("jax")
    found.config.update("jax_enable_x64", True)
    return found


def total(x: Any, w: Any, b: Any, xp: Any) -> Any:
    """Compute the forward half of `chain` with another library's functions."""
    for _ in range(10):
        x = xp.exp(x * w + b)
    return xp.sum(x)


def ours() -> Side:
    names = {"x": dk.tensor(A, requires_grad=True), "w": dk.tensor(W), "b": dk.tensor(A), "exp": dk.exp}
    return Side("chain(x, w, b, exp)", {**names, "chain": chain})


def against_autograd() -> tuple[Side, Side]:
    xp = library("autograd.numpy")
    gradient = library("autograd").grad(partial(total, w=np.array(W), b=np.array(A), xp=xp))
    return ours(), Side("gradient(x)", {"gradient": gradient, "x": np.array(A)})


def against_mygrad() -> tuple[Side, Side]:
    mg = library("mygrad")
    x, w, b = mg.tensor(A), mg.tensor(W, constant=True), mg.tensor(A, constant=True)

    def gradient() -> Any:
        x.null_grad()
        total(x, w, b, mg).backward()
        return x.grad

    return ours(), Side("gradient()", {"gradient": gradient})


def against_jax(compiled: bool) -> tuple[Side, Side]:
    found = jax()
    xp = found.numpy
    gradient = found.grad(partial(total, w=xp.array(W), b=xp.array(A), xp=xp))
    gradient = found.jit(gradient) if compiled else gradient
    return ours(), Side("gradient(x).block_until_ready()", {"gradient": gradient, "x": xp.array(A)})


def layers(x: Any, weights: list[Any], tanh: Callable[[Any], Any]) -> Any:
    for weight in weights:
        x = tanh(weight @ x)
    return x


def jacobian(peer: str) -> tuple[Side, Side]:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(SIZE, SIZE)) / 10 for _ in range(3)]
    start = rng.normal(size=SIZE)
    mine = dk.func.jacrev(partial(layers, weights=[dk.asarray(one) for one in arrays], tanh=dk.tanh))
    left = Side("jacobian(x)", {"jacobian": mine, "x": dk.asarray(start)})
    if peer == "PyTorch":
        torch = pytorch()
        weights = [torch.asarray(one) for one in arrays]
        other = torch.func.jacrev(partial(layers, weights=weights, tanh=torch.tanh))
        return left, Side("jacobian(x)", {"jacobian": other, "x": torch.asarray(start)})
    if peer == "JAX":
        found = jax()
        weights = [found.numpy.array(one) for one in arrays]
        other = found.jacrev(partial(layers, weights=weights, tanh=found.numpy.tanh))
        side = {"jacobian": other, "x": found.numpy.array(start)}
        return left, Side("jacobian(x).block_until_ready()", side)
    xp = library("autograd.numpy")
    other = library("autograd").jacobian(partial(layers, weights=arrays, tanh=xp.tanh))
    return left, Side("jacobian(x)", {"jacobian": other, "x": start})


CHAIN = "31 operations and backward"
JACOBIAN = "jacrev, 100 to 100"
ROWS = [
    Row("peers", CHAIN, "HIPS autograd", 0.5, against_autograd),
    Row("peers", CHAIN, "MyGrad", 0.5, against_mygrad),
    Row("peers", CHAIN, "JAX", 0.1, partial(against_jax, compiled=False)),
    Row("peers", CHAIN, "JAX, compiled", 20.0, partial(against_jax, compiled=True)),
    Row("peers", JACOBIAN, "PyTorch", 1.0, partial(jacobian, "PyTorch")),
    Row("peers", JACOBIAN, "JAX", 0.5, partial(jacobian, "JAX")),
    Row("peers", JACOBIAN, "HIPS autograd", 0.5, partial(jacobian, "HIPS autograd")),
]
