"""Estimates of determinants: their error is stated, their derivative is that of the same probes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import ScalarTensor, ToeplitzTensor
from dispatchkit.types.structured import estimate_logdet

pytest.importorskip("scipy")


def covariance(length: Any, n: int = 100) -> Any:
    return ToeplitzTensor(dk.exp(-dk.arange(float(n)) / length)) + ScalarTensor(n, 1.0)


def test_an_estimate_is_within_its_error_of_the_value() -> None:
    matrix = covariance(4.0)
    with dk.densify(on="error"):
        found = estimate_logdet(matrix, generator=dk.Generator(0))
    exact = dk.linalg.slogdet(matrix).logabsdet.item()
    assert 0 < found.error < 0.05 * exact
    assert abs(found.logabsdet.item() - exact) < 3 * found.error


def test_its_derivative_is_near_that_of_the_value_in_both_modes() -> None:
    def estimate(length: Any) -> Any:
        return estimate_logdet(covariance(length), probes=40, generator=dk.Generator(0)).logabsdet

    length = dk.tensor(4.0, requires_grad=True)
    (found,) = dk.autograd.grad(estimate(length), length)
    (exact,) = dk.autograd.grad(dk.linalg.slogdet(covariance(length)).logabsdet, length)
    assert found.item() == pytest.approx(exact.item(), rel=0.2)
    _, tangent = dk.func.jvp(estimate, (dk.tensor(4.0),), (dk.tensor(1.0),))
    assert tangent.item() == pytest.approx(found.item(), rel=1e-6)


def test_a_second_derivative_is_refused() -> None:
    length = dk.tensor(4.0, requires_grad=True)
    (found,) = dk.autograd.grad(estimate_logdet(covariance(length)).logabsdet, length, create_graph=True)
    with pytest.raises(dk.AutogradError, match="differentiate twice"):
        dk.autograd.grad(found, length)


def test_a_matrix_of_one_eigenvalue_is_exact() -> None:
    found = estimate_logdet(2 * dk.eye(5))
    assert found.logabsdet.item() == pytest.approx(5 * np.log(2))
    assert found.error == pytest.approx(0, abs=1e-12)


def test_a_matrix_that_is_not_positive_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError, match=r"^estimate_logdet: the matrix is not positive definite$"):
        estimate_logdet(-dk.eye(3))
    with pytest.raises(ValueError, match=r"found shape \(2, 3\), 30 probes and 30 steps$"):
        estimate_logdet(dk.ones((2, 3)))
