"""`BandedTensor`: the values of the dense matrix, at the cost of what it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import BandedTensor
from tests.types.structured.support import conforms, same

BANDS = [[9.0, 1.0, 2.0, -1.0], [4.0, 5.0, -3.0, 4.0], [1.0, 0.5, 1.0, 9.0], [0.25, 1.0, 9.0, 9.0]]


def band(bands: Any) -> Any:
    return BandedTensor(bands, lower=2, upper=1)


def test_it_gives_what_the_dense_matrix_gives() -> None:
    conforms(lambda: [band(dk.asarray(BANDS)), BandedTensor(dk.asarray([[[9.0, 1.0], [4.0, 5.0]]]), lower=0, upper=1)])


def test_it_reads_what_solve_banded_reads() -> None:
    found = band(BANDS).to_dense().numpy()
    expected = np.diag([4.0, 5.0, -3.0, 4.0]) + np.diag([1.0, 2.0, -1.0], 1) + np.diag([1.0, 0.5, 1.0], -1)
    np.testing.assert_array_equal(found, expected + np.diag([0.25, 1.0], -2))


@pytest.mark.parametrize(
    "function",
    [
        lambda t, b: dk.linalg.solve(band(t), b),
        lambda t, b: band(t) @ b,
        lambda t, b: dk.linalg.inv(band(t)) @ b,
        lambda t, b: (band(t) @ band(t).mT) @ b,
        lambda t, b: dk.linalg.slogdet(band(t)).logabsdet * b,
        lambda t, b: dk.linalg.det(band(t)) * b,
    ],
)
def test_gradients_reach_the_bands_and_the_right_side(function: Callable[[Any, Any], Any]) -> None:
    t, b = dk.tensor(BANDS, requires_grad=True), dk.tensor([[1.0], [0.5], [3.0], [-1.0]], requires_grad=True)
    assert dk.autograd.gradcheck(function, (t, b))
    assert dk.autograd.gradgradcheck(function, (t, b), atol=1e-4)


def test_sums_and_products_have_the_diagonals_of_both() -> None:
    one, other = band(BANDS), BandedTensor([[9.0, 1.0, 2.0, 3.0], [1.0, 1.0, 2.0, 2.0]], lower=0, upper=1)
    diagonal = dk.types.DiagonalTensor([1.0, 2.0, 3.0, 4.0])
    with dk.densify(on="error"):
        found = [one + other, one @ other, one + diagonal, diagonal @ one, 2 * one, one.mT, one - one]
    assert [(x.lower, x.upper) for x in found] == [(2, 1), (2, 2), (2, 1), (2, 1), (2, 1), (1, 2), (2, 1)]
    a, b, d = (x.to_dense() for x in (one, other, diagonal))
    for x, plain in zip(found, [a + b, a @ b, a + d, d @ a, 2 * a, a.mT, a - a], strict=True):
        same(x, plain)


def test_determinants_have_their_sign() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = band(rng.normal(size=(4, 6)))
        same(dk.linalg.slogdet(x).sign, dk.linalg.slogdet(x.to_dense()).sign)
        same(dk.linalg.slogdet(x).logabsdet, dk.linalg.slogdet(x.to_dense()).logabsdet, rtol=1e-9)


def test_another_number_of_diagonals_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^BandedTensor: 1 lower and 1 upper diagonals are .* found shape \(4, 4\)$"):
        BandedTensor(BANDS, lower=1, upper=1)


@pytest.mark.parametrize("bands", [np.zeros((1, 1)), np.zeros((3, 1)), np.zeros((2, 1, 1))])
def test_a_matrix_of_one_zero_is_singular(bands: Any) -> None:
    x = BandedTensor(bands, lower=bands.shape[-2] // 2, upper=bands.shape[-2] // 2)
    with pytest.raises(np.linalg.LinAlgError, match="singular matrix"):
        dk.linalg.solve(x, dk.ones((1, 1)))
    with pytest.raises(np.linalg.LinAlgError, match="singular matrix"):
        dk.linalg.solve(x, x).to_dense()
