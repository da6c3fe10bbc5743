"""Structured matrices beside linear_operator, SciPy and PyTorch: ``python -m tests.benchmarks.structured_solves``.

Every row compares pieces of work that give the same result: the operator is made from its fields, and used once. All
run by turns in one process on one thread (set ``OMP_NUM_THREADS=1``); the figures are the fastest of the repeats, as
ratios to dispatchkit's time. "residual" is that of the solution, relative to the right-hand side.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
import scipy.linalg

import dispatchkit as dk
from dispatchkit.types import CirculantTensor, DiagonalTensor, KroneckerTensor, LowRankTensor, ToeplitzTensor

lo: Any = import_module("linear_operator.operators")
torch: Any = import_module("torch")
Row = dict[str, Callable[[], Any]]
rng = np.random.default_rng(0)
REPEATS = 7


def vector(n: int) -> tuple[Any, Any, Any]:
    """Return a vector as all three libraries hold it."""
    v = rng.normal(size=n)
    return v, dk.asarray(v), torch.from_numpy(v)


def kronecker(m: int) -> dict[str, tuple[Row, Any]]:
    """Return rows for the product of two symmetric positive definite matrices of m rows."""
    halves = rng.normal(size=(2, m, m))
    a, b = halves @ halves.swapaxes(1, 2) / m + np.eye(m)
    (da, db), (ta, tb) = map(dk.asarray, (a, b)), map(torch.from_numpy, (a, b))
    v, dv, tv = vector(m * m)

    def product(x: Any) -> Any:
        return (a @ x.reshape(m, m) @ b.T).ravel()

    name = f"Kronecker, m = {m}"
    return {
        f"{name}: `k @ v`": (
            {
                "dispatchkit": lambda: KroneckerTensor(da, db) @ dv,
                "linear_operator": lambda: lo.KroneckerProductLinearOperator(ta, tb) @ tv,
                "SciPy": lambda: product(v),
            },
            None,
        ),
        f"{name}: `solve`": (
            {
                "dispatchkit": lambda: dk.linalg.solve(KroneckerTensor(da, db), dv),
                "linear_operator": lambda: lo.KroneckerProductLinearOperator(ta, tb).solve(tv[:, None])[:, 0],
                "SciPy": lambda: scipy.linalg.solve(a, scipy.linalg.solve(b, v.reshape(m, m).T).T).ravel(),
            },
            (product, v),
        ),
        f"{name}: logarithm of the determinant": (
            {
                "dispatchkit": lambda: dk.linalg.slogdet(KroneckerTensor(da, db)).logabsdet,
                "linear_operator": lambda: lo.KroneckerProductLinearOperator(ta, tb).logdet(),
                "SciPy": lambda: m * (np.linalg.slogdet(a)[1] + np.linalg.slogdet(b)[1]),
            },
            None,
        ),
    }


def toeplitz(n: int) -> dict[str, tuple[Row, Any]]:
    """Return rows for a covariance matrix with noise."""
    c = np.exp(-np.arange(n) / 10)
    c[0] += 1
    dc, tc = dk.asarray(c), torch.from_numpy(c)
    v, dv, tv = vector(n)

    def product(x: Any) -> Any:
        return scipy.linalg.matmul_toeplitz(c, x)

    name = f"Toeplitz, n = {n:,}"
    rows: dict[str, tuple[Row, Any]] = {
        f"{name}: `t @ v`": (
            {
                "dispatchkit": lambda: ToeplitzTensor(dc) @ dv,
                "linear_operator": lambda: lo.ToeplitzLinearOperator(tc) @ tv,
                "SciPy": lambda: product(v),
            },
            None,
        ),
        f"{name}: `solve`": (
            {
                "dispatchkit": lambda: dk.linalg.solve(ToeplitzTensor(dc), dv),
                "linear_operator": lambda: lo.ToeplitzLinearOperator(tc).solve(tv[:, None])[:, 0],
                "SciPy": lambda: scipy.linalg.solve_toeplitz(c, v),
            },
            (product, v),
        ),
    }
    if n <= 2000:
        rows[f"{name}: logarithm of the determinant"] = (
            {
                "dispatchkit": lambda: dk.linalg.slogdet(ToeplitzTensor(dc)).logabsdet,
                "linear_operator": lambda: lo.ToeplitzLinearOperator(tc).logdet(),
                "SciPy": lambda: np.linalg.slogdet(scipy.linalg.toeplitz(c))[1],
            },
            None,
        )
    return rows


def others(n: int = 10_000) -> dict[str, tuple[Row, Any]]:
    """Return rows for a diagonal with an update of rank 10, and for a circulant matrix."""
    left, d = rng.normal(size=(n, 10)), 1 + rng.random(n)
    v, dv, tv = vector(n)
    dl, dr, dd = dk.asarray(left), dk.asarray(left.T), dk.asarray(d)
    tl, td = torch.from_numpy(left), torch.from_numpy(d)

    def updated() -> Any:
        return LowRankTensor(dl, dr) + DiagonalTensor(dd)

    def theirs() -> Any:
        return lo.LowRankRootLinearOperator(tl) + lo.DiagLinearOperator(td)

    c = np.exp(-np.minimum(np.arange(n), n - np.arange(n)) / 10)
    dc = dk.asarray(c)
    return {
        f"low rank + diagonal, n = {n:,}: `solve`": (
            {
                "dispatchkit": lambda: dk.linalg.solve(updated(), dv),
                "linear_operator": lambda: theirs().solve(tv[:, None])[:, 0],
            },
            (lambda x: d * x + left @ (left.T @ x), v),
        ),
        f"low rank + diagonal, n = {n:,}: logarithm of the determinant": (
            {
                "dispatchkit": lambda: dk.linalg.slogdet(updated()).logabsdet,
                "linear_operator": lambda: theirs().logdet(),
            },
            None,
        ),
        f"circulant, n = {n:,}: `solve`": (
            {
                "dispatchkit": lambda: dk.linalg.solve(CirculantTensor(dc), dv),
                "SciPy": lambda: scipy.linalg.solve_circulant(c, v),
            },
            (lambda x: scipy.linalg.matmul_toeplitz(c, x), v),
        ),
    }


def measured(row: Row) -> dict[str, float]:
    """Return the fastest time of each piece of work, run by turns."""
    found = dict.fromkeys(row, float("inf"))
    for _ in range(REPEATS):
        for name, work in row.items():
            start = perf_counter()
            work()
            found[name] = min(found[name], perf_counter() - start)
    return found


def line(name: str, row: Row, system: Any) -> str:
    """Return a row of the table."""
    times = measured(row)
    cells = [name, f"{times['dispatchkit'] * 1e6:,.0f} µs"]
    for peer in ("linear_operator", "SciPy"):
        ratio = times[peer] / times["dispatchkit"] if peer in times else None
        cells.append("-" if ratio is None else f"{ratio:.2g}" if ratio < 100 else f"{ratio:.0f}")
    if system is None:
        cells.append("")
    else:
        product, b = system
        errors = [np.linalg.norm(product(np.asarray(work())) - b) / np.linalg.norm(b) for work in row.values()]
        cells.append(", ".join(f"{error:.0e}" for error in errors))
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table as Markdown."""
    torch.set_num_threads(1)
    print("| work | dispatchkit | linear_operator | NumPy, SciPy | residuals |")
    print("| --- | --- | --- | --- | --- |")
    for rows in (kronecker(32), kronecker(100), toeplitz(500), toeplitz(2000), toeplitz(10_000), others()):
        for name, (row, system) in rows.items():
            print(line(name, row, system), flush=True)


if __name__ == "__main__":
    main()
