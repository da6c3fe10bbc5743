"""An operation with both a body and a rule has one gradient, at ties, zeros, ones and infinities, too.

Tensors are differentiated by the rule, a custom type that is decomposed by what its body calls. Where the two differ,
`DEPARTURES` says why.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from tests.declared import differentiable_calls, leaves

INF = math.inf
# What the elements of the arguments are, again and again.
ELEMENTS = {
    "zeros": [0.0],
    "ones": [1.0],
    "halves": [0.5],
    "zeros and ones": [0.0, 1.0, 0.0, 1.0, 1.0],
    "signs": [0.0, -1.0, 1.0, -0.0, 2.0, 1.0],
    "bends": [-3.0, 3.0, 6.0, 0.0, 20.0, -6.0],
    "infinities": [INF, 1.0, -INF, 0.0, 0.5],
    "an infinity": [1.0, INF, 0.5],
}
TIES = "decomposes to maximum and minimum, which types implement, and which share ties"
CLIPS = "decomposes to clip, which types implement, and whose derivative on a bound is 1"
POWER = "decomposes to powers, which types implement, and whose derivative at 0 is infinite for orders below 1"
SUMS = "the body and the rule sum other products of 0 and infinity"
LIMIT = "the rule has the limit at infinity, the body multiplies it by 0"
ALL = set(ELEMENTS)
INFINITE = {"infinities", "an infinity"}
WITH_ZEROS = {"zeros", "zeros and ones", "signs", "bends", "infinities"}
WITH_ONES = {"ones", "zeros and ones", "signs", "infinities", "an infinity"}
# By operation: for which elements the gradients may differ, and why.
DEPARTURES: dict[str, tuple[set[str], str]] = {
    "relu": (WITH_ZEROS, TIES),
    "clip": (ALL, TIES),
    **dict.fromkeys(
        ("nn.functional.max_pool2d", "nn.functional.max_pool3d"),
        (ALL, "decomposes to max, which shares ties; the rule takes the first"),
    ),
    "nn.functional.hardtanh": (WITH_ONES, CLIPS),
    "nn.functional.relu6": (WITH_ZEROS, CLIPS),
    "nn.functional.hardsigmoid": ({"bends"}, CLIPS),
    "nn.functional.hardswish": ({"bends"}, CLIPS),
    "linalg.vector_norm": (WITH_ZEROS, POWER),
    "var": (INFINITE, SUMS),
    "convolve": (INFINITE, SUMS),
    **dict.fromkeys([f"nn.functional.conv{axes}d" for axes in (1, 2, 3)], (INFINITE, SUMS)),
    "nn.functional.gelu": (INFINITE, LIMIT),
    "nn.functional.softsign": (INFINITE, LIMIT),
    "nn.functional.binary_cross_entropy_with_logits": (INFINITE, LIMIT),
    "nn.functional.cross_entropy": (
        {"zeros", "signs", "infinities"},
        "where weights sum to 0 or are infinite, the rule makes places that do not count NaN, too",
    ),
}
CALLS = [
    case
    for case in differentiable_calls()
    for entry in [case.values[0]]
    if isinstance(entry, DeclaredOperation) and entry.derivative.rules and entry.decomposes
]


def gradients(function: Callable[..., Any], arrays: list[dk.Tensor]) -> list[Any]:
    """Return the gradients of the products of all results with numbers that differ, zeros where none flow."""
    outputs = [y for y in function(*arrays) if y.requires_grad]
    generator = np.random.default_rng(1)
    seeds = [dk.asarray(generator.uniform(0.5, 1.5, y.shape).astype(y.dtype)) for y in outputs]
    found = dk.autograd.grad(outputs, arrays, seeds, allow_unused=True) if outputs else [None] * len(arrays)
    return [np.zeros(x.shape) if g is None else g.numpy() for x, g in zip(arrays, found, strict=True)]


def differing(entry: DeclaredOperation, sample: Sample, elements: str) -> list[str]:
    """Return where the gradient by the rule is not that through the body; nothing where the call is refused."""
    numbers = itertools.cycle(ELEMENTS[elements])

    def filled(name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            return value
        return np.array(list(itertools.islice(numbers, value.size)), dtype=value.dtype).reshape(value.shape)

    args, kwargs = dk.tensor_protocol.map_arguments(entry.function, *sample.make(np.random.default_rng(1)), filled)
    by_rule, inputs = leaves(entry, args, kwargs)
    through_body, _ = leaves(entry, args, kwargs, entry.decompose)
    try:
        expected = gradients(by_rule, inputs)
    except (ValueError, np.linalg.LinAlgError):
        return []
    found = gradients(through_body, inputs)
    pairs = enumerate(zip(found, expected, strict=True))
    return [
        f"argument {i}: {one.tolist()} through the body, {other.tolist()} by the rule"
        for i, (one, other) in pairs
        if not np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True)
    ]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("entry", "sample"), CALLS)
def test_a_body_has_the_gradient_of_the_rule(entry: DeclaredOperation, sample: Sample) -> None:
    allowed, _ = DEPARTURES.get(entry.qualified_name.removeprefix("dispatchkit."), (set(), ""))
    found = {elements: differing(entry, sample, elements) for elements in ELEMENTS if elements not in allowed}
    assert {elements: told for elements, told in found.items() if told} == {}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", DEPARTURES)
def test_a_declared_departure_is_one(name: str) -> None:
    entry = dk.tensor_protocol.operations[f"dispatchkit.{name}"]
    assert isinstance(entry, DeclaredOperation)
    found = {elements for elements in ELEMENTS for sample in entry.samples if differing(entry, sample, elements)}
    assert found == DEPARTURES[name][0]
