"""`LowRankTensor` and its sum with a matrix that has an inverse: what stays, its values, where Woodbury cancels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import types
from dispatchkit.testing import TypeConformance
from dispatchkit.types import DiagonalTensor, LowRankTensor, LowRankUpdateTensor, ScalarTensor
from tests.declared import library_for

T = dk.tensor
rng = np.random.default_rng(0)


class TestLowRankTensor(TypeConformance):
    operations = library_for(LowRankTensor, 1)
    depth = 1

    def samples(self) -> list[Any]:
        return [
            LowRankTensor(T([[1, 2], [2, 3]]), T([[1, 2, 3], [0, 1, -1]])),
            LowRankTensor(T([[[1.0], [2.0]]]), T([[[1.0, 0.5]]])),
        ]


class TestLowRankUpdateTensor(TypeConformance):
    operations = library_for(LowRankUpdateTensor, 2)
    depth = 1

    def samples(self) -> list[Any]:
        low = LowRankTensor(T([[1.0], [2.0], [-1.0]]), T([[1.0, 0.5, 2.0]]))
        return [LowRankUpdateTensor(ScalarTensor(3, T(2.0)), low)]


def low(n: int = 6, rank: int = 2) -> Any:
    return LowRankTensor(rng.normal(size=(n, rank)), rng.normal(size=(rank, n)))


CLOSED: dict[str, tuple[Callable[[Any], Any], Any, int]] = {
    "low + low": (lambda a: a + low(rank=1), LowRankTensor, 3),
    "low - low": (lambda a: a - low(rank=1), LowRankTensor, 3),
    "low @ lower": (lambda a: a @ low(rank=1), LowRankTensor, 1),
    "lower @ low": (lambda a: low(rank=1) @ a, LowRankTensor, 1),
    "2 * low": (lambda a: 2 * a, LowRankTensor, 2),
    "low.mT": (lambda a: a.mT, LowRankTensor, 2),
    "power": (lambda a: dk.linalg.matrix_power(a, 3), LowRankTensor, 2),
    "block": (lambda a: a[1:3, 1:3], LowRankTensor, 2),
    "low + s I": (lambda a: a + ScalarTensor(6, 2.0), LowRankUpdateTensor, 2),
    "s I + low": (lambda a: ScalarTensor(6, 2.0) + a, LowRankUpdateTensor, 2),
    "low + diagonal": (lambda a: a + DiagonalTensor(dk.arange(1.0, 7.0)), LowRankUpdateTensor, 2),
    "diagonal - low": (lambda a: DiagonalTensor(dk.arange(1.0, 7.0)) - a, LowRankUpdateTensor, 2),
    "low @ diagonal": (lambda a: a @ DiagonalTensor(dk.arange(6.0)), LowRankTensor, 2),
    "diagonal @ low": (lambda a: DiagonalTensor(dk.arange(6.0)) @ a, LowRankTensor, 2),
    "sum + s I": (lambda a: a + ScalarTensor(6, 2.0) + ScalarTensor(6, 1.0), LowRankUpdateTensor, 2),
    "sum + low": (lambda a: ScalarTensor(6, 2.0) + a + low(rank=1), LowRankUpdateTensor, 3),
    "low + sum": (lambda a: low(rank=1) + (ScalarTensor(6, 2.0) + a), LowRankUpdateTensor, 3),
    "sum + sum": (lambda a: (a + ScalarTensor(6, 2.0)) + (a + ScalarTensor(6, 2.0)), LowRankUpdateTensor, 4),
    "3 * sum": (lambda a: 3 * (a + ScalarTensor(6, 2.0)), LowRankUpdateTensor, 2),
    "inverse of a sum": (lambda a: dk.linalg.inv(a + ScalarTensor(6, 2.0)), LowRankUpdateTensor, 2),
}


@pytest.mark.parametrize("name", CLOSED)
def test_a_result_of_the_structure_keeps_it(name: str) -> None:
    function, cls, rank = CLOSED[name]
    with dk.densify(on="error"):
        found: Any = function(low())
    assert type(found) is cls
    assert (found if cls is LowRankTensor else found.update).rank == rank


VALUES: dict[str, Callable[[Any], Any]] = {
    "@ vector": lambda a: a @ dk.arange(6.0),
    "vector @": lambda a: dk.arange(6.0) @ a,
    "diagonal": lambda a: dk.linalg.diagonal(a, offset=1),
    "trace": dk.linalg.trace,
    "sum": lambda a: a.sum(0),
    "mean": dk.mean,
    "element": lambda a: a[1, 2],
    "row": lambda a: a[-1],
    "norm": dk.linalg.matrix_norm,
}
OF_SUMS: dict[str, Callable[[Any], Any]] = {
    "solve": lambda a: dk.linalg.solve(a, dk.arange(6.0)),
    "solve columns": lambda a: dk.linalg.solve(a, dk.ones((6, 2))),
    "det": dk.linalg.det,
    "logarithm": lambda a: dk.linalg.slogdet(a).logabsdet,
    "sign": lambda a: dk.linalg.slogdet(a).sign,
}


@pytest.mark.parametrize("name", VALUES | OF_SUMS)
def test_values_are_those_of_the_dense_matrix(name: str) -> None:
    function = (VALUES | OF_SUMS)[name]
    sums = [low() - ScalarTensor(6, 0.5), low() + DiagonalTensor([1.0, -2.0, 1e-3, 5.0, 2.0, 1.0])]
    for matrix in [*sums, *[low()] * (name in VALUES)]:
        with dk.densify(on="error" if name != "norm" else "allow"):
            found = function(matrix)
        np.testing.assert_allclose(found.numpy(), function(matrix.to_dense()).numpy(), rtol=1e-9, atol=1e-12)


ROWS = rng.normal(size=(6, 6)) + 4 * np.eye(6)
SMALL, LARGE = T([[2.0, 0.5], [0.5, 1.0]]), T([[3.0, 1.0, 0.0], [1.0, 4.0, 0.5], [0.0, 0.5, 2.0]])
BASES: dict[str, Any] = {
    "banded": types.BandedTensor(ROWS[:3] + np.array([[0.0], [5.0], [0.0]]), lower=1, upper=1),
    "lower": types.TriangularTensor(ROWS),
    "upper": types.TriangularTensor(ROWS, upper=True),
    "permutation": types.PermutationTensor([3, 0, 5, 1, 2, 4]),
    "blocks": types.BlockDiagonalTensor([ROWS[:2, :2], ROWS[2:, 2:]]),
    "Kronecker": types.KroneckerTensor(SMALL, LARGE),
    "shifted Kronecker": types.KroneckerTensor(SMALL, LARGE) + ScalarTensor(6, 1.0),
    "Toeplitz": types.ToeplitzTensor(ROWS[:, 0]),
    "circulant": types.CirculantTensor(ROWS[:, 0]),
}


@pytest.mark.parametrize("name", BASES)
def test_any_structure_with_an_inverse_can_be_a_base(name: str) -> None:
    base, b = BASES[name], dk.asarray(rng.normal(size=6))
    for matrix in (base + low(), low() + base):
        assert type(matrix) is LowRankUpdateTensor
        dense = matrix.to_dense()
        with dk.densify(on="error"):
            found = [dk.linalg.solve(matrix, b), dk.linalg.inv(matrix) @ b, matrix @ b, dk.linalg.det(matrix)]
        wanted = [dk.linalg.solve(dense, b), dk.linalg.solve(dense, b), dense @ b, dk.linalg.det(dense)]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9)


@pytest.mark.parametrize(
    "base",
    [DiagonalTensor([1.0, 0.0, 2.0]), types.ToeplitzTensor(dk.ones(3)), types.ToeplitzTensor([1e-13, 2e-14, 0.0])],
    ids=["singular diagonal", "singular Toeplitz", "tiny"],
)
def test_the_dense_matrix_answers_where_the_formula_does_not_hold(base: Any) -> None:
    matrix = base + LowRankTensor(ROWS[:3, :3], np.eye(3))
    with dk.densify(on="error"), pytest.raises(dk.DensifyError, match=r"would make LowRankUpdateTensor dense"):
        dk.linalg.solve(matrix, dk.ones(3))
    with dk.densify(on="allow"):
        x = dk.linalg.solve(matrix, dk.ones(3))
    np.testing.assert_allclose((matrix @ x).numpy(), 1.0, rtol=1e-10)


def test_the_residual_is_small_where_the_diagonal_is_tiny_beside_the_update() -> None:
    left = rng.normal(size=(200, 3))
    matrix = LowRankTensor(left, left.T) + ScalarTensor(200, 1e-7)
    b = dk.asarray(rng.normal(size=200))
    with dk.densify(on="error"):
        x = dk.linalg.solve(matrix, b)
    size = np.linalg.norm(left, 2) ** 2
    assert np.linalg.norm((matrix @ x - b).numpy()) < 1e-14 * size * np.linalg.norm(x.numpy())


def test_gradients_reach_both_factors_and_the_base() -> None:
    left, right = (dk.tensor(rng.normal(size=shape), requires_grad=True) for shape in ((4, 2), (2, 4)))
    value = dk.tensor(3.0, requires_grad=True)

    def function(left: Any, right: Any, value: Any) -> Any:
        matrix = LowRankTensor(left, right) + ScalarTensor(4, value)
        return dk.linalg.solve(matrix, dk.arange(4.0)) * dk.linalg.slogdet(matrix).logabsdet + matrix @ dk.ones(4)

    assert dk.autograd.gradcheck(function, (left, right, value))
    assert dk.autograd.gradgradcheck(function, (left, right, value), atol=1e-4)


def test_nothing_of_the_size_of_the_matrix_is_made() -> None:
    n = 10**6
    matrix = LowRankTensor(dk.ones((n, 1)), dk.ones((1, n))) + ScalarTensor(n, 2.0)
    with dk.densify(on="error"):
        x = dk.linalg.solve(matrix, dk.ones(n))
        assert dk.linalg.slogdet(matrix).logabsdet.item() == pytest.approx(n * np.log(2) + np.log1p(n / 2))
    assert x[0].item() == pytest.approx(1 / (n + 2))


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^LowRankTensor: left must have shape .* found \(2, 1\) and \(2, 2\)$"):
        LowRankTensor(dk.ones((2, 1)), dk.ones((2, 2)))
    with pytest.raises(ValueError, match=r"^LowRankUpdateTensor: .* found \(3, 3\) and \(2, 2\)$"):
        LowRankUpdateTensor(ScalarTensor(3, 1.0), LowRankTensor(dk.ones((2, 1)), dk.ones((1, 2))))


@pytest.mark.filterwarnings("ignore")  # of the overflow, and of what becomes dense
def test_a_product_that_overflows_between_the_factors_is_that_of_the_dense_matrix() -> None:
    low = dk.types.LowRankTensor(np.asarray([[1], [0]], np.float16), np.asarray([[300, 2]], np.float16))
    full, columns = low.to_dense(), dk.asarray([[300, 1], [0, 1]], dtype="float16")
    other = dk.types.LowRankTensor(columns, np.asarray([[1, 0], [0, 1]], np.float16))
    for result in (low @ columns, (low @ other).to_dense()):
        np.testing.assert_array_equal(result.numpy(), (full @ columns).numpy())
    np.testing.assert_array_equal((columns.mT @ low.mT).numpy(), (columns.mT @ full.mT).numpy())
