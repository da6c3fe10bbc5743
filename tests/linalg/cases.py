"""Functions of decompositions that do not depend on the signs and phases which these leave open.

Each takes a namespace, dispatchkit or PyTorch, so that both can be asked for the gradient of the very same function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["CASES", "Case", "invariants", "matrices"]

Shape = tuple[int, ...]
SQUARE: tuple[Shape, ...] = ((3, 3), (2, 3, 3), (2, 1, 2, 2), (1, 1))
RECTANGULAR: tuple[Shape, ...] = ((3, 2), (2, 3), (3, 3), (2, 4, 2), (2, 1, 2, 4))


@dataclass(frozen=True)
class Case:
    """A function of matrices, and the shapes it is tested with."""

    function: Callable[[Any, Any], tuple[Any, ...]]
    shapes: tuple[Shape, ...]


def adjoint(xp: Any, x: Any) -> Any:
    return xp.conj(x).mT


def hermitian(xp: Any, x: Any) -> Any:
    return (x + adjoint(xp, x)) / 2


def definite(xp: Any, x: Any) -> Any:
    return x @ adjoint(xp, x) + 2 * hermitian(xp, 0 * x + xp.eye(x.shape[-1], dtype=x.dtype))


def size(xp: Any, x: Any) -> Any:
    """Return squared magnitudes, which no phase changes."""
    return xp.real(x * xp.conj(x)) if "complex" in str(x.dtype) else x * x


def invariants(xp: Any, name: str, parts: Any) -> tuple[Any, ...]:
    """Return what a decomposition determines of its parts, all of them together."""
    if name == "qr":
        q, r = parts
        return q @ r, size(xp, q), size(xp, r)
    if name == "eigh":
        values, vectors = parts
        return values, size(xp, vectors), (vectors * xp.sin(values)[..., None, :]) @ adjoint(xp, vectors)
    if name == "eig":
        values, vectors = parts
        weights = size(xp, values)[..., None, :]
        return total(xp, values), xp.sum(size(xp, vectors), axis=-1), xp.sum(size(xp, vectors) * weights, axis=-1)
    u, s, vh = parts
    count = s.shape[-1]
    u, vh = u[..., :, :count], vh[..., :count, :]
    return s, size(xp, u), size(xp, vh), (u * xp.sin(s)[..., None, :]) @ vh


def total(xp: Any, x: Any) -> Any:
    return xp.sum(x * x, axis=-1)


CASES: dict[str, Case] = {
    "qr": Case(lambda xp, x: invariants(xp, "qr", xp.linalg.qr(x)), RECTANGULAR),
    "qr complete": Case(lambda xp, x: invariants(xp, "qr", xp.linalg.qr(x, mode="complete")), ((2, 3), (2, 2, 2))),
    "svd": Case(lambda xp, x: invariants(xp, "svd", xp.linalg.svd(x, full_matrices=False)), RECTANGULAR),
    "svd in full": Case(lambda xp, x: (xp.linalg.svd(x)[1],), RECTANGULAR),
    "svdvals": Case(lambda xp, x: (xp.linalg.svdvals(x),), RECTANGULAR),
    "eigh": Case(lambda xp, x: invariants(xp, "eigh", xp.linalg.eigh(hermitian(xp, x))), SQUARE),
    "eigvalsh": Case(lambda xp, x: (xp.linalg.eigvalsh(hermitian(xp, x)),), SQUARE),
    "eig": Case(lambda xp, x: invariants(xp, "eig", xp.linalg.eig(x)), SQUARE),
    "eigvals": Case(
        lambda xp, x: (total(xp, xp.linalg.eigvals(x)), xp.sum(xp.exp(xp.linalg.eigvals(x)), axis=-1)), SQUARE
    ),
    "cholesky": Case(lambda xp, x: (xp.linalg.cholesky(definite(xp, x)),), SQUARE),
    "cholesky upper": Case(lambda xp, x: (xp.linalg.cholesky(definite(xp, x), upper=True),), SQUARE),
    "inv": Case(lambda xp, x: (xp.linalg.inv(x),), SQUARE),
    "pinv": Case(lambda xp, x: (xp.linalg.pinv(x),), RECTANGULAR),
    "det": Case(lambda xp, x: (xp.linalg.det(x),), SQUARE),
    "slogdet": Case(lambda xp, x: tuple(xp.linalg.slogdet(x)), SQUARE),
    "solve": Case(lambda xp, x: (xp.linalg.solve(x, x[..., :1] * x[..., :1]),), SQUARE),
    "solve a vector": Case(lambda xp, x: (xp.linalg.solve(x, x[0]),), ((3, 3),)),
    "solve, broadcasting": Case(lambda xp, x: (xp.linalg.solve(x[0], x * x),), ((2, 3, 3),)),
    "power": Case(lambda xp, x: (xp.linalg.matrix_power(x, 3),), SQUARE),
    "negative power": Case(lambda xp, x: (xp.linalg.matrix_power(x, -2),), SQUARE),
    "nuclear norm": Case(lambda xp, x: (xp.linalg.matrix_norm(x, ord="nuc"),), RECTANGULAR),
    "spectral norm": Case(lambda xp, x: (xp.linalg.matrix_norm(x, ord=2),), RECTANGULAR),
    "least stretch": Case(lambda xp, x: (xp.linalg.matrix_norm(x, ord=-2),), RECTANGULAR),
}


def matrices(shape: Shape, dtype: str, seed: int = 0) -> Any:
    """Return matrices that are far from singular, with distinct eigenvalues and singular values."""
    rng = np.random.default_rng(seed + sum(shape))
    x = rng.uniform(-0.4, 0.4, size=shape) + np.eye(shape[-2], shape[-1]) * np.arange(1, shape[-1] + 1)
    return (x + 1j * rng.uniform(-0.4, 0.4, size=shape) if dtype == "complex128" else x).astype(dtype)
