"""Structured matrices and those of linear_operator, CoLA, NumPy and SciPy, in one run.

Every row compares pieces of work that give the same result: the operator is made from its fields, and used once. All
run by turns in one process on one thread; the figures are the fastest of the repeats, as ratios to dispatchkit's time.
"residual" is that of the solution, relative to the right-hand side. A library that is not installed has no figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from time import process_time
from typing import Any

import numpy as np
import scipy.linalg

import dispatchkit as dk
from dispatchkit.types import (
    BandedTensor,
    BlockDiagonalTensor,
    CirculantTensor,
    DiagonalTensor,
    KroneckerTensor,
    LowRankTensor,
    ToeplitzTensor,
    TriangularTensor,
)

__all__ = ["lines"]


def optional(name: str) -> Any:
    """Return a module, or None if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


torch, lo, cola = map(optional, ("torch", "linear_operator.operators", "cola"))
PEERS = {"linear_operator": lo and torch, "CoLA": cola and torch, "NumPy, SciPy": scipy.linalg}
Row = dict[str, Callable[[], Any]]
# For each piece of work the ways to do it and, of a system, its product and its right-hand side.
Rows = dict[str, tuple[Row, Any]]
rng = np.random.default_rng(0)
REPEATS = 15


def held(x: Any) -> tuple[Any, Any, Any]:
    """Return an array as NumPy, dispatchkit and PyTorch hold it."""
    return x, dk.asarray(x), torch and torch.from_numpy(x)


def solved(operator: Any, v: Any) -> Any:
    """Return CoLA's solution of a system."""
    return cola.linalg.inv(operator) @ v


def three(name: str, make: Any, theirs: Any, others: Any, v: Any, plain: dict[str, Any], system: Any) -> Rows:
    """Return rows for a product, a system and a determinant of an operator that each library makes."""
    _, dv, tv = v
    work: dict[str, Row] = {
        "product": {
            "dispatchkit": lambda: make() @ dv,
            "linear_operator": lambda: theirs() @ tv,
            "CoLA": lambda: others() @ tv,
        },
        "`solve`": {
            "dispatchkit": lambda: dk.linalg.solve(make(), dv),
            "linear_operator": lambda: theirs().solve(tv[:, None])[:, 0],
            "CoLA": lambda: solved(others(), tv),
        },
        "logarithm of the determinant": {
            "dispatchkit": lambda: dk.linalg.slogdet(make()).logabsdet,
            "linear_operator": lambda: theirs().logdet(),
            "CoLA": lambda: cola.linalg.logdet(others()),
        },
    }
    for key, row in work.items():
        for peer, maker in (("linear_operator", theirs), ("CoLA", others)):
            if maker is None:
                del row[peer]
        if plain.get(key):
            row["NumPy, SciPy"] = plain[key]
    return {f"{name}: {key}": (row, system if key == "`solve`" else None) for key, row in work.items()}


def kronecker(m: int) -> Rows:
    """Return rows for the product of two symmetric positive definite matrices of m rows."""
    halves = rng.normal(size=(2, m, m))
    a, b = halves @ halves.swapaxes(1, 2) / m + np.eye(m)
    (_, da, ta), (_, db, tb), v = held(a), held(b), held(rng.normal(size=m * m))

    def product(x: Any) -> Any:
        return (a @ x.reshape(m, m) @ b.T).ravel()

    return three(
        f"Kronecker, m = {m}",
        lambda: KroneckerTensor(da, db),
        lambda: lo.KroneckerProductLinearOperator(ta, tb),
        lambda: cola.ops.Kronecker(cola.PSD(cola.ops.Dense(ta)), cola.PSD(cola.ops.Dense(tb))),
        v,
        {
            "product": lambda: product(v[0]),
            "`solve`": lambda: scipy.linalg.solve(a, scipy.linalg.solve(b, v[0].reshape(m, m).T).T).ravel(),
            "logarithm of the determinant": lambda: m * (np.linalg.slogdet(a)[1] + np.linalg.slogdet(b)[1]),
        },
        (product, v[0]),
    )


