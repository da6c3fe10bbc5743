"""Selecting elements without index expressions: by index arrays, on a diagonal, or on one side of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.declare.decorators import indexing, manipulation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared.arrays import on_diagonal, shape_of
from dispatchkit.ops.shared.axes import along, normal_axis

__all__ = ["diag", "take", "take_along_axis", "tril", "triu"]


@indexing(
    passthrough=True,
    methods=("take",),
    samples=[
        sample(draw(4), np.asarray([0, 2, 0])),
        sample(draw(2, 3), np.asarray([-1, 0]), axis=1),
        sample(draw(3, 2), np.asarray([[0, 2], [1, 0]]), axis=0),
    ],
)
def take(xp: Namespace, x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Take elements along an axis by their indices.

    Parameters
    ----------
    indices : array of integers; with several axes for NumPy's arrays only
    axis : to take along; without it, indices are into the flattened array

    Returns
    -------
    array in which the shape of `indices` stands in the place of the axis

    Raises
    ------
    IndexError : if an index is out of range

    Notes
    -----
    Linear in `x`: cotangents are added up at the elements taken. Source: array API standard, `take`, where
    `axis` may be left out for one axis only.

    Examples
    --------
    >>> dk.take(dk.asarray([1.0, 2.0, 3.0]), dk.asarray([2, 0]))
    tensor([3., 1.])
    """
    return xp.take(x, indices, axis=axis)


@take.def_transpose("x")
def take_transpose(xp, g, x, indices, axis):
    key = (indices,) if axis is None else along(normal_axis(axis, x.ndim), indices)
    shape = (x.size,) if axis is None else x.shape
    found = xp.index_put(xp.zeros(shape, dtype=g.dtype), key, g, accumulate=True)
    return xp.reshape(found, x.shape)


@indexing(
    passthrough=True,
    samples=[
        sample(draw(4), np.asarray([0, 2, 0])),
        sample(draw(2, 3), np.asarray([[2, 0], [1, 1]])),
        sample(draw(2, 3), np.asarray([[1, 0, 1]]), axis=0),
        sample(draw(3, 2), draw(4, 2, low=0, high=1, content="integer"), axis=-2),
    ],
)
def take_along_axis(xp: Namespace, x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Take elements along an axis, at each place along the others by indices of its own.

    Parameters
    ----------
    indices : array of integers with as many axes as `x`, which broadcasts with it but for the axis
    axis : to take along

    Returns
    -------
    array of the broadcast shape, along the axis as long as `indices`

    Raises
    ------
    IndexError : if an index is out of range
    ValueError : if `x` and `indices` differ in their number of axes

    Notes
    -----
    Linear in `x`: cotangents are added up at the elements taken. Source: array API standard,
    `take_along_axis`.

    Examples
    --------
    >>> x = dk.asarray([[3.0, 1.0], [5.0, 7.0]])
    >>> dk.take_along_axis(x, dk.argsort(x))
    tensor([[1., 3.],
            [5., 7.]])
    """
    return xp.take_along_axis(x, indices, axis=axis)


@take_along_axis.def_transpose("x")
def take_along_axis_transpose(xp, g, x, indices, axis):
    place = normal_axis(axis, x.ndim)
    key: list[Any] = [xp.reshape(xp.arange(n), (-1,) + (1,) * (x.ndim - 1 - i)) for i, n in enumerate(x.shape)]
    key[place] = indices
    return xp.index_put(xp.zeros(x.shape, dtype=g.dtype), tuple(key), g, accumulate=True)


@manipulation(
    methods=("diag",),
    samples=[sample(draw(3)), sample(draw(2), offset=-1), sample(draw(3, 2)), sample(draw(3, 3), offset=1)],
)
def diag(xp: Namespace, x: Array, /, *, offset: int = 0) -> Array:
    """Make a matrix of its diagonal, or take the diagonal of a matrix.

    Parameters
    ----------
    x : array of shape (N,) or (M, N)
    offset : which diagonal: above the main one if positive, below it if negative

    Returns
    -------
    of a vector the matrix of shape (N + abs(offset), N + abs(offset)), 0 off its diagonal; of a matrix the array of
    shape (K,), which looks at the memory of `x` and cannot be written to

    Raises
    ------
    ValueError : if `x` is neither a vector nor a matrix

    Notes
    -----
    `diagonal` takes the diagonals of a batch of matrices. Source: PyTorch, `torch.diag`, and NumPy, `numpy.diag`.

    Examples
    --------
    >>> dk.diag(dk.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    >>> dk.diag(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), offset=1)
    tensor([2.])
    """
    shape = shape_of(x)
    if len(shape) not in (1, 2):
        raise ValueError(f"{diag.__name__}: x must be a vector or a matrix, found shape {shape}")
    if len(shape) == 2:
        return xp.linalg.diagonal(x, offset=offset)
    n = shape[0] + abs(offset)
    return on_diagonal(xp, x, n, n, offset)


TRIANGLE_SAMPLES = [sample(draw(3, 3)), sample(draw(2, 3), k=1), sample(draw(2, 3, 2), k=-1)]


@manipulation(passthrough=True, methods=("tril",), samples=TRIANGLE_SAMPLES)
def tril(xp: Namespace, x: Array, /, *, k: int = 0) -> Array:
    """Keep the lower triangle: the elements above a diagonal become 0.

    Parameters
    ----------
    x : array of shape (..., m, n)
    k : the diagonal, counted upwards from the main one

    Returns
    -------
    array of the shape of `x`

    Raises
    ------
    ValueError : if `x` has less than two axes

    Notes
    -----
    Linear: the cotangent's triangle is taken. Source: array API standard, `tril`.

    Examples
    --------
    >>> dk.tril(dk.asarray([[1, 2], [3, 4]]))
    tensor([[1, 0],
            [3, 4]])
    """
    return xp.tril(x, k=k)


@manipulation(passthrough=True, methods=("triu",), samples=TRIANGLE_SAMPLES)
def triu(xp: Namespace, x: Array, /, *, k: int = 0) -> Array:
    """Keep the upper triangle: the elements below a diagonal become 0.

    Parameters
    ----------
    x : array of shape (..., m, n)
    k : the diagonal, counted upwards from the main one

    Returns
    -------
    array of the shape of `x`

    Raises
    ------
    ValueError : if `x` has less than two axes

    Notes
    -----
    Linear: the cotangent's triangle is taken. Source: array API standard, `triu`.

    Examples
    --------
    >>> dk.triu(dk.asarray([[1, 2], [3, 4]]))
    tensor([[1, 2],
            [0, 4]])
    """
    return xp.triu(x, k=k)


@tril.def_transpose
def tril_transpose(xp, g, k):
    return xp.tril(g, k=k)


@triu.def_transpose
def triu_transpose(xp, g, k):
    return xp.triu(g, k=k)
