"""Cost of structured matrices: exponents fitted from measured times, and ratios to other libraries in one run.

Run ``python -m tests.benchmarks.structured`` at the root; ratios to linear_operator need that package.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import types

Call = Callable[[], Any]


def banded(n: int) -> Any:
    """Return a diagonally dominant matrix of five diagonals."""
    bands = np.ones((5, n))
    bands[2] = 8.0
    return types.BandedTensor(bands, lower=2, upper=2)


MATRICES: dict[str, tuple[Callable[[int], Any], tuple[int, ...]]] = {
    "Scalar": (lambda n: types.ScalarTensor(n, 2.0), (5_000, 15_000, 45_000)),
    "Diagonal": (lambda n: types.DiagonalTensor(np.linspace(1.0, 2.0, n)), (5_000, 15_000, 45_000)),
    "Permutation": (lambda n: types.PermutationTensor(np.roll(np.arange(n), 7)), (5_000, 15_000, 45_000)),
    "Banded, 5 diagonals": (banded, (5_000, 15_000, 45_000)),
    "BlockDiagonal, blocks of 20": (
        lambda n: types.BlockDiagonalTensor([np.eye(20) * 2 + 0.1] * (n // 20)),
        (2_000, 4_000, 8_000),
    ),
    "Triangular": (lambda n: types.TriangularTensor(np.tril(np.ones((n, n))) / n + np.eye(n)), (400, 800, 1_600)),
    "dense": (lambda n: dk.asarray(np.ones((n, n)) / n + np.eye(n)), (200, 400, 800)),
}
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "A @ v": lambda a, v: a @ v,
    "solve(A, v)": lambda a, v: dk.linalg.solve(a, v),
    "slogdet(A)": lambda a, v: dk.linalg.slogdet(a),
    "A + A": lambda a, v: a + a,
    "A @ A": lambda a, v: a @ a,
    "sum(A)": lambda a, v: dk.sum(a),
}


def seconds(call: Call, repeats: int = 15) -> float:
    """Return the least time of some calls."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def exponents() -> dict[str, list[str]]:
    """Return for each structure the exponent of n in the time of each operation."""
    rows = {}
    for name, (make, sizes) in MATRICES.items():
        row = []
        for operation in OPERATIONS.values():
            times = []
            for n in sizes:
                a, v = make(n), dk.ones(n)
                with dk.densify(on="error"):
                    times.append(seconds(lambda a=a, v=v, operation=operation: operation(a, v)))  # type: ignore[misc]
            slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
            row.append(f"{max(slope, 0):.1f}")
        rows[name] = row
    return rows


def ratios() -> list[tuple[str, str, float]]:
    """Return work, library and our time over its time."""
    import scipy.linalg

    n = 10_000
    rng = np.random.default_rng(0)
    v, d = rng.normal(size=n), rng.uniform(1.0, 2.0, n)
    band = banded(n)
    found = [
        (
            "diagonal, solve",
            "NumPy, `v / d`",
            seconds(lambda: dk.linalg.solve(types.DiagonalTensor(d), v)) / seconds(lambda: v / d),
        ),
        (
            "5 diagonals, solve",
            "SciPy, `solve_banded`",
            seconds(lambda: dk.linalg.solve(band, v))
            / seconds(lambda: scipy.linalg.solve_banded((2, 2), band.bands.array, v)),
        ),
    ]
    t = np.tril(rng.normal(size=(1000, 1000))) + 40 * np.eye(1000)
    triangle, w = types.TriangularTensor(t), rng.normal(size=1000)
    found.append(
        (
            "triangle of 1000 rows, solve",
            "SciPy, `solve_triangular`",
            seconds(lambda: dk.linalg.solve(triangle, w))
            / seconds(lambda: scipy.linalg.solve_triangular(t, w, lower=True)),
        )
    )
    try:
        import torch
        from linear_operator.operators import DiagLinearOperator
    except ImportError:
        return found
    torch.set_num_threads(1)
    td, tv = torch.asarray(d), torch.asarray(v)
    ours = types.DiagonalTensor(d)
    for work, mine, theirs in (
        ("diagonal, product", lambda: ours @ v, lambda: DiagLinearOperator(td) @ tv),
        ("diagonal, solve", lambda: dk.linalg.solve(ours, v), lambda: DiagLinearOperator(td).solve(tv[:, None])),
        ("diagonal, logdet", lambda: dk.linalg.slogdet(ours), lambda: DiagLinearOperator(td).logdet()),
        ("sum of two diagonals", lambda: ours + ours, lambda: DiagLinearOperator(td) + DiagLinearOperator(td)),
    ):
        found.append((work, "linear_operator", seconds(mine, 20) / seconds(theirs, 20)))
    return found


if __name__ == "__main__":
    print("| structure |", " | ".join(f"`{name}`" for name in OPERATIONS), "|")
    print("| --- |", " | ".join("---" for _ in OPERATIONS), "|")
    for name, row in exponents().items():
        print("|", name, "|", " | ".join(row), "|")
    print("\n| work | against | ratio |\n| --- | --- | --- |")
    for work, library, ratio in ratios():
        print(f"| {work} | {library} | {ratio:.2g} |")
