"""`Parts`: what a nesting of the shipped types holds, level by level, for libraries that hold it in another way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dispatchkit.tensor.conversion import dense_form
from dispatchkit.types.exchange.libraries import CLASSES, class_of, library
from dispatchkit.types.uncertainties_numbers import make_numbers

# Of each level what is lost without it, and how to leave it out on purpose, from the outermost level to the innermost.
LEAVING_OUT = {
    "metadata": ("metadata", "take .data of the MetadataTensor first"),
    "names": ("names of axes", "take .data of the NamedTensor first"),
    "unit": ("units", "take .magnitude first"),
    "mask": ("missing elements", "write x.filled(value) first"),
    "uncertainty": ("standard deviations", "take .value first"),
}


@dataclass(frozen=True)
class Parts:
    """What a nesting of the shipped types holds.

    Attributes
    ----------
    array : the array inside of all: plain, or of another type
    valid : booleans, True where there is an element; None without a mask
    unit : the unit; None without one
    names : of the axes; None without names
    metadata : a dictionary; None without one
    factor, sources : of uncertain numbers; None of exact ones
    """

    array: Any
    valid: Any = None
    unit: Any = None
    names: tuple[str, ...] | None = None
    metadata: dict[str, Any] | None = None
    factor: Any = None
    sources: Any = None

    def with_parts(self, **parts: Any) -> Parts:
        """Return the same with another level around it."""
        return replace(self, **parts)

    def levels(self) -> set[str]:
        """Return the levels that hold something."""
        held = {
            "metadata": bool(self.metadata),
            "names": bool(self.names),
            "unit": self.unit is not None and bool(self.unit.parts),
            "mask": self.valid is not None,
            "uncertainty": self.factor is not None,
        }
        return {level for level, holds in held.items() if holds}

    def require(self, caller: str, library_name: str, levels: Sequence[str]) -> None:
        """Check that another library has a place for everything.

        Parameters
        ----------
        caller : the method, for errors
        library_name : what holds the array, such as ``"a Series of polars"``
        levels : those that it has a place for

        Raises
        ------
        TypeError : if it has none for a level
        """
        for level, (lost, advice) in LEAVING_OUT.items():
            if level in self.levels() and level not in levels:
                raise TypeError(f"{caller}: {library_name} holds no {lost}; {advice}")

    def values(self) -> Any:
        """Return the numbers as an array of NumPy: a copy.

        Raises
        ------
        AutogradError : if the array requires a gradient
        """
        return np.array(dense_form(self.array).numpy(), copy=True)

    def missing(self) -> Any:
        """Return booleans of NumPy, True where an element is missing."""
        if self.valid is None:
            return np.zeros(tuple(self.array.shape), bool)
        return ~dense_form(self.valid).numpy()

    def elements(self, caller: str) -> Any:
        """Return the elements as an array of NumPy: numbers, or objects of the library uncertainties.

        Parameters
        ----------
        caller : the method, for errors

        Raises
        ------
        ImportError : if the numbers are uncertain and uncertainties is not installed
        """
        values = self.values()
        if self.factor is None:
            return values
        library("uncertainties", caller)
        return make_numbers(values, self.sources.ids, dense_form(self.factor).numpy())


def parts_of(x: Any) -> Parts:
    """Return what an array holds.

    Parameters
    ----------
    x : a shipped wrapper, or any other array
    """
    method = getattr(type(x), "__parts__", None)
    if method is not None:
        result: Parts = method(x)
        return result
    if hasattr(x, "detach"):
        return Parts(x)
    return Parts(np.asarray(x))


def with_level(cls: Any, array: Any) -> Any:
    """Return an array that has a level: itself if it has, else with the level around it, which says nothing yet.

    Parameters
    ----------
    cls : the class of the level
    array : a nesting of the shipped types, or a plain array
    """
    inner = array
    while type(inner).__name__ in CLASSES.values() and not isinstance(inner, cls):
        inner = inner.data
    if isinstance(inner, cls):
        return array
    return cls(array)


def around(array: Any, **levels: Any) -> Any:
    """Return an array inside of the shipped types.

    Parameters
    ----------
    array : a plain array, or one of inner levels
    **levels : the argument of the class of each level, from the innermost to the outermost; those that are None are
        left out
    """
    for level, argument in levels.items():
        if argument is not None:
            array = class_of(level)(array, argument)
    return array
