"""`ToeplitzTensor`: what stays Toeplitz, residuals and signs, derivatives of systems and determinants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.testing import TypeConformance
from dispatchkit.types import CirculantTensor, ScalarTensor, ToeplitzTensor
from dispatchkit.types.structured.toeplitz import fast_length
from tests.declared import library_for

linalg = pytest.importorskip("scipy.linalg")
T = dk.tensor
rng = np.random.default_rng(0)


class TestToeplitzTensor(TypeConformance):
    operations = library_for(ToeplitzTensor, 1)
    depth = 1

    def samples(self) -> list[Any]:
        return [
            ToeplitzTensor(T([2.0, 1.0, 0.5]), T([2.0, -1.0, 0.25])),
            ToeplitzTensor(T(np.array([3 + 0j, 1j]))),
            ToeplitzTensor(T([[2.0, 1.0], [3.0, -1.0]])),
        ]


def symmetric(n: int = 6) -> Any:
    column = rng.normal(size=n)
    column[0] += 4
    return ToeplitzTensor(column)


def general(n: int = 6) -> Any:
    return ToeplitzTensor(symmetric(n).column, rng.normal(size=n))


def dense(matrix: Any) -> Any:
    return matrix if isinstance(matrix, dk.Tensor) else matrix.to_dense()


CLOSED: dict[str, Callable[[Any], Any]] = {
    "sum": lambda t: t + general(),
    "difference": lambda t: t - symmetric(),
    "scaled": lambda t: 2.5 * t / 2,
    "scaled by a tensor": lambda t: dk.tensor(2.0) * t,
    "+ s I": lambda t: t + ScalarTensor(6, 2.0),
    "s I +": lambda t: ScalarTensor(6, dk.tensor(2.0)) + t,
    "- s I": lambda t: t - ScalarTensor(6, 2.0),
    "+ circulant": lambda t: t + CirculantTensor(dk.arange(6.0)),
    "circulant -": lambda t: CirculantTensor(dk.arange(6.0)) - t,
    "elementwise product": lambda t: t * general(),
    "kernel": lambda t: dk.exp(-t * t / 2),
    "comparison": lambda t: t > general(),
    "maximum with a number": lambda t: dk.maximum(t, 0.0),
    "bounded": lambda t: dk.clip(t, -1.0, 1.0),
    "transpose": lambda t: t.T,
    "block": lambda t: t[2:5, 2:5],
}


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("make", [symmetric, general])
def test_a_result_with_one_element_along_each_diagonal_is_toeplitz(make: Any, name: str) -> None:
    matrix = make()
    state = rng.bit_generator.state
    with dk.densify(on="error"):
        found = CLOSED[name](matrix)
    assert type(found) is ToeplitzTensor
    rng.bit_generator.state = state
    with dk.densify(on="allow"):
        wanted = dense(CLOSED[name](dense(matrix)))
    np.testing.assert_allclose(found.to_dense().numpy(), wanted.numpy())


def test_a_function_of_a_symmetric_matrix_is_symmetric() -> None:
    assert dk.exp(2 * symmetric() + symmetric()).row is None
    assert (symmetric() + general()).row is not None


def test_functions_of_a_hermitian_matrix_see_both_triangles() -> None:
    matrix = ToeplitzTensor(T(np.array([3 + 0j, 1j, 2.0])))
    for function in (dk.imag, dk.conj, lambda t: 2j * t, dk.matrix_transpose):
        found, wanted = function(matrix).to_dense().numpy(), function(matrix.to_dense()).numpy()
        np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("n", [1, 2, 3, 50])
@pytest.mark.parametrize("make", [symmetric, general])
def test_systems_and_determinants_are_those_of_the_dense_matrix(make: Any, n: int) -> None:
    matrix = make(n) + ScalarTensor(n, float(n))
    b = dk.asarray(rng.normal(size=(n, 2)))
    with dk.densify(on="error"):
        x, found = dk.linalg.solve(matrix, b), dk.linalg.slogdet(matrix)
    wanted = dk.linalg.slogdet(matrix.to_dense())
    np.testing.assert_allclose(x.numpy(), dk.linalg.solve(matrix.to_dense(), b).numpy(), rtol=1e-10)
    np.testing.assert_allclose([found.sign.item(), found.logabsdet.item()], [w.item() for w in wanted], rtol=1e-10)


def test_signs_of_determinants_are_kept() -> None:
    for column, sign in (([-2.0, 1.0, 0.5], -1), ([-2.0, 1.0], 1), ([1.0, 3.0], -1)):
        found = dk.linalg.slogdet(ToeplitzTensor(column))
        assert found.sign.item() == sign
        assert dk.linalg.det(ToeplitzTensor(column)).item() == pytest.approx(np.linalg.det(linalg.toeplitz(column)))


def test_an_exact_solution_comes_from_an_iteration() -> None:
    n = 2000
    matrix = ToeplitzTensor(dk.exp(-dk.arange(float(n)) / 10)) + ScalarTensor(n, 1.0)
    b = dk.asarray(rng.normal(size=n))
    with dk.densify(on="error"):
        x = dk.linalg.solve(matrix, b)
    dense = linalg.toeplitz(matrix.column.numpy())
    assert np.linalg.norm(dense @ x.numpy() - b.numpy()) < 1e-12 * np.linalg.norm(b.numpy())


def test_what_neither_algorithm_solves_is_solved_densely_or_refused() -> None:
    matrix = ToeplitzTensor([0.0, 1.0, 0.5, 1.0, 3.0])  # the first leading minor is 0
    b = dk.arange(5.0)
    with dk.densify(on="allow"):
        np.testing.assert_allclose((matrix @ dk.linalg.solve(matrix, b)).numpy(), b.numpy(), atol=1e-12)
        assert dk.linalg.slogdet(matrix).sign.item() == np.linalg.slogdet(matrix.to_dense().numpy())[0]
    with dk.densify(on="error"), pytest.raises(dk.DensifyError):
        dk.linalg.slogdet(matrix)


@pytest.mark.parametrize("rows", [1, 2])
def test_derivatives_of_systems_and_determinants_are_those_of_their_values(rows: int) -> None:
    fields = [dk.tensor(x.numpy(), requires_grad=True) for x in (general(4).column, general(4).row)][:rows]
    b = dk.tensor(rng.normal(size=(4, 2)), requires_grad=True)
    for function, inputs in (
        (lambda b, *t: dk.linalg.solve(ToeplitzTensor(*t), b), (b, *fields)),
        (lambda *t: dk.linalg.slogdet(ToeplitzTensor(*t)).logabsdet, tuple(fields)),
        (lambda b, *t: ToeplitzTensor(*t) @ b, (b, *fields)),
    ):
        assert dk.autograd.gradcheck(function, inputs)
        assert dk.autograd.gradgradcheck(function, inputs, atol=1e-4)
        values = tuple(x.detach() for x in inputs)
        tangents = tuple(dk.asarray(rng.normal(size=x.shape)) for x in values)
        _, tangent = dk.func.jvp(function, values, tangents)
        y, pull = dk.func.vjp(function, *values)
        back = pull(dk.ones(y.shape))
        total = sum((g * t).sum().item() for g, t in zip(back, tangents, strict=True))
        assert tangent.sum().item() == pytest.approx(total, rel=1e-9)


def test_the_element_of_the_row_that_is_not_used_spoils_no_gradient() -> None:
    column, row = dk.tensor([1.0, 2.0], requires_grad=True), dk.tensor([0.0, 4.0], requires_grad=True)
    dk.sqrt(ToeplitzTensor(column, row)).to_dense().sum().backward()
    assert row.grad is not None
    assert row.grad.tolist() == [0.0, 0.25]


def test_systems_of_a_batch_are_solved_under_vmap() -> None:
    columns = dk.asarray(np.stack([(symmetric(5) + ScalarTensor(5, 4.0)).column.numpy() for _ in range(3)]))
    found = dk.func.vmap(lambda c: dk.linalg.solve(ToeplitzTensor(c), dk.arange(5.0)))(columns)
    for x, column in zip(found.numpy(), columns.numpy(), strict=True):
        np.testing.assert_allclose(x, np.linalg.solve(linalg.toeplitz(column), np.arange(5.0)), rtol=1e-10)


def test_a_batch_is_solved_matrix_by_matrix() -> None:
    column = dk.asarray(rng.normal(size=(2, 3, 5))) + dk.asarray([6.0, 0, 0, 0, 0])
    for matrix in (ToeplitzTensor(column), ToeplitzTensor(column, dk.asarray(rng.normal(size=(2, 3, 5))))):
        dense = matrix.to_dense()
        with dk.densify(on="error"):
            for b in (dk.arange(5.0), dk.ones((5, 2)), dk.asarray(rng.normal(size=(3, 5, 2)))):
                found, wanted = dk.linalg.solve(matrix, b), dk.linalg.solve(dense, b)
                np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-10, atol=1e-12)
            sign, logarithm = dk.linalg.slogdet(matrix)
            np.testing.assert_allclose(sign.numpy(), dk.linalg.slogdet(dense).sign.numpy())
            np.testing.assert_allclose(logarithm.numpy(), dk.linalg.slogdet(dense).logabsdet.numpy(), rtol=1e-10)

    def function(column: Any) -> Any:
        matrix = ToeplitzTensor(column)
        return dk.linalg.solve(matrix, dk.arange(5.0)) * dk.linalg.slogdet(matrix).logabsdet[..., None]

    start = dk.tensor(column[0, :2].numpy(), requires_grad=True)
    assert dk.autograd.gradcheck(function, (start,))


def test_nothing_of_the_size_of_the_matrix_is_made() -> None:
    n = 10**5
    matrix = ToeplitzTensor(dk.exp(-dk.arange(float(n)) / 10)) + ScalarTensor(n, 1.0)
    with dk.densify(on="error"):
        x = dk.linalg.solve(matrix, dk.ones(n))
        assert dk.max(dk.abs(matrix @ x - 1)).item() < 1e-12
        assert dk.linalg.trace(matrix).item() == pytest.approx(2 * n)


def test_fast_lengths_are_long_enough_and_smooth() -> None:
    for n in (1, 2, 7, 11, 97, 1000, 99999):
        length = fast_length(n)
        assert n <= length <= 1.26 * n
        for prime in (2, 3, 5):
            while length % prime == 0:
                length //= prime
        assert length == 1


def test_fields_that_do_not_fit_are_refused() -> None:
    refused: list[tuple[Any, ...]] = [(1.0,), ([1.0], [[1.0]]), ([], [1.0])]
    for fields in refused:
        with pytest.raises(ValueError, match=r"^ToeplitzTensor: column must have shape \(\.\.\., M\)"):
            ToeplitzTensor(*fields)
