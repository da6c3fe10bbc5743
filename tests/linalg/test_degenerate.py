"""Repeated eigenvalues and singular values, zeros among them, matrices of lower rank: what the docstrings say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

REPEATED = np.diag([2.0, 2.0, 3.0])
ZERO = np.diag([2.0, 1.0, 0.0])
RANK_1 = np.array([[1.0, 2.0], [2.0, 4.0]])
DEFECTIVE = np.array([[1.0, 1.0], [0.0, 1.0]])
TALL = np.array([[1.0, 2.0], [0.5, -1.0], [2.0, 0.25]])


def squared(xp: Any, x: Any) -> Any:
    return xp.sum(xp.real(x * xp.conj(x)) if "complex" in str(x.dtype) else x * x)


def first_row(xp: Any, x: Any) -> Any:
    return squared(xp, x[0])


# A function of the matrix in dispatchkit's namespace and in PyTorch's, and the matrix.
FINITE: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "eigh, values": (lambda xp, x: squared(xp, xp.linalg.eigh(x)[0]), REPEATED),
    "eigvalsh": (lambda xp, x: squared(xp, xp.linalg.eigvalsh(x)), REPEATED),
    "eig, values": (lambda xp, x: squared(xp, xp.linalg.eig(x)[0]), REPEATED),
    "eigvals": (lambda xp, x: squared(xp, xp.linalg.eigvals(x)), REPEATED),
    "svd, values": (lambda xp, x: squared(xp, xp.linalg.svd(x)[1]), REPEATED),
    "svd, values, zero": (lambda xp, x: xp.sum(xp.linalg.svd(x)[1]), ZERO),
    "svd of a tall matrix in full, values": (lambda xp, x: squared(xp, xp.linalg.svd(x)[1]), TALL),
    "svdvals": (lambda xp, x: squared(xp, xp.linalg.svdvals(x)), REPEATED),
    "svdvals, zero": (lambda xp, x: xp.sum(xp.linalg.svdvals(x)), ZERO),
    "svdvals of zeros": (lambda xp, x: xp.sum(xp.linalg.svdvals(x)), np.zeros((2, 2))),
    "nuclear norm": (lambda xp, x: xp.linalg.matrix_norm(x, ord="nuc"), ZERO),
    "spectral norm": (lambda xp, x: xp.linalg.matrix_norm(x, ord=2), np.eye(2)),
    "pinv": (lambda xp, x: xp.sum(xp.linalg.pinv(x)), RANK_1),
    "pinv of zeros": (lambda xp, x: xp.sum(xp.linalg.pinv(x)), np.zeros((2, 3))),
    "det of zeros": (lambda xp, x: xp.linalg.det(x), np.zeros((2, 2))),
    "det of rank 1": (lambda xp, x: xp.linalg.det(x), np.ones((3, 3))),
}
UNDEFINED: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "eigh, vectors": (lambda xp, x: first_row(xp, xp.linalg.eigh(x)[1]), REPEATED),
    "eig, vectors": (lambda xp, x: squared(xp, xp.linalg.eig(x)[1][0] ** 2), REPEATED),
    "svd, U": (lambda xp, x: first_row(xp, xp.linalg.svd(x, full_matrices=False)[0]), REPEATED),
    "svd, Vh": (lambda xp, x: first_row(xp, xp.linalg.svd(x, full_matrices=False)[2]), REPEATED),
}


def gradient(xp: Any, function: Callable[[Any, Any], Any], x: Any) -> Any:
    leaf = xp.tensor(x, requires_grad=True)
    function(xp, leaf).backward()
    return leaf.grad.numpy()


@pytest.mark.parametrize("name", FINITE)
def test_gradients_that_stay_finite(name: str) -> None:
    function, x = FINITE[name]
    found = gradient(dk, function, x)
    assert np.isfinite(found).all()
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(found, gradient(torch, function, x), atol=1e-12)


@pytest.mark.parametrize("name", UNDEFINED)
def test_gradients_through_vectors_that_nothing_determines_are_nan(name: str) -> None:
    function, x = UNDEFINED[name]
    assert np.isnan(gradient(dk, function, x)).any()
    torch = pytest.importorskip("torch")
    assert not np.isfinite(gradient(torch, function, x)).all()


def test_a_degenerate_matrix_leaves_the_others_of_its_batch_alone() -> None:
    good = np.diag([1.0, 2.0, 4.0]) + 0.1
    for vectors in (eigenvectors, singular_vectors):
        x = dk.tensor(np.stack([good, REPEATED]), requires_grad=True)
        squared(dk, vectors(x)[:, 0]).backward()
        alone = dk.tensor(good, requires_grad=True)
        squared(dk, vectors(alone)[0]).backward()
        assert x.grad is not None
        assert alone.grad is not None
        np.testing.assert_allclose(x.grad.numpy()[0], alone.grad.numpy())
        assert np.isnan(x.grad.numpy()[1]).any()


def eigenvectors(x: dk.Tensor) -> Any:
    return dk.linalg.eigh(x).eigenvectors


def singular_vectors(x: dk.Tensor) -> Any:
    return dk.linalg.svd(x).U


COFACTORS: list[tuple[Any, Any]] = [
    (RANK_1, [[4.0, -2.0], [-2.0, 1.0]]),
    ([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 1.0, 2.0]], [[2.0, 2.0, -2.0], [-1.0, -1.0, 1.0], [0.0, 0.0, 0.0]]),
    ([[0.0]], [[1.0]]),
    ([[1j, 1.0], [-1.0, 1j]], [[1j, 1.0], [-1.0, 1j]]),
]


@pytest.mark.parametrize(("x", "cofactors"), COFACTORS, ids=["rank 1", "rank 2", "number", "complex"])
def test_the_gradient_of_a_vanishing_determinant_is_the_matrix_of_cofactors(x: Any, cofactors: Any) -> None:
    leaf = dk.tensor(x, requires_grad=True)
    dk.real(dk.linalg.det(leaf)).backward()
    assert leaf.grad is not None
    np.testing.assert_allclose(leaf.grad.numpy(), np.conj(cofactors), atol=1e-12)


def test_slogdet_of_a_singular_matrix() -> None:
    x = dk.tensor(np.stack([RANK_1, np.eye(2)]), requires_grad=True)
    sign, logabsdet = dk.linalg.slogdet(x)
    assert (sign.tolist(), logabsdet.tolist()) == ([0.0, 1.0], [-np.inf, 0.0])
    logabsdet.sum().backward()
    assert x.grad is not None
    assert np.isinf(x.grad.numpy()[0]).all()
    np.testing.assert_allclose(x.grad.numpy()[1], np.eye(2))


def test_qr_that_does_not_determine_q() -> None:
    x = dk.tensor(TALL, requires_grad=True)
    y = dk.linalg.qr(x, mode="complete").R.sum()
    with pytest.raises(ValueError, match=r"qr: mode='complete' has no derivative for shape \(3, 2\).*mode='reduced'"):
        y.backward()


def test_qr_of_dependent_columns() -> None:
    x = dk.tensor(np.array([[1.0, 0.0], [2.0, 0.0]]), requires_grad=True)
    y = dk.linalg.qr(x).Q.sum()
    with pytest.raises(np.linalg.LinAlgError, match="qr: there is no derivative where the first 2 columns of x are"):
        y.backward()


@pytest.mark.parametrize("function", [dk.linalg.eigvals, lambda x: dk.linalg.eig(x)[0]], ids=["eigvals", "eig"])
def test_an_eigenvalue_without_a_vector_of_its_own_has_a_very_large_gradient(function: Callable[[Any], Any]) -> None:
    x = dk.tensor(DEFECTIVE, requires_grad=True)
    dk.abs(function(x)[0]).backward()
    assert x.grad is not None
    assert np.abs(x.grad.numpy()).max() > 1e12


def test_the_pseudo_inverse_of_every_rank() -> None:
    for rank in range(4):
        rng = np.random.default_rng(rank)
        x = rng.uniform(-1, 1, size=(2, 4, rank)) @ rng.uniform(-1, 1, size=(2, rank, 3))
        y = dk.linalg.pinv(dk.asarray(x), rtol=1e-10).numpy()
        np.testing.assert_allclose(x @ y @ x, x, atol=1e-10)
        np.testing.assert_allclose(y @ x @ y, y, atol=1e-10)
        np.testing.assert_allclose((x @ y).mT, x @ y, atol=1e-10)
        np.testing.assert_allclose((y @ x).mT, y @ x, atol=1e-10)
        assert dk.linalg.matrix_rank(dk.asarray(x), rtol=1e-10).tolist() == [rank, rank]


def test_the_rank_depends_on_the_tolerance() -> None:
    x = dk.asarray(np.stack([np.diag([1.0, 0.1, 1e-5]), np.diag([1.0, 0.0, 0.0])]))
    assert dk.linalg.matrix_rank(x).tolist() == [3, 1]
    assert dk.linalg.matrix_rank(x, rtol=1e-3).tolist() == [2, 1]
    assert dk.linalg.matrix_rank(x, rtol=dk.asarray([0.5, 0.5])).tolist() == [1, 1]
    assert dk.linalg.matrix_rank(dk.zeros((2, 2))).tolist() == 0


def test_the_zeroth_power_has_no_gradient_and_a_negative_one_is_that_of_the_inverse() -> None:
    x = dk.tensor(np.diag([1.0, 2.0]), requires_grad=True)
    assert not dk.linalg.matrix_power(x.detach(), 0).requires_grad
    y = dk.linalg.matrix_power(x, -2)
    np.testing.assert_allclose(y.detach().numpy(), np.diag([1.0, 0.25]))
