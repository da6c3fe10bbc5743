"""Linear equations, inverses, determinants and powers of square matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.declare.decorators import linalg
from dispatchkit.declare.namespace import enter
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.declare.wrapping import holds
from dispatchkit.ops.linalg.products import matmul, tensordot, vecdot
from dispatchkit.ops.manipulation.permuting import matrix_transpose
from dispatchkit.ops.shared.arguments import integer
from dispatchkit.ops.shared.arrays import (
    LINALG,
    adjoint,
    conjugate,
    located,
    require_square,
    shape_of,
)

__all__ = [
    "det",
    "inv",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "slogdet",
    "solve",
    "tensordot",
    "vecdot",
]

for _function in (matmul, matrix_transpose, tensordot, vecdot):
    enter(f"linalg.{_function.__name__}", _function)


class SlogdetResult(NamedTuple):
    """Sign and logarithm of the absolute value of determinants.

    Attributes
    ----------
    sign : 1, -1 or 0, for complex matrices a number of magnitude 1, shape (...)
    logabsdet : the logarithms, -inf for singular matrices, shape (...)
    """

    sign: Array
    logabsdet: Array


@linalg(
    namespace=LINALG,
    methods=("inverse",),
    samples=[sample(draw(3, 3, content="definite")), sample(draw(2, 2, 2, content="definite"))],
)
def inv(xp: Namespace, x: Array, /) -> Array:
    """Inverse of square matrices.

    Parameters
    ----------
    x : array of shape (..., M, M)

    Returns
    -------
    array of the shape of `x`

    Raises
    ------
    ValueError : if the matrices are not square
    numpy.linalg.LinAlgError : if one is singular

    Notes
    -----
    ``dy = -y @ dx @ y``. Source: array API standard, `linalg.inv`.

    Examples
    --------
    >>> dk.linalg.inv(dk.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    require_square(inv, x)
    return located(xp.linalg.inv, x)


@inv.def_vjp
def inv_vjp(xp, g, y):
    turned = adjoint(xp, y)
    return -(turned @ g @ turned)


@inv.def_jvp
def inv_jvp(t, y):
    return -(y @ t @ y)


@linalg(
    namespace=LINALG,
    samples=[
        sample(draw(3, 3, content="definite"), draw(3)),
        sample(draw(3, 3, content="definite"), draw(3, 2)),
        sample(draw(2, 3, 3, content="definite"), draw(3)),
        sample(draw(2, 2, content="definite"), draw(3, 2, 1)),
    ],
)
def solve(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Solve systems of linear equations ``x1 @ y = x2``.

    Parameters
    ----------
    x1 : array of shape (..., M, M)
    x2 : array of shape (M,), one vector, or (..., M, K), matrices; batch axes broadcast

    Returns
    -------
    array of shape (..., M), or (..., M, K)

    Raises
    ------
    ValueError : if the matrices are not square, or `x2` does not fit them
    numpy.linalg.LinAlgError : if a matrix is singular

    Notes
    -----
    With ``w = solve(x1^H, g)`` the cotangents are ``-w @ y^H`` and ``w``. Source: array API standard,
    `linalg.solve`.

    Examples
    --------
    >>> dk.linalg.solve(dk.tensor([[2.0, 0.0], [0.0, 4.0]]), dk.tensor([1.0, 1.0]))
    tensor([0.5000, 0.2500])
    """
    require_square(solve, x1, "x1")
    rows, shape = x1.shape[-1], shape_of(x2)
    if not shape or shape[-1 if len(shape) == 1 else -2] != rows:
        raise ValueError(
            f"{solve.__name__}: x2 must be of shape ({rows},) or (..., {rows}, K) to fit x1 of shape "
            f"{tuple(x1.shape)}, found {shape}"
        )
    return located(xp.linalg.solve, x1, x2, name="x1")


def _solved(xp: Namespace, matrices: Array, right: Array, vectors: bool) -> Array:
    """Solve for batches of matrices, or of vectors, which the standard knows only as single ones."""
    if vectors:
        return xp.linalg.solve(matrices, right[..., None])[..., 0]
    return xp.linalg.solve(matrices, right)


@solve.def_vjp("x1")
def solve_vjp_x1(xp, g, y, x1):
    vectors = y.ndim < x1.ndim
    found = _solved(xp, adjoint(xp, x1), g, vectors)
    if vectors:
        return -(found[..., None] * conjugate(xp, y)[..., None, :])
    return -(found @ adjoint(xp, y))


@solve.def_jvp("x1")
def solve_jvp_x1(xp, t, y, x1):
    vectors = y.ndim < x1.ndim
    return -_solved(xp, x1, (t @ y[..., None])[..., 0] if vectors else t @ y, vectors)


@solve.def_transpose("x2")
def solve_transpose_x2(xp, g, x1, x2):
    return _solved(xp, adjoint(xp, x1), g, x2.ndim == 1)


@linalg(
    namespace=LINALG,
    methods=("det",),
    samples=[sample(draw(3, 3)), sample(draw(2, 2, 2)), sample(draw(1, 1))],
)
def det(xp: Namespace, x: Array, /) -> Array:
    """Compute the determinant of square matrices.

    Parameters
    ----------
    x : array of shape (..., M, M)

    Returns
    -------
    array of shape (...)

    Raises
    ------
    ValueError : if the matrices are not square

    Notes
    -----
    The derivative is the matrix of cofactors: ``y * inv(x)^T``, and where a determinant is 0 the same from
    the singular value decomposition, so that singular matrices have their true, finite gradient. Derivatives
    of higher order there need distinct singular values. Source: array API standard, `linalg.det`.

    Examples
    --------
    >>> dk.linalg.det(dk.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.0000)
    """
    require_square(det, x)
    return xp.linalg.det(x)


def _cofactors(xp: Namespace, y: Array, x: Array) -> Array:
    """Return the derivative of each determinant `y` by the elements of its matrix."""
    if holds(y != 0):
        return y[..., None, None] * xp.matrix_transpose(xp.linalg.inv(x))
    finite = xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
    u, s, vh = xp.linalg.svd(xp.where(finite, x, 0))
    own = xp.eye(s.shape[-1], dtype=xp.bool)
    others = xp.prod(xp.where(own, 1.0, s[..., None, :]), axis=-1)
    phase = xp.linalg.det(u) * xp.linalg.det(vh)
    found = phase[..., None, None] * ((conjugate(xp, u) * others[..., None, :]) @ conjugate(xp, vh))
    return xp.where(finite, found, float("nan"))


@det.def_vjp
def det_vjp(xp, g, y, x):
    return g[..., None, None] * conjugate(xp, _cofactors(xp, y, x))


@det.def_jvp
def det_jvp(xp, t, y, x):
    return xp.sum(_cofactors(xp, y, x) * t, axis=(-2, -1))


@linalg(
    namespace=LINALG,
    methods=("slogdet",),
    samples=[sample(draw(3, 3, content="definite")), sample(draw(2, 2, 2, content="definite"))],
)
def slogdet(xp: Namespace, x: Array, /) -> SlogdetResult:
    """Sign and logarithm of the absolute value of the determinant of square matrices.

    Parameters
    ----------
    x : array of shape (..., M, M)

    Returns
    -------
    sign : array of shape (...), 0 for singular matrices; of absolute value 1 otherwise
    logabsdet : real array of shape (...), -inf for singular matrices

    Raises
    ------
    ValueError : if the matrices are not square

    Notes
    -----
    With ``w = trace(inv(x) @ dx)`` the tangents are ``1j * sign * imag(w)`` and ``real(w)``. The gradient at
    a singular matrix is infinite. Source: array API standard, `linalg.slogdet`.

    Examples
    --------
    >>> dk.linalg.slogdet(dk.tensor([[1.0, 2.0], [3.0, 4.0]])).sign
    tensor(-1.)
    """
    require_square(slogdet, x)
    return SlogdetResult(*xp.linalg.slogdet(x))


def _inverse_or_infinity(xp: Namespace, sign: Array, x: Array) -> Array:
    """Return inverses, infinity in place of that of a matrix without one."""
    singular = sign == 0
    if holds(~singular):
        return xp.linalg.inv(x)
    singular = singular[..., None, None]
    unit = xp.eye(x.shape[-1], dtype=x.dtype)
    return xp.where(singular, float("inf"), xp.linalg.inv(xp.where(singular, unit, x)))


@slogdet.def_vjp
def slogdet_vjp(xp, g, y, x):
    g_sign, g_log = g
    sign, _ = y
    if holds_complex(x):
        g_log = g_log - 1j * xp.imag(xp.conj(g_sign) * sign)
    return g_log[..., None, None] * adjoint(xp, _inverse_or_infinity(xp, sign, x))


@slogdet.def_jvp
def slogdet_jvp(xp, t, y, x):
    sign, _ = y
    w = xp.sum(xp.matrix_transpose(_inverse_or_infinity(xp, sign, x)) * t, axis=(-2, -1))
    if holds_complex(x):
        return SlogdetResult(1j * sign * xp.imag(w), xp.real(w))
    return SlogdetResult(xp.zeros_like(sign), w)


@linalg(
    namespace=LINALG,
    samples=[sample(draw(2, 2), n, differentiable=n != 0) for n in (-2, 0, 1, 2, 5)] + [sample(draw(2, 2, 2), 3)],
)
def matrix_power(xp: Namespace, x: Array, n: int, /) -> Array:
    """Integer power of square matrices, by repeated squaring.

    Parameters
    ----------
    x : array of shape (..., M, M)
    n : the exponent; a negative one takes the inverse, 0 gives identities

    Returns
    -------
    array of the shape of `x`

    Raises
    ------
    ValueError : if the matrices are not square
    TypeError : if `n` is no int
    numpy.linalg.LinAlgError : if `n` is negative and a matrix is singular

    Notes
    -----
    Differentiated through its products. Source: array API standard, `linalg.matrix_power`.

    Examples
    --------
    >>> dk.linalg.matrix_power(dk.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    require_square(matrix_power, x)
    count = abs(integer(matrix_power, "n", n))
    if count == 0:
        return xp.zeros_like(x) + xp.eye(x.shape[-1], dtype=x.dtype)
    square = located(xp.linalg.inv, x) if n < 0 else x
    if count == 1:
        return xp.asarray(square, copy=n > 0)
    power: Any = None
    while count:
        if count % 2:
            power = square if power is None else power @ square
        count //= 2
        if count:
            square = square @ square
    return power  # set in the first round in which `count` is odd
