"""What is compared of results that are not unique: eigenvectors may be turned, so their products are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.subject import Subject

__all__ = ["comparable", "determined", "is_determined"]


def qr_invariants(result: Any) -> Any:
    """Return the product of the factors, and of the orthogonal one with itself."""
    q, r = result
    return q @ r, _adjoint(q) @ q


def eigh_invariants(result: Any) -> Any:
    """Return the eigenvalues, the matrix, and the products of the eigenvectors."""
    values, vectors = result
    return values, (vectors * values[..., None, :]) @ _adjoint(vectors), _adjoint(vectors) @ vectors


def eig_invariants(result: Any) -> Any:
    """Return the matrix."""
    values, vectors = result
    return (vectors * values[..., None, :]) @ xp.linalg.inv(vectors)


def svd_invariants(result: Any) -> Any:
    """Return the singular values, the matrix, and the products of the singular vectors."""
    u, s, vh = result
    k = s.shape[-1]
    product = (u[..., :, :k] * s[..., None, :]) @ vh[..., :k, :]
    return s, product, _adjoint(u) @ u, vh @ _adjoint(vh)


def eigvals_invariants(result: Any) -> Any:
    """Return the sums of powers of the eigenvalues, whose order is free."""
    return tuple(xp.sum(result**power, axis=-1) for power in (1, 2, 3))


INVARIANTS: dict[str, Callable[[Any], Any]] = {
    "dispatchkit.linalg.qr": qr_invariants,
    "dispatchkit.linalg.eigh": eigh_invariants,
    "dispatchkit.linalg.eig": eig_invariants,
    "dispatchkit.linalg.eigvals": eigvals_invariants,
    "dispatchkit.linalg.svd": svd_invariants,
}


# Functions whose elements may be anything.
UNDEFINED = frozenset({"dispatchkit.empty", "dispatchkit.empty_like"})


def is_determined(operation: Overridable) -> bool:
    """Return whether the arguments of an operation determine its result."""
    return operation.kind is not kinds.random and operation.qualified_name not in UNDEFINED


def comparable(subject: Subject, operation: Overridable, result: Any) -> Any:
    """Return the dense form of a result, of one that is not unique what all right results have in common."""
    dense = subject.dense(result)
    invariants = INVARIANTS.get(operation.qualified_name)
    return dense if invariants is None else invariants(dense)


def determined(operation: Overridable, found: Any, expected: Any) -> tuple[Any, Any]:
    """Return two dense results, of those that are not unique what all right ones have in common."""
    invariants = INVARIANTS.get(operation.qualified_name)
    if invariants is None:
        return found, expected
    try:
        return invariants(found), invariants(expected)
    except Exception:  # noqa: BLE001  # a result of another form, which the comparison shows
        return found, expected


def _adjoint(x: Any) -> Any:
    return xp.conj(xp.matrix_transpose(x))
