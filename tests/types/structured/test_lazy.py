"""`SumTensor`, `ProductTensor`, `InverseTensor`: what has no nearer structure."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.types import (
    DiagonalTensor,
    InverseTensor,
    PermutationTensor,
    ProductTensor,
    ScalarTensor,
    SumTensor,
)
from tests.types.structured.support import conforms, same

P: Any = PermutationTensor([2, 0, 1])
Q: Any = PermutationTensor([1, 0, 2])
D: Any = DiagonalTensor([1.0, -2.0, 4.0])
S: Any = ScalarTensor(3, 2.0)


def test_sums_give_what_the_dense_matrix_gives() -> None:
    conforms(lambda: [SumTensor(DiagonalTensor([1.0, -2.0]), PermutationTensor([1, 0]))])


def test_products_give_what_the_dense_matrix_gives() -> None:
    conforms(lambda: [ProductTensor(DiagonalTensor([1.0, -2.0]), PermutationTensor([1, 0]))])


def test_inverses_give_what_the_dense_matrix_gives() -> None:
    # What LAPACK makes of infinities and NaN is by its way through the matrix.
    conforms(lambda: [InverseTensor(DiagonalTensor([1.0, -2.0]))], skip=["programs"])


def test_a_term_joins_one_of_its_structure() -> None:
    with dk.densify(on="error"):
        found = D + P + S - 2 * Q + D
    assert [type(term) for term in found.terms] == [DiagonalTensor, PermutationTensor, ProductTensor]
    same(found, D.to_dense() + P.to_dense() + S.to_dense() - 2 * Q.to_dense() + D.to_dense())
    assert type(D + P - D) is SumTensor


def test_neighbours_are_multiplied_where_that_has_a_structure() -> None:
    with dk.densify(on="error"):
        found = P @ D @ Q @ D @ S @ Q.mT
    assert [type(factor) for factor in found.factors] == [DiagonalTensor, PermutationTensor]
    same(found, P.to_dense() @ D.to_dense() @ Q.to_dense() @ D.to_dense() @ S.to_dense() @ Q.to_dense().mT)


def test_a_product_has_the_inverse_and_determinant_of_its_factors() -> None:
    product, plain = P @ D, P.to_dense() @ D.to_dense()
    with dk.densify(on="error"):
        found = (dk.linalg.inv(product), dk.linalg.det(product), dk.linalg.solve(product, dk.ones(3)), product.mT)
        sign, logarithm = dk.linalg.slogdet(product)
    for one, other in zip(
        found, (dk.linalg.inv(plain), dk.linalg.det(plain), dk.linalg.solve(plain, dk.ones(3)), plain.mT), strict=True
    ):
        same(one, other)
    same(sign, dk.linalg.slogdet(plain).sign)
    same(logarithm, dk.linalg.slogdet(plain).logabsdet)


def test_the_inverse_of_an_inverse_is_the_matrix() -> None:
    inverse: Any = InverseTensor(D)
    assert dk.linalg.inv(inverse) is D
    same(3 * inverse, 3 * dk.linalg.inv(D.to_dense()))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: SumTensor(D, ScalarTensor(2, 1.0)), "do not broadcast"),
        (lambda: SumTensor(), r"^SumTensor: the matrices must be of one size, found \[\]$"),
        (lambda: SumTensor(D, ScalarTensor(1, 1.0)), r"one size, found \[\(3, 3\), \(1, 1\)\]"),
        (lambda: ProductTensor(), "^ProductTensor: there must be a factor$"),
        (lambda: ProductTensor(D, ScalarTensor(2, 1.0)), r"shapes \(3, 3\) and \(2, 2\) cannot be multiplied"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(make: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()
