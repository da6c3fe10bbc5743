"""Random programs of views and changes in place: the right gradient, or an error where PyTorch has one, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given

import dispatchkit as dk
from tests.graph.programs import OURS, START, Library, Run, Step, derivative, programs

# Beyond these the squares of squares leave no digits to compare.
LARGEST = 1e8

PROGRAMS: dict[str, list[Step]] = {
    "a view is changed": [("later", 0, 0), ("scale", 2, 0)],
    "the base of a view is changed": [("later", 0, 0), ("scale", 0, 0)],
    "views of views": [("first", 0, 0), ("later", 2, 0), ("multiply with the leaf", 3, 0), ("scale", 2, 0)],
    "another view is changed": [("transposed", 0, 0), ("first", 0, 0), ("square", 2, 0), ("add the leaf", 3, 0)],
    "a base outside the graph": [("later", 1, 0), ("flattened", 1, 0), ("add the leaf", 2, 0)],
    "overlapping views without a base": [
        ("flattened", 1, 0),
        ("later", 2, 0),
        ("every second", 2, 0),
        ("forget", 2, 0),
        ("forget", 1, 0),
        ("multiply with the leaf", 1, 0),
        ("multiply with the leaf", 2, 0),
    ],
    "elements": [("first", 0, 0), ("first", 2, 0), ("scale", 3, 0), ("assign an element", 2, 0)],
    "a mask": [("transposed", 0, 0), ("assign by a mask", 2, 1)],
    "integers": [("every second", 0, 0), ("assign by integers", 2, 0)],
    "several outputs": [("part", 0, 0), ("multiply with the leaf", 2, 0), ("scale", 0, 0)],
    "a constant over everything": [("transposed", 0, 0), ("later", 0, 0), ("fill", 2, 0)],
}


def ours(steps: list[Step]) -> tuple[float, Any]:
    """Return value and gradient of a program; the gradient is None where the loss does not depend on the leaf."""
    x = dk.tensor(START, requires_grad=True)
    loss = Run(OURS, x).run(steps)
    if loss.requires_grad:
        loss.backward()
    return loss.item(), None if x.grad is None else x.grad.numpy()


def check(steps: list[Step]) -> None:
    value, gradient = ours(steps)
    expected_value, expected = derivative(steps)
    if np.abs(expected).max() < LARGEST:
        np.testing.assert_allclose(value, expected_value, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(np.zeros((2, 3)) if gradient is None else gradient, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_are_not_refused(name: str) -> None:
    check(PROGRAMS[name])


@given(programs(leaving=False))
def test_the_gradient_is_that_of_the_values(steps: list[Step]) -> None:
    try:
        check(steps)
    except dk.InplaceError:
        # What a backward pass needs was changed.
        return


@given(programs(leaving=True))
@example([("detached", 0, 0), ("scale", 2, 0)])
@example([("detached", 0, 0), ("later", 2, 0), ("add the leaf", 3, 0)])
@example([("later", 0, 0), ("unrecorded change", 2, 0), ("scale", 2, 0)])
@example([("unrecorded view", 0, 0), ("scale", 2, 0)])
@example([("multiply with another", 1, 0), ("unrecorded change", 0, 0)])
def test_where_pytorch_has_a_gradient_it_is_the_same(steps: list[Step]) -> None:
    torch = pytest.importorskip("torch")
    library = Library(torch.as_tensor, torch.unbind, torch.no_grad, torch.Tensor.detach)
    x = torch.tensor(START, requires_grad=True)
    try:
        loss = Run(library, x).run(steps)
        if loss.requires_grad:
            loss.backward()
    except RuntimeError:
        # Refused more often there: several views made by one operation, views made inside no_grad() of any tensor.
        return
    value, gradient = ours(steps)
    if abs(value) < LARGEST:
        np.testing.assert_allclose(value, loss.item(), rtol=1e-9, atol=1e-9)
        assert (gradient is None) == (x.grad is None)
        if gradient is not None:
            np.testing.assert_allclose(gradient, x.grad.numpy(), rtol=1e-9, atol=1e-9)
