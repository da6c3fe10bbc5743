"""Selecting elements without index expressions: by index arrays, a mask, on a diagonal, or on one side of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dispatchkit.accelerator import computed_by
from dispatchkit.backends.numpy import elements_added, rows_added
from dispatchkit.declare.decorators import assignment, body_on_numpy, indexing, manipulation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared import Named, along, diagonal_of, normal_axis, on_diagonal, shape_of


@indexing(
    passthrough=True,
    methods=("take",),
    samples=lambda: [
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
    if axis is None:
        key = (indices,)
        shape = (x.size,)
    else:
        key = along(normal_axis(axis, x.ndim), indices)
        shape = x.shape
    if type(indices) is type(g) is np.ndarray and key[0] is indices:
        return rows_added(g, indices, shape).reshape(x.shape)
    added = xp.index_put(xp.zeros(shape, dtype=g.dtype), key, g, accumulate=True)
    return xp.reshape(added, x.shape)


@indexing(
    passthrough=True,
    samples=lambda: [
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
    Linear in `x`: cotangents are added up at the elements taken.

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
    if type(g) is type(indices) is np.ndarray and g.shape == indices.shape:
        others = [shape[:place] + shape[place + 1 :] for shape in (tuple(x.shape), g.shape)]
        if others[0] == others[1]:
            return elements_added(g, indices, x.shape, place)
    key = _by_index(xp, x.shape, indices, place)
    return xp.index_put(xp.zeros(x.shape, dtype=g.dtype), key, g, accumulate=True)


@indexing(
    methods=("gather",),
    samples=lambda: [
        sample(draw(2, 3), 1, np.asarray([[2, 0], [1, 1]])),
        sample(draw(2, 3), 0, np.asarray([[1, 0]])),
        sample(draw(4), -1, np.asarray([0, 2, 0, 0, 3])),
    ],
)
def gather(xp: Namespace, x: Array, /, axis: int, indices: Array) -> Array:
    """Take elements along an axis, at each place of an array of indices.

    Parameters
    ----------
    axis : to take along
    indices : array of integers with as many axes as `x`, along the others no longer than `x`

    Returns
    -------
    array of the shape of `indices`: for axis 0 of a matrix ``y[i, j] = x[indices[i, j], j]``

    Raises
    ------
    IndexError : if an index is out of range
    ValueError : if `x` and `indices` differ in their number of axes, or `indices` is longer along another axis

    Notes
    -----
    `take_along_axis` broadcasts, while shorter `indices` here leave the rest of `x` out. Source: PyTorch,
    `torch.gather`, where `axis` and `indices` are `dim` and `index`, and negative indices are refused.

    Examples
    --------
    >>> dk.gather(dk.asarray([[1.0, 2.0], [3.0, 4.0]]), 1, dk.asarray([[1], [0]]))
    tensor([[2.],
            [3.]])
    """
    place = _place_of(gather, x, axis, indices, {"x": x})
    corner = tuple(slice(None if i == place else n) for i, n in enumerate(indices.shape))
    return xp.take_along_axis(xp.getitem(x, corner), indices, axis=place)


@gather.def_transpose("x")
def gather_transpose(xp, g, x, axis, indices):
    if type(g) is type(indices) is np.ndarray:
        return elements_added(g, indices, x.shape, axis)
    key = _by_index(xp, indices.shape, indices, normal_axis(axis, x.ndim))
    return xp.index_put(xp.zeros(x.shape, dtype=g.dtype), key, g, accumulate=True)


@gather.def_kernel("numpy")
def gather_numpy(x, /, axis, indices):
    if type(x) is not np.ndarray or type(indices) is not np.ndarray or indices.dtype.kind not in "iu":
        return body_on_numpy(gather)(x, axis, indices)
    place = _place_of(gather, x, axis, indices, {"x": x})
    if not indices.ndim:
        return body_on_numpy(gather)(x, axis, indices)
    return _elements_at(x, indices, place)


@computed_by("elements_taken")
def _elements_at(x: Any, indices: Any, axis: int) -> Any:
    """Return the elements of a NumPy array that indices along an axis name, each at its place along the others."""
    at = [*places_of_elements(indices.shape)]
    at[axis] = indices
    return x[tuple(at)]


@lru_cache(maxsize=64)
def places_of_elements(shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the indices of all elements along each axis, as arrays that broadcast; they are not to be changed."""
    return np.indices(shape, sparse=True)


@assignment(
    methods=("scatter_add",),
    samples=lambda: [
        sample(draw(2, 3), 1, np.asarray([[2, 2], [1, 0]]), draw(2, 2)),
        sample(draw(3, 2), 0, np.asarray([[1, 0]]), draw(2, 2)),
        sample(draw(4), -1, np.asarray([0, 2, 0, 0, 3]), draw(5)),
    ],
)
def scatter_add(xp: Namespace, x: Array, /, axis: int, indices: Array, src: Array) -> Array:
    """Add elements to those of an array that indices along an axis name.

    Parameters
    ----------
    axis : along which the indices count
    indices : array of integers with as many axes as `x`, along the others no longer than `x`
    src : what is added, array with as many axes, nowhere shorter than `indices`

    Returns
    -------
    array of the shape and dtype of `x`: for axis 0 of matrices ``src[i, j]`` is added to
    ``x[indices[i, j], j]``, every time it is named

    Raises
    ------
    IndexError : if an index is out of range
    ValueError : if the arrays differ in their number of axes, or `indices` is longer than another one allows

    Notes
    -----
    Linear in `x` and `src`; what `indices` does not reach of `src` is left out. Source: PyTorch,
    `torch.scatter_add`, where `axis` and `indices` are `dim` and `index`, and negative indices are refused.

    Examples
    --------
    >>> dk.scatter_add(dk.zeros(3), 0, dk.asarray([0, 2, 2]), dk.asarray([1.0, 2.0, 3.0]))
    tensor([1., 0., 5.])
    """
    place = _place_of(scatter_add, x, axis, indices, {"x": x, "src": src})
    part = xp.getitem(src, tuple(map(slice, indices.shape)))
    return xp.index_put(x, _by_index(xp, indices.shape, indices, place), part, accumulate=True)


