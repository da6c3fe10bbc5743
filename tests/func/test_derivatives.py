"""Forward mode against reverse mode, of every differentiable operation: the calls follow from the declarations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from dispatchkit.func import grad, jacfwd, jacrev, jvp, vmap
from dispatchkit.protocol.kinds import kinds
from tests.declared import by_operation
from tests.func.problems import COMPOSED, Problem, composed, directional, problem, twice
from tests.func.support import agree, flat, numbers
from tests.programs.faults.running import faults, lines_of

OPERATIONS = {
    name.removeprefix("dispatchkit."): entry
    for name, entry in dk.tensor_protocol.operations.items()
    if isinstance(entry, DeclaredOperation) and name.startswith("dispatchkit.")
}


def takes_floats(sample: Sample, entry: DeclaredOperation) -> bool:
    return any(
        value.dtype.kind == "f" if isinstance(value, np.ndarray) else value.content in {"real", "definite", "distinct"}
        for _, value in sample.arrays(entry.parameters)
    )


def arguments(sample: Sample) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return sample.make(np.random.default_rng(5))


CALLS: list[Any] = [
    pytest.param(entry, sample, id=f"{name}-{index}")
    for name, entry in OPERATIONS.items()
    if entry.differentiable and entry.kind is not kinds.random and name not in COMPOSED
    for index, sample in enumerate(entry.samples)
    if sample.differentiable and takes_floats(sample, entry)
]


@by_operation(("entry", "sample"), CALLS)
def test_tangents_and_gradients_are_transposes(entry: DeclaredOperation, sample: Sample) -> None:
    made = problem(entry, *arguments(sample))
    if not made.cotangents:
        pytest.skip("this call gives no floating numbers")
    directional(made)


def stacked(made: Problem) -> None:
    """Compare derivatives of a batch with those of its elements."""
    batch = [dk.stack([x, x * 1.0]) for x in made.primals]
    for func in (made.gradient, made.tangent):
        expected = [np.stack([numbers(y)] * 2) for y in flat(func(*made.primals))]
        agree(vmap(func)(*batch), expected, rtol=1e-7, atol=1e-9)


@by_operation(("entry", "sample"), CALLS)
def test_second_derivatives_agree_whichever_mode_comes_first(entry: DeclaredOperation, sample: Sample) -> None:
    made = problem(entry, *arguments(sample))
    if not made.cotangents:
        pytest.skip("this call gives no floating numbers")
    twice(made)


@by_operation(("entry", "sample"), CALLS)
def test_derivatives_of_a_batch(entry: DeclaredOperation, sample: Sample) -> None:
    if entry.function.__name__.startswith("unique_"):
        pytest.skip("the shape of its results depends on the values")
    made = problem(entry, *arguments(sample))
    if not made.cotangents:
        pytest.skip("this call gives no floating numbers")
    stacked(made)


@pytest.mark.parametrize("name", COMPOSED)
def test_derivatives_of_factors(name: str) -> None:
    made = composed(COMPOSED[name])
    directional(made)
    twice(made)
    stacked(made)


@by_operation(("entry", "sample"), CALLS)
def test_jacobians_of_both_modes_agree(entry: DeclaredOperation, sample: Sample) -> None:
    made = problem(entry, *arguments(sample))
    if not made.cotangents or sum(x.size for x in made.primals) > 12:
        pytest.skip("no floating numbers, or too many")
    if any(y.dtype.kind == "c" for y in made.cotangents):
        pytest.skip("reverse mode is for real outputs")
    argnums = tuple(range(len(made.primals)))
    agree(jacfwd(made.func, argnums)(*made.primals), jacrev(made.func, argnums)(*made.primals), rtol=1e-7, atol=1e-9)


def complex_calls() -> list[Any]:
    """Return the calls that take complex numbers, too, where they are smooth."""
    found = []
    for case in CALLS:
        entry, sample = case.values
        try:
            problem(entry, *arguments(sample), turned=True)
        except Exception:  # noqa: BLE001, S112  # what refuses complex numbers is tested with its chapter
            continue
        found.append(case)
    return found


@by_operation(("entry", "sample"), complex_calls())
def test_tangents_and_gradients_of_complex_numbers_are_transposes(entry: DeclaredOperation, sample: Sample) -> None:
    made = problem(entry, *arguments(sample), turned=True)
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


@pytest.mark.parametrize("name", ["a gradient", "a batch of gradients", "a Jacobian"])
def test_an_interrupt_in_a_transformation_leaves_recording_on(name: str) -> None:
    assert not faults(name, KeyboardInterrupt, range(1, lines_of(name) + 1, 3))


@pytest.mark.parametrize("function", [dk.unique_all, dk.unique_counts, dk.unique_inverse, dk.unique_values])
def test_the_gradient_of_a_distinct_element_goes_to_where_it_first_stands(function: Any) -> None:
    def values(x: Any) -> Any:
        found = function(x)
        return getattr(found, "values", found)

    x = dk.asarray([3.0, 1.0, 3.0])
    assert grad(lambda x: (values(x) ** 2).sum())(x).tolist() == [6.0, 2.0, 0.0]
    assert jvp(values, (x,), (dk.asarray([1.0, 2.0, 5.0]),))[1].tolist() == [2.0, 1.0]
