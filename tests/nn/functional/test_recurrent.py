"""`lstm` and `gru` of NumPy arrays: what their kernels give is what the body gives, and so are the derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from tests.declared import OPERATIONS

GATES = {"lstm": 4, "gru": 3}
STATES = {"lstm": ("h", "c"), "gru": ("h",)}
LENGTH, INPUTS = 3, 2
# Which arguments there are, and which of them gradients are asked for.
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "all": (("bias", "weight_ih", "bias_ih"), ("x", "weight", "h", "c", "bias", "weight_ih", "bias_ih")),
    "no bias": (("weight_ih",), ("x", "weight", "h", "c", "weight_ih")),
    "gates": (("bias",), ("x", "weight", "h", "c", "bias")),
    "gates alone": ((), ("x", "weight")),
    "parameters": (("bias", "weight_ih", "bias_ih"), ("weight", "bias", "weight_ih", "bias_ih")),
    "states": (("bias", "weight_ih", "bias_ih"), ("h", "c")),
    "one bias": (("weight_ih", "bias_ih"), ("bias_ih", "x")),
}


def arguments(name: str, parts: tuple[str, ...], lead: tuple[int, ...], dtype: str) -> dict[str, Any]:
    rng, gates = np.random.default_rng(0), GATES[name] * LENGTH
    width = INPUTS if "weight_ih" in parts else gates
    shapes = {"x": (*lead, width), "weight": (gates, LENGTH), **dict.fromkeys(STATES[name], (lead[-1], LENGTH))}
    further = {"bias": (gates,), "weight_ih": (gates, INPUTS), "bias_ih": (gates,)}
    shapes |= {part: further[part] for part in parts}
    return {part: rng.standard_normal(shape).astype(dtype) for part, shape in shapes.items()}


def called(function: Callable[..., Any], name: str, values: dict[str, Any]) -> list[Any]:
    first = ("x", "weight", *STATES[name])
    further = {part: value for part, value in values.items() if part not in first}
    y = function(*(values[part] for part in first), **further)
    return [y] if isinstance(y, dk.Tensor) else list(y)


def derivatives(function: Callable[..., Any], name: str, arrays: dict[str, Any], wanted: tuple[str, ...]) -> list[Any]:
    """Return the results, the gradients of their cubes, and those of the squares of the gradients."""
    values = {part: dk.tensor(x, requires_grad=part in wanted) for part, x in arrays.items()}
    inputs = [value for part, value in values.items() if part in wanted]
    y = called(function, name, values)
    first = dk.autograd.grad(sum((part**3).sum() for part in y), inputs)
    y = called(function, name, values)
    again = dk.autograd.grad(sum((part**3).sum() for part in y), inputs, create_graph=True)
    second = dk.autograd.grad(sum((part**2).sum() for part in again), inputs)
    return [part.detach().numpy() for part in (*y, *first, *again, *second)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lead", [(2,), (1, 2), (4, 2), (9, 1)], ids=["a step", "one", "some", "many"])
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("name", GATES)
def test_derivatives_are_those_of_the_body(name: str, parts: str, lead: tuple[int, ...], dtype: str) -> None:
    there, wanted = PARTS[parts]
    arrays = arguments(name, there, lead, dtype)
    entry = OPERATIONS[f"dispatchkit.nn.functional.{name}"]
    found = derivatives(entry.function, name, arrays, wanted)
    expected = derivatives(entry.decompose, name, arrays, wanted)
    for one, other in zip(found, expected, strict=True):
        close = 1e-3 if dtype == "float32" else 1e-9
        npt.assert_allclose(one, other, rtol=close, atol=close)


@pytest.mark.parametrize("name", GATES)
def test_a_step_is_the_only_one_of_a_sequence(name: str) -> None:
    arrays = arguments(name, PARTS["all"][0], (2,), "float64")
    step = called(getattr(dk.nn.functional, name), name, {part: dk.asarray(x) for part, x in arrays.items()})
    arrays["x"] = arrays["x"][None]
    y, *rest = called(getattr(dk.nn.functional, name), name, {part: dk.asarray(x) for part, x in arrays.items()})
    npt.assert_array_equal(step[0].numpy(), y.numpy()[0])
    for one, other in zip(step[1:], rest, strict=True):
        npt.assert_array_equal(one.numpy(), other.numpy())


# The outputs of gates that are all open, and all shut; a step of `gru` keeps its state where they are open.
SATURATED: dict[str, dict[float, Callable[..., Any]]] = {
    "lstm": {1e3: lambda h, c: np.tanh(c + 1), -1e3: lambda h, c: np.zeros_like(h)},
    "gru": {1e3: lambda h: h, -1e3: lambda h: -np.ones_like(h)},
}


@pytest.mark.parametrize("size", [1e3, -1e3])
@pytest.mark.parametrize("name", GATES)
def test_gates_are_open_or_shut_for_large_numbers_without_a_warning(name: str, size: float) -> None:
    arrays = arguments(name, (), (2,), "float32")
    arrays["x"] = np.full_like(arrays["x"], size)
    values = {part: dk.tensor(x, requires_grad=True) for part, x in arrays.items()}
    y, *_ = called(getattr(dk.nn.functional, name), name, values)
    y.sum().backward()
    npt.assert_allclose(y.detach().numpy(), SATURATED[name][size](*(arrays[s] for s in STATES[name])), atol=1e-6)
    for value in values.values():
        assert value.grad is not None
        assert np.isfinite(value.grad.numpy()).all()


@pytest.mark.parametrize("name", GATES)
def test_one_step_of_a_shape_that_does_not_fit_is_refused(name: str) -> None:
    arrays = {part: dk.asarray(x) for part, x in arguments(name, (), (2,), "float64").items()}
    gates = GATES[name] * LENGTH
    with pytest.raises(ValueError, match=rf"or \(N, {gates}\) for a weight of shape"):
        called(getattr(dk.nn.functional, name), name, {**arrays, "x": dk.ones(gates)})
    with pytest.raises(ValueError, match=rf"argument 'h' has shape \(5, 3\), expected \(2, {LENGTH}\)"):
        called(getattr(dk.nn.functional, name), name, {**arrays, "h": dk.ones((5, LENGTH))})
