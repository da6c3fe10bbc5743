"""Samples of the types that the library ships, and docs/coverage-of-types.md, which is measured on them.

``nox -s generated`` writes the page.
"""

from __future__ import annotations

from typing import Any

import dispatchkit as dk
from dispatchkit.report import Coverage, CoverageSet


def samples() -> list[Any]:
    """Return instances of every shipped type."""
    scalar, metadata = dk.types.ScalarTensor, dk.types.MetadataTensor
    quantised = dk.types.QuantizedTensor.from_dense(dk.asarray([[1.0, -2.0, 0.5], [0.25, 3.0, 1.0], [0.0, 0.0, 0.0]]))
    diagonal, permutation = dk.types.DiagonalTensor([1.0, -2.0, 0.5]), dk.types.PermutationTensor([2, 0, 1])
    matrix = dk.asarray([[2.0, -0.5, 0.25], [0.5, 1.5, -1.0], [0.75, 0.125, 3.0]])
    kronecker, low_rank = dk.types.KroneckerTensor, dk.types.LowRankTensor
    toeplitz, circulant = dk.types.ToeplitzTensor, dk.types.CirculantTensor
    left, right = dk.asarray([[1.0], [2.0], [-1.0]]), dk.asarray([[1.0, 0.5, 2.0]])
    # Eigenvalues that differ, also as products: where some are equal each way has a gradient of its own.
    symmetric, other = toeplitz(dk.asarray([2.0, 0.5])), toeplitz(dk.asarray([3.0, 1.0]))
    return [
        scalar(3, 2.0),
        scalar(2, 3),
        diagonal,
        permutation,
        dk.types.TriangularTensor(matrix),
        dk.types.BandedTensor([[9.0, 1.0, 2.0], [4.0, 5.0, -6.0], [0.5, 1.0, 9.0]], lower=1, upper=1),
        dk.types.BlockDiagonalTensor([[[2.0, 1.0], [1.0, 3.0]], [[4.0]]]),
        dk.types.SumTensor(diagonal, permutation),
        dk.types.ProductTensor(diagonal, permutation),
        dk.types.InverseTensor(diagonal),
        metadata(matrix, {"unit": "m", "run": 7}),
        metadata(dk.asarray([3, 1, 2]), {"unit": "m"}),
        low_rank(left, right),
        dk.types.LowRankUpdateTensor(scalar(3, dk.asarray(2.0)), low_rank(left, right)),
        kronecker(matrix, matrix[:2, :2]),
        dk.types.ShiftedKroneckerTensor(kronecker(symmetric, other), dk.asarray(0.5)),
        toeplitz(dk.asarray([2.0, 1.0, 0.5]), dk.asarray([2.0, -1.0, 0.25])),
        circulant(dk.asarray([3.0, 1.0])),
        quantised,
        dk.types.LoraTensor(quantised, dk.asarray([[1.0], [2.0], [0.5]]), dk.asarray([[0.5, 1.0, -1.0]])),
        dk.types.LazyTensor(matrix),
        dk.types.SparseTensor.coo([2.0, 3.0, -1.0, 0.5], [0, 1, 2, 2], [1, 0, 0, 2], shape=(3, 3)),
    ]


def make_files() -> dict[str, str]:
    """Return the page by its path."""
    return {"docs/coverage-of-types.md": make_page()}


def measured_types() -> list[type]:
    """Return the types that the page is about."""
    return list(dict.fromkeys(map(type, samples())))


def measure(cls: type) -> Coverage:
    """Measure a type with plain arrays and its own samples."""
    return dk.coverage(cls, samples=[x for x in samples() if type(x) is cls])


def make_page() -> str:
    """Return the page."""
    return CoverageSet(tuple(map(measure, measured_types()))).to_markdown()
