"""Decompositions of matrices: triangular and orthogonal factors, eigenvalues and eigenvectors."""

from __future__ import annotations

from typing import Literal, NamedTuple

from numpy.linalg import LinAlgError

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.decorators import decomposition
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.shared import (
    adjoint,
    as_complex,
    diagonal_matrix,
    inverse_gaps,
    locate_errors,
    require_finite,
    require_matrix,
    require_square,
)

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr"]


class QRResult(NamedTuple):
    """An orthogonal and an upper triangular factor.

    Attributes
    ----------
    Q : orthonormal columns, shape (..., M, K) with K = min(M, N), or (..., M, M)
    R : the upper triangle, shape (..., K, N) or (..., M, N)
    """

    Q: Array
    R: Array


@decomposition(
    samples=lambda: [
        sample(draw(3, 3, content="definite"), differentiable=False),
        sample(draw(2, 2, 2, content="definite"), upper=True, differentiable=False),
    ]
)
def cholesky(xp: Namespace, x: Array, /, *, upper: bool = False) -> Array:
    """Triangular factor ``L`` of positive definite matrices ``L @ L^H``.

    Parameters
    ----------
    x : array of shape (..., M, M), of which one triangle is read
    upper : whether to return ``L^H``

    Returns
    -------
    array of the shape of `x`

    Raises
    ------
    ValueError : if the matrices are not square
    numpy.linalg.LinAlgError : if one is not positive definite

    Notes
    -----
    ``dL = L @ half(inv(L) @ dx @ inv(L)^H)``, where `half` takes the lower triangle with half the diagonal.
    The gradient is symmetric, as `x` is taken to be.

    Examples
    --------
    >>> dk.linalg.cholesky(dk.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    require_square(cholesky, x)
    return locate_errors(xp.linalg.cholesky, x, upper=upper)


def _half(xp: Namespace, x: Array) -> Array:
    """Return the lower triangles of matrices, with half the diagonal."""
    return xp.tril(x) - diagonal_matrix(xp, xp.linalg.diagonal(x)) / 2


@cholesky.def_vjp
def cholesky_vjp(xp, g, y, upper):
    if upper:
        y, g = adjoint(xp, y), adjoint(xp, g)
    turned = adjoint(xp, y)
    middle = _half(xp, turned @ g)
    result = xp.linalg.solve(turned, middle)
    result = adjoint(xp, xp.linalg.solve(turned, adjoint(xp, result)))
    return (result + adjoint(xp, result)) / 2


@cholesky.def_jvp
def cholesky_jvp(xp, t, y, upper):
    if upper:
        y = adjoint(xp, y)
    t = (t + adjoint(xp, t)) / 2
    middle = xp.linalg.solve(y, adjoint(xp, xp.linalg.solve(y, t)))
    result = y @ _half(xp, middle)
    if upper:
        return adjoint(xp, result)
    return result


@decomposition(
    samples=lambda: [
        sample(draw(3, 3)),
        sample(draw(4, 2)),
        sample(draw(2, 3)),
        sample(draw(2, 3, 2)),
        sample(draw(2, 3), mode="complete"),
        sample(draw(3, 2), mode="complete", differentiable=False),
    ]
)
def qr(xp: Namespace, x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Compute the QR decomposition: factors with orthonormal columns, and upper triangles.

    Parameters
    ----------
    x : array of shape (..., M, N); K is the smaller of M and N
    mode : ``"reduced"``, or ``"complete"`` for a square Q

    Returns
    -------
    Q : array of shape (..., M, K), or (..., M, M)
    R : array of shape (..., K, N), or (..., M, N)

    Raises
    ------
    ValueError : if `x` has less than two axes or `mode` is neither; in backward, if Q has columns that `x`
        does not determine: `mode` complete with M > N
    numpy.linalg.LinAlgError : in backward, if a diagonal element of R is 0

    Notes
    -----
    Derivatives need the first K columns of `x` to be linearly independent; where they nearly are not, they are
    large. Source: array API standard,
    `linalg.qr`; derivatives after PyTorch, `torch.linalg.qr`.

    Examples
    --------
    >>> Q, R = dk.linalg.qr(dk.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    >>> Q.shape, R.shape
    ((3, 2), (2, 2))
    """
    require_matrix(qr, x)
    if mode not in ("reduced", "complete"):
        raise ValueError(f"{qr.__name__}: mode must be 'reduced' or 'complete', found {mode!r}")
    return QRResult(*xp.linalg.qr(x, mode=mode))