def toeplitz(n: int) -> Rows:
    """Return rows for a covariance matrix with noise."""
    c = np.exp(-np.arange(n) / 10)
    c[0] += 1
    (_, dc, tc), v = held(c), held(rng.normal(size=n))

    def product(x: Any) -> Any:
        return scipy.linalg.matmul_toeplitz(c, x)

    found = three(
        f"Toeplitz, n = {n:,}",
        lambda: ToeplitzTensor(dc),
        lambda: lo.ToeplitzLinearOperator(tc),
        None,
        v,
        {
            "product": lambda: product(v[0]),
            "`solve`": lambda: scipy.linalg.solve_toeplitz(c, v[0]),
            "logarithm of the determinant": lambda: np.linalg.slogdet(scipy.linalg.toeplitz(c))[1],
        },
        (product, v[0]),
    )
    return {name: row for name, row in found.items() if n <= 2000 or "determinant" not in name}


def diagonal(n: int) -> Rows:
    """Return rows for a diagonal matrix, and for its sum and product with itself."""
    (d, dd, td), v = held(1 + rng.random(n)), held(rng.normal(size=n))

    def theirs() -> Any:
        return lo.DiagLinearOperator(td)

    def others() -> Any:
        return cola.ops.Diagonal(td)

    name = f"diagonal, n = {n:,}"
    plain = {
        "product": lambda: d * v[0],
        "`solve`": lambda: v[0] / d,
        "logarithm of the determinant": lambda: np.sum(np.log(d)),
    }
    rows = three(name, lambda: DiagonalTensor(dd), theirs, others, v, plain, (lambda x: d * x, v[0]))
    for work, function in (("sum with itself", lambda x: x + x), ("product with itself", lambda x: x @ x)):
        row: Row = {
            "dispatchkit": lambda function=function: function(DiagonalTensor(dd)),  # type: ignore[misc]
            "linear_operator": lambda function=function: function(theirs()),  # type: ignore[misc]
            "CoLA": lambda function=function: function(others()),  # type: ignore[misc]
        }
        rows[f"{name}: {work}"] = (row, None)
    return rows


def blocks(count: int, m: int = 20) -> Rows:
    """Return rows for a block diagonal matrix."""
    parts = rng.normal(size=(count, m, m)) / m + 2 * np.eye(m)
    v = held(rng.normal(size=count * m))
    of_ours, tensors = [dk.asarray(part) for part in parts], torch and torch.from_numpy(parts)

    def product(x: Any) -> Any:
        return (parts @ x.reshape(count, m, 1)).ravel()

    return three(
        f"{count} blocks of {m} rows",
        lambda: BlockDiagonalTensor(of_ours),
        lambda: lo.BlockDiagLinearOperator(lo.DenseLinearOperator(tensors)),
        lambda: cola.ops.BlockDiag(*map(cola.ops.Dense, tensors)),
        v,
        {
            "product": lambda: product(v[0]),
            "`solve`": lambda: np.linalg.solve(parts, v[0].reshape(count, m, 1)).ravel(),
            "logarithm of the determinant": lambda: np.sum(np.linalg.slogdet(parts)[1]),
        },
        (product, v[0]),
    )


