"""Cost exponents of structured matrices, and their times by those of dense matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import types

from .exponents import exponent, timed

__all__ = ["MATRICES", "lines"]

linalg = dk.linalg
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "`A @ v`": lambda a, v: a @ v,
    "`solve(A, v)`": lambda a, v: linalg.solve(a, v),
    "`slogdet(A)`": lambda a, v: linalg.slogdet(a),
    "`inv(A)`": lambda a, v: linalg.inv(a),
    "`A + A`": lambda a, v: a + a,
    "`A @ A`": lambda a, v: a @ a,
    "`trace(A)`": lambda a, v: linalg.trace(a),
    "`sum(A)`": lambda a, v: dk.sum(a),
    "`matrix_norm(A)`": lambda a, v: linalg.matrix_norm(a),
    "`cholesky(A)`": lambda a, v: linalg.cholesky(a),
    "`eigh(A)`": lambda a, v: linalg.eigh(a),
    "`svd(A)`": lambda a, v: linalg.svd(a),
}


def banded(n: int) -> Any:
    """Return a diagonally dominant symmetric matrix of five diagonals."""
    bands = np.ones((5, n))
    bands[2] = 8.0
    return types.BandedTensor(bands, lower=2, upper=2)


def covariance(n: int) -> Any:
    """Return the first column of a circulant covariance matrix."""
    distance = np.minimum(np.arange(n), n - np.arange(n))
    return dk.asarray(np.exp(-distance / 10) + (distance == 0))


def spd(m: int) -> Any:
    """Return a symmetric positive definite matrix."""
    half = np.random.default_rng(0).normal(size=(m, m))
    return dk.asarray(half @ half.T / m + np.eye(m))


def low_rank(n: int) -> Any:
    left = dk.asarray(np.random.default_rng(0).normal(size=(n, 10)))
    return types.LowRankTensor(left, left.mT)


def kronecker(n: int) -> Any:
    m = round(n**0.5)
    return types.KroneckerTensor(spd(m), spd(m))


MATRICES: dict[str, tuple[Callable[[int], Any], tuple[int, ...]]] = {
    "Scalar": (lambda n: types.ScalarTensor(n, 2.0), (100_000, 300_000, 900_000)),
    "Diagonal": (lambda n: types.DiagonalTensor(np.linspace(1.0, 2.0, n)), (100_000, 300_000, 900_000)),
    "Permutation": (lambda n: types.PermutationTensor(np.roll(np.arange(n), 7)), (100_000, 300_000, 900_000)),
    "Banded, 5 diagonals": (banded, (10_000, 30_000, 90_000)),
    "Triangular": (lambda n: types.TriangularTensor(np.tril(np.ones((n, n))) / n + np.eye(n)), (400, 800, 1_600)),
    "BlockDiagonal, blocks of 20": (
        lambda n: types.BlockDiagonalTensor([np.eye(20) * 2 + 0.1] * (n // 20)),
        (2_000, 4_000, 8_000),
    ),
    "LowRank of rank 10": (low_rank, (10_000, 30_000, 90_000)),
    "LowRank of rank 10 + Diagonal": (
        lambda n: low_rank(n) + types.DiagonalTensor(np.linspace(1.0, 2.0, n)),
        (10_000, 30_000, 90_000),
    ),
    "Kronecker of two factors": (kronecker, (32**2, 64**2, 128**2)),
    "Kronecker of two factors + Scalar": (
        lambda n: kronecker(n) + types.ScalarTensor(n, 0.5),
        (32**2, 64**2, 128**2),
    ),
    "Toeplitz": (lambda n: types.ToeplitzTensor(covariance(n)), (1_000, 2_000, 4_000)),
    "Circulant": (lambda n: types.CirculantTensor(covariance(n)), (2**15, 2**17, 2**19)),
    "dense": (spd, (256, 512, 1_024)),
}
# What is dense: the eigenvectors of a banded matrix, and half of the Cholesky factor of a circulant one.
OTHER_SIZES = {
    ("Banded, 5 diagonals", "`eigh(A)`"): (256, 512, 1_024),
    ("Circulant", "`cholesky(A)`"): (1_000, 2_000, 4_000),
}
COMMON = 1_024


def measured(work: str) -> Iterator[tuple[str, str]]:
    """Yield for each structure the exponent of an operation, and its time by that of the dense matrix."""

    def time_at(make: Callable[[int], Any], n: int) -> float:
        matrix = make(n)
        return timed(OPERATIONS[work], (matrix, dk.ones(matrix.shape[-1])))

    common = {name: time_at(make, COMMON) for name, (make, _) in MATRICES.items()}
    for name, (make, sizes) in MATRICES.items():
        taken = OTHER_SIZES.get((name, work), sizes)
        slope = exponent(taken, [time_at(make, n) for n in taken])
        ratio = common[name] / common["dense"]
        yield ("-", "-") if slope != slope else (f"{max(slope, 0):.1f}", f"{ratio:.1g}")


def lines() -> Iterator[str]:
    """Yield two tables as Markdown: exponents, and times by those of dense matrices."""
    found = [list(measured(work)) for work in OPERATIONS]
    titles = ("exponent of n", f"time by the dense matrix's, n = {COMMON:,}")
    for which, title in enumerate(titles):
        yield f"| {title} | {' | '.join(OPERATIONS)} |"
        yield f"| --- | {' | '.join('---' for _ in OPERATIONS)} |"
        for row, name in enumerate(MATRICES):
            if which == 0 or name != "dense":
                yield f"| {name} | {' | '.join(column[row][which] for column in found)} |"
        yield ""
