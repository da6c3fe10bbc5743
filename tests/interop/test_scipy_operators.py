"""SciPy's solvers multiply by array types: by products with vectors, nothing becomes dense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import AutogradError
from dispatchkit.types import ScalarTensor
from tests.interop.everywhere import Diagonal

scipy = pytest.importorskip("scipy")
ssl = pytest.importorskip("scipy.sparse.linalg")
BEFORE_NAMESPACES = tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 18)
N = 40
D = np.linspace(1.0, 5.0, N)
B = np.cos(np.arange(N))


def diagonal() -> Any:
    return Diagonal(dk.asarray(D))


def operator_of(x: Any) -> Any:
    return pytest.importorskip("dispatchkit.interop.scipy").aslinearoperator(x)


SOLVERS: dict[str, Callable[[Any], Any]] = {
    "cg": lambda a: ssl.cg(a, B)[0],
    "gmres": lambda a: ssl.gmres(a, B)[0],
    "bicg": lambda a: ssl.bicg(a, B)[0],
    "minres": lambda a: ssl.minres(a, B)[0],
    "lsqr": lambda a: ssl.lsqr(a, B)[0],
    "lsmr": lambda a: ssl.lsmr(a, B)[0],
}


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_takes_a_type_without_its_dense_form(name: str) -> None:
    with dk.densify(on="error"):
        for a, want in ((diagonal(), B / D), (ScalarTensor(N, 3.0), B / 3)):
            np.testing.assert_allclose(SOLVERS[name](operator_of(a)), want, rtol=1e-3, atol=1e-4)
            if BEFORE_NAMESPACES:
                np.testing.assert_allclose(SOLVERS[name](a), want, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(SOLVERS[name](operator_of(dk.asarray(np.diag(D)))), B / D, rtol=1e-3, atol=1e-4)


def test_eigenvalues_are_found_by_products() -> None:
    with dk.densify(on="error"):
        operator = operator_of(diagonal())
        np.testing.assert_allclose(ssl.eigsh(operator, k=2)[0], D[-2:])
        assert ssl.eigs(operator, k=1)[0].real == pytest.approx([5.0])
        assert ssl.svds(operator, k=1)[1] == pytest.approx([5.0])
        assert ssl.onenormest(operator) == pytest.approx(5.0)


def test_a_linear_operator_multiplies_vectors_columns_and_matrices() -> None:
    with dk.densify(on="error"):
        operator = operator_of(diagonal())
        assert (operator.shape, operator.dtype) == ((N, N), np.float64)
        np.testing.assert_allclose(operator @ B, D * B)
        np.testing.assert_allclose(operator @ B[:, None], (D * B)[:, None])
        np.testing.assert_allclose(operator @ np.stack([B, B], axis=1), np.stack([D * B] * 2, axis=1))
        np.testing.assert_allclose(operator.T @ B, D * B)
    with pytest.raises(ValueError, match=r"aslinearoperator: a matrix is needed, found shape \(3,\)"):
        operator_of(dk.ones(3))


def test_the_adjoint_follows_from_the_product() -> None:
    class Shifted:
        """The matrix that moves elements by one place and multiplies them: no rule says what its transpose is."""

        def __init__(self, w: Any) -> None:
            self.w: dk.Tensor = dk.asarray(w)

        @property
        def shape(self) -> tuple[int, int]:
            return (len(self.w) + 1, len(self.w))

        @property
        def dtype(self) -> Any:
            return self.w.dtype

    decorated: Any = dk.array_type(fallback=dk.fallback.refuse)(Shifted)

    @dk.implements(dk.matmul)
    def product(x1: Shifted, x2: dk.Tensor, /) -> Any:
        return dk.concat([dk.zeros(1), x1.w * x2])

    for w in (np.array([1.0, 2.0, 3.0]), np.array([1.0 + 2.0j, 2.0j, 3.0])):
        dense = np.vstack([np.zeros(3), np.diag(w)])
        a, x = decorated(w), np.array([1.0, -1.0, 0.5, 2.0])
        np.testing.assert_allclose(a.rmatvec(x), dense.conj().T @ x)
        np.testing.assert_allclose(a.rmatvec(x[:, None]), dense.conj().T @ x[:, None])
        np.testing.assert_allclose(a.matvec(x[1:]), dense @ x[1:])
    x1 = dk.tensor([1.0, -1.0, 0.5, 2.0], requires_grad=True)
    decorated([1.0, 2.0, 3.0]).rmatvec(x1).sum().backward()
    np.testing.assert_allclose(np.asarray(x1.grad), [0.0, 1.0, 2.0, 3.0])


def test_a_complex_matrix_has_the_conjugate_adjoint() -> None:
    a = np.array([[1.0 + 2.0j, 3.0], [4.0j, 5.0]])
    np.testing.assert_allclose(dk.asarray(a).rmatvec(np.array([1.0, 2.0])), a.conj().T @ [1.0, 2.0])


def test_a_gradient_is_not_lost_in_numpys_vectors() -> None:
    d = Diagonal(dk.tensor(D, requires_grad=True))
    with pytest.raises(AutogradError, match=r"matvec: Diagonal requires grad.*solve by dispatchkit\.linalg\.cg"):
        ssl.cg(operator_of(d), B)
    with dk.no_grad():
        np.testing.assert_allclose(ssl.cg(operator_of(d), B)[0], B / D, rtol=1e-3)
    assert d.matvec(dk.ones(N)).requires_grad
