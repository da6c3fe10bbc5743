"""Products of vectors and matrices: the standard's, and PyTorch's for fixed numbers of axes.

A few functions of `dispatchkit.linalg` are there, too, as in PyTorch.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.declare.decorators import body_on_numpy, product
from dispatchkit.declare.namespace import enter
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.linalg.elements import diagonal, outer, trace
from dispatchkit.ops.linalg.norms import norm
from dispatchkit.ops.shared import axis_moved_back, conjugate, normal_axis, require_ndim, shape_of, stored_transposed

for _function in (diagonal, norm, outer, trace):
    enter(_function.__name__, _function)

Axes: TypeAlias = int | tuple[Sequence[int], Sequence[int]]


@product(
    passthrough=True,
    operator="__matmul__",
    samples=lambda: [
        sample(draw(2, 3), draw(3, 4)),
        sample(draw(3), draw(3)),
        sample(draw(3), draw(3, 2)),
        sample(draw(2, 3), draw(3)),
        sample(draw(2, 2, 3), draw(3)),
        sample(draw(3), draw(2, 3, 2)),
        sample(draw(2, 1, 2, 3), draw(3, 3, 1)),
    ],
)
def matmul(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Matrix product.

    Parameters
    ----------
    x1 : array of shape (..., M, K), or (K,)
    x2 : array of shape (..., K, N), or (K,); batch axes broadcast

    Returns
    -------
    array of shape (..., M, N), without M or N where that argument is a vector

    Raises
    ------
    ValueError : if an argument is 0-D or the lengths K differ

    Notes
    -----
    Cotangents: ``g @ x2^H`` and ``x1^H @ g``.

    Examples
    --------
    >>> dk.matmul(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), dk.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    return xp.matmul(x1, x2)


@matmul.def_transpose("x1")
def matmul_transpose_x1(xp, g, x1, x2):
    x2 = conjugate(xp, x2)
    if x2.ndim == 1:
        return g[..., None] * x2
    if x1.ndim == 1:
        return _times_vectors(x2, g)
    return g @ xp.matrix_transpose(x2)


@matmul.def_transpose("x2")
def matmul_transpose_x2(xp, g, x1, x2):
    x1 = conjugate(xp, x1)
    if x1.ndim == 1:
        if x2.ndim == 1:
            return g[..., None] * x1
        return x1[:, None] * g[..., None, :]
    if x2.ndim == 1:
        return _times_vectors(xp.matrix_transpose(x1), g)
    # In the layout of `x2`: the gradient of a weight that was used transposed is contiguous again.
    if stored_transposed(x2):
        return xp.matrix_transpose(xp.matrix_transpose(g) @ x1)
    return xp.matrix_transpose(x1) @ g


def _times_vectors(matrices: Array, g: Array) -> Array:
    """Return the product of matrices and vectors, one for each."""
    if g.ndim == 1:
        return matrices @ g
    return (matrices @ g[..., None])[..., 0]


def _pair_axes(axes: Axes, ndim1: int, ndim2: int) -> tuple[list[int], list[int]]:
    """Return which axes of each array are summed over, counted from the front."""
    if not isinstance(axes, (tuple, list)):
        count = operator.index(axes)
        if not 0 <= count <= min(ndim1, ndim2):
            raise ValueError(f"{tensordot.__name__}: cannot sum over {count} axes of {ndim1}-D and {ndim2}-D arrays")
        return list(range(ndim1 - count, ndim1)), list(range(count))
    first, second = ([entry] if isinstance(entry, int) else entry for entry in axes)
    name = tensordot.__name__
    return [normal_axis(axis, ndim1, name) for axis in first], [normal_axis(axis, ndim2, name) for axis in second]


def _left_out(axes: list[int], ndim: int) -> list[int]:
    """Return the axes that are not among some, counted from the front."""
    return [axis for axis in range(ndim) if axis not in axes]


@product(
    method=False,
    samples=lambda: [
        sample(draw(2, 3), draw(3, 4), axes=1),
        sample(draw(2, 3, 4), draw(3, 4, 2)),
        sample(draw(2), draw(3), axes=0),
        sample(draw(2, 3, 4), draw(4, 5, 2), axes=((2, 0), (0, -1))),
    ],
)
def tensordot(xp: Namespace, x1: Array, x2: Array, /, *, axes: Axes = 2) -> Array:
    """Sum products over pairs of axes.

    Parameters
    ----------
    x1, x2 : arrays of any shape
    axes : how many: the last of `x1` with the first of `x2`, in order; or the axes of each, in two sequences

    Returns
    -------
    array of the axes of `x1` that are left, then those of `x2`

    Raises
    ------
    ValueError : if paired axes differ in length, or one is out of bounds

    Notes
    -----
    Linear in each argument; nothing is conjugated.

    Examples
    --------
    >>> dk.tensordot(dk.ones((2, 3, 4)), dk.ones((3, 4, 5))).shape
    (2, 5)
    """
    shape1, shape2 = shape_of(x1), shape_of(x2)
    summed1, summed2 = _pair_axes(axes, len(shape1), len(shape2))
    lengths1, lengths2 = [shape1[axis] for axis in summed1], [shape2[axis] for axis in summed2]
    if lengths1 != lengths2:
        raise ValueError(
            f"{tensordot.__name__}: axes {summed1} of x1 and {summed2} of x2 differ in length, "
            f"found {lengths1} and {lengths2}"
        )
    if not shape1 or not shape2:
        return x1 * x2
    free1, free2 = _left_out(summed1, len(shape1)), _left_out(summed2, len(shape2))
    rows, columns = [shape1[axis] for axis in free1], [shape2[axis] for axis in free2]
    left = xp.reshape(xp.permute_dims(x1, (*free1, *summed1)), (prod(rows), prod(lengths1)))
    right = xp.reshape(xp.permute_dims(x2, (*summed2, *free2)), (prod(lengths2), prod(columns)))
    return xp.reshape(xp.matmul(left, right), (*rows, *columns))


@product(
    passthrough=True,
    samples=lambda: [
        sample(draw(3), draw(3)),
        sample(draw(2, 3), draw(3)),
        sample(draw(3, 2), draw(3, 2), axis=-2),
        sample(draw(3, 2, 1), draw(2, 4), axis=-2),
    ],
)
def vecdot(xp: Namespace, x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Sum the products of the elements of vectors, the first conjugated.

    Parameters
    ----------
    x1, x2 : arrays that broadcast, with vectors of the same length along `axis`
    axis : of the vectors

    Returns
    -------
    array of the broadcast shape without `axis`

    Raises
    ------
    ValueError : if the vectors differ in length

    Notes
    -----
    Cotangents: ``conj(g) * x2`` and ``g * x1``.

    Examples
    --------
    >>> dk.vecdot(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), dk.tensor([1.0, -1.0]))
    tensor([-1., -1.])
    """
    return xp.vecdot(x1, x2, axis=axis)


