"""`torch.linalg.ldl_factor`, `ldl_factor_ex` and `ldl_solve`: factors of matrices that need not be definite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch

torch: Any = dispatchkit.as_torch
# Its first pivot is 0, so that two rows are eliminated together.
SADDLE = torch.tensor([[0.0, 2.0, 1.0], [2.0, 0.0, 3.0], [1.0, 3.0, -1.0]])
RIGHT = torch.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]])


def test_factors_and_pivots_are_those_of_lapack() -> None:
    LD, pivots = torch.linalg.ldl_factor(SADDLE)
    assert pivots.tolist() == [-2, -2, 3]
    assert pivots.dtype is torch.int32
    np.testing.assert_allclose(LD.numpy(), np.array([[0, 0, 0], [2, 0, 0], [1.5, 0.5, -4]]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("hermitian", [False, True])
def test_solutions_solve_the_equations(hermitian: bool) -> None:
    imaginary = torch.tensor([[0.0, -1.0, 2.0], [1.0, 0.0, 0.5], [-2.0, -0.5, 0.0]])
    A = SADDLE + 1j * (imaginary if hermitian else imaginary.abs())
    A = torch.stack([A, A + torch.eye(3)])
    LD, pivots = torch.linalg.ldl_factor(A, hermitian=hermitian)
    x = torch.linalg.ldl_solve(LD, pivots, RIGHT + 0j, hermitian=hermitian)
    np.testing.assert_allclose(A @ x, np.broadcast_to(RIGHT, (2, 3, 2)), rtol=1e-10, atol=1e-12)


def test_factors_and_solutions_have_derivatives() -> None:
    def solved(A: Any, B: Any) -> Any:
        return torch.linalg.ldl_solve(*torch.linalg.ldl_factor(A + A.mT), B)

    arguments = (SADDLE.clone().requires_grad_(), RIGHT.clone().requires_grad_())
    assert torch.autograd.gradcheck(solved, arguments)


def test_a_pivot_of_0_is_reported() -> None:
    result = torch.linalg.ldl_factor_ex(torch.zeros(2, 3, 3))
    assert result.info.tolist() == [1, 1]
    assert result.pivots.tolist() == [[1, 2, 3]] * 2
    with pytest.raises(torch.linalg.LinAlgError, match="a pivot is 0, by which ldl_solve would divide, info is 1"):
        torch.linalg.ldl_factor_ex(torch.zeros(3, 3), check_errors=True)


def test_nothing_has_factors_of_nothing() -> None:
    for shape in ((0, 2, 2), (2, 0, 0)):
        LD, pivots = torch.linalg.ldl_factor(torch.ones(shape))
        assert (LD.shape, pivots.shape) == (shape, shape[:-1])


PIVOTS = torch.tensor([1, 2, 3], dtype=torch.int32)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.linalg.ldl_factor(torch.ones(3, 2)), "must be batches of square matrices, .* 3 by 2 matrices"),
        (lambda: torch.linalg.ldl_factor(torch.ones(3)), "A to have at least 2 dimensions"),
        (lambda: torch.linalg.ldl_solve(torch.ones(3, 2), PIVOTS, RIGHT), r"square matrices, found shape \[3, 2\]"),
        (lambda: torch.linalg.ldl_solve(SADDLE, PIVOTS[:2], RIGHT), r"but got pivots with shape \[2\] instead"),
        (lambda: torch.linalg.ldl_solve(SADDLE, PIVOTS, RIGHT[:2]), "each A matrix is 3 by 3 .* is 2 by 2"),
        (lambda: torch.linalg.ldl_solve(SADDLE, PIVOTS * 1.0, RIGHT), "Expected pivots to be integers. Got Double"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call()


def _by_steps(LD: Any, pivots: Any, hermitian: bool) -> Any:
    """Return the matrix whose inverse LAPACK's steps of one row each apply: swaps, columns, pivots, and back."""
    n = len(pivots)
    left, right = np.eye(n, dtype=LD.dtype), np.eye(n, dtype=LD.dtype)
    for k, pivot in enumerate(pivots):
        order = np.arange(n)
        order[[k, pivot - 1]] = pivot - 1, k
        column = np.eye(n, dtype=LD.dtype)
        column[k + 1 :, k] = LD[k + 1 :, k]
        row = column.T.conj() if hermitian else column.T
        scale = np.eye(n, dtype=LD.dtype)
        scale[k, k] = LD[k, k].real if hermitian else LD[k, k]
        left = left @ np.eye(n)[order].T @ column @ scale
        right = row @ np.eye(n)[order] @ right
    return left @ right


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("pivots", [[1, 2, 3], [3, 2, 3], [2, 1, 1], [3, 1, 2]])
def test_pivots_swap_whole_rows_and_pivots_of_hermitian_matrices_are_real(pivots: list[int], hermitian: bool) -> None:
    LD = np.array([[2 + 1j, 5, 5], [0.5 - 1j, 3 + 2j, 5], [1j, 0.25 + 1j, -1 + 1j]])
    rows = torch.tensor(pivots, dtype=torch.int32)
    x = torch.linalg.ldl_solve(torch.from_numpy(LD), rows, RIGHT + 0j, hermitian=hermitian)
    np.testing.assert_allclose(_by_steps(LD, pivots, hermitian) @ x.numpy(), RIGHT + 0j, rtol=1e-10, atol=1e-12)


def test_right_sides_are_broadcast_with_factors() -> None:
    LD, pivots = torch.linalg.ldl_factor(torch.stack([SADDLE, SADDLE + torch.eye(3)]))
    both = torch.linalg.ldl_solve(LD, pivots, torch.stack([RIGHT] * 6).reshape(3, 2, 3, 2))
    np.testing.assert_allclose(both, torch.stack([torch.linalg.ldl_solve(LD, pivots, RIGHT)] * 3), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_what_is_divided_by_a_pivot_of_0_is_infinite_or_nan() -> None:
    LD = torch.tensor([[2.0, 0.0, 0.0], [1.0, 0.0, 0.0], [3.0, 1.0, 4.0]])
    x = torch.linalg.ldl_solve(LD, torch.tensor([1, 2, 3]), torch.tensor([[1.0], [3.0], [5.0]]))
    assert x.tolist() == [[-np.inf], [np.inf], [0.0]]
