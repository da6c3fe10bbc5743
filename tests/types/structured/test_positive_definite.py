"""Diagonals added, quadratic forms and roots of positive definite matrices, beside those of the dense matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import (
    BandedTensor,
    BlockDiagonalTensor,
    CirculantTensor,
    DiagonalTensor,
    KroneckerTensor,
    LowRankTensor,
    ProductTensor,
    ScalarTensor,
    StructuredTensor,
    SumTensor,
    ToeplitzTensor,
    TriangularTensor,
)
from dispatchkit.types.structured import (
    add_diagonal,
    inv_quad,
    inv_quad_logdet,
    root_decomposition,
    root_inv_decomposition,
    sqrt_inv_matmul,
)
from tests.types.structured.support import dense, same

pytest.importorskip("scipy")

rng = np.random.default_rng(0)
NUMBERS = np.array([5.0, 0.6, 0.3, 0.1])
BATCH = rng.uniform(1, 2, size=(2, 3, 4))


def square(v: Any) -> Any:
    return dk.stack([dk.stack([v[0], v[1]]), dk.stack([v[1], v[0] + v[2]])])


def bands(v: Any) -> Any:
    return dk.stack([v[1] * dk.ones(4), v[0] * dk.arange(1.0, 5.0), v[1] * dk.ones(4)])


# A matrix of four rows, made of the four numbers of a tensor; whether it has a root, and eigenvectors, of structure.
MATRICES: dict[str, tuple[Callable[[Any], Any], bool, bool]] = {
    "diagonal": (lambda v: DiagonalTensor(v), True, True),
    "scalar": (lambda v: ScalarTensor(4, v[0]), True, True),
    "block diagonal": (lambda v: BlockDiagonalTensor([square(v), 2 * square(v)]), True, True),
    "Kronecker": (lambda v: KroneckerTensor(square(v), square(v + 1)), True, True),
    "banded": (lambda v: BandedTensor(bands(v), lower=1, upper=1), True, True),
    "Toeplitz": (lambda v: ToeplitzTensor(v), False, False),
    "circulant": (lambda v: CirculantTensor(dk.stack([v[0], v[1], v[2], v[1]])), False, False),
    "low-rank update": (lambda v: DiagonalTensor(v) + LowRankTensor(v[:, None], v[None, :]), False, False),
    "shifted Kronecker": (lambda v: KroneckerTensor(square(v), square(v)) + ScalarTensor(4, v[3]), False, True),
    "sum": (lambda v: ToeplitzTensor(v) + DiagonalTensor(v), False, False),
    "batch": (lambda v: DiagonalTensor(v * dk.asarray(BATCH)), True, True),
}
SUMS = ("sum",)
each = pytest.mark.parametrize("name", MATRICES)


def matrix_of(name: str, numbers: Any = NUMBERS) -> Any:
    return MATRICES[name][0](dk.asarray(numbers))


def same_with_derivatives(name: str, function: Callable[[Any], Any], reference: Callable[[Any], Any]) -> None:
    """Check a function of the structured matrix against one of the dense matrix: value, gradient and tangent."""

    def structured(v: Any) -> Any:
        return function(MATRICES[name][0](v))

    def plain(v: Any) -> Any:
        return reference(MATRICES[name][0](v).to_dense())

    numbers, tangent = dk.asarray(NUMBERS), dk.asarray([0.3, -0.2, 0.5, 0.7])
    for values, expected in zip(
        dk.func.jvp(structured, (numbers,), (tangent,)), dk.func.jvp(plain, (numbers,), (tangent,)), strict=True
    ):
        same(values, expected, rtol=1e-9)
    gradient, expected = (dk.func.grad(lambda v, f=f: dk.sum(f(v) ** 2))(numbers) for f in (structured, plain))
    same(gradient, expected, rtol=1e-8)


@each
@pytest.mark.parametrize("diagonal", [0.5, [0.5], [1.0, 2.0, 3.0, 4.0], [[1.0], [2.0]], BATCH[:, 0]])
def test_a_sum_with_a_diagonal(name: str, diagonal: Any) -> None:
    x = matrix_of(name)
    if name == "batch" and np.ndim(diagonal) == 2:
        x = x[:, 1]
    with dk.densify(on="error"):
        total = add_diagonal(x, diagonal)
    values = np.broadcast_to(diagonal, (*np.shape(diagonal)[:-1], 4))
    assert isinstance(total, StructuredTensor)
    same(total, x.to_dense() + dk.asarray(values[..., None] * np.eye(4)))


def test_one_number_keeps_the_structure_and_the_dtype() -> None:
    column = dk.asarray([2.0, 1.0], dtype="float32")
    shifted = add_diagonal(ToeplitzTensor(column), 1e-3)
    assert isinstance(shifted, ToeplitzTensor)
    assert shifted.dtype == np.float32
    assert isinstance(
        add_diagonal(KroneckerTensor(square(NUMBERS), square(NUMBERS)), dk.asarray(0.5)), StructuredTensor
    )
    assert type(add_diagonal(dk.eye(2), [1.0, 2.0])) is dk.Tensor


@each
@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("reduce", [False, True])
def test_quadratic_form_and_determinant(name: str, columns: tuple[int, ...], reduce: bool) -> None:
    right = dk.asarray(rng.normal(size=(4, *columns)))

    def reference(x: Any) -> Any:
        solved = dk.linalg.inv(x) @ right
        summed = dk.sum(right * solved, axis=-2 if columns else -1)
        return dk.sum(summed, axis=-1) if reduce and columns else summed

    with dk.densify(on="allow" if name in SUMS else "error"):
        same_with_derivatives(name, lambda x: inv_quad(x, right, reduce=reduce), reference)
        same_with_derivatives(name, lambda x: inv_quad_logdet(x, right, reduce=reduce).inv_quad, reference)
        same_with_derivatives(
            name, lambda x: inv_quad_logdet(x, right).logdet, lambda x: dk.linalg.slogdet(x).logabsdet
        )


@each
def test_roots_of_the_matrix_and_of_its_inverse(name: str) -> None:
    with dk.densify(on="error" if MATRICES[name][1] else "allow"):
        root, of_inverse = root_decomposition(matrix_of(name)), root_inv_decomposition(matrix_of(name))
        assert isinstance(root, StructuredTensor)
        assert isinstance(of_inverse, StructuredTensor)
    if not MATRICES[name][1]:
        assert type(root) is type(of_inverse) is TriangularTensor
    same(dk.linalg.inv(root.mT), of_inverse, rtol=1e-9)
    with dk.densify(on="allow"):
        same_with_derivatives(name, lambda x: dense(root_decomposition(x)), dk.linalg.cholesky)
        same_with_derivatives(
            name, lambda x: dense(root_inv_decomposition(x)), lambda x: dk.linalg.inv(dk.linalg.cholesky(x)).mT
        )


@each
@pytest.mark.parametrize("columns", [(), (3,)])
def test_the_inverse_square_root(name: str, columns: tuple[int, ...]) -> None:
    x, right = matrix_of(name), dk.asarray(rng.normal(size=(4, *columns)))
    values, vectors = np.linalg.eigh(x.to_dense().numpy())
    inverse = dk.asarray(vectors @ (np.swapaxes(vectors, -1, -2) / np.sqrt(values)[..., None]))
    with dk.densify(on="error" if MATRICES[name][2] else "allow"):
        same(sqrt_inv_matmul(x, right), inverse @ right, rtol=1e-9)

        def sums(x: Any) -> Any:
            return dk.sum(sqrt_inv_matmul(x, right) ** 2, axis=-2 if columns else -1)

        def of_inverse(x: Any) -> Any:
            return dk.sum(right * (dk.linalg.inv(x) @ right), axis=-2 if columns else -1)

        same_with_derivatives(name, sums, of_inverse)


def test_plain_tensors_and_batches_of_them() -> None:
    factor = rng.normal(size=(2, 3, 4, 4))
    x = dk.asarray(factor @ np.swapaxes(factor, -1, -2) + np.eye(4))
    right = dk.asarray(rng.normal(size=4))
    quadratic, logdet = inv_quad_logdet(x, right)
    same(quadratic, dk.sum(right * (dk.linalg.inv(x) @ right), axis=-1), rtol=1e-9)
    same(logdet, dk.linalg.slogdet(x).logabsdet, rtol=1e-9)
    same(ProductTensor(root_decomposition(x), root_decomposition(x).mT), x, rtol=1e-9)


def test_complex_matrices() -> None:
    x = dk.asarray([[3.0, 1.0 + 1.0j], [1.0 - 1.0j, 2.0]])
    right = dk.asarray([1.0 + 2.0j, -1.0j])
    quadratic, logdet = inv_quad_logdet(x, right)
    expected = dk.linalg.vecdot(right, dk.linalg.inv(x) @ right)
    same(quadratic, dk.real(expected), rtol=1e-9)
    same(logdet, dk.linalg.slogdet(x).logabsdet, rtol=1e-9)
    of_inverse = root_inv_decomposition(x)
    same(dense(of_inverse) @ dk.conj(dense(of_inverse)).mT, dk.linalg.inv(x), rtol=1e-9)
    same(sqrt_inv_matmul(x, sqrt_inv_matmul(x, right)), dk.linalg.inv(x) @ right, rtol=1e-9)


def test_a_sum_without_a_solution_of_its_own_is_factorized_once(recwarn: pytest.WarningsRecorder) -> None:
    x = SumTensor(ToeplitzTensor(NUMBERS), DiagonalTensor(NUMBERS))
    inv_quad_logdet(x, dk.ones(4))
    assert [str(w.message).split("'")[1] for w in recwarn] == ["dispatchkit.linalg.cholesky"]


def test_what_is_not_positive_definite_is_refused() -> None:
    negative = DiagonalTensor([1.0, 2.0, -3.0])
    with pytest.raises(np.linalg.LinAlgError, match=r"^inv_quad_logdet: .* its determinant is not positive$"):
        inv_quad_logdet(negative, dk.ones(3))
    with pytest.raises(np.linalg.LinAlgError, match=r"^sqrt_inv_matmul: .* its least eigenvalue is not positive$"):
        sqrt_inv_matmul(negative, dk.ones(3))
    for function in (root_decomposition, root_inv_decomposition):
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            function(negative)


def test_a_diagonal_of_another_length_is_refused() -> None:
    text = r"^add_diagonal: it takes a square matrix and a diagonal of its length, found shapes \(3, 3\) and \(2,\)$"
    with pytest.raises(ValueError, match=text):
        add_diagonal(DiagonalTensor([1.0, 2.0, 3.0]), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"found shapes \(2, 3\) and \(\)$"):
        add_diagonal(dk.ones((2, 3)), 1.0)


def test_right_hand_sides_may_be_lists_but_not_numbers() -> None:
    right: Any = [1.0, 2.0]
    same(inv_quad(DiagonalTensor([1.0, 2.0]), right), dk.asarray(3.0))
    for function in (inv_quad, inv_quad_logdet, sqrt_inv_matmul):
        with pytest.raises(ValueError, match=r": right must have an axis at least, found shape \(\)$"):
            function(DiagonalTensor([1.0, 2.0]), dk.asarray(1.0))


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_matrices_of_nothing(shape: tuple[int, ...]) -> None:
    x, right = DiagonalTensor(dk.zeros(shape)), dk.ones((shape[-1], 2))
    same(inv_quad_logdet(x, right).inv_quad, dk.zeros(shape[:-1]))
    same(sqrt_inv_matmul(x, right), dk.zeros((*shape, 2)))
    assert root_decomposition(x).shape == x.shape
