"""Gradients through in-place operations, compared with finite differences of the same program on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk

START = np.array([0.3, -0.7, 1.1])
WEIGHTS = np.array([1.0, -2.0, 0.5])
Step = tuple[str, int, int]

# Each step changes one of the living arrays, or makes another; the same code runs on tensors and on NumPy arrays.
STEPS: dict[str, Callable[[list[Any], int, int], Any]] = {
    "add a number": lambda a, i, j: a[i].__iadd__(0.5),
    "scale": lambda a, i, j: a[i].__imul__(-1.5),
    "add an array": lambda a, i, j: a[i].__iadd__(a[j][: a[i].shape[0]]) if a[i].shape <= a[j].shape else None,
    "multiply arrays": lambda a, i, j: a[i].__imul__(a[j][: a[i].shape[0]]) if a[i].shape <= a[j].shape else None,
    "square": lambda a, i, j: a[i].__ipow__(2),
    "assign a number": lambda a, i, j: a[i].__setitem__(0, 0.25),
    "assign an element": lambda a, i, j: a[i].__setitem__(slice(0, 1), a[j][0:1] * 2.0),
    "view": lambda a, i, j: a.append(a[i][:2]),
    "other view": lambda a, i, j: a.append(a[i][::-1]),
    "reshaped view": lambda a, i, j: a.append(a[i].reshape((-1, 1)).reshape((-1,))),
    "copy": lambda a, i, j: a.append(a[i] * 1.0),
    "forget": lambda a, i, j: a.pop(i) if len(a) > 1 else None,
    "read": lambda a, i, j: a[0].shape,
}


def run(x: Any, weights: Any, steps: list[Step]) -> Any:
    """Return a loss that reads all living arrays at the end, and those that the program reads on its way."""
    arrays = [x * 1.0]
    total: Any = 0.0
    for name, i, j in steps:
        i, j = i % len(arrays), j % len(arrays)
        if name == "read":
            total = total + (arrays[i] ** 2 * weights[: arrays[i].shape[0]]).sum()
        else:
            STEPS[name](arrays, i, j)
    for array in arrays:
        total = total + (array**2 * weights[: array.shape[0]]).sum() + array.sum()
    return total


def differences(steps: list[Step], eps: float = 1e-6) -> Any:
    found = np.zeros(3)
    for i in range(3):
        step = np.eye(3)[i] * eps
        found[i] = (run(START + step, WEIGHTS, steps) - run(START - step, WEIGHTS, steps)) / (2 * eps)
    return found


@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 3), st.integers(0, 3)), max_size=7))
def test_a_program_of_changes_and_views_gives_the_right_gradient_or_raises(steps: list[Step]) -> None:
    x = dk.tensor(START, requires_grad=True)
    try:
        loss = run(x, dk.tensor(WEIGHTS), steps)
        loss.backward()
    except dk.AutogradError:
        return
    expected = differences(steps)
    np.testing.assert_allclose(loss.item(), run(START, WEIGHTS, steps))
    if np.abs(expected).max() < 1e3:
        np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-4, atol=1e-4)


ALLOWED: dict[str, list[Step]] = {
    "numbers": [("add a number", 0, 0), ("scale", 0, 0)],
    "powers": [("square", 0, 0), ("square", 0, 0)],
    "an array read twice": [("copy", 0, 0), ("add an array", 0, 1), ("scale", 0, 0)],
    "a product of arrays": [("copy", 0, 0), ("multiply arrays", 0, 1)],
    "assigned numbers": [("assign a number", 0, 0), ("scale", 0, 0)],
    "assigned elements": [("copy", 0, 0), ("scale", 1, 0), ("assign an element", 0, 1)],
    "a view that outlives its base": [("copy", 0, 0), ("view", 1, 0), ("forget", 1, 0), ("scale", 1, 0)],
}


@pytest.mark.parametrize("name", ALLOWED)
def test_programs_that_are_not_refused(name: str) -> None:
    x = dk.tensor(START, requires_grad=True)
    run(x, dk.tensor(WEIGHTS), ALLOWED[name]).backward()
    np.testing.assert_allclose(x.grad.numpy(), differences(ALLOWED[name]), rtol=1e-5, atol=1e-7)


METHODS = ["exp_", "sin_", "tanh_", "square_", "negative_", "sigmoid_", "expm1_", "abs_", "relu_", "floor_"]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_in_place_has_the_gradient_of_the_function(name: str) -> None:
    x, z = dk.tensor(START, requires_grad=True), dk.tensor(START, requires_grad=True)
    changed = x * 2.0
    getattr(changed, name)()
    (changed * dk.tensor(WEIGHTS)).sum().backward()
    (getattr(z * 2.0, name[:-1])() * dk.tensor(WEIGHTS)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), z.grad.numpy())


def test_second_derivatives_through_a_change_in_place() -> None:
    def function(x: dk.Tensor) -> Any:
        y: Any = x * 1.0
        y *= x
        y.exp_()
        return y

    x = dk.tensor(START, requires_grad=True)
    assert dk.autograd.gradcheck(function, (x,))
    assert dk.autograd.gradgradcheck(function, (x,))


def test_a_constant_buffer_becomes_part_of_the_graph() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    total = dk.zeros(2)
    for k in range(3):
        total += k * x
    assert total.requires_grad
    total.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
