"""The parameters of an operation that count axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from dispatchkit.protocol.kinds import kinds

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

    Parameters
    ----------
    parameters : their names; each takes an int or a tuple
    none : what None stands for; None where that is the elements of the array in a row
    added : whether they count the axes of the result, to which they add

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.testing.Axes(("axis",)).added
    False
    """

    parameters: tuple[str, ...]
    none: WhenNone | None = all_axes
    added: bool = False


# The kinds whose operations compute along `axis`.
ALONG_AXES = (kinds.reduction, kinds.sorting, kinds.fft)
