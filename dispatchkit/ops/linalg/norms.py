"""Norms of vectors and matrices."""

from __future__ import annotations

from math import inf
from typing import Any, Literal, TypeAlias

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.declare.decorators import linalg
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared.arrays import LINALG, floating, require_finite, require_matrix, root
from dispatchkit.ops.shared.axes import Axis, restored

__all__ = ["matrix_norm", "norm", "vector_norm"]

MatrixOrder: TypeAlias = float | Literal["fro", "nuc"]
SPECTRAL = ("nuc", 2, -2)  # orders of norms of matrices that are made of singular values

# No two elements have the same absolute value, so that the largest is one.
_x = draw(2, 3, low=-1.0, high=2.3, content="distinct")


@linalg(
    namespace=LINALG,
    samples=[
        sample(_x),
        *(sample(_x, ord=order, axis=1) for order in (inf, -inf, 0, 1, 2, 3, 1.5, 0.5, -1)),
        sample(draw(2, 3, 4), axis=(0, 2), keepdims=True, ord=3),
        sample(draw(3), keepdims=True),
    ],
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
    if ord == 2 and not holds_complex(x):
        return root(xp, xp.sum(x * x, axis=axis, keepdims=keepdims))
    size = xp.abs(x)
    if ord in (inf, -inf):
        return (xp.max if ord > 0 else xp.min)(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return xp.sum(xp.astype(size != 0, size.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return xp.sum(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        return root(xp, xp.sum(size * size, axis=axis, keepdims=keepdims))
    return root(xp, xp.sum(size**ord, axis=axis, keepdims=keepdims), order)


def _slope(xp: Namespace, y: Array, x: Array, axis: Axis, order: float) -> Array:
    """Return the gradient of each norm `y`, its axes kept."""
    if order == 2:
        return xp.where(y == 0, 0.0, x) / xp.where(y == 0, 1.0, y)
    size = xp.abs(x)
    flat = (size == 0) | (y == 0)
    safe = xp.where(flat, 1.0, size)
    direction = xp.where(flat, 0.0, x / safe if holds_complex(x) else xp.sign(x))
    if order in (inf, -inf):
        reached = xp.astype(size == y, size.dtype)
        return direction * (reached / xp.sum(reached, axis=axis, keepdims=True))
    if order in (0, 1):
        return direction * order
    return direction * (safe / xp.where(y == 0, 1.0, y)) ** (order - 1)


@vector_norm.def_vjp
def vector_norm_vjp(xp, g, y, x, axis, keepdims, ord):
    slope = _slope(xp, restored(xp, y, x.shape, axis, keepdims), x, axis, ord)
    return restored(xp, g, x.shape, axis, keepdims) * slope


@vector_norm.def_jvp
def vector_norm_jvp(xp, t, y, x, axis, keepdims, ord):
    slope = _slope(xp, restored(xp, y, x.shape, axis, keepdims), x, axis, ord)
    change = xp.real(xp.conj(slope) * t) if holds_complex(x) else slope * t
    return xp.sum(change, axis=axis, keepdims=keepdims)


@linalg(
    namespace=LINALG,
    samples=[
        *(sample(draw(2, 3), ord=order) for order in ("fro", "nuc", inf, -inf, 1, -1, 2, -2)),
        sample(draw(2, 3, 2)),
        sample(draw(2, 3, 2), keepdims=True, ord="nuc"),
        sample(draw(2, 2, 3), keepdims=True, ord=1),
    ],
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
    Differentiated through vector norms, sums and singular values. Source: array API standard,
    `linalg.matrix_norm`.

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
        reduce = xp.sum if ord == "nuc" else xp.max if ord == 2 else xp.min
        found = reduce(values, axis=-1)
        return found[..., None, None] if keepdims else found
    if ord not in (1, -1, inf, -inf):
        raise ValueError(f"{matrix_norm.__name__}: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, found {ord!r}")
    summed, kept = (-2, -1) if ord in (1, -1) else (-1, -2)
    reduce = xp.max if ord in (1, inf) else xp.min
    found = reduce(xp.sum(xp.abs(floating(xp, x)), axis=summed, keepdims=True), axis=kept, keepdims=True)
    return found if keepdims else found[..., 0, 0]


@linalg(
    namespace=LINALG,
    methods=("norm",),
    samples=[
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
        return xp.linalg.vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError(
            f"{norm.__name__}: a norm of order {ord} is along one axis or two, found shape {tuple(x.shape)}, "
            f"axis={axis}"
        )
    first, second = (i % x.ndim for i in axes)
    matrices = xp.moveaxis(x, (first, second), (-2, -1))
    if ord in SPECTRAL:
        require_finite(matrices)
    found = xp.linalg.matrix_norm(matrices, ord="fro" if ord is None else ord)
    if not keepdims:
        return found
    return xp.expand_dims(xp.expand_dims(found, axis=min(first, second)), axis=max(first, second))
