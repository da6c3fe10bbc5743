"""Everyday calls of PyTorch and JAX with one object of each kind, and what becomes of it: rows of the table in docs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit.errors import DispatchError
from dispatchkit.interop.bridges import dense_tensor
from dispatchkit.types import QuantityTensor
from tests.interop import structured

__all__ = ["CALLS", "KINDS", "Call", "made", "outcome", "rows"]

KINDS = [*structured.KINDS, "QuantityTensor"]

Call = Callable[[Any, Any], Any]
KEPT, PLAIN, DENSE = "keeps the type", "works", "dense, said"
SQUARE = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]]


def made(make: Any) -> dict[str, Any]:
    """Return a square matrix of each kind, on arrays that `make` gives of nested lists."""
    kinds = structured.made(make)
    return {**kinds, "QuantityTensor": QuantityTensor(kinds["Tensor"], "m")}


def of_torch() -> Iterator[tuple[str, Call]]:
    """Yield calls of PyTorch: their text, and a function of the object and a matrix of PyTorch."""
    import torch

    from dispatchkit.interop.torch import from_torch, to_torch

    F = torch.nn.functional
    yield "torch.add(t, d)", lambda d, t: torch.add(t, d)
    yield "t + d", lambda d, t: t + d
    yield "d + t", lambda d, t: d + t
    yield "t - d", lambda d, t: t - d
    yield "torch.mul(d, 2)", lambda d, t: torch.mul(d, 2)
    yield "t @ d", lambda d, t: t @ d
    yield "d @ t", lambda d, t: d @ t
    yield "t == d", lambda d, t: t == d
    yield "torch.linalg.solve(d + t, t)", lambda d, t: torch.linalg.solve(d + t, t)
    yield "torch.sum(d)", lambda d, t: torch.sum(d)
    yield "torch.sum(d, dim=0, keepdim=True)", lambda d, t: torch.sum(d, dim=0, keepdim=True)
    yield "torch.max(d, 0).values", lambda d, t: torch.max(d, 0).values
    yield "torch.transpose(d, 0, 1)", lambda d, t: torch.transpose(d, 0, 1)
    yield "torch.exp(d)", lambda d, t: torch.exp(d)
    yield "torch.cat([t, d])", lambda d, t: torch.cat([t, d])
    yield "torch.einsum('ij,jk', t, d)", lambda d, t: torch.einsum("ij,jk", t, d)
    yield "torch.nn.functional.linear(t, d)", lambda d, t: F.linear(t, d)
    yield "torch.nn.functional.softmax(d, dim=0)", lambda d, t: F.softmax(d, dim=0)
    yield "torch.matrix_exp(d)", lambda d, t: torch.matrix_exp(d)
    yield "torch.as_tensor(d)", lambda d, t: torch.as_tensor(d)
    yield "torch.from_dlpack(d)", lambda d, t: torch.from_dlpack(d)
    yield "to_torch(d)", lambda d, t: to_torch(d)
    yield "d @ from_torch(t)", lambda d, t: d @ from_torch(t)


def of_jax() -> Iterator[tuple[str, Call]]:
    """Yield calls of JAX: their text, and a function of the object and a matrix of JAX."""
    import jax
    import jax.numpy as jnp

    from dispatchkit.interop.jax import to_jax

    yield "t + d", lambda d, t: t + d
    yield "d + t", lambda d, t: d + t
    yield "t @ d", lambda d, t: t @ d
    yield "d @ t", lambda d, t: d @ t
    yield "jnp.asarray(d)", lambda d, t: jnp.asarray(d)
    yield "to_jax(d)", lambda d, t: to_jax(d)
    yield "jax.jit(lambda d: 2 * d)(d)", lambda d, t: jax.jit(lambda a: 2.0 * a)(d)
    yield "jax.jit(lambda d: d @ t)(d)", lambda d, t: jax.jit(lambda a: a @ t)(d)
    yield "jax.jit(to_jax)(d)", lambda d, t: jax.jit(to_jax)(d)
    yield "jax.jit(jnp.asarray)(d)", lambda d, t: jax.jit(jnp.asarray)(d)
    yield "jax.tree.map(jnp.copy, d)", lambda d, t: jax.tree.map(jnp.copy, d)
    yield "jax.lax.scan", lambda d, t: jax.lax.scan(lambda a, s: (a * s, None), d, jnp.asarray([2.0, 3.0]))[0]
    yield "jax.lax.cond", lambda d, t: jax.lax.cond(True, lambda a: 2.0 * a, lambda a: 1.0 * a, d)


CALLS: dict[str, Callable[[], Iterator[tuple[str, Call]]]] = {"torch": of_torch, "jax": of_jax}


def maker(library: str) -> Callable[[Any], Any]:
    """Return what makes an array of a library of nested lists."""
    if library == "torch":
        import torch

        return lambda values: torch.tensor(values, dtype=torch.float64)
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    return lambda values: jnp.asarray(values, dtype=jnp.float64)


def outcome(library: str, call: Call, kind: str) -> tuple[str, Any, Any]:
    """Return in words what becomes of an object of a kind, the value, and that of the dense matrix; None for an error.

    An error that is none of dispatchkit's, nor of the transformation that is called, comes out.
    """
    make = maker(library)
    x, t = made(make)[kind], make(SQUARE)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = call(x, t)
        except (DispatchError, TypeError) as error:
            return type(error).__name__, None, None
    densified = any(issubclass(one.category, dk.DensifyWarning) for one in said)
    kept = type(found) is type(x) and kind != "Tensor"
    words = KEPT if kept else DENSE if densified else PLAIN
    return words, values(found), values(call(dense(made(make)[kind]), t))


def dense(x: Any) -> Any:
    """Return the elements of an array as a tensor, of a quantity the numbers."""
    return x.magnitude if isinstance(x, QuantityTensor) else dense_tensor("table", x)


def values(x: Any) -> Any:
    """Return the elements of what a call gave."""
    if not isinstance(x, dk.Tensor) and dk.tensor_protocol.types.participates(type(x)):
        x = dense(x)
    return np.asarray(x)


def rows() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield library, call, and what becomes of each kind, for the libraries that are there."""
    for library, calls in CALLS.items():
        if find_spec(library) is not None:
            for text, call in calls():
                with dk.densify(on="warn"):
                    yield library, text, {kind: outcome(library, call, kind)[0] for kind in made(np.asarray)}