def others(n: int = 10_000) -> Rows:
    """Return rows for a triangle, five diagonals, a diagonal with an update of rank 10, and a circulant matrix."""
    v = held(rng.normal(size=n))
    w = held(rng.normal(size=1000))
    t, dt, tt = held(np.tril(rng.normal(size=(1000, 1000))) + 40 * np.eye(1000))
    bands = np.ones((5, n))
    bands[2] = 8.0
    five = BandedTensor(bands, lower=2, upper=2)
    (left, dl, tl), (d, dd, td) = held(rng.normal(size=(n, 10))), held(1 + rng.random(n))
    dr = dk.asarray(left.T)
    c = np.exp(-np.minimum(np.arange(n), n - np.arange(n)) / 10)
    dc = dk.asarray(c)

    def updated() -> Any:
        return LowRankTensor(dl, dr) + DiagonalTensor(dd)

    def theirs() -> Any:
        return lo.LowRankRootLinearOperator(tl) + lo.DiagLinearOperator(td)

    name = f"low rank + diagonal, n = {n:,}"
    return {
        "triangle, n = 1,000: `solve`": (
            {
                "dispatchkit": lambda: dk.linalg.solve(TriangularTensor(dt), w[1]),
                "linear_operator": lambda: lo.TriangularLinearOperator(tt).solve(w[2][:, None])[:, 0],
                "CoLA": lambda: solved(cola.ops.Triangular(tt), w[2]),
                "NumPy, SciPy": lambda: scipy.linalg.solve_triangular(t, w[0], lower=True),
            },
            (lambda x: t @ x, w[0]),
        ),
        f"5 diagonals, n = {n:,}: `solve`": (
            {
                "dispatchkit": lambda: dk.linalg.solve(five, v[1]),
                "NumPy, SciPy": lambda: scipy.linalg.solve_banded((2, 2), bands, v[0]),
            },
            (lambda x: np.asarray(five @ dk.asarray(x)), v[0]),
        ),
        f"{name}: `solve`": (
            {
                "dispatchkit": lambda: dk.linalg.solve(updated(), v[1]),
                "linear_operator": lambda: theirs().solve(v[2][:, None])[:, 0],
            },
            (lambda x: d * x + left @ (left.T @ x), v[0]),
        ),
        f"{name}: logarithm of the determinant": (
            {
                "dispatchkit": lambda: dk.linalg.slogdet(updated()).logabsdet,
                "linear_operator": lambda: theirs().logdet(),
            },
            None,
        ),
        f"circulant, n = {n:,}: `solve`": (
            {
                "dispatchkit": lambda: dk.linalg.solve(CirculantTensor(dc), v[1]),
                "NumPy, SciPy": lambda: scipy.linalg.solve_circulant(c, v[0]),
            },
            (lambda x: scipy.linalg.matmul_toeplitz(c, x), v[0]),
        ),
    }


def measured(row: Row) -> dict[str, float]:
    """Return the fastest time of each piece of work, run by turns."""
    found = dict.fromkeys(row, float("inf"))
    for _ in range(REPEATS):
        for name, work in row.items():
            start = process_time()
            work()
            found[name] = min(found[name], process_time() - start)
    return found


def line(name: str, given: Row, system: Any) -> str:
    """Return a row of the table."""
    row = {peer: work for peer, work in given.items() if peer == "dispatchkit" or PEERS[peer]}
    times = measured(row)
    cells = [name, f"{times['dispatchkit'] * 1e6:,.0f} µs"]
    for peer in PEERS:
        ratio = times[peer] / times["dispatchkit"] if peer in times else None
        cells.append("-" if ratio is None else f"{ratio:.2g}" if ratio < 100 else f"{ratio:.0f}")
    if system is None:
        cells.append("")
    else:
        product, b = system
        errors = [np.linalg.norm(product(np.asarray(work())) - b) / np.linalg.norm(b) for work in row.values()]
        cells.append(", ".join(f"{error:.0e}" for error in errors))
    return f"| {' | '.join(cells)} |"


def lines() -> Iterator[str]:
    """Yield the table as Markdown."""
    if torch:
        torch.set_num_threads(1)
    yield f"| work | dispatchkit | {' | '.join(PEERS)} | residuals |"
    yield f"| --- | --- | {' | '.join('---' for _ in PEERS)} | --- |"
    tables = (diagonal(1_000), diagonal(100_000), blocks(100), kronecker(32), kronecker(100))
    for rows in (*tables, toeplitz(500), toeplitz(2_000), toeplitz(10_000), others()):
        for name, (row, system) in rows.items():
            yield line(name, row, system)
