"""Diagonals of matrices, and products of all pairs or of three-dimensional vectors."""

from __future__ import annotations

from typing import Any

from dispatchkit.backends.numpy import writable_view
from dispatchkit.declare.call_errors import BACKEND_ERRORS
from dispatchkit.declare.decorators import body_on_numpy, linalg, product
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, DType, Namespace
from dispatchkit.ops.shared import (
    LINALG,
    axis_moved_back,
    conjugate,
    nearest_offset,
    on_diagonal,
    require_matrix,
    require_ndim,
    shape_of,
)
from dispatchkit.protocol.instance import tensor_protocol

__all__ = ["cross", "diagonal", "outer", "trace"]


# A scalar has none of an array's attributes.
REFUSED = (AttributeError, *BACKEND_ERRORS)


@linalg(
    methods=("trace",), samples=[sample(draw(3, 3)), sample(draw(2, 3, 4), offset=1), sample(draw(3, 2), offset=-1)]
)
def trace(xp: Namespace, x: Array, /, *, offset: int = 0, dtype: DType = None) -> Array:
    """Sum of the diagonal elements of matrices.

    Parameters
    ----------
    x : array of shape (..., M, N)
    offset : which diagonal: above the main one if positive, below it if negative
    dtype : of the sum; that of `x` by default, small integers become int64

    Returns
    -------
    array of shape (...)

    Raises
    ------
    ValueError : if `x` has less than two axes

    Notes
    -----
    Source: array API standard, `linalg.trace`; ``dispatchkit.trace`` is the same.

    Examples
    --------
    >>> dk.trace(dk.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """
    require_matrix(trace, x)
    return xp.sum(xp.linalg.diagonal(x, offset=nearest_offset(x.shape, offset)), axis=-1, dtype=dtype)


tensor_protocol.operation(trace).hint = "; dk.record_calls() records calls"


@trace.def_transpose
def trace_transpose(xp, g, x, offset):
    mask = xp.eye(*x.shape[-2:], k=offset, dtype=xp.bool)
    return xp.where(mask, g[..., None, None], xp.zeros((), dtype=g.dtype))


@linalg(
    methods=("diagonal",), samples=[sample(draw(3, 3)), sample(draw(2, 3, 4), offset=1), sample(draw(4, 2), offset=-1)]
)
def diagonal(xp: Namespace, x: Array, /, *, offset: int = 0) -> Array:
    """Diagonal elements of matrices.

    Parameters
    ----------
    x : array of shape (..., M, N)
    offset : which diagonal: above the main one if positive, below it if negative

    Returns
    -------
    array of shape (..., K), a view of `x`

    Raises
    ------
    ValueError : if `x` has less than two axes

    Notes
    -----
    The cotangent stands on the diagonal of zeros. Source: array API standard, `linalg.diagonal`;
    ``dispatchkit.diagonal`` is the same.

    Examples
    --------
    >>> dk.diagonal(dk.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 4.])
    """
    require_matrix(diagonal, x)
    return xp.linalg.diagonal(x, offset=nearest_offset(x.shape, offset))


@diagonal.def_kernel("numpy")
def diagonal_numpy(x: Any, /, *, offset: int = 0) -> Any:
    try:
        return writable_view(x.diagonal(nearest_offset(x.shape, offset), -2, -1), x)
    except REFUSED:
        return body_on_numpy(diagonal)(x, offset=offset)


@diagonal.def_transpose
def diagonal_transpose(xp, g, x, offset):
    rows, columns = x.shape[-2:]
    return on_diagonal(xp, g, rows, columns, offset)


@product(
    namespace=LINALG,
    samples=lambda: [
        sample(draw(3), draw(3)),
        sample(draw(2, 3), draw(3)),
        sample(draw(3, 2), draw(3, 2), axis=-2),
        sample(draw(4, 3, 1), draw(3, 2), axis=-2),
    ],
)
def cross(xp: Namespace, x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Cross product of vectors of three elements.

    Parameters
    ----------
    x1, x2 : arrays that broadcast, with length 3 along `axis`
    axis : of the vectors

    Returns
    -------
    array of the broadcast shape

    Raises
    ------
    ValueError : if the vectors are not of length 3

    Notes
    -----
    Cotangents: ``cross(x2, g)`` and ``cross(g, x1)``, the factors conjugated.

    Examples
    --------
    >>> dk.linalg.cross(dk.tensor([1.0, 0.0, 0.0]), dk.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    for parameter, shape in (("x1", shape_of(x1)), ("x2", shape_of(x2))):
        if not -len(shape) <= axis < len(shape) or shape[axis] != 3:
            raise ValueError(f"{cross.__name__}: {parameter} must have length 3 along axis {axis}, found shape {shape}")
    return xp.linalg.cross(x1, x2, axis=axis)


@cross.def_transpose("x1")
def cross_transpose_x1(xp, g, x1, x2, axis):
    factor, g = xp.moveaxis(conjugate(xp, x2), axis, -1), xp.moveaxis(g, axis, -1)
    return axis_moved_back(xp, xp.linalg.cross(factor, g), x1, axis)


@cross.def_transpose("x2")
def cross_transpose_x2(xp, g, x1, x2, axis):
    factor, g = xp.moveaxis(conjugate(xp, x1), axis, -1), xp.moveaxis(g, axis, -1)
    return axis_moved_back(xp, xp.linalg.cross(g, factor), x2, axis)


@product(namespace=LINALG, samples=lambda: [sample(draw(2), draw(3)), sample(draw(1), draw(1))])
def outer(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Multiply every element of one vector with every element of another.

    Parameters
    ----------
    x1 : array of shape (M,)
    x2 : array of shape (N,)

    Returns
    -------
    array of shape (M, N)

    Raises
    ------
    ValueError : if an argument is no vector

    Notes
    -----
    Nothing is conjugated. Source: array API standard, `linalg.outer`; ``dispatchkit.outer`` is the same.

    Examples
    --------
    >>> dk.outer(dk.tensor([1.0, 2.0]), dk.tensor([1.0, 0.0, -1.0]))
    tensor([[ 1.,  0., -1.],
            [ 2.,  0., -2.]])
    """
    require_ndim(outer, "x1", x1, 1, "multiply")
    require_ndim(outer, "x2", x2, 1, "multiply")
    return xp.expand_dims(x1, axis=1) * xp.expand_dims(x2, axis=0)


outer.def_transpose("x1")(lambda xp, g, x2: xp.matmul(g, conjugate(xp, x2)))
outer.def_transpose("x2")(lambda xp, g, x1: xp.matmul(conjugate(xp, x1), g))
