"""Single calls on structured matrices that exist, by the routine of NumPy or SciPy that one would call instead.

Both sides by turns in one process on one thread; the figures are the least of the repeats, as ratios of dispatchkit's
time to the other's, after the results are compared. Matrices of n² numbers have fewer rows where the title says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

import dispatchkit as dk
from dispatchkit.types import (
    BandedTensor,
    BlockDiagonalTensor,
    CirculantTensor,
    DiagonalTensor,
    KroneckerTensor,
    LowRankTensor,
    PermutationTensor,
    ScalarTensor,
    ToeplitzTensor,
    TriangularTensor,
)

from .harness import Side
from .type_peers import ratio

__all__ = ["lines"]

SIZES = (100, 10_000)
Names = dict[str, Any]
# What a call is written as here and there, with the names of both sides.
Call = tuple[str, str]
Calls = tuple[tuple[Call, ...], Names, Names]


def vectors(n: int) -> tuple[Names, Names]:
    """Return a vector, eight columns and functions under the names that they have on both sides."""
    rng = np.random.default_rng(0)
    v, columns = rng.normal(size=n), rng.normal(size=(n, 8))
    ours = {"v": dk.asarray(v), "V": dk.asarray(columns), "solve": dk.linalg.solve, "slogdet": dk.linalg.slogdet}
    ours |= {"trace": dk.linalg.trace, "cholesky": dk.linalg.cholesky, "inv": dk.linalg.inv}
    return ours, {"v": v, "V": columns, "np": np, "la": scipy.linalg}


def diagonal(n: int) -> Calls:
    ours, theirs = vectors(n)
    d = np.linspace(1.0, 2.0, n)
    calls = (
        ("A @ v", "d * v"),
        ("A @ V", "d[:, None] * V"),
        ("solve(A, v)", "v / d"),
        ("slogdet(A)", "(np.prod(np.sign(d)), np.sum(np.log(np.abs(d))))"),
        ("(A + A).values", "d + d"),
    )
    return calls, {"A": DiagonalTensor(d), **ours}, {"d": d, **theirs}


def scalar(n: int) -> Calls:
    ours, theirs = vectors(n)
    return (("A @ v", "2.5 * v"), ("solve(A, v)", "v / 2.5")), {"A": ScalarTensor(n, 2.5), **ours}, theirs


def permutation(n: int) -> Calls:
    ours, theirs = vectors(n)
    p = np.random.default_rng(0).permutation(n)
    back = np.argsort(p)
    calls = (("A @ v", "v[p]"), ("v @ A", "v[back]"), ("solve(A, v)", "v[back]"), ("A @ V", "V[p]"))
    return calls, {"A": PermutationTensor(p), **ours}, {"p": p, "back": back, **theirs}


def banded(n: int) -> Calls:
    ours, theirs = vectors(n)
    bands = np.ones((5, n))
    bands[2] = 8.0
    m = scipy.sparse.dia_array((bands, [2, 1, 0, -1, -2]), shape=(n, n)).tocsr()
    calls = (
        ("A @ v", "m @ v"),
        ("A @ V", "m @ V"),
        ("solve(A, v)", "la.solve_banded((2, 2), bands, v)"),
        ("solve(A, V)", "la.solve_banded((2, 2), bands, V)"),
        ("cholesky(A).bands", "la.cholesky_banded(bands[2:], lower=True)"),
        ("make(bands, lower=2, upper=2) @ v", "m @ v"),
    )
    own = {"A": BandedTensor(bands, lower=2, upper=2), "make": BandedTensor, "bands": bands}
    return calls, {**own, **ours}, {"m": m, "bands": bands, **theirs}


def blocks(n: int) -> Calls:
    ours, theirs = vectors(n)
    b = np.random.default_rng(0).normal(size=(n // 20, 20, 20)) / 20 + 2 * np.eye(20)
    calls = (
        ("A @ v", "np.matmul(b, v.reshape(-1, 20, 1)).ravel()"),
        ("A @ V", "np.matmul(b, V.reshape(-1, 20, 8)).reshape(V.shape)"),
        ("solve(A, v)", "np.linalg.solve(b, v.reshape(-1, 20, 1)).ravel()"),
        ("slogdet(A)", "[np.prod((s := np.linalg.slogdet(b))[0]), np.sum(s[1])]"),
        ("inv(A) @ v", "np.matmul(np.linalg.inv(b), v.reshape(-1, 20, 1)).ravel()"),
    )
    return calls, {"A": BlockDiagonalTensor(list(b)), **ours}, {"b": b, **theirs}


def kronecker(n: int) -> Calls:
    ours, theirs = vectors(n)
    m = round(n**0.5)
    a, b = np.random.default_rng(0).normal(size=(2, m, m)) / m + 2 * np.eye(m)
    calls = (
        ("A @ v", f"(a @ v.reshape({m}, {m}) @ b.T).ravel()"),
        ("solve(A, v)", f"np.linalg.solve(a, np.linalg.solve(b, v.reshape({m}, {m}).T).T).ravel()"),
        ("slogdet(A).logabsdet", f"{m} * (np.linalg.slogdet(a)[1] + np.linalg.slogdet(b)[1])"),
        ("trace(A)", "np.trace(a) * np.trace(b)"),
    )
    return calls, {"A": KroneckerTensor(a, b), **ours}, {"a": a, "b": b, **theirs}


def triangle(n: int) -> Calls:
    n = min(n, 1_500)
    ours, theirs = vectors(n)
    t = np.tril(np.random.default_rng(0).normal(size=(n, n)) / n + 2 * np.eye(n))
    calls = (
        ("A @ v", "t @ v"),
        ("A @ V", "t @ V"),
        ("solve(A, v)", "la.solve_triangular(t, v, lower=True)"),
        ("slogdet(A)", "(np.prod(np.sign(np.diag(t))), np.sum(np.log(np.abs(np.diag(t)))))"),
        ("(A + A).data", "t + t"),
    )
    return calls, {"A": TriangularTensor(t), **ours}, {"t": t, **theirs}


def low_rank(n: int) -> Calls:
    ours, theirs = vectors(n)
    left, right = np.random.default_rng(0).normal(size=(2, n, 10))
    d, right = np.linspace(1.0, 2.0, n), right.T.copy()
    updated = LowRankTensor(left, right) + DiagonalTensor(d)
    by_hand = "v / d - (w := left / d[:, None]) @ np.linalg.solve(np.eye(10) + right @ w, right @ (v / d))"
    calls = (
        ("A @ v", "left @ (right @ v)"),
        ("trace(A)", "np.einsum('ij,ji->', left, right)"),
        ("solve(B, v)", by_hand),
        ("B @ v", "d * v + left @ (right @ v)"),
    )
    return (
        calls,
        {"A": LowRankTensor(left, right), "B": updated, **ours},
        {"left": left, "right": right, "d": d, **theirs},
    )


def toeplitz(n: int) -> Calls:
    ours, theirs = vectors(n)
    c = np.exp(-np.arange(n) / 10)
    c[0] += 1
    calls = (("A @ v", "la.matmul_toeplitz(c, v)"), ("solve(A, v)", "la.solve_toeplitz(c, v)"))
    return calls, {"A": ToeplitzTensor(c), **ours}, {"c": c, **theirs}


def circulant(n: int) -> Calls:
    ours, theirs = vectors(n)
    c = np.exp(-np.minimum(np.arange(n), n - np.arange(n)) / 10)
    c[0] += 1
    other = "np.fft.irfft(np.fft.rfft(c) * np.fft.rfft(v), v.size)"
    calls = (("A @ v", other), ("solve(A, v)", "la.solve_circulant(c, v)"))
    return calls, {"A": CirculantTensor(c), **ours}, {"c": c, **theirs}


STRUCTURES: tuple[Callable[[int], Calls], ...] = (
    *(diagonal, scalar, permutation, banded, blocks),
    *(kronecker, triangle, low_rank, toeplitz, circulant),
)


def numbers(result: Any) -> list[np.ndarray]:
    """Return a result as arrays of NumPy."""
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [np.asarray(part) for part in parts]


def measured(name: str, call: Call, ours: Names, theirs: Names) -> str:
    """Return the ratio of a call, whose results are compared first."""
    sides = Side(call[0], ours), Side(call[1], theirs)
    for found, wanted in zip(*(numbers(side.result()) for side in sides), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10, err_msg=f"{name}: {call[0]}")
    own, other = ratio(*sides, repeats=150, seconds=0.001)  # short ones, of which some are not disturbed
    return f"{own / other:.2f}"


def lines() -> Iterator[str]:
    """Yield the table as Markdown."""
    yield f"| structure | call | instead | {' | '.join(f'n = {n:,}' for n in SIZES)} |"
    yield f"| --- | --- | --- | {' | '.join('---' for _ in SIZES)} |"
    for make in STRUCTURES:
        at_sizes = [make(n) for n in SIZES]
        for row in zip(*(calls for calls, _, _ in at_sizes), strict=True):
            cells = [
                measured(make.__name__, call, ours, theirs)
                for call, (_, ours, theirs) in zip(row, at_sizes, strict=True)
            ]
            ours, theirs = row[0]
            yield f"| {make.__name__.replace('_', ' ')} | `{ours}` | `{theirs}` | {' | '.join(cells)} |"
