"""Norms, the singular value decomposition, and what follows from it: pseudo-inverse, rank."""

from __future__ import annotations

from math import inf
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from dispatchkit.backends.arrays import holds_complex, same_dtype
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.numpy_sums import DOUBLE, HALF, SINGLE, sum_of_squares, total
from dispatchkit.declare.decorators import body_on_numpy, decomposition, linalg
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.linalg.elements import REFUSED
from dispatchkit.ops.shared import (
    Axis,
    adjoint,
    count,
    diagonal_matrix,
    floating,
    inverse_gaps,
    locate_errors,
    normal_axis,
    require_finite,
    require_matrix,
    restore_axes,
    root,
)

__all__ = ["matrix_norm", "matrix_rank", "norm", "pinv", "svd", "svdvals", "vector_norm"]

MatrixOrder: TypeAlias = float | Literal["fro", "nuc"]
SPECTRAL = ("nuc", 2, -2)  # orders of norms of matrices that are made of singular values

# No two elements have the same absolute value, so that the largest is one.
_x = draw(2, 3, low=-1.0, high=2.3, content="distinct")


@linalg(
    samples=lambda: [
        sample(_x),
        *(sample(_x, ord=order, axis=1) for order in (inf, -inf, 0, 1, 2, 3, 1.5, 0.5, -1)),
        sample(draw(2, 3, 4), axis=(0, 2), keepdims=True, ord=3),
        sample(draw(3), keepdims=True),
    ],
    axis="axis",
)
def vector_norm(xp: Namespace, x: Array, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> Array:
    """Norm of vectors.

    Parameters
    ----------
    x : array of any shape
    axis : the axis or axes that hold a vector; all by default
    keepdims : whether those axes stay, with length 1
    ord : the order: any number, inf, or -inf; 0 counts the elements that are not 0

    Returns
    -------
    real array of the shape of `x` without the axes

    Raises
    ------
    TypeError : if `ord` is no number

    Notes
    -----
    ``sum(abs(x) ** ord) ** (1 / ord)``, with derivative ``x / abs(x) * (abs(x) / y) ** (ord - 1)``. At a
    norm of 0 the gradient is 0, as it is for elements that are 0; equal largest elements share the gradient
    of ``inf`` evenly. Source: array API standard, `linalg.vector_norm`; PyTorch at the points without
    derivative.

    Examples
    --------
    >>> dk.linalg.vector_norm(dk.tensor([3.0, 4.0]))
    tensor(5.)
    """
    order: Any = ord
    if isinstance(order, str):
        raise TypeError(f"{vector_norm.__name__}: ord must be a number, found {ord!r}; see matrix_norm for names")
    x = floating(xp, x)
    if same_dtype(x.dtype, HALF):  # which does not hold the powers
        wide = xp.linalg.vector_norm(xp.astype(x, SINGLE), axis=axis, keepdims=keepdims, ord=ord)
        return xp.astype(wide, HALF)
    if ord == 2 and not holds_complex(x):
        return root(xp, xp.sum(x * x, axis=axis, keepdims=keepdims))
    size = xp.abs(x)
    if ord == inf and not count(size.shape, axis):
        return xp.sum(size, axis=axis, keepdims=keepdims)  # of no elements 0
    if ord in (inf, -inf):
        if ord > 0:
            extreme = xp.max
        else:
            extreme = xp.min
        return extreme(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return xp.sum(xp.astype(size != 0, size.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return xp.sum(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        return root(xp, xp.sum(size * size, axis=axis, keepdims=keepdims))
    return root(xp, xp.sum(size**ord, axis=axis, keepdims=keepdims), order)


@vector_norm.def_kernel("numpy")
def vector_norm_numpy(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    if type(x) is np.ndarray and x.dtype in (SINGLE, DOUBLE) and type(ord) in (int, float) and ord == 2:
        return np.sqrt(sum_of_squares(x, axis, keepdims=keepdims))
    return body_on_numpy(vector_norm)(x, axis=axis, keepdims=keepdims, ord=ord)


def _slope(xp: Namespace, y: Array, x: Array, axis: Axis, order: float) -> Array:
    """Return the gradient of each norm `y`, its axes kept."""
    if order == 2:
        return xp.where(y == 0, 0.0, x) / xp.where(y == 0, 1.0, y)
    size = xp.abs(x)
    flat = (size == 0) | (y == 0)
    safe = xp.where(flat, 1.0, size)
    if holds_complex(x):
        sign = x / safe
    else:
        sign = xp.sign(x)
    direction = xp.where(flat, 0.0, sign)
    if order in (inf, -inf):
        reached = xp.astype(size == y, size.dtype)
        return direction * (reached / xp.sum(reached, axis=axis, keepdims=True))
    if order in (0, 1):
        return direction * order
    return direction * (safe / xp.where(y == 0, 1.0, y)) ** (order - 1)


@vector_norm.def_vjp
def vector_norm_vjp(xp, g, y, x, axis, keepdims, ord):
    slope = _slope(xp, restore_axes(xp, y, x.shape, axis, keepdims), x, axis, ord)
    return restore_axes(xp, g, x.shape, axis, keepdims) * slope


@vector_norm.def_jvp
def vector_norm_jvp(xp, t, y, x, axis, keepdims, ord):
    slope = _slope(xp, restore_axes(xp, y, x.shape, axis, keepdims), x, axis, ord)
    if holds_complex(x):
        change = xp.real(xp.conj(slope) * t)
    else:
        change = slope * t
    return xp.sum(change, axis=axis, keepdims=keepdims)


@linalg(
    samples=lambda: [
        *(sample(draw(2, 3), ord=order) for order in ("fro", "nuc", inf, -inf, 1, -1, 2, -2)),
        sample(draw(2, 3, 2)),
        sample(draw(2, 3, 2), keepdims=True, ord="nuc"),
        sample(draw(2, 2, 3), keepdims=True, ord=1),
    ]
)
def matrix_norm(xp: Namespace, x: Array, /, *, keepdims: bool = False, ord: MatrixOrder | None = "fro") -> Array:
    """Norm of matrices.

    Parameters
    ----------
    x : array of shape (..., M, N)
    keepdims : whether the last two axes stay, with length 1
    ord : ``"fro"`` (or None), root of the sum of squares; ``"nuc"``, sum of the singular values; 2 and -2,
        the largest and the smallest of them; 1 and -1, largest and smallest sum of a column; inf and -inf,
        of a row

    Returns
    -------
    real array of shape (...)

    Raises
    ------
    ValueError : if `x` has less than two axes, or `ord` is none of these
    numpy.linalg.LinAlgError : if `ord` takes singular values, and a matrix holds inf or NaN

    Notes
    -----
    Differentiated through vector norms, sums and singular values.

    Examples
    --------
    >>> dk.linalg.matrix_norm(dk.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    require_matrix(matrix_norm, x)
    if ord is None or ord == "fro":
        return xp.linalg.vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in SPECTRAL:
        require_finite(x)
        values = xp.linalg.svdvals(x)
        if ord == "nuc":
            reduce = xp.sum
        elif ord == 2:
            reduce = _largest(xp, min(x.shape[-2:]))
        else:
            reduce = xp.min
        result = reduce(values, axis=-1)
        if keepdims:
            return result[..., None, None]
        return result
    if ord not in (1, -1, inf, -inf):
        raise ValueError(f"{matrix_norm.__name__}: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, found {ord!r}")
    if ord in (1, -1):
        summed, kept = -2, -1
    else:
        summed, kept = -1, -2
    if ord in (1, inf):
        reduce = _largest(xp, x.shape[kept])
    else:
        reduce = xp.min
    result = reduce(xp.sum(xp.abs(floating(xp, x)), axis=summed, keepdims=True), axis=kept, keepdims=True)
    if keepdims:
        return result
    return result[..., 0, 0]


def _largest(xp: Namespace, count: int) -> Any:
    """Return the reduction to the largest of numbers that are not negative, which is 0 where there are none."""
    return xp.max if count else xp.sum


@matrix_norm.def_kernel("numpy")
def matrix_norm_numpy(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Leave the norms by singular values to the body, which takes as long."""
    try:
        if ord == "fro" and x.dtype is DOUBLE:
            return np.sqrt(total(x * x, axis=(-2, -1), keepdims=keepdims))
        if x.dtype is HALF:  # which does not hold the squares
            return matrix_norm_numpy(x.astype(SINGLE), keepdims=keepdims, ord=ord).astype(HALF)
        if ord in ("fro", None) and x.size:
            return np.linalg.norm(x, ord, (-2, -1), keepdims)
    except REFUSED:
        pass
    return body_on_numpy(matrix_norm)(x, keepdims=keepdims, ord=ord)


@linalg(
    methods=("norm",),
    samples=lambda: [
        sample(draw(2, 3)),
        sample(draw(2, 3), ord=1),
        sample(draw(2, 3), ord=3, axis=0, keepdims=True),
        sample(draw(3), ord=inf),
        sample(draw(2, 3, 2), ord="nuc", axis=(0, 2)),
        sample(draw(2, 3, 2), axis=(1, 0), keepdims=True),
        sample(draw(2, 3, 2)),
    ],
)
def norm(
    xp: Namespace, x: Array, /, *, ord: MatrixOrder | None = None, axis: Axis = None, keepdims: bool = False
) -> Array:
    """Norm of a vector, of matrices, or of all elements, by the axes that are given.

    Parameters
    ----------
    x : array of any shape
    ord : the order, as in `vector_norm` for vectors and in `matrix_norm` for matrices; None is the root of
        the sum of squares
    axis : one axis, for vectors; two, for matrices; None for `x` as a whole, which then is a vector or a
        matrix if `ord` is given
    keepdims : whether the axes stay, with length 1

    Returns
    -------
    real array of the shape of `x` without the axes

    Raises
    ------
    ValueError : if the axes are more than two, or `ord` does not go with them
    numpy.linalg.LinAlgError : if `ord` takes singular values, and a matrix holds inf or NaN

    Notes
    -----
    Source: NumPy, `numpy.linalg.norm`, and PyTorch, `torch.linalg.norm`; ``dispatchkit.norm`` is the same.

    Examples
    --------
    >>> x = dk.tensor([[3.0, 4.0], [6.0, 8.0]])
    >>> dk.norm(x, axis=1), dk.norm(x, ord=1)
    (tensor([ 5., 10.]), tensor(12.))
    """
    axes: Any = axis
    if axes is None and ord is not None:
        axes = tuple(range(x.ndim))
    if axes is None or isinstance(axes, int) or len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"{norm.__name__}: ord={ord!r} is of matrices, found shape {tuple(x.shape)}, axis={axis}")
        # as reductions take them
        along = None
        if x.ndim or axes not in (0, -1):
            along = axes
        if ord is None:
            ord = 2
        return xp.linalg.vector_norm(x, axis=along, keepdims=keepdims, ord=ord)
    if len(axes) != 2:
        raise ValueError(
            f"{norm.__name__}: a norm of order {ord} is along one axis or two, found shape {tuple(x.shape)}, "
            f"axis={axis}"
        )
    first, second = (normal_axis(i, x.ndim, norm.__name__) for i in axes)
    matrices = xp.moveaxis(x, (first, second), (-2, -1))
    if ord in SPECTRAL:
        require_finite(matrices)
    if ord is None:
        ord = "fro"
    result = xp.linalg.matrix_norm(matrices, ord=ord)
    if not keepdims:
        return result
    return xp.expand_dims(xp.expand_dims(result, axis=min(first, second)), axis=max(first, second))


AXES = (type(None), int, tuple)


@norm.def_kernel("numpy")
def norm_numpy(x: Any, /, *, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Leave out NumPy's own choice of an algorithm where all elements or one axis of real numbers are asked for."""
    try:
        if x.dtype is HALF:  # which does not hold the powers
            return norm_numpy(x.astype(SINGLE), ord=ord, axis=axis, keepdims=keepdims).astype(HALF)
        if ord is None and x.dtype.kind == "f":
            if axis is None and not keepdims and x.dtype is DOUBLE:
                flat = x.ravel("K")
                return np.sqrt(flat.dot(flat))
            if type(axis) is int and x.ndim:
                return np.sqrt(sum_of_squares(x, axis, keepdims=keepdims))
        if ord == 1 and type(axis) is int and x.ndim and x.dtype.kind in "fc":
            return total(np.abs(x), axis=axis, keepdims=keepdims)
        # NumPy takes a float for an axis, too, and no axis of an array without axes.
        if type(axis) is int:
            by_numpy = x.ndim > 0
        else:
            by_numpy = type(axis) in AXES and ord not in SPECTRAL
        if by_numpy:
            return np.linalg.norm(x, ord, axis, keepdims)
    except REFUSED:
        pass
    return body_on_numpy(norm)(x, ord=ord, axis=axis, keepdims=keepdims)


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
    samples=lambda: [
        sample(draw(3, 2), full_matrices=False, differentiable=False),
        sample(draw(2, 3), full_matrices=False, differentiable=False),
        sample(draw(2, 3, 3), differentiable=False),
        sample(draw(3, 2), full_matrices=True, differentiable=False),
    ]
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
    return SVDResult(*locate_errors(xp.linalg.svd, x, full_matrices=full_matrices))


def _skew(xp: Namespace, x: Array) -> Array:
    return x - adjoint(xp, x)


def _inverse_values(xp: Namespace, s: Array, wanted: Array) -> Array:
    """Return the reciprocals of singular values; that of 0 is NaN, or 0 in matrices where none is wanted."""
    zero = s == 0
    undefined = xp.where(wanted[..., 0], float("nan"), xp.zeros_like(s))
    return xp.where(zero, undefined, 1 / xp.where(zero, 1.0, s))


@svd.def_vjp
def svd_vjp(xp, g, y):
    (g_u, g_s, g_vh), (u, s, vh) = g, y
    rows, columns, count = u.shape[-2], vh.shape[-1], s.shape[-1]
    u, g_u, vh, g_vh = u[..., :, :count], g_u[..., :, :count], vh[..., :count, :], g_vh[..., :count, :]
    axes = (-2, -1)
    wanted = xp.any(g_u != 0, axis=axes, keepdims=True) | xp.any(g_vh != 0, axis=axes, keepdims=True)
    turned_u = _skew(xp, adjoint(xp, u) @ g_u)
    turned_v = _skew(xp, vh @ adjoint(xp, g_vh))
    across, down = s[..., None, :], s[..., None]
    result = (turned_u * across + down * turned_v) * inverse_gaps(xp, s * s, wanted)
    result = result + diagonal_matrix(xp, g_s)
    inverse = _inverse_values(xp, s, wanted)
    if holds_complex(u):
        result = result + diagonal_matrix(xp, xp.linalg.diagonal(turned_u) * inverse / 2)
    result = u @ result @ vh
    if rows > count:
        scaled = g_u * inverse[..., None, :]
        result = result + (scaled - u @ (adjoint(xp, u) @ scaled)) @ vh
    if columns > count:
        scaled = inverse[..., None] * g_vh
        result = result + u @ (scaled - (scaled @ adjoint(xp, vh)) @ vh)
    return result


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
    if holds_complex(x):
        s_tangent = xp.real(s_tangent)
    return SVDResult(
        _pad_columns(xp, u_tangent, spare_u),
        s_tangent,
        adjoint(xp, _pad_columns(xp, v_tangent, spare_v)),
    )


def _pad_columns(xp: Namespace, x: Array, columns: int) -> Array:
    """Return matrices with further columns of zeros."""
    if columns == 0:
        return x
    return xp.concat([x, xp.zeros((*x.shape[:-1], columns), dtype=x.dtype)], axis=-1)


@decomposition(method=False, samples=lambda: [sample(draw(3, 2)), sample(draw(2, 3)), sample(draw(2, 3, 3))])
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
    the possible subgradients.

    Examples
    --------
    >>> dk.linalg.svdvals(dk.tensor([[3.0, 0.0], [0.0, -4.0]]))
    tensor([4., 3.])
    """
    return _singular_values(xp, x)


def _singular_values(xp: Namespace, x: Array) -> Array:
    require_matrix(svdvals, x)
    require_finite(x)
    return locate_errors(xp.linalg.svdvals, x)


def svdvals_numpy_flow(x, /):
    """Keep the vectors where gradients flow: they need not be computed again, and a program may change the matrix."""
    require_matrix(svdvals, x)
    require_finite(x)
    u, s, vh = locate_errors(numpy_namespace.linalg.svd, x, full_matrices=False)
    return s, lambda g, wanted: ((u * g[0][..., None, :]) @ vh,)


@svdvals.def_kernel("numpy", flow=svdvals_numpy_flow)
def svdvals_numpy(x, /):
    return _singular_values(numpy_namespace, x)


@svdvals.def_vjp
def svdvals_vjp(xp, g, x):
    u, _, vh = xp.linalg.svd(x, full_matrices=False)
    return (u * g[..., None, :]) @ vh


@svdvals.def_jvp
def svdvals_jvp(xp, t, x):
    u, _, vh = xp.linalg.svd(x, full_matrices=False)
    result = xp.linalg.diagonal(adjoint(xp, u) @ t @ adjoint(xp, vh))
    if holds_complex(x):
        return xp.real(result)
    return result


@linalg(methods=("pinverse",), samples=[sample(draw(3, 2)), sample(draw(2, 3)), sample(draw(2, 2, 2), rtol=1e-6)])
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
    The derivative of Golub and Pereyra (1973), which holds while the rank does not change.

    Examples
    --------
    >>> dk.linalg.pinv(dk.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    require_matrix(pinv, x)
    require_finite(x)
    return locate_errors(xp.linalg.pinv, floating(xp, x), rtol=rtol)


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
    differentiable=False,
    samples=lambda: [sample(draw(3, 2)), sample(draw(2, 2, 3)), sample(draw(2, 2), rtol=0.5), sample(draw(0, 2))],
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
