"""Which structure the sums and products of two structures have, and that their values are those of the dense ones."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit import types
from tests.types.structured.support import same

N = 4
ROWS = dk.asarray([[2.0, 9.0, 8.0, 1.0], [1.0, -1.5, 7.0, 2.0], [0.5, 3.0, 4.0, 1.5], [1.0, 0.25, -1.0, 3.0]])
MATRICES: dict[str, Any] = {
    "Scalar": types.ScalarTensor(N, 2.0),
    "Diagonal": types.DiagonalTensor([1.0, -2.0, 0.5, 3.0]),
    "Banded": types.BandedTensor([[9.0, 1.0, 2.0, 3.0], [4.0, 5.0, -6.0, 7.0]], lower=0, upper=1),
    "Lower": types.TriangularTensor(ROWS),
    "Upper": types.TriangularTensor(ROWS, upper=True),
    "Permutation": types.PermutationTensor([2, 0, 3, 1]),
    "BlockDiagonal": types.BlockDiagonalTensor([ROWS[:2, :2], ROWS[1:3, :2]]),
    "LowRank": types.LowRankTensor(ROWS[:, :1], ROWS[:1]),
    "Kronecker": types.KroneckerTensor(ROWS[:2, :2], ROWS[1:3, :2]),
    "Toeplitz": types.ToeplitzTensor(ROWS[:, 0], dk.asarray([2.0, 0.5, -1.0, 3.0])),
    "Circulant": types.CirculantTensor(ROWS[:, 0]),
}
PAGE = Path(__file__).parents[3] / "docs" / "structured-matrices.md"


def structure(x: Any) -> str:
    """Return the name of a matrix's structure, as the table has it."""
    if type(x) is types.TriangularTensor:
        return "Upper" if x.upper else "Lower"
    if type(x) in (types.SumTensor, types.ProductTensor):
        return "lazy"
    return type(x).__name__.removesuffix("Tensor")


def table(operation: Any) -> str:
    """Return the structures of all pairs as Markdown."""
    lines = ["| | " + " | ".join(MATRICES) + " |", "| --- |" + " --- |" * len(MATRICES)]
    with dk.densify(on="error"):
        for name, left in MATRICES.items():
            cells = [structure(operation(left, right)) for right in MATRICES.values()]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


@pytest.mark.parametrize("operation", [operator.add, operator.matmul])
def test_the_page_says_which_structure_pairs_have(operation: Any) -> None:
    assert table(operation) in PAGE.read_text(encoding="utf-8"), "\n" + table(operation)


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.matmul, dk.linalg.solve])
@pytest.mark.parametrize("left", MATRICES)
def test_pairs_have_the_values_of_dense_ones(left: str, operation: Any, subtests: pytest.Subtests) -> None:
    for right in MATRICES:
        with subtests.test(right):
            has_the_values_of_the_dense_pair(left, right, operation)


def has_the_values_of_the_dense_pair(left: str, right: str, operation: Any) -> None:
    # A square matrix of low rank is singular.
    x1, x2 = MATRICES["Scalar" if left == "LowRank" and operation is dk.linalg.solve else left], MATRICES[right]
    with dk.densify(on="error"):
        found = operation(x1, x2)
    same(found, operation(x1.to_dense(), x2.to_dense()), rtol=1e-10)


@pytest.mark.parametrize("name", MATRICES)
def test_multiples_and_transposes_keep_the_structure(name: str) -> None:
    x = MATRICES[name]
    with dk.densify(on="error"):
        negative, double, half, transpose = -x, 2 * x, x / 2, x.mT
    kept = {"Lower": "Upper", "Upper": "Lower"}.get(name, name)
    assert structure(transpose) == kept
    for found, plain in (
        (negative, -x.to_dense()),
        (double, 2 * x.to_dense()),
        (half, x.to_dense() / 2),
        (transpose, x.to_dense().mT),
    ):
        same(found, plain)
    if name != "Permutation":
        assert {structure(one) for one in (negative, double, half)} == {name}
