"""`TriangularTensor`: the values of the dense matrix, at the cost of what it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import TriangularTensor
from tests.types.structured.support import conforms, same

ROWS = [[2.0, 9.0, 8.0], [1.0, -1.5, 7.0], [0.5, 3.0, 4.0]]


def test_it_gives_what_the_dense_matrix_gives() -> None:
    conforms(lambda: [TriangularTensor(dk.asarray(ROWS)), TriangularTensor(dk.asarray([ROWS, ROWS]), upper=True)])


@pytest.mark.parametrize(
    "function",
    [
        lambda t, b: dk.linalg.solve(TriangularTensor(t), b),
        lambda t, b: dk.linalg.solve(TriangularTensor(t, upper=True), b),
        lambda t, b: TriangularTensor(t) @ b,
        lambda t, b: dk.linalg.inv(TriangularTensor(t)) @ b,
        lambda t, b: dk.linalg.slogdet(TriangularTensor(t)).logabsdet * b,
    ],
)
def test_gradients_reach_the_triangle_and_the_right_side(function: Callable[[Any, Any], Any]) -> None:
    t, b = dk.tensor(ROWS, requires_grad=True), dk.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 1.0]], requires_grad=True)
    assert dk.autograd.gradcheck(function, (t, b))
    assert dk.autograd.gradgradcheck(function, (t, b), atol=1e-4)


def test_the_other_triangle_has_no_gradient() -> None:
    data = dk.tensor(ROWS, requires_grad=True)
    dk.sum(dk.sin(TriangularTensor(data)) @ dk.ones(3)).backward()
    assert data.grad is not None
    assert (data.grad.numpy()[np.triu_indices(3, 1)] == 0).all()


def test_factors_of_a_system_are_used_one_after_the_other() -> None:
    lower, upper = TriangularTensor(ROWS), TriangularTensor(ROWS, upper=True)
    with dk.densify(on="error"):
        found = dk.linalg.solve(lower @ upper, dk.ones(3))
    same(found, dk.linalg.solve(lower.to_dense() @ upper.to_dense(), dk.ones(3)))


def test_a_singular_matrix_has_no_inverse() -> None:
    with pytest.raises(np.linalg.LinAlgError, match=r"^solve: singular matrix: a TriangularTensor with 0 on its diag"):
        dk.linalg.solve(TriangularTensor([[0.0, 1.0], [1.0, 1.0]]), dk.ones(2))


def test_a_triangle_is_of_a_square_matrix() -> None:
    with pytest.raises(ValueError, match=r"^TriangularTensor: data must be square, found shape \(1, 2\)$"):
        TriangularTensor([[1.0, 2.0]])
