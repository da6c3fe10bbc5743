"""Forward mode against reverse mode, of every differentiable operation: the calls follow from the declarations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.func import jacfwd, jacrev, jvp, vjp, vmap
from dispatchkit.ops.declared import DeclaredOperation
from dispatchkit.ops.samples import Sample
from dispatchkit.protocol.kinds import kinds
from tests.func.support import agree, flat, numbers, product

OPERATIONS = {
    name.removeprefix("dispatchkit."): entry
    for name, entry in dk.tensor_protocol.operations.items()
    if isinstance(entry, DeclaredOperation) and name.startswith("dispatchkit.")
}


def symmetric(x: Any) -> Any:
    return x + x.mT


def definite(x: Any) -> Any:
    return x @ x.mT + 3 * dk.eye(3)


def rebuilt(values: Any, vectors: Any) -> Any:
    """Return a function of a matrix, which does not depend on the signs of its eigenvectors."""
    return (vectors * dk.expand_dims(dk.sin(values), axis=-2)) @ dk.linalg.inv(vectors)


def singular(x: Any) -> Any:
    u, s, vh = dk.linalg.svd(x, full_matrices=False)
    return (u * dk.sin(s)) @ vh


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
    return dk.tensor(made + 1j * rng.uniform(-1, 1, size=x.shape) if x.dtype.kind == "c" else made)


def problem(entry: DeclaredOperation, sample: Sample, *, turned: bool = False) -> Problem:
    """Draw a call; `turned` makes complex numbers of its real ones."""
    rng = np.random.default_rng(7)
    args, kwargs = sample.make(np.random.default_rng(5))
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


def takes_floats(sample: Sample, entry: DeclaredOperation) -> bool:
    args, kwargs = sample.make(np.random.default_rng(0))
    return any(isinstance(v, np.ndarray) and v.dtype.kind == "f" for _, v in entry.parameters.values(args, kwargs))


def calls() -> list[Any]:
    return [
        pytest.param(entry, sample, id=f"{name}-{index}")
        for name, entry in OPERATIONS.items()
        if entry.differentiable and entry.kind is not kinds.random and name not in COMPOSED
        for index, sample in enumerate(entry.samples)
        if sample.differentiable and takes_floats(sample, entry)
    ]


def composed(func: Callable[[Any], Any]) -> Problem:
    rng = np.random.default_rng(11)
    x = dk.tensor(rng.uniform(-1, 1, size=(3, 3)) + np.diag([1.0, 2.0, 4.0]))
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


@pytest.mark.parametrize(("entry", "sample"), calls())
def test_tangents_and_gradients_are_transposes(entry: DeclaredOperation, sample: Sample) -> None:
    made = problem(entry, sample)
    if not made.cotangents:
        pytest.skip("this call gives no floating numbers")
    directional(made)


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


def stacked(made: Problem) -> None:
    """Compare derivatives of a batch with those of its elements."""
    batch = [dk.stack([x, x * 1.0]) for x in made.primals]
    for func in (made.gradient, made.tangent):
        expected = [np.stack([numbers(y)] * 2) for y in flat(func(*made.primals))]
        agree(vmap(func)(*batch), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("entry", "sample"), calls())
def test_second_derivatives_agree_whichever_mode_comes_first(entry: DeclaredOperation, sample: Sample) -> None:
    made = problem(entry, sample)
    if not made.cotangents:
        pytest.skip("this call gives no floating numbers")
    twice(made)


@pytest.mark.parametrize(("entry", "sample"), calls())
def test_derivatives_of_a_batch(entry: DeclaredOperation, sample: Sample) -> None:
    made = problem(entry, sample)
    if not made.cotangents:
        pytest.skip("this call gives no floating numbers")
    stacked(made)


@pytest.mark.parametrize("name", COMPOSED)
def test_derivatives_of_factors(name: str) -> None:
    made = composed(COMPOSED[name])
    directional(made)
    twice(made)
    stacked(made)


@pytest.mark.parametrize(("entry", "sample"), calls())
def test_jacobians_of_both_modes_agree(entry: DeclaredOperation, sample: Sample) -> None:
    made = problem(entry, sample)
    if not made.cotangents or sum(x.size for x in made.primals) > 12:
        pytest.skip("no floating numbers, or too many")
    if any(y.dtype.kind == "c" for y in made.cotangents):
        pytest.skip("reverse mode is for real outputs")
    argnums = tuple(range(len(made.primals)))
    agree(jacfwd(made.func, argnums)(*made.primals), jacrev(made.func, argnums)(*made.primals), rtol=1e-7, atol=1e-9)


def complex_calls() -> list[Any]:
    """Return the calls that take complex numbers, too, where they are smooth."""
    found = []
    for case in calls():
        entry, sample = case.values
        try:
            problem(entry, sample, turned=True)
        except Exception:  # noqa: BLE001, S112  # what refuses complex numbers is tested with its chapter
            continue
        found.append(case)
    return found


@pytest.mark.parametrize(("entry", "sample"), complex_calls())
def test_tangents_and_gradients_of_complex_numbers_are_transposes(entry: DeclaredOperation, sample: Sample) -> None:
    made = problem(entry, sample, turned=True)
    if not made.cotangents:
        pytest.skip("this call gives no floating numbers")
    directional(made)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_differentiable_operation_is_compared(name: str) -> None:
    entry = OPERATIONS[name]
    if not entry.differentiable or entry.parameters.nullary or entry.kind is kinds.random:
        return
    assert (name in COMPOSED) != any(takes_floats(s, entry) and s.differentiable for s in entry.samples), (
        f"{name} states no differentiable samples; state some, or a function of it in COMPOSED"
    )
