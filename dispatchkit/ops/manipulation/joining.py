"""Several arrays made one, one made several, and arrays repeated."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from itertools import chain, zip_longest
from typing import Any, Literal

import numpy as np

from dispatchkit.backends.numpy import integers_of, numpy_namespace
from dispatchkit.declare.axes import Axes
from dispatchkit.declare.decorators import alias, manipulation
from dispatchkit.declare.namespace import enter
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared import along, normal_axis

FEW = 4  # times that an element is repeated up to which its cotangents are added one by one


@manipulation(
    passthrough=True,
    method=False,
    samples=lambda: [
        sample([draw(2, 3), draw(1, 3)]),
        sample((draw(2, 3), draw(2, 1)), axis=-1),
        sample([draw(2), draw(2, 2)], axis=None),
    ],
    axis=Axes(("axis",), none=None),
)
def concat(xp: Namespace, arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Join arrays along an axis they have.

    Parameters
    ----------
    arrays : list or tuple of arrays of equal shapes, but along the axis
    axis : to join along; None joins the flattened arrays

    Returns
    -------
    array of the promoted dtype

    Raises
    ------
    ValueError : if there are no arrays, or their shapes do not fit

    Notes
    -----
    Linear: each array receives its part of the cotangent.

    Examples
    --------
    >>> dk.concat([dk.asarray([1, 2]), dk.asarray([3])])
    tensor([1, 2, 3])
    """
    return xp.concat(arrays, axis=axis)


@concat.def_transpose
def concat_transpose(xp, g, arrays, axis):
    place = 0
    if axis is not None:
        place = normal_axis(axis, g.ndim)
    parts: list[Any] = []
    start = 0
    for x in arrays:
        if axis is None:
            length = x.size
        else:
            length = x.shape[place]
        stop = start + length
        part = g[along(place, slice(start, stop))]
        if axis is None:
            part = xp.reshape(part, x.shape)
        parts.append(part)
        start = stop
    return parts


