"""Eigenvalues and eigenvectors."""

from __future__ import annotations

from typing import NamedTuple

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.declare.decorators import decomposition
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared.arrays import (
    LINALG,
    adjoint,
    as_complex,
    diagonal_matrix,
    inverse_gaps,
    located,
    require_finite,
    require_square,
)

__all__ = ["eig", "eigh", "eigvals", "eigvalsh"]


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors.

    Attributes
    ----------
    eigenvalues : complex numbers in no particular order, shape (..., M)
    eigenvectors : in columns of norm 1, shape (..., M, M)
    """

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors of symmetric matrices.

    Attributes
    ----------
    eigenvalues : real numbers in ascending order, shape (..., M)
    eigenvectors : orthonormal, in columns, shape (..., M, M)
    """

    eigenvalues: Array
    eigenvectors: Array


SYMMETRIC = [
    sample(draw(3, 3, content="definite"), differentiable=False),
    sample(draw(2, 2, 2, content="definite"), differentiable=False),
]
GENERAL = [sample(draw(3, 3), differentiable=False), sample(draw(2, 2, 2), differentiable=False)]


def _wanted(xp: Namespace, g_vectors: Array) -> Array:
    """Return for which matrices a cotangent of the eigenvectors arrived, of shape (..., 1, 1)."""
    return xp.any(g_vectors != 0, axis=(-2, -1), keepdims=True)


def _everywhere(xp: Namespace, x: Array) -> Array:
    return xp.ones((1, 1), dtype=xp.bool)


def _real_part(xp: Namespace, x: Array) -> Array:
    return xp.real(x) if holds_complex(x) else x


@decomposition(namespace=LINALG, methods=("eigh",), samples=SYMMETRIC)
def eigh(xp: Namespace, x: Array, /) -> EighResult:
    """Compute the eigenvalues and eigenvectors of real symmetric or complex Hermitian matrices.

    Parameters
    ----------
    x : array of shape (..., M, M), of which the lower triangle is read

    Returns
    -------
    eigenvalues : real array of shape (..., M), in ascending order
    eigenvectors : array of shape (..., M, M), orthonormal columns

    Raises
    ------
    ValueError : if the matrices are not square
    numpy.linalg.LinAlgError : if a matrix holds inf or NaN, or the iteration does not converge

    Notes
    -----
    Eigenvectors are determined up to their sign (or phase), so only functions that do not depend on it have a
    derivative. Where two eigenvalues are equal, gradients through the vectors are NaN; those through the
    values alone stay finite. The gradient is symmetric, as `x` is taken to be. Source: array API standard,
    `linalg.eigh`; derivatives and these points as in PyTorch, `torch.linalg.eigh`.

    Examples
    --------
    >>> dk.linalg.eigh(dk.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    tensor([1., 3.])
    """
    require_square(eigh, x)
    require_finite(x, triangle=True)
    return EighResult(*located(xp.linalg.eigh, x))


@eigh.def_vjp
def eigh_vjp(xp, g, y):
    (g_values, g_vectors), (values, vectors) = g, y
    turned = adjoint(xp, vectors) @ g_vectors
    turned = (turned - adjoint(xp, turned)) / 2
    found = turned * inverse_gaps(xp, values, _wanted(xp, g_vectors)) + diagonal_matrix(xp, g_values)
    return vectors @ found @ adjoint(xp, vectors)


@eigh.def_jvp
def eigh_jvp(xp, t, y, x):
    values, vectors = y
    moved = adjoint(xp, vectors) @ ((t + adjoint(xp, t)) / 2) @ vectors
    turn = moved * inverse_gaps(xp, values, _everywhere(xp, x))
    return EighResult(_real_part(xp, xp.linalg.diagonal(moved)), vectors @ turn)


@decomposition(namespace=LINALG, methods=("eigvalsh",), samples=SYMMETRIC)
def eigvalsh(xp: Namespace, x: Array, /) -> Array:
    """Compute the eigenvalues of real symmetric or complex Hermitian matrices.

    Parameters
    ----------
    x : array of shape (..., M, M), of which the lower triangle is read

    Returns
    -------
    real array of shape (..., M), in ascending order

    Raises
    ------
    ValueError : if the matrices are not square
    numpy.linalg.LinAlgError : if a matrix holds inf or NaN, or the iteration does not converge

    Notes
    -----
    ``dy = real(diagonal(V^H @ dx @ V))`` with the eigenvectors `V`, finite also where eigenvalues are equal.
    Source: array API standard, `linalg.eigvalsh`.

    Examples
    --------
    >>> dk.linalg.eigvalsh(dk.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([1., 3.])
    """
    require_square(eigvalsh, x)
    require_finite(x, triangle=True)
    return located(xp.linalg.eigvalsh, x)


