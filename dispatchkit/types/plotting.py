"""What Matplotlib draws of the shipped types: numbers in the unit of the axis, gaps, and standard deviations.

Matplotlib finds a converter by the class of what it draws. It is registered when Matplotlib first asks a wrapper for
its elements; this module never imports Matplotlib.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dispatchkit.tensor.conversion import dense_form


@dataclass(frozen=True)
class Drawn:
    """What is drawn of an array.

    Attributes
    ----------
    numbers : NumPy array, of which what is missing is NaN
    std : standard deviations of the same shape; None of exact numbers
    unit : of both; None of what is not in units
    convert : gives the same in another unit, which it takes; None where there is no unit
    """

    numbers: Any
    std: Any = None
    unit: Any = None
    convert: Callable[[Drawn, Any], Drawn] | None = None

    def in_unit(self, unit: Any) -> Drawn:
        """Return the same in a unit; as it is where it has none, or there is none to convert to.

        Parameters
        ----------
        unit : that of an axis, or None

        Raises
        ------
        UnitError : if it does not convert
        """
        if self.convert is None or unit is None:
            return self
        return self.convert(self, unit)

    def without(self, missing: Any) -> Drawn:
        """Return the same with gaps.

        Parameters
        ----------
        missing : NumPy array of booleans
        """
        std = self.std
        if std is not None:
            std = np.where(missing, np.nan, std)
        return replace(self, numbers=np.where(missing, np.nan, self.numbers), std=std)


def drawn(x: Any) -> Drawn:
    """Return what is drawn of an array.

    Parameters
    ----------
    x : a shipped wrapper, another array type, or anything that NumPy makes an array of
    """
    method = getattr(type(x), "__drawn__", None)
    if method is not None:
        result: Drawn = method(x)
        return result
    if hasattr(x, "detach"):
        x = dense_form(x.detach())
    return Drawn(np.asarray(x))


def members(x: Any) -> Sequence[Any]:
    """Return the members of what Matplotlib draws at once, such as both limits of an axis; an array is the only one.

    Parameters
    ----------
    x : array, or sequence of arrays, numbers and None
    """
    if isinstance(x, (list, tuple)):
        return [member for member in x if member is not None]
    return [x]


class Converter:
    """What Matplotlib asks of arrays that it draws: `matplotlib.units.ConversionInterface`."""

    @staticmethod
    def default_units(x: Any, axis: Any) -> Any:
        """Return the unit of an axis that has none; None of what is not in units.

        Raises
        ------
        UnitError : if the axis has a unit that this does not convert to
        """
        present = getattr(axis, "units", None)
        shown = [drawn(member) for member in members(x)]
        for member in shown:
            member.in_unit(present)
        return next((member.unit for member in shown if member.unit is not None), None)

    @staticmethod
    def axisinfo(unit: Any, axis: Any) -> Any:
        """Return the label of an axis: its unit; None for what is not in units."""
        if unit is None:
            return None
        info: Any = sys.modules["matplotlib.units"]
        return info.AxisInfo(label=str(unit))

    @staticmethod
    def convert(value: Any, unit: Any, axis: Any) -> Any:
        """Return numbers in the unit of an axis, NaN where they are missing."""
        if isinstance(value, (list, tuple)):
            return [drawn(member).in_unit(unit).numbers for member in value]
        return drawn(value).in_unit(unit).numbers


_converter = Converter()


def register(cls: type) -> bool:
    """Have Matplotlib draw a class and those that derive from it, if it is imported; return whether it is.

    Parameters
    ----------
    cls : the class
    """
    units: Any = sys.modules.get("matplotlib.units")
    registry = getattr(units, "registry", None)
    if registry is None:
        return False
    registry.setdefault(cls, _converter)
    return True