def _require_determined(xp: Namespace, y: QRResult) -> None:
    """Raise if Q has columns that `x` does not determine."""
    rows, columns = y[1].shape[-2:]
    if rows > columns:
        raise ValueError(
            f"{qr.__name__}: mode='complete' has no derivative for shape ({rows}, {columns}), which "
            f"does not determine the last columns of Q; use mode='reduced'"
        )
    if not holds(xp.linalg.diagonal(y[1]) != 0, traced=True):
        raise LinAlgError(
            f"{qr.__name__}: there is no derivative where the first {rows} columns of x are linearly dependent, and R "
            f"has a zero on its diagonal"
        )


def _times_inverse(xp: Namespace, x: Array, triangle: Array) -> Array:
    """Return ``x @ inv(triangle)``."""
    return adjoint(xp, xp.linalg.solve(adjoint(xp, triangle), adjoint(xp, x)))


def _real_diagonal(xp: Namespace, x: Array) -> Array:
    """Return matrices with the real parts of their diagonals, zeros elsewhere."""
    values = xp.linalg.diagonal(x)
    if holds_complex(x):
        values = xp.astype(xp.real(values), x.dtype)
    return diagonal_matrix(xp, values)


@qr.def_vjp
def qr_vjp(xp, g, y):
    _require_determined(xp, y)
    (g_q, g_r), (q, r) = g, y
    rows, columns = r.shape[-2:]
    if columns > rows:
        rest, g_rest = r[..., :, rows:], g_r[..., :, rows:]
        r, g_r = r[..., :, :rows], g_r[..., :, :rows]
        g_q = g_q + q @ (rest @ adjoint(xp, g_rest))
    upper = xp.triu(g_r @ adjoint(xp, r) - adjoint(xp, q) @ g_q)
    symmetric = upper + adjoint(xp, upper) - _real_diagonal(xp, upper)
    result = _times_inverse(xp, q @ symmetric + g_q, adjoint(xp, r))
    if columns > rows:
        return xp.concat([result, q @ g_rest], axis=-1)
    return result


@qr.def_jvp
def qr_jvp(xp, t, y):
    _require_determined(xp, y)
    q, r = y
    rows, columns = r.shape[-2:]
    first, square = t[..., :, :rows], r[..., :, :rows]
    scaled = _times_inverse(xp, first, square)
    turned = adjoint(xp, q) @ scaled
    upper = xp.triu(turned + adjoint(xp, turned))
    upper = upper - _real_diagonal(xp, upper) / 2
    q_tangent, r_tangent = scaled - q @ upper, upper @ square
    if columns > rows:
        rest = adjoint(xp, q_tangent) @ (q @ r[..., :, rows:]) + adjoint(xp, q) @ t[..., :, rows:]
        r_tangent = xp.concat([r_tangent, rest], axis=-1)
    return QRResult(q_tangent, r_tangent)


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


def _has_cotangent(xp: Namespace, g_vectors: Array) -> Array:
    """Return for which matrices a cotangent of the eigenvectors arrived, of shape (..., 1, 1)."""
    return xp.any(g_vectors != 0, axis=(-2, -1), keepdims=True)


def _real_part(xp: Namespace, x: Array) -> Array:
    if holds_complex(x):
        return xp.real(x)
    return x


@decomposition(samples=SYMMETRIC)
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
    return EighResult(*locate_errors(xp.linalg.eigh, x))


@eigh.def_vjp
def eigh_vjp(xp, g, y):
    (g_values, g_vectors), (values, vectors) = g, y
    turned = adjoint(xp, vectors) @ g_vectors
    turned = (turned - adjoint(xp, turned)) / 2
    result = turned * inverse_gaps(xp, values, _has_cotangent(xp, g_vectors)) + diagonal_matrix(xp, g_values)
    return vectors @ result @ adjoint(xp, vectors)


@eigh.def_jvp
def eigh_jvp(xp, t, y):
    values, vectors = y
    moved = adjoint(xp, vectors) @ ((t + adjoint(xp, t)) / 2) @ vectors
    turn = moved * inverse_gaps(xp, values, xp.ones((1, 1), dtype=xp.bool))
    return EighResult(_real_part(xp, xp.linalg.diagonal(moved)), vectors @ turn)


