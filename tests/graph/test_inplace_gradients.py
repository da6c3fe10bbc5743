"""Gradients through in-place methods, compared with those of the functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

START = np.array([0.3, -0.7, 1.1])
WEIGHTS = np.array([1.0, -2.0, 0.5])

METHODS = ["exp_", "sin_", "tanh_", "square_", "negative_", "sigmoid_", "expm1_", "abs_", "relu_", "floor_"]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_in_place_has_the_gradient_of_the_function(name: str) -> None:
    x, z = dk.tensor(START, requires_grad=True), dk.tensor(START, requires_grad=True)
    changed = x * 2.0
    getattr(changed, name)()
    (changed * dk.tensor(WEIGHTS)).sum().backward()
    (getattr(z * 2.0, name[:-1])() * dk.tensor(WEIGHTS)).sum().backward()
    assert x.grad is not None
    assert z.grad is not None
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
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 3.0]