@manipulation(
    passthrough=True,
    method=False,
    samples=lambda: [sample([draw(2, 3), draw(2, 3)]), sample((draw(3), draw(3)), axis=-1), sample([draw()])],
    axis=Axes(("axis",), added=True),
)
def stack(xp: Namespace, arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Join arrays along a new axis.

    Parameters
    ----------
    arrays : list or tuple of arrays of one shape
    axis : place of the new axis in the result

    Returns
    -------
    array of the promoted dtype, with one axis more

    Raises
    ------
    ValueError : if there are no arrays, or their shapes differ

    Notes
    -----
    Linear: each array receives its part of the cotangent.

    Examples
    --------
    >>> dk.stack([dk.asarray([1, 2]), dk.asarray([3, 4])], axis=1)
    tensor([[1, 3],
            [2, 4]])
    """
    return xp.stack(arrays, axis=axis)


stack.def_transpose(lambda g, axis: _parts(g, axis, "stack"))


@manipulation(method=False, samples=lambda: [sample(draw(3, 2)), sample(draw(2, 3), axis=-1)], axis="axis")
def unstack(xp: Namespace, x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Take an array apart along an axis.

    Parameters
    ----------
    x : array of shape (...) with at least one axis
    axis : which disappears

    Returns
    -------
    tuple of arrays with one axis less, views of `x`

    Raises
    ------
    ValueError : if the axis is out of bounds

    Notes
    -----
    Linear: the cotangents are stacked.

    Examples
    --------
    >>> dk.unstack(dk.asarray([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    return tuple(_parts(x, axis, "unstack"))


unstack.def_transpose(lambda xp, g, axis: xp.stack(g, axis=axis))


def _parts(x: Any, axis: int, name: str) -> list[Any]:
    axis = normal_axis(axis, x.ndim, name)
    return [x[along(axis, i)] for i in range(x.shape[axis])]


@manipulation(
    passthrough=True,
    method=False,
    samples=lambda: [
        sample(draw(2, 3), 2),
        sample(draw(2, 3), 2, axis=1),
        sample(draw(3), np.asarray([2, 0, 1]), axis=0),
    ],
    axis=Axes(("axis",), none=None),
)
def repeat(xp: Namespace, x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element.

    Parameters
    ----------
    repeats : how often, a number or an array of shape (n,) for the n elements along the axis
    axis : to repeat along; by default the array is flattened

    Returns
    -------
    array that is longer along the axis

    Raises
    ------
    ValueError : if a number is negative, or there are not as many as elements

    Notes
    -----
    Linear: cotangents are summed over what was repeated. There is no method, as PyTorch's is `tile`.

    Examples
    --------
    >>> dk.repeat(dk.asarray([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    return xp.repeat(x, repeats, axis=axis)


@repeat.def_transpose("x")
def repeat_transpose(xp, g, x, repeats, axis):
    if axis is None:
        shape = (x.size,)
    else:
        shape = x.shape
    place = 0
    if axis is not None:
        place = normal_axis(axis, x.ndim)
    if isinstance(repeats, int):
        added = xp.reshape(g, (*shape[: place + 1], repeats, *shape[place + 1 :]))
        if xp is numpy_namespace and 1 < repeats <= FEW and g.dtype.itemsize > 2:
            # NumPy takes several times as long for sums of few.
            before = (slice(None),) * (place + 1)
            return reduce(operator.add, [added[(*before, i)] for i in range(repeats)]).reshape(x.shape)
        return xp.reshape(xp.sum(added, axis=place + 1), x.shape)
    origins = xp.repeat(xp.arange(shape[place]), repeats)
    added = xp.index_put(xp.zeros(shape, dtype=g.dtype), along(place, origins), g, accumulate=True)
    return xp.reshape(added, x.shape)


@manipulation(
    passthrough=True,
    method=False,
    samples=lambda: [
        sample(draw(2, 3), (2, 2)),
        sample(draw(2, 3), (2,)),
        sample(draw(3), (2, 1, 2)),
        sample(draw(), (2,)),
    ],
)
def tile(xp: Namespace, x: Array, repetitions: int | tuple[int, ...], /) -> Array:
    """Repeat an array as a whole.

    Parameters
    ----------
    repetitions : how often along each axis; it or the shape of `x`, if shorter, is led by ones

    Returns
    -------
    array of as many axes as the longer of the two

    Notes
    -----
    Linear: cotangents are summed over what was repeated.

    Examples
    --------
    >>> dk.tile(dk.asarray([1, 2]), (2, 2))
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    return xp.tile(x, repetitions)


@tile.def_transpose
def tile_transpose(xp, g, x, repetitions):
    times = integers_of("repetitions", repetitions)
    times = (1,) * (x.ndim - len(times)) + times
    shape = (1,) * (len(times) - x.ndim) + x.shape
    apart = xp.reshape(g, tuple(chain.from_iterable(zip(times, shape, strict=True))))
    return xp.reshape(xp.sum(apart, axis=tuple(range(0, 2 * len(times), 2))), x.shape)


def broadcast_shapes(*shapes: int | tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Find the shape that arrays of several shapes broadcast to.

    Parameters
    ----------
    *shapes : the shapes, an int for one axis; None is a length that is not known

    Returns
    -------
    tuple
        The shape; a length is None where it depends on one that is not known.

    Raises
    ------
    ValueError : if the shapes do not fit

    Notes
    -----
    Source: array API standard, `broadcast_shapes`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    listed: list[tuple[int | None, ...]] = []
    for shape in shapes:
        if isinstance(shape, int):
            listed.append((shape,))
        elif isinstance(shape, (tuple, list)):
            listed.append(tuple(shape))
        else:
            raise TypeError(f"broadcast_shapes: shapes must be ints or tuples of ints, found {shape!r}")
    return _common_shape("broadcast_shapes", listed)


def _common_shape(name: str, shapes: Sequence[tuple[int | None, ...]]) -> tuple[int | None, ...]:
    """Return the shape that several broadcast to, for a function that names itself in errors."""
    common: list[int | None] = []
    for lengths in zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1):
        known = {n for n in lengths if n is not None and n != 1}
        if len(known) > 1:
            listed = ", ".join(map(str, shapes))
            raise ValueError(f"{name}: arrays of the shapes {listed} cannot be broadcast to one shape")
        length: int | None = 1
        if known:
            length = known.pop()
        elif None in lengths:
            length = None
        common.append(length)
    return tuple(common[::-1])


@manipulation(method=False, samples=lambda: [sample(draw(2, 1), draw(3)), sample(draw(), draw(2), draw(2))])
def broadcast_arrays(xp: Namespace, *arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays to the one shape they fit in.

    Parameters
    ----------
    arrays : of shapes that broadcast

    Returns
    -------
    tuple of arrays of one shape, views of the given ones; read-only where an element stands in one several times

    Raises
    ------
    ValueError : if the shapes do not fit

    Examples
    --------
    >>> dk.broadcast_arrays(dk.asarray([1, 2]), dk.asarray(0))
    (tensor([1, 2]), tensor([0, 0]))
    """
    listed = _arrays_of(xp, arrays)
    shape = _common_shape(broadcast_arrays.__name__, [x.shape for x in listed])
    return tuple([xp.broadcast_to(x, shape) for x in listed])


def _arrays_of(xp: Namespace, values: Sequence[Any]) -> list[Any]:
    """Return arrays as they are, and numbers beside them as arrays without axes."""
    arrays = []
    for value in values:
        if isinstance(value, (int, float, complex)):
            arrays.append(xp.asarray(value))
        else:
            arrays.append(value)
    return arrays


@manipulation(
    method=False, samples=[sample(draw(2), draw(3)), sample(draw(2), draw(3), draw(1), indexing="ij"), sample(draw(2))]
)
def meshgrid(xp: Namespace, *arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[Array, ...]:
    """Make the coordinates of the points of a grid from those along each of its axes.

    Parameters
    ----------
    arrays : coordinates along each axis, of shape (n1,), (n2,), (n3,), …
    indexing : ``"ij"`` makes grids of shape (n1, n2, n3, …), ``"xy"`` of shape (n2, n1, n3, …)

    Returns
    -------
    tuple of one grid for each array, views; read-only where an element stands in one several times

    Raises
    ------
    ValueError : if `indexing` is something else

    Notes
    -----
    Linear: cotangents are summed over the other axes.

    Examples
    --------
    >>> dk.meshgrid(dk.asarray([1, 2]), dk.asarray([3, 4]))[0]
    tensor([[1, 2],
            [1, 2]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    count = len(arrays)
    places = list(range(count))
    if indexing == "xy":
        places[:2] = places[:2][::-1]
    flat = [xp.reshape(x, (-1,)) for x in _arrays_of(xp, arrays)]
    shape = tuple([flat[place].shape[0] for place in places])
    return tuple(
        xp.broadcast_to(xp.reshape(x, (-1,) + (1,) * (count - 1 - place)), shape)
        for x, place in zip(flat, places, strict=True)
    )


cat = alias("cat", concat, method=False)
concatenate = alias("concatenate", concat, method=False)
enter("broadcast_shapes", broadcast_shapes)
