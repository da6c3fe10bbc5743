"""Which parameters of an operation count axes: declared once, for what puts an axis in front of its arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Axes", "all_axes", "only_axis", "unit_axes"]

# Gives the axes that None stands for, of the operation's name and the shape of its array.
WhenNone: TypeAlias = Callable[[str, tuple[int, ...]], Any]


def all_axes(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return every axis."""
    return tuple(range(len(shape)))


def unit_axes(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes of length 1."""
    return tuple(i for i, n in enumerate(shape) if n == 1)


def only_axis(name: str, shape: tuple[int, ...]) -> int:
    """Return the one axis that there is.

    Raises
    ------
    ValueError : where there are others
    """
    if len(shape) != 1:
        raise ValueError(f"{name}: axis must be given for an array of {len(shape)} axes")
    return 0


class Axes(NamedTuple):
    """The parameters that count axes of the first argument, an array or a sequence of arrays.

    Attributes
    ----------
    parameters : their names; each takes an int or a tuple
    none : what None stands for; None where that is the elements of the array in a row
    added : whether they count the axes of the result, to which they add
    """

    parameters: tuple[str, ...]
    none: WhenNone | None = all_axes
    added: bool = False
