"""Axes: the normal form of `axis`, and what the rules of reductions and cumulative functions need of it."""

from __future__ import annotations

from math import prod
from typing import Any, TypeAlias

from numpy.lib.array_utils import normalize_axis_tuple

from dispatchkit.declare.typing import Namespace

__all__ = ["Axis", "along", "count", "inverse", "lanes", "normal_axes", "normal_axis", "restored"]

Axis: TypeAlias = int | tuple[int, ...] | None


def normal_axes(axis: Axis, ndim: int, name: str = "") -> tuple[int, ...]:
    """Return axes as non-negative numbers, all of them for None.

    As in PyTorch, an array without axes has none along 0 and -1, which are not out of bounds.

    Parameters
    ----------
    axis : one, several or (None) all
    ndim : number of axes of the array
    name : of the operation, for the message

    Raises
    ------
    AxisError : if one is out of bounds; it is a ValueError and an IndexError
    ValueError : if one is given twice
    """
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    if type(axis) is int and ndim == 0 and axis in (0, -1):
        return ()
    found: tuple[int, ...] = normalize_axis_tuple(axis, ndim, name or None)
    return found


def normal_axis(axis: int, ndim: int, name: str = "") -> int:
    """Return one axis as a non-negative number."""
    if -ndim <= axis < ndim:
        return axis % ndim
    found: int = normalize_axis_tuple(axis, ndim, name or None)[0]
    return found


def count(shape: tuple[int, ...], axis: Axis) -> int:
    """Return how many elements a reduction makes one of.

    >>> count((2, 3), -1)
    3
    """
    return prod(shape[i] for i in normal_axes(axis, len(shape)))


def restored(xp: Namespace, g: Any, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Any:
    """Return the result of a reduction with the axes it lost, so that it broadcasts to the shape reduced.

    Parameters
    ----------
    xp : namespace that computes on `g`
    g : of the shape of the result
    shape : of what was reduced
    axis, keepdims : as the reduction was given them
    """
    if keepdims or axis is None:
        return g
    lost = normal_axes(axis, len(shape))
    return xp.reshape(g, tuple(1 if i in lost else n for i, n in enumerate(shape)))


def along(axis: int, part: Any) -> tuple[Any, ...]:
    """Return the index of a part of one axis, given as a non-negative number.

    >>> along(1, 0)
    (slice(None, None, None), 0, Ellipsis)
    """
    return (*(slice(None),) * axis, part, ...)


def inverse(axes: tuple[int, ...] | list[int]) -> tuple[int, ...]:
    """Return the permutation that undoes one.

    >>> inverse((2, 0, -2))
    (1, 2, 0)
    """
    found = [0] * len(axes)
    for place, axis in enumerate(axes):
        found[axis] = place
    return tuple(found)


def lanes(xp: Namespace, x: Any, axis: Axis) -> Any:
    """Return an array with one axis moved to the end, several joined to one there; flat for None."""
    if axis is None:
        return xp.reshape(x, (-1,))
    if isinstance(axis, int):
        return xp.moveaxis(x, axis, -1)
    axes = normal_axes(axis, x.ndim)
    others = tuple(i for i in range(x.ndim) if i not in axes)
    shape = (*(x.shape[i] for i in others), count(x.shape, axes))
    return xp.reshape(xp.permute_dims(x, (*others, *axes)), shape)
