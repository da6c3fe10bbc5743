"""Cholesky factors of banded matrices: values, gradients, and what is refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import BandedTensor, ToeplitzTensor
from dispatchkit.types.structured import systems

rng = np.random.default_rng(0)


def positive(n: int, b: int, batch: tuple[int, ...] = (), complex_too: bool = False) -> BandedTensor:
    """Return Hermitian, diagonally dominant matrices."""
    lower = rng.normal(size=(*batch, b, n)) + 1j * complex_too * rng.normal(size=(*batch, b, n))
    half = BandedTensor(np.concatenate([np.full((*batch, 1, n), 2.0 * b + 2), lower], axis=-2), lower=b, upper=0)
    made: Any = half + dk.conj(half.mT)
    return BandedTensor(made.elements if complex_too else dk.real(made.elements), lower=b, upper=b)


def cholesky(x: Any, upper: bool) -> Any:
    with dk.densify(on="error"):
        return dk.linalg.cholesky(x, upper=upper)


def same_factor(x: Any) -> None:
    dense = np.linalg.cholesky(x.to_dense().numpy())
    for upper, wanted in ((False, dense), (True, np.conj(np.swapaxes(dense, -1, -2)))):
        factor = cholesky(x, upper)
        assert type(factor) is BandedTensor
        assert factor.dtype == dense.dtype
        np.testing.assert_allclose(factor.to_dense().numpy(), wanted, rtol=1e-10, atol=1e-12)


# One block and several, whole and cut, narrower and wider than the diagonals.
@pytest.mark.parametrize("size", [(1, 0), (5, 1), (32, 2), (33, 3), (100, 2), (90, 40), (4, 6)])
def test_the_factor_of_a_banded_matrix_has_the_diagonals_of_one_side(size: tuple[int, int]) -> None:
    same_factor(positive(*size))
    assert dk.linalg.cholesky(positive(*size)).lower == size[1]


def test_batches_and_complex_numbers_have_factors() -> None:
    same_factor(positive(70, 2, (2,), complex_too=True))


@pytest.mark.parametrize("count", [3, 40])
def test_gradients_of_banded_factors(count: int) -> None:
    base = positive(count, 1).bands

    def factor(diagonal: Any, off: Any) -> Any:
        below, above = dk.pad(off, [(0, 1)]), dk.pad(off, [(1, 0)])
        return dk.linalg.cholesky(BandedTensor(dk.stack([above, diagonal, below]), lower=1, upper=1)).elements

    inputs = tuple(dk.tensor(x.numpy(), requires_grad=True) for x in (base[1], base[2, :-1]))
    assert dk.autograd.gradcheck(factor, inputs)
    if count == 3:
        assert dk.autograd.gradgradcheck(factor, inputs)


def test_gradients_are_symmetric_as_those_of_the_dense_matrix_are() -> None:
    x = positive(3, 1)
    weights = dk.asarray(rng.normal(size=(3, 3)))

    def loss(bands: Any, dense: bool) -> Any:
        matrix: Any = BandedTensor(bands, lower=1, upper=1)
        factor = dk.linalg.cholesky(matrix.to_dense() if dense else matrix)
        return dk.sum(weights * (factor if dense else factor.to_dense()))

    one, other = (dk.func.grad(partial(loss, dense=d))(x.bands) for d in (False, True))
    np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-12)


def test_what_is_not_positive_definite_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="matrix is not positive definite"):
        dk.linalg.cholesky(BandedTensor([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]], lower=1, upper=1))


def test_what_is_not_hermitian_or_not_banded_is_left_to_the_dense_matrix() -> None:
    for x in (BandedTensor([[0.0, 1.0], [3.0, 3.0], [2.0, 0.0]], lower=1, upper=1), ToeplitzTensor([3.0, 1.0])):
        with dk.densify(on="error"), pytest.raises(dk.DensifyError):
            dk.linalg.cholesky(x)


@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_diagonals_that_are_alike_but_not_finite_are_left_to_the_dense_matrix(number: float) -> None:
    x = BandedTensor([[0.0, number], [3.0, 3.0], [number, 0.0]], lower=1, upper=1)
    with dk.densify(on="error"), pytest.raises(dk.DensifyError):
        dk.linalg.cholesky(x)


def test_a_module_of_scipy_is_imported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bands = np.ones((5, 100))
    bands[2] = 8.0
    x = BandedTensor(bands, lower=2, upper=2)
    dk.linalg.cholesky(x)
    monkeypatch.setattr(systems, "import_module", None)
    assert type(dk.linalg.cholesky(x)) is BandedTensor
