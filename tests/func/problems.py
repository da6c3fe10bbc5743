"""Operations as problems: a function of floating arguments, directions for them, cotangents, and what must agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.func import jvp, vjp
from tests.func.support import agree, flat, product

__all__ = ["COMPOSED", "Problem", "composed", "directional", "problem", "twice"]


def symmetric(x: Any) -> Any:
    return x + x.mT


def definite(x: Any) -> Any:
    return x @ x.mT + 3 * dk.eye(x.shape[-1])


def rebuilt(values: Any, vectors: Any) -> Any:
    """Return a function of a matrix, which does not depend on the signs of its eigenvectors."""
    return (vectors * dk.expand_dims(dk.sin(values), axis=-2)) @ dk.linalg.inv(vectors)


def singular(x: Any) -> Any:
    u, s, vh = dk.linalg.svd(x, full_matrices=False)
    return (u * dk.expand_dims(dk.sin(s), axis=-2)) @ vh


# Factors whose matrices must be symmetric, or which are unique up to signs: functions in which neither shows.
COMPOSED: dict[str, Callable[[Any], Any]] = {
    "linalg.cholesky": lambda x: dk.linalg.cholesky(definite(x)),
    "linalg.eigh": lambda x: rebuilt(*dk.linalg.eigh(symmetric(x))),
    "linalg.eigvalsh": lambda x: dk.linalg.eigvalsh(symmetric(x)),
    "linalg.eig": lambda x: rebuilt(*dk.linalg.eig(x)),
    "linalg.eigvals": lambda x: dk.linalg.eigvals(x),
    "linalg.svd": singular,
}


@dataclass(frozen=True)
class Problem:
    """An operation as a function of its floating arguments, these, directions for them, and cotangents."""

    func: Callable[..., Any]
    primals: tuple[dk.Tensor, ...]
    tangents: tuple[dk.Tensor, ...]
    cotangents: tuple[dk.Tensor, ...]

    def gradient(self, *primals: Any) -> Any:
        return vjp(self.func, *primals)[1](self.cotangents)

    def tangent(self, *primals: Any) -> Any:
        return jvp(self.func, primals, self.tangents)[1]


def drawn(rng: np.random.Generator, x: Any) -> dk.Tensor:
    """Return a direction for an array: of its shape, complex where it is."""
    made = rng.uniform(-1, 1, size=x.shape)
    direction: dk.Tensor = dk.tensor(made + 1j * rng.uniform(-1, 1, size=x.shape) if x.dtype.kind == "c" else made)
    return direction


def problem(
    entry: DeclaredOperation, args: tuple[Any, ...], kwargs: dict[str, Any], *, turned: bool = False
) -> Problem:
    """Take a call apart; `turned` makes complex numbers of its real ones."""
    rng = np.random.default_rng(7)
    primals: list[dk.Tensor] = []

    def take(name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            primals.append(dk.tensor(value * (0.8 + 0.6j) if turned else value))
            return primals[-1]
        return value

    args, kwargs = dk.tensor_protocol.map_arguments(entry.function, args, kwargs, take)

    def func(*values: Any) -> tuple[Any, ...]:
        given = iter(values)
        own, keywords = dk.tensor_protocol.map_arguments(
            entry.function, args, kwargs, lambda name, value: next(given) if isinstance(value, dk.Tensor) else value
        )
        return tuple(y for y in flat(entry.function(*own, **keywords)) if y.dtype.kind in "fc")

    outputs = func(*primals)
    return Problem(
        func,
        tuple(primals),
        tuple(drawn(rng, x) for x in primals),
        tuple(drawn(rng, y) for y in outputs),
    )


def composed(func: Callable[[Any], Any], batch: tuple[int, ...] = (), n: int = 3) -> Problem:
    """Return the problem of a function of matrices, whose eigenvalues and singular values stand apart."""
    rng = np.random.default_rng(11)
    x = dk.tensor(rng.uniform(-1, 1, size=(*batch, n, n)) / n + np.diag(2.0 ** np.arange(n)))
    y = func(x)
    return Problem(lambda x: (func(x),), (x,), (drawn(rng, x),), (drawn(rng, y),))


def directional(made: Problem) -> None:
    """Compare the tangent in a direction with the gradient by a cotangent, and both with `vjp`'s value."""
    y, t = jvp(made.func, made.primals, made.tangents)
    again, pull = vjp(made.func, *made.primals)
    grads = pull(made.cotangents)
    agree(y, again, rtol=1e-12, atol=1e-12)
    assert [one.dtype for one in grads] == [x.dtype for x in made.primals]
    np.testing.assert_allclose(product(made.cotangents, t), product(grads, made.tangents), rtol=1e-8, atol=1e-8)


def twice(made: Problem) -> None:
    """Compare forward over reverse, reverse over reverse, reverse over forward and forward over forward."""
    _, forward_over_reverse = jvp(made.gradient, made.primals, made.tangents)
    _, pull = vjp(made.gradient, *made.primals)
    directions = tuple(drawn(np.random.default_rng(9), x) for x in made.primals)
    np.testing.assert_allclose(
        product(directions, forward_over_reverse), product(pull(directions), made.tangents), rtol=1e-7, atol=1e-7
    )
    _, pull = vjp(made.tangent, *made.primals)
    agree(pull(made.cotangents), forward_over_reverse, rtol=1e-7, atol=1e-7)
    _, second = jvp(made.tangent, made.primals, made.tangents)
    np.testing.assert_allclose(
        product(made.cotangents, second), product(made.tangents, forward_over_reverse), rtol=1e-7, atol=1e-7
    )