@decomposition(samples=SYMMETRIC)
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

    Examples
    --------
    >>> dk.linalg.eigvalsh(dk.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([1., 3.])
    """
    return _eigenvalues_of_hermitian(xp, x)


def _eigenvalues_of_hermitian(xp: Namespace, x: Array) -> Array:
    require_square(eigvalsh, x)
    require_finite(x, triangle=True)
    return locate_errors(xp.linalg.eigvalsh, x)


def eigvalsh_numpy_flow(x, /):
    """Keep the vectors where gradients flow: they need not be computed again, and a program may change the matrix."""
    require_square(eigvalsh, x)
    require_finite(x, triangle=True)
    values, vectors = locate_errors(numpy_namespace.linalg.eigh, x)
    return values, lambda g, wanted: (_pulled_to_hermitian(numpy_namespace, g[0], vectors),)


@eigvalsh.def_kernel("numpy", flow=eigvalsh_numpy_flow)
def eigvalsh_numpy(x, /):
    return _eigenvalues_of_hermitian(numpy_namespace, x)


def _pulled_to_hermitian(xp: Namespace, g: Array, vectors: Array) -> Array:
    return (vectors * g[..., None, :]) @ adjoint(xp, vectors)


@eigvalsh.def_vjp
def eigvalsh_vjp(xp, g, x):
    _, vectors = xp.linalg.eigh(x)
    return _pulled_to_hermitian(xp, g, vectors)


@eigvalsh.def_jvp
def eigvalsh_jvp(xp, t, x):
    _, vectors = xp.linalg.eigh(x)
    moved = adjoint(xp, vectors) @ ((t + adjoint(xp, t)) / 2) @ vectors
    return _real_part(xp, xp.linalg.diagonal(moved))


@decomposition(samples=GENERAL)
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
    tensor([0.+1.j, 0.-1.j])
    """
    require_square(eig, x)
    # NumPy gives complex arrays only where a number is not real.
    values, vectors = locate_errors(xp.linalg.eig, x)
    return EigResult(as_complex(xp, values), as_complex(xp, vectors))


@eig.def_vjp
def eig_vjp(xp, g, y):
    (g_values, g_vectors), (values, vectors) = g, y
    turned = adjoint(xp, vectors)
    moved = turned @ g_vectors
    length = xp.real(xp.linalg.diagonal(moved))
    moved = moved - (turned @ vectors) * length[..., None, :]
    result = moved * xp.conj(inverse_gaps(xp, values, _has_cotangent(xp, g_vectors))) + diagonal_matrix(xp, g_values)
    return xp.linalg.solve(turned, result @ turned)


@eig.def_jvp
def eig_jvp(xp, t, y):
    values, vectors = y
    moved = xp.linalg.solve(vectors, t @ vectors)
    turned = vectors @ (moved * inverse_gaps(xp, values, xp.ones((1, 1), dtype=xp.bool)))
    length = xp.real(xp.linalg.diagonal(adjoint(xp, vectors) @ turned))
    return EigResult(xp.linalg.diagonal(moved), turned - vectors * length[..., None, :])


@decomposition(samples=GENERAL)
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
    makes it very large.

    Examples
    --------
    >>> dk.linalg.eigvals(dk.tensor([[0.0, 1.0], [-1.0, 0.0]]))
    tensor([0.+1.j, 0.-1.j])
    """
    return _eigenvalues(xp, x)


def _eigenvalues(xp: Namespace, x: Array) -> Array:
    require_square(eigvals, x)
    return as_complex(xp, locate_errors(xp.linalg.eigvals, x))


def eigvals_numpy_flow(x, /):
    """Keep the vectors where gradients flow, as for `eigvalsh`."""
    require_square(eigvals, x)
    xp = numpy_namespace
    values, vectors = locate_errors(xp.linalg.eig, x)

    def pull(g, wanted):
        pulled = _pulled_to_matrix(xp, g[0], vectors)
        if holds_complex(x):
            return (pulled,)
        return (xp.real(pulled),)

    return as_complex(xp, values), pull


@eigvals.def_kernel("numpy", flow=eigvals_numpy_flow)
def eigvals_numpy(x, /):
    return _eigenvalues(numpy_namespace, x)


def _pulled_to_matrix(xp: Namespace, g: Array, vectors: Array) -> Array:
    turned = adjoint(xp, as_complex(xp, vectors))
    return xp.linalg.solve(turned, g[..., None] * turned)


@eigvals.def_vjp
def eigvals_vjp(xp, g, x):
    _, vectors = xp.linalg.eig(x)
    return _pulled_to_matrix(xp, g, vectors)


@eigvals.def_jvp
def eigvals_jvp(xp, t, x):
    _, vectors = xp.linalg.eig(x)
    vectors = as_complex(xp, vectors)
    return xp.linalg.diagonal(xp.linalg.solve(vectors, t @ vectors))
