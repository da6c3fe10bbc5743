"""Shipped types by their peers, as ratios within one run: ``python -m tests.benchmarks.shipped_types``.

Each line times two ways of the same work by turns, and gives the ratio of the shortest times: ours by theirs. It needs
SciPy, and numexpr for its line, which is left out without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from operator import matmul
from time import perf_counter
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit.types import LazyTensor, LoraTensor, QuantizedTensor, SparseTensor

Work = Callable[[], Any]


def ratio(ours: Work, theirs: Work, repeats: int = 9) -> float:
    """Return the shortest time of one way by that of the other, taken by turns."""
    best = [float("inf"), float("inf")]
    for _ in range(repeats):
        for side, work in enumerate((ours, theirs)):
            start = perf_counter()
            work()
            best[side] = min(best[side], perf_counter() - start)
    return best[0] / best[1]


def lazy_rows() -> Iterator[tuple[str, Work, Work]]:
    """Yield chains on ten million numbers."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=10**7), rng.normal(size=10**7)
    x, y = LazyTensor(a), LazyTensor(b)
    yield (
        "(((a+b)*a-b)*2+1)**2, 1e7, by NumPy",
        lambda: ((((x + y) * x - y) * 2 + 1) ** 2).evaluate(),
        lambda: (((a + b) * a - b) * 2 + 1) ** 2,
    )
    yield "sum((a-b)**2), 1e7, by NumPy", lambda: ((x - y) ** 2).sum().item(), lambda: np.sum((a - b) ** 2)
    try:
        numexpr = import_module("numexpr")
    except ImportError:
        return
    numexpr.set_num_threads(1)
    yield (
        "(((a+b)*a-b)*2+1)**2, 1e7, by numexpr on one thread",
        lambda: ((((x + y) * x - y) * 2 + 1) ** 2).evaluate(),
        lambda: numexpr.evaluate("(((a+b)*a-b)*2+1)**2", {"a": a, "b": b}),
    )


def sparse_rows() -> Iterator[tuple[str, Work, Work]]:
    """Yield products of matrices with ten elements in a row."""
    sparse = import_module("scipy.sparse")
    rng = np.random.default_rng(0)
    for n in (1_000, 100_000):
        matrix = sparse.random_array((n, n), density=10 / n, format="csr", rng=rng)
        vector = rng.normal(size=n)
        ours, x = SparseTensor.from_scipy(matrix), dk.asarray(vector)
        yield f"A @ v, CSR, n={n}, by SciPy", partial(matmul, ours, x), partial(matmul, matrix, vector)
    small = sparse.random_array((5_000, 5_000), density=0.002, format="csr", rng=rng)
    ours = SparseTensor.from_scipy(small)
    yield "A @ A, CSR, n=5000, by SciPy", lambda: ours @ ours, lambda: small @ small


def weight_rows() -> Iterator[tuple[str, Work, Work]]:
    """Yield products with a weight of 1024 × 1024 in single precision."""
    rng = np.random.default_rng(0)
    dense = dk.asarray(rng.normal(size=(1024, 1024)).astype(np.float32))
    weight = QuantizedTensor.from_dense(dense)
    lora = LoraTensor.from_dense(dense, rank=8)
    for rows in (1, 256):
        x = dk.asarray(rng.normal(size=(rows, 1024)).astype(np.float32))
        yield f"x @ w.mT, int8, {rows} rows, by dense", partial(matmul, x, weight.mT), partial(matmul, x, dense.mT)
        yield (
            f"x @ w.mT, LoRA of rank 8, {rows} rows, by dense",
            partial(matmul, x, lora.mT),
            partial(matmul, x, dense.mT),
        )


if __name__ == "__main__":
    for rows in (lazy_rows, sparse_rows, weight_rows):
        for name, ours, theirs in rows():
            print(f"{ratio(ours, theirs):6.2f}  {name}")