@vecdot.def_transpose("x1")
def vecdot_transpose_x1(xp, g, x1, x2, axis):
    return axis_moved_back(xp, conjugate(xp, g)[..., None] * xp.moveaxis(x2, axis, -1), x1, axis)


@vecdot.def_transpose("x2")
def vecdot_transpose_x2(xp, g, x1, x2, axis):
    return axis_moved_back(xp, g[..., None] * xp.moveaxis(x1, axis, -1), x2, axis)


@product(samples=lambda: [sample(draw(2, 3), draw(3, 4))])
def mm(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Multiply two matrices, and nothing but matrices.

    Parameters
    ----------
    x1 : array of shape (M, K)
    x2 : array of shape (K, N)

    Returns
    -------
    array of shape (M, N)

    Raises
    ------
    ValueError : if an argument is no matrix or the lengths K differ

    Notes
    -----
    Source: PyTorch, `torch.mm`; see `matmul` for vectors and batches.

    Examples
    --------
    >>> dk.mm(dk.tensor([[1.0, 2.0]]), dk.tensor([[3.0], [4.0]]))
    tensor([[11.]])
    """
    require_ndim(mm, "x1", x1, 2, "matmul")
    require_ndim(mm, "x2", x2, 2, "matmul")
    return xp.matmul(x1, x2)


@product(samples=lambda: [sample(draw(2, 3), draw(3))])
def mv(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Multiply a matrix with a vector.

    Parameters
    ----------
    x1 : array of shape (M, K)
    x2 : array of shape (K,)

    Returns
    -------
    array of shape (M,)

    Raises
    ------
    ValueError : if the arguments are no matrix and vector, or the lengths K differ

    Notes
    -----
    Source: PyTorch, `torch.mv`.

    Examples
    --------
    >>> dk.mv(dk.tensor([[1.0, 2.0], [3.0, 4.0]]), dk.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    require_ndim(mv, "x1", x1, 2, "matmul")
    require_ndim(mv, "x2", x2, 1, "matmul")
    return xp.matmul(x1, x2)


@product(samples=lambda: [sample(draw(2, 2, 3), draw(2, 3, 4))])
def bmm(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Multiply two batches of matrices, pair by pair.

    Parameters
    ----------
    x1 : array of shape (B, M, K)
    x2 : array of shape (B, K, N)

    Returns
    -------
    array of shape (B, M, N)

    Raises
    ------
    ValueError : if the arguments are no batches of the same length, or the lengths K differ

    Notes
    -----
    Source: PyTorch, `torch.bmm`; batches do not broadcast, as they do in `matmul`.

    Examples
    --------
    >>> dk.bmm(dk.ones((2, 1, 3)), dk.ones((2, 3, 1))).shape
    (2, 1, 1)
    """
    require_ndim(bmm, "x1", x1, 3, "matmul")
    require_ndim(bmm, "x2", x2, 3, "matmul")
    if x1.shape[0] != x2.shape[0]:
        raise ValueError(f"{bmm.__name__}: batches must have the same length, found {x1.shape[0]} and {x2.shape[0]}")
    return xp.matmul(x1, x2)


@product(samples=lambda: [sample(draw(3), draw(3)), sample(draw(0), draw(0))])
def dot(xp: Namespace, x1: Array, x2: Array, /) -> Array:
    """Sum the products of the elements of two vectors, without conjugation.

    Parameters
    ----------
    x1, x2 : arrays of shape (K,)

    Returns
    -------
    array of shape ()

    Raises
    ------
    ValueError : if an argument is no vector or the lengths differ

    Notes
    -----
    Source: PyTorch, `torch.dot`; NumPy's function of that name, which takes matrices, is `matmul` here.

    Examples
    --------
    >>> dk.dot(dk.tensor([1.0, 2.0]), dk.tensor([3.0, 4.0]))
    tensor(11.)
    """
    require_ndim(dot, "x1", x1, 1, "matmul")
    require_ndim(dot, "x2", x2, 1, "matmul")
    return xp.matmul(x1, x2)


@dot.def_kernel("numpy")
def dot_numpy(x1: Any, x2: Any, /) -> Any:
    if getattr(x1, "ndim", 0) == 1 == getattr(x2, "ndim", 0):
        return np.dot(x1, x2)
    return body_on_numpy(dot)(x1, x2)
