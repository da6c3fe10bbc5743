"""`DiagonalTensor`: the values of the dense matrix, at the cost of its diagonal."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import DiagonalTensor, PermutationTensor, ScalarTensor
from tests.types.structured.support import conforms, same

N = 10**5


def test_it_gives_what_the_dense_matrix_gives() -> None:
    conforms(lambda: [DiagonalTensor([1.0, -2.0, 0.5]), DiagonalTensor(dk.asarray([[2, 3], [0, 1]]))])


LINEAR: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda d: (2 * (d + d) - d * d) / 4 @ (-d),
    "functions": lambda d: dk.sqrt(abs(dk.sin(d) ** 3)),
    "with a scalar matrix": lambda d: ScalarTensor(N, 2.0) @ d + d @ ScalarTensor(N, 3) - ScalarTensor(N, 1.0),
    "sums": lambda d: (
        d.sum(),
        d.sum(0),
        d.mean(1, keepdims=True),
        dk.linalg.trace(d),
        dk.linalg.diagonal(d, offset=1),
    ),
    "products": lambda d: (d @ dk.ones(N), dk.ones((2, N)) @ d, d @ dk.ones((N, 2))),
    "systems": lambda d: (dk.linalg.solve(d, dk.ones(N)), dk.linalg.inv(d), dk.linalg.solve(d, d)),
    "determinants": lambda d: (dk.linalg.det(dk.sign(d)), dk.linalg.slogdet(d)),
    "factors": lambda d: (dk.linalg.cholesky(d), dk.linalg.eigh(d), dk.linalg.svd(d), dk.linalg.eigvalsh(d)),
    "norms": lambda d: [dk.linalg.matrix_norm(d, ord=ord) for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf)],
    "powers": lambda d: (dk.linalg.matrix_power(d, 5), dk.linalg.matrix_power(d, -2), dk.linalg.matrix_power(d, 0)),
    "slices": lambda d: (d[3, 3], d[5], d[:, -1], d[10:20, 10:20], d.T, d.mT),
}


@pytest.mark.parametrize("name", LINEAR)
def test_nothing_of_the_size_of_the_matrix_is_made(name: str) -> None:
    d = DiagonalTensor(dk.linspace(1.0, 2.0, N))
    tracemalloc.start()
    try:
        with dk.densify(on="error"):
            LINEAR[name](d)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 400 * N


def test_eigenvectors_and_singular_vectors_are_permutations() -> None:
    d = DiagonalTensor([1.0, -3.0, 2.0, 0.0])
    values, vectors = dk.linalg.eigh(d)
    assert values.tolist() == [-3.0, 0.0, 1.0, 2.0]
    assert type(vectors) is PermutationTensor
    same(vectors @ DiagonalTensor(values) @ vectors.mT, d)
    left, sizes, right = dk.linalg.svd(d)
    assert sizes.tolist() == [3.0, 2.0, 1.0, 0.0]
    same(left @ DiagonalTensor(sizes) @ right, d)
    same(left @ left.mT, ScalarTensor(4, 1.0))


def test_the_product_with_a_tensor_that_spoils_zeros_is_dense() -> None:
    d, x = DiagonalTensor([1.0, 2.0]), dk.asarray([[1.0, np.inf], [0.0, 1.0]])
    with dk.densify(on="allow"), np.errstate(invalid="ignore"):
        same(d * x, d.to_dense() * x)


@pytest.mark.parametrize(
    "function",
    [
        lambda v, m: DiagonalTensor(v) @ m,
        lambda v, m: m @ DiagonalTensor(v),
        lambda v, m: DiagonalTensor(v) + m,
        lambda v, m: (DiagonalTensor(v) * m).values,
        lambda v, m: dk.linalg.solve(DiagonalTensor(v), m),
        lambda v, m: dk.linalg.slogdet(DiagonalTensor(v)).logabsdet * m,
        lambda v, m: dk.linalg.svd(DiagonalTensor(v)).S @ m,
        lambda v, m: dk.linalg.eigh(DiagonalTensor(v)).eigenvectors @ m,
    ],
)
def test_gradients_reach_both_sides(function: Callable[[Any, Any], Any]) -> None:
    values = dk.tensor([1.5, -0.5, 2.0], requires_grad=True)
    matrix = dk.tensor([[1.0, 2.0, 0.5], [-1.0, 0.25, 1.0], [3.0, 1.0, 1.0]], requires_grad=True)
    assert dk.autograd.gradcheck(function, (values, matrix))


def test_a_singular_matrix_has_no_inverse() -> None:
    with pytest.raises(np.linalg.LinAlgError, match=r"^inv: singular matrix: a DiagonalTensor with 0 on its diagonal$"):
        dk.linalg.inv(DiagonalTensor([1.0, 0.0]))
    assert dk.linalg.slogdet(DiagonalTensor([1.0, 0.0])).logabsdet.item() == -np.inf


def test_a_diagonal_has_an_axis() -> None:
    with pytest.raises(ValueError, match=r"^DiagonalTensor: diagonal must have an axis at least, found shape \(\)$"):
        DiagonalTensor(2.0)


@pytest.mark.parametrize("dtype", ["int8", "bool", "float32", "complex64"])
def test_the_trace_adds_up_the_diagonal_and_copies_nothing(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    d = DiagonalTensor(dk.asarray([[100, 100, 1], [1, 0, 1]]).astype(dtype))
    dense = d.to_dense()
    for offset in (1, -2, 5):
        same(dk.linalg.trace(d, offset=offset), dk.linalg.trace(dense, offset=offset))
    monkeypatch.setattr("dispatchkit.ops.clone", None)
    for kind in (None, dk.complex128):
        same(dk.linalg.trace(d, dtype=kind), dk.linalg.trace(dense, dtype=kind))