@eigvalsh.def_vjp
def eigvalsh_vjp(xp, g, x):
    _, vectors = xp.linalg.eigh(x)
    return (vectors * g[..., None, :]) @ adjoint(xp, vectors)


@eigvalsh.def_jvp
def eigvalsh_jvp(xp, t, x):
    _, vectors = xp.linalg.eigh(x)
    moved = adjoint(xp, vectors) @ ((t + adjoint(xp, t)) / 2) @ vectors
    return _real_part(xp, xp.linalg.diagonal(moved))


@decomposition(namespace=LINALG, methods=("eig",), samples=GENERAL)
def eig(xp: Namespace, x: Array, /) -> EigResult:
    """Compute the eigenvalues and eigenvectors of square matrices.

    Parameters
    ----------
    x : array of shape (..., M, M)

    Returns
    -------
    eigenvalues : complex array of shape (..., M), in no particular order
    eigenvectors : complex array of shape (..., M, M), columns of norm 1

    Raises
    ------
    ValueError : if the matrices are not square
    numpy.linalg.LinAlgError : if a matrix holds inf or NaN, or the iteration does not converge

    Notes
    -----
    Eigenvectors are determined up to their phase, so only functions that do not depend on it have a
    derivative. Where two eigenvalues are equal, gradients through the vectors are NaN. A matrix without a full
    set of eigenvectors has no derivative; rounding mostly makes it very large. Source: array API standard,
    `linalg.eig`; derivatives as in PyTorch, `torch.linalg.eig`.

    Examples
    --------
    >>> dk.linalg.eig(dk.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
    tensor([0.+1.j, 0.-1.j], dtype=complex128)
    """
    require_square(eig, x)
    # NumPy gives complex arrays only where a number is not real.
    values, vectors = located(xp.linalg.eig, x)
    return EigResult(as_complex(xp, values), as_complex(xp, vectors))


@eig.def_vjp
def eig_vjp(xp, g, y):
    (g_values, g_vectors), (values, vectors) = g, y
    turned = adjoint(xp, vectors)
    moved = turned @ g_vectors
    length = xp.real(xp.linalg.diagonal(moved))
    moved = moved - (turned @ vectors) * length[..., None, :]
    found = moved * xp.conj(inverse_gaps(xp, values, _wanted(xp, g_vectors))) + diagonal_matrix(xp, g_values)
    return xp.linalg.solve(turned, found @ turned)


@eig.def_jvp
def eig_jvp(xp, t, y, x):
    values, vectors = y
    moved = xp.linalg.solve(vectors, t @ vectors)
    turned = vectors @ (moved * inverse_gaps(xp, values, _everywhere(xp, x)))
    length = xp.real(xp.linalg.diagonal(adjoint(xp, vectors) @ turned))
    return EigResult(xp.linalg.diagonal(moved), turned - vectors * length[..., None, :])


@decomposition(namespace=LINALG, methods=("eigvals",), samples=GENERAL)
def eigvals(xp: Namespace, x: Array, /) -> Array:
    """Compute the eigenvalues of square matrices.

    Parameters
    ----------
    x : array of shape (..., M, M)

    Returns
    -------
    complex array of shape (..., M), in no particular order

    Raises
    ------
    ValueError : if the matrices are not square
    numpy.linalg.LinAlgError : if a matrix holds inf or NaN, or the iteration does not converge

    Notes
    -----
    ``dy = diagonal(inv(V) @ dx @ V)`` with the eigenvectors `V`, finite where eigenvalues are equal and the
    eigenvectors independent. A matrix without a full set of eigenvectors has no derivative; rounding mostly
    makes it very large. Source: array API standard, `linalg.eigvals`.

    Examples
    --------
    >>> dk.linalg.eigvals(dk.tensor([[0.0, 1.0], [-1.0, 0.0]]))
    tensor([0.+1.j, 0.-1.j], dtype=complex128)
    """
    require_square(eigvals, x)
    return as_complex(xp, located(xp.linalg.eigvals, x))


@eigvals.def_vjp
def eigvals_vjp(xp, g, x):
    _, vectors = xp.linalg.eig(x)
    turned = adjoint(xp, as_complex(xp, vectors))
    return xp.linalg.solve(turned, g[..., None] * turned)


@eigvals.def_jvp
def eigvals_jvp(xp, t, x):
    _, vectors = xp.linalg.eig(x)
    vectors = as_complex(xp, vectors)
    return xp.linalg.diagonal(xp.linalg.solve(vectors, t @ vectors))