def _place_of(op: Named, x: Any, axis: int, indices: Any, arrays: Mapping[str, Any]) -> int:
    """Return an axis as a non-negative number, for indices that name elements of arrays along it.

    Raises
    ------
    ValueError : naming the array that `indices` does not fit
    """
    place = normal_axis(axis, x.ndim, op.__name__)
    for name, array in arrays.items():
        free = -1
        if name == "x":
            free = place
        if array.ndim != indices.ndim or any(
            long > n for i, (long, n) in enumerate(zip(indices.shape, array.shape, strict=True)) if i != free
        ):
            raise ValueError(
                f"{op.__name__}: indices of shape {tuple(indices.shape)} do not fit {name} of shape "
                f"{tuple(array.shape)} along axis {axis}: they have as many axes, and along the others "
                f"at most as many elements"
            )
    return place


def _by_index(xp: Namespace, shape: Sequence[int], indices: Any, axis: int) -> tuple[Any, ...]:
    """Return the index of the elements that indices along an axis name, each at its place along the others."""
    key: list[Any] = [xp.reshape(xp.arange(n), (-1,) + (1,) * (len(shape) - 1 - i)) for i, n in enumerate(shape)]
    key[axis] = indices
    return tuple(key)


@assignment(
    methods=("masked_fill",),
    samples=lambda: [
        sample(draw(2, 3), np.asarray([[True], [False]]), 0.5),
        sample(draw(3), draw(3, content="boolean"), draw()),
        sample(draw(2, 1), draw(3, content="boolean"), -np.inf, differentiable=False),
    ],
)
def masked_fill(xp: Namespace, x: Array, /, mask: Array, value: Array | float) -> Array:
    """Replace the elements of an array at which a mask is true by a number.

    Parameters
    ----------
    mask : array of booleans that broadcasts with `x`
    value : number or 0-D array

    Returns
    -------
    array of the broadcast shape and the dtype of `x`

    Raises
    ------
    TypeError : if the mask is not of booleans, or `value` is of a kind that the dtype of `x` cannot hold
    ValueError : if `value` has axes

    Notes
    -----
    The cotangent goes to the elements that stay and, summed over the others, to `value`. Source: PyTorch,
    `torch.masked_fill`, which rounds a floating number that fills an array of integers.

    Examples
    --------
    >>> dk.masked_fill(dk.asarray([1.0, 2.0]), dk.asarray([True, False]), -dk.inf)
    tensor([-inf,   2.])
    """
    if not hasattr(mask, "dtype"):
        mask = xp.asarray(mask)  # a number, as rules of types give it
    if not xp.isdtype(mask.dtype, "bool"):
        raise TypeError(f"{masked_fill.__name__}: mask must be of booleans, found {mask.dtype}")
    if shape_of(value):
        raise ValueError(f"{masked_fill.__name__}: value must be a number or 0-D, found shape {shape_of(value)}")
    filled = xp.where(mask, value, x)
    if filled.dtype == x.dtype:
        return filled
    if not xp.isdtype(x.dtype, ("real floating", "complex floating")) or (
        xp.isdtype(filled.dtype, "complex floating") and not xp.isdtype(x.dtype, "complex floating")
    ):
        raise TypeError(f"{masked_fill.__name__}: an array of {x.dtype} cannot hold the value {value!r}")
    return xp.astype(filled, x.dtype)


@manipulation(samples=[sample(draw(3)), sample(draw(2), offset=-1), sample(draw(3, 2)), sample(draw(3, 3), offset=1)])
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
        return diagonal_of(xp, x, offset)
    n = shape[0] + abs(offset)
    return on_diagonal(xp, x, n, n, offset)


TRIANGLE_SAMPLES = [sample(draw(3, 3)), sample(draw(2, 3), k=1), sample(draw(2, 3, 2), k=-1)]


@manipulation(passthrough=True, samples=TRIANGLE_SAMPLES)
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
    Linear: the cotangent's triangle is taken.

    Examples
    --------
    >>> dk.tril(dk.asarray([[1, 2], [3, 4]]))
    tensor([[1, 0],
            [3, 4]])
    """
    return xp.tril(x, k=k)


@manipulation(passthrough=True, samples=TRIANGLE_SAMPLES)
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
    Linear: the cotangent's triangle is taken.

    Examples
    --------
    >>> dk.triu(dk.asarray([[1, 2], [3, 4]]))
    tensor([[1, 2],
            [0, 4]])
    """
    return xp.triu(x, k=k)


tril.def_transpose(lambda xp, g, k: xp.tril(g, k=k))
triu.def_transpose(lambda xp, g, k: xp.triu(g, k=k))
