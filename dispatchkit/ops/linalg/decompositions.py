"""Decompositions of matrices into triangular and orthogonal ones."""

from __future__ import annotations

from typing import Literal, NamedTuple

from numpy.linalg import LinAlgError

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.declare.decorators import decomposition
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.shared.arrays import (
    LINALG,
    adjoint,
    diagonal_matrix,
    located,
    require_matrix,
    require_square,
)

__all__ = ["cholesky", "qr"]


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
    namespace=LINALG,
    methods=("cholesky",),
    samples=[
        sample(draw(3, 3, content="definite"), differentiable=False),
        sample(draw(2, 2, 2, content="definite"), upper=True, differentiable=False),
    ],
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
    The gradient is symmetric, as `x` is taken to be. Source: array API standard, `linalg.cholesky`.

    Examples
    --------
    >>> dk.linalg.cholesky(dk.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    require_square(cholesky, x)
    return located(xp.linalg.cholesky, x, upper=upper)


def _half(xp: Namespace, x: Array) -> Array:
    """Return the lower triangles of matrices, with half the diagonal."""
    return xp.tril(x) - diagonal_matrix(xp, xp.linalg.diagonal(x)) / 2


@cholesky.def_vjp
def cholesky_vjp(xp, g, y, upper):
    if upper:
        y, g = adjoint(xp, y), adjoint(xp, g)
    turned = adjoint(xp, y)
    middle = _half(xp, turned @ g)
    found = xp.linalg.solve(turned, middle)
    found = adjoint(xp, xp.linalg.solve(turned, adjoint(xp, found)))
    return (found + adjoint(xp, found)) / 2


@cholesky.def_jvp
def cholesky_jvp(xp, t, y, upper):
    if upper:
        y = adjoint(xp, y)
    t = (t + adjoint(xp, t)) / 2
    middle = xp.linalg.solve(y, adjoint(xp, xp.linalg.solve(y, t)))
    found = y @ _half(xp, middle)
    return adjoint(xp, found) if upper else found


@decomposition(
    namespace=LINALG,
    methods=("qr",),
    samples=[
        sample(draw(3, 3)),
        sample(draw(4, 2)),
        sample(draw(2, 3)),
        sample(draw(2, 3, 2)),
        sample(draw(2, 3), mode="complete"),
        sample(draw(3, 2), mode="complete", differentiable=False),
    ],
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
    found = _times_inverse(xp, q @ symmetric + g_q, adjoint(xp, r))
    return xp.concat([found, q @ g_rest], axis=-1) if columns > rows else found


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
