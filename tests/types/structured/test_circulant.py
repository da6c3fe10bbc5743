"""`CirculantTensor`: what stays circulant, and values beside the dense matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.testing import TypeConformance
from dispatchkit.types import CirculantTensor
from tests.declared import library_for

T = dk.tensor
rng = np.random.default_rng(0)


class TestCirculantTensor(TypeConformance):
    operations = library_for(CirculantTensor, 0)
    depth = 1

    def samples(self) -> list[Any]:
        return [
            CirculantTensor(T([4, 1])),
            CirculantTensor(T(np.array([[3.0, 1 + 1j], [4.0, -1.0]]))),
        ]


def circulant(n: int = 5) -> Any:
    return CirculantTensor(rng.normal(size=n) + 3.0 * (np.arange(n) == 0))


CLOSED: dict[str, Callable[[Any], Any]] = {
    "sum": lambda c: c + c,
    "difference": lambda c: 3 * c - c,
    "product": lambda c: c @ c,
    "inverse": dk.linalg.inv,
    "power": lambda c: dk.linalg.matrix_power(c, 3),
    "negative power": lambda c: dk.linalg.matrix_power(c, -2),
    "transpose": lambda c: c.mT,
    "elementwise": lambda c: dk.exp(c) * c,
}


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("n", [1, 4, 5])
def test_a_circulant_result_is_circulant(name: str, n: int) -> None:
    matrix = circulant(n)
    with dk.densify(on="error"):
        found = CLOSED[name](matrix)
    assert type(found) is CirculantTensor
    assert found.dtype == matrix.dtype
    np.testing.assert_allclose(found.to_dense().numpy(), CLOSED[name](matrix.to_dense()).numpy(), atol=1e-12)


VALUES: dict[str, Callable[[Any], Any]] = {
    "@ vector": lambda c: c @ dk.arange(5.0),
    "matrix @": lambda c: dk.ones((2, 5)) @ c,
    "solve": lambda c: dk.linalg.solve(c, dk.arange(5.0)),
    "det": dk.linalg.det,
    "sign": lambda c: dk.linalg.slogdet(c).sign,
    "logarithm": lambda c: dk.linalg.slogdet(c).logabsdet,
    "trace": dk.linalg.trace,
    "diagonal": lambda c: dk.linalg.diagonal(c, offset=-2),
    "sum": lambda c: c.sum(1, keepdims=True),
    "singular values": dk.linalg.svdvals,
    "norm": lambda c: dk.linalg.matrix_norm(c, ord="nuc"),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("sign", [1, -1])
def test_values_are_those_of_the_dense_matrix(name: str, sign: int) -> None:
    matrix = sign * circulant()
    with dk.densify(on="error"):
        found = VALUES[name](matrix)
    np.testing.assert_allclose(found.numpy(), VALUES[name](matrix.to_dense()).numpy(), rtol=1e-10, atol=1e-12)


def test_a_function_of_the_matrix_is_one_of_its_eigenvalues() -> None:
    linalg = pytest.importorskip("scipy.linalg")
    matrix = circulant()
    np.testing.assert_allclose(matrix.apply(dk.exp).to_dense().numpy(), linalg.expm(matrix.to_dense().numpy()))


def test_gradients_reach_the_column() -> None:
    column = dk.tensor(circulant().column.numpy(), requires_grad=True)
    for function in (
        lambda c: dk.linalg.solve(CirculantTensor(c), dk.arange(5.0)),
        lambda c: dk.linalg.slogdet(CirculantTensor(c)).logabsdet,
        lambda c: dk.linalg.svdvals(CirculantTensor(c)),  # pairs of them are equal
        lambda c: (CirculantTensor(c) @ CirculantTensor(c)).column,
    ):
        assert dk.autograd.gradcheck(function, (column,))
        assert dk.autograd.gradgradcheck(function, (column,), atol=1e-4)


def test_a_single_precision_matrix_solves_in_the_precision_of_the_system() -> None:
    matrix = CirculantTensor(dk.asarray(circulant().column, dtype=dk.float32))
    b = dk.arange(5.0)
    assert dk.max(dk.abs(matrix @ dk.linalg.solve(matrix, b) - b)).item() < 1e-13
    assert (matrix @ matrix).dtype == dk.float32


def test_a_singular_matrix_has_no_inverse() -> None:
    with pytest.raises(np.linalg.LinAlgError, match=r"^inv: singular matrix: a CirculantTensor with the eigenvalue 0$"):
        dk.linalg.inv(CirculantTensor([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"^CirculantTensor: column must have an axis, found a 0-D array$"):
        CirculantTensor(1.0)
