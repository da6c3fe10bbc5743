"""`PermutationTensor`: the values of the dense matrix, at the cost of its permutation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.types import DiagonalTensor, PermutationTensor, ScalarTensor
from dispatchkit.types.structured import permutation
from tests.types.structured.support import conforms, same


def test_it_gives_what_the_dense_matrix_gives() -> None:
    conforms(lambda: [PermutationTensor([2, 0, 1]), PermutationTensor([[0, 1], [1, 0]], dtype=np.float32)])


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_the_sign_of_the_determinant_is_that_of_the_cycles(order: tuple[int, ...]) -> None:
    p = PermutationTensor(order)
    assert dk.linalg.det(p).item() == pytest.approx(np.linalg.det(p.to_dense().numpy()))
    assert dk.linalg.slogdet(p).sign.item() == dk.linalg.det(p).item()


def test_the_sign_of_a_permutation_that_outgrows_the_caches_is_that_of_its_exchanges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(permutation, "MANY_TO_FOLLOW", 0)
    for order in itertools.permutations(range(5)):
        wanted = np.linalg.det(np.eye(5)[list(order)])
        assert dk.linalg.det(PermutationTensor(order)).item() == pytest.approx(wanted)
    exchanged = np.arange(100_001)[::-1]  # by 50,000 exchanges
    assert dk.linalg.slogdet(PermutationTensor(exchanged, dtype=np.float32)).sign.item() == 1.0
    exchanged[[0, 1]] = exchanged[[1, 0]]
    found = dk.linalg.det(PermutationTensor(exchanged, dtype=np.float32))
    assert (found.item(), found.dtype, found.shape) == (-1.0, np.float32, ())


@settings(max_examples=30)
@given(st.permutations(range(40)), st.permutations(range(40)))
def test_products_and_inverses_are_permutations(one: list[int], other: list[int]) -> None:
    p, q = PermutationTensor(one), PermutationTensor(other)
    with dk.densify(on="error"):
        product, inverse, transpose = p @ q, dk.linalg.inv(p), p.mT
        unit = p @ inverse
    assert {type(x) for x in (product, inverse, transpose, unit)} == {PermutationTensor}
    same(product, p.to_dense() @ q.to_dense())
    same(inverse, transpose)
    assert unit.permutation.tolist() == list(range(40))
    d = DiagonalTensor(dk.arange(40.0))
    for one_way in (p @ d @ p.mT, p @ (d @ p.mT)):
        assert type(one_way) is DiagonalTensor
        same(one_way, p.to_dense() @ d.to_dense() @ p.to_dense().mT)


def test_multiples_stay_structured() -> None:
    p = PermutationTensor([2, 0, 1])
    with dk.densify(on="error"):
        for found, factor in ((2 * p, 2.0), (-p, -1.0), (p / 4, 0.25), (ScalarTensor(3, 2.0) @ p, 2.0)):
            same(found @ dk.asarray([1.0, 2.0, 3.0]), factor * (p @ dk.asarray([1.0, 2.0, 3.0])))
        assert dk.linalg.det(2 * p).item() == 8.0


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ([0, 0], ValueError, "^PermutationTensor: permutation must hold each of 0 to n-1 once$"),
        ([0, 2], ValueError, "must hold each of 0 to n-1 once"),
        ([0.0, 1.0], TypeError, "^PermutationTensor: permutation must hold integers, not float64$"),
        (0, ValueError, "^PermutationTensor: permutation must have an axis at least"),
    ],
)
def test_what_is_no_permutation_is_refused(value: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        PermutationTensor(value)
