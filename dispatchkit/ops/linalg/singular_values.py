"""The singular value decomposition, and what follows from it: pseudo-inverse and rank."""

from __future__ import annotations

from typing import NamedTuple

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.declare.decorators import decomposition, linalg
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared.arrays import (
    LINALG,
    adjoint,
    diagonal_matrix,
    floating,
    inverse_gaps,
    located,
    require_finite,
    require_matrix,
)

__all__ = ["matrix_rank", "pinv", "svd", "svdvals"]


class SVDResult(NamedTuple):
    """Singular vectors and values.

    Attributes
    ----------
    U : the left singular vectors in columns, shape (..., M, M), or (..., M, K) with K = min(M, N)
    S : the singular values, the largest first, shape (..., K)
    Vh : the right singular vectors, conjugated, in rows, shape (..., N, N) or (..., K, N)
    """

    U: Array
    S: Array
    Vh: Array


@decomposition(
    namespace=LINALG,
    methods=("svd",),
    samples=[
        sample(draw(3, 2), full_matrices=False, differentiable=False),
        sample(draw(2, 3), full_matrices=False, differentiable=False),
        sample(draw(2, 3, 3), differentiable=False),
        sample(draw(3, 2), full_matrices=True, differentiable=False),
    ],
)
def svd(xp: Namespace, x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular value decomposition ``U @ diag(S) @ Vh``.

    Parameters
    ----------
    x : array of shape (..., M, N); K is the smaller of M and N
    full_matrices : whether U and Vh are square, with columns and rows that belong to no singular value

    Returns
    -------
    U : array of shape (..., M, M), or (..., M, K)
    S : real array of shape (..., K), in descending order
    Vh : array of shape (..., N, N), or (..., K, N)

    Raises
    ------
    ValueError : if `x` has less than two axes
    numpy.linalg.LinAlgError : if a matrix holds inf or NaN, or the iteration does not converge

    Notes
    -----
    Singular vectors are determined up to their sign (or phase), so only functions that do not depend on it
    have a derivative. Where two singular values are equal, or one is 0, gradients through the vectors are
    NaN; those through the values alone stay finite. Columns that belong to no singular value carry no
    gradient. Source: array API standard, `linalg.svd`; derivatives and these points as in PyTorch,
    `torch.linalg.svd`.

    Examples
    --------
    >>> dk.linalg.svd(dk.tensor([[3.0, 0.0], [0.0, -4.0]])).S
    tensor([4., 3.])
    """
    require_matrix(svd, x)
    require_finite(x)
    return SVDResult(*located(xp.linalg.svd, x, full_matrices=full_matrices))


def _skew(xp: Namespace, x: Array) -> Array:
    return x - adjoint(xp, x)


def _inverse_values(xp: Namespace, s: Array, wanted: Array) -> Array:
    """Return the reciprocals of singular values; that of 0 is NaN, or 0 in matrices where none is wanted."""
    zero = s == 0
    undefined = xp.where(wanted[..., 0], float("nan"), xp.zeros_like(s))
    return xp.where(zero, undefined, 1 / xp.where(zero, 1.0, s))


@svd.def_vjp
def svd_vjp(xp, g, y, x):
    (g_u, g_s, g_vh), (u, s, vh) = g, y
    rows, columns, count = u.shape[-2], vh.shape[-1], s.shape[-1]
    u, g_u, vh, g_vh = u[..., :, :count], g_u[..., :, :count], vh[..., :count, :], g_vh[..., :count, :]
    axes = (-2, -1)
    wanted = xp.any(g_u != 0, axis=axes, keepdims=True) | xp.any(g_vh != 0, axis=axes, keepdims=True)
    turned_u = _skew(xp, adjoint(xp, u) @ g_u)
    turned_v = _skew(xp, vh @ adjoint(xp, g_vh))
    across, down = s[..., None, :], s[..., None]
    found = (turned_u * across + down * turned_v) * inverse_gaps(xp, s * s, wanted)
    found = found + diagonal_matrix(xp, g_s)
    inverse = _inverse_values(xp, s, wanted)
    if holds_complex(x):
        found = found + diagonal_matrix(xp, xp.linalg.diagonal(turned_u) * inverse / 2)
    found = u @ found @ vh
    if rows > count:
        scaled = g_u * inverse[..., None, :]
        found = found + (scaled - u @ (adjoint(xp, u) @ scaled)) @ vh
    if columns > count:
        scaled = inverse[..., None] * g_vh
        found = found + u @ (scaled - (scaled @ adjoint(xp, vh)) @ vh)
    return found


@svd.def_jvp
def svd_jvp(xp, t, y, x):
    u, s, vh = y
    count = s.shape[-1]
    spare_u, spare_v = u.shape[-1] - count, vh.shape[-2] - count
    u, vh = u[..., :, :count], vh[..., :count, :]
    rows, columns = u.shape[-2], vh.shape[-1]
    everywhere = xp.ones((1, 1), dtype=xp.bool)
    v, across, down = adjoint(xp, vh), s[..., None, :], s[..., None]
    moved = adjoint(xp, u) @ t @ v
    gaps, inverse = inverse_gaps(xp, s * s, everywhere), _inverse_values(xp, s, everywhere)
    turn_u = (moved * across + adjoint(xp, moved * across)) * gaps
    turn_v = (down * moved + adjoint(xp, down * moved)) * gaps
    if holds_complex(x):
        phase = diagonal_matrix(xp, 1j * xp.imag(xp.linalg.diagonal(moved)) * inverse / 2)
        turn_u, turn_v = turn_u + phase, turn_v - phase
    u_tangent, v_tangent = u @ turn_u, v @ turn_v
    if rows > count:
        scaled = (t @ v) * inverse[..., None, :]
        u_tangent = u_tangent + scaled - u @ (adjoint(xp, u) @ scaled)
    if columns > count:
        scaled = (adjoint(xp, t) @ u) * inverse[..., None, :]
        v_tangent = v_tangent + scaled - v @ (vh @ scaled)
    s_tangent = xp.linalg.diagonal(moved)
    return SVDResult(
        _padded(xp, u_tangent, spare_u),
        xp.real(s_tangent) if holds_complex(x) else s_tangent,
        adjoint(xp, _padded(xp, v_tangent, spare_v)),
    )


def _padded(xp: Namespace, x: Array, columns: int) -> Array:
    """Return matrices with further columns of zeros."""
    if columns == 0:
        return x
    return xp.concat([x, xp.zeros((*x.shape[:-1], columns), dtype=x.dtype)], axis=-1)


@decomposition(
    namespace=LINALG,
    samples=[sample(draw(3, 2)), sample(draw(2, 3)), sample(draw(2, 3, 3))],
)
def svdvals(xp: Namespace, x: Array, /) -> Array:
    """Singular values of matrices.

    Parameters
    ----------
    x : array of shape (..., M, N); K is the smaller of M and N

    Returns
    -------
    real array of shape (..., K), in descending order

    Raises
    ------
    ValueError : if `x` has less than two axes
    numpy.linalg.LinAlgError : if a matrix holds inf or NaN, or the iteration does not converge

    Notes
    -----
    ``dS = real(diagonal(U^H @ dx @ V))``, finite also where singular values are equal or 0, where it is one of
    the possible subgradients. Source: array API
    standard, `linalg.svdvals`.

    Examples
    --------
    >>> dk.linalg.svdvals(dk.tensor([[3.0, 0.0], [0.0, -4.0]]))
    tensor([4., 3.])
    """
    require_matrix(svdvals, x)
    require_finite(x)
    return located(xp.linalg.svdvals, x)


@svdvals.def_vjp
def svdvals_vjp(xp, g, x):
    u, _, vh = xp.linalg.svd(x, full_matrices=False)
    return (u * g[..., None, :]) @ vh


@svdvals.def_jvp
def svdvals_jvp(xp, t, x):
    u, _, vh = xp.linalg.svd(x, full_matrices=False)
    found = xp.linalg.diagonal(adjoint(xp, u) @ t @ adjoint(xp, vh))
    return xp.real(found) if holds_complex(x) else found


@linalg(
    namespace=LINALG,
    methods=("pinverse",),
    samples=[sample(draw(3, 2)), sample(draw(2, 3)), sample(draw(2, 2, 2), rtol=1e-6)],
)
def pinv(xp: Namespace, x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Moore-Penrose inverse of matrices.

    Parameters
    ----------
    x : array of shape (..., M, N)
    rtol : singular values up to `rtol` times the largest are taken for 0, a number or an array of shape
        (...); ``max(M, N) * eps`` by default

    Returns
    -------
    array of shape (..., N, M)

    Raises
    ------
    ValueError : if `x` has less than two axes
    numpy.linalg.LinAlgError : if a matrix holds inf or NaN, or the iteration does not converge

    Notes
    -----
    The derivative of Golub and Pereyra (1973), which holds while the rank does not change. Source: array API
    standard, `linalg.pinv`.

    Examples
    --------
    >>> dk.linalg.pinv(dk.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    require_matrix(pinv, x)
    require_finite(x)
    return located(xp.linalg.pinv, floating(xp, x), rtol=rtol)


@pinv.def_vjp("x")
def pinv_vjp(xp, g, y, x):
    g, turned = adjoint(xp, g), adjoint(xp, y)
    left, right = g @ y @ turned, turned @ y @ g
    return left - x @ (y @ left) + right - (right @ y) @ x - turned @ adjoint(xp, g) @ turned


@pinv.def_jvp("x")
def pinv_jvp(xp, t, y, x):
    turned, back = adjoint(xp, y), adjoint(xp, t)
    left, right = y @ turned @ back, back @ turned @ y
    return left - (left @ x) @ y + right - y @ (x @ right) - y @ t @ y


@linalg(
    namespace=LINALG,
    differentiable=False,
    samples=[sample(draw(3, 2)), sample(draw(2, 2, 3)), sample(draw(2, 2), rtol=0.5), sample(draw(0, 2))],
)
def matrix_rank(xp: Namespace, x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Rank of matrices: the number of singular values that are not negligible.

    Parameters
    ----------
    x : array of shape (..., M, N)
    rtol : singular values up to `rtol` times the largest are negligible, a number or an array of shape (...);
        ``max(M, N) * eps`` by default

    Returns
    -------
    integer array of shape (...)

    Raises
    ------
    ValueError : if `x` has less than two axes
    numpy.linalg.LinAlgError : if a matrix holds inf or NaN

    Notes
    -----
    Source: array API standard, `linalg.matrix_rank`.

    Examples
    --------
    >>> dk.linalg.matrix_rank(dk.ones((3, 3)))
    tensor(1)
    """
    require_matrix(matrix_rank, x)
    if 0 in x.shape[-2:]:
        return xp.zeros(x.shape[:-2], dtype=xp.int64)
    require_finite(x)
    values = xp.linalg.svdvals(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(xp.finfo(values.dtype).eps)
    elif getattr(rtol, "ndim", 0):
        rtol = rtol[..., None]  # type: ignore[index]  # an array
    kept = values > rtol * xp.max(values, axis=-1, keepdims=True)
    return xp.sum(xp.astype(kept, xp.int64), axis=-1)
