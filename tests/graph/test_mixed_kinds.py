"""Gradients where the other operand is of integers or booleans: those for the same floating-point numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.protocol.kinds import kinds
from tests.declared import OPERATIONS, marks_of

BINARY = [
    pytest.param(entry, id=entry.name, marks=marks_of(name))
    for name, entry in OPERATIONS.items()
    if entry.kind.family is kinds.elementwise and entry.parameters.binary and entry.differentiable
    if entry.name != "polygamma"  # whose order is an integer
]
# Large enough to overflow their dtypes when multiplied, negated or decreased.
OTHERS = [
    np.array([True, False, True]),
    np.array([100, 3, -128], dtype=np.int8),
    np.array([200, 0, 100], dtype=np.uint8),
    np.array([7, 3, -2]),
]


def gradient(entry: DeclaredOperation, other: Any, place: int) -> Any:
    x = dk.tensor([0.5, 0.7, 0.9], requires_grad=True)
    y = entry.function(*((dk.asarray(other), x) if place == 0 else (x, dk.asarray(other))))
    (g,) = dk.autograd.grad(y.sum(), x)
    assert g.dtype == x.dtype
    return g.numpy()


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: str(other.dtype))
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("entry", BINARY)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_gradients_are_those_of_floating_numbers(entry: DeclaredOperation, place: int, other: Any) -> None:
    try:
        entry.function(other, other.astype(float))
    except TypeError:
        pytest.skip("not for booleans")
    expected = gradient(entry, other.astype(float), place)
    np.testing.assert_allclose(gradient(entry, other, place), expected, rtol=1e-9)
