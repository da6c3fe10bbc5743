"""Plain parameters that several chapters check alike."""

from __future__ import annotations

import operator
from typing import Any, Protocol, TypeAlias

__all__ = ["Named", "integer"]


class WithName(Protocol):
    """An operation, as messages see it."""

    __name__: str


# What a message begins with the name of.
Named: TypeAlias = WithName | type


def integer(op: Named, parameter: str, value: Any, *, least: int | None = None) -> int:
    """Return an argument as an int.

    Parameters
    ----------
    op : that was called, or the class that is made
    parameter : name of the argument
    value : the argument
    least : it may be; None for no bound

    Raises
    ------
    TypeError : if it is no int
    ValueError : if it is less than `least`
    """
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{op.__name__}: {parameter} must be an int, found {value!r}") from None
    if least is not None and found < least:
        raise ValueError(f"{op.__name__}: {parameter} must be at least {least}, found {found}")
    return found
