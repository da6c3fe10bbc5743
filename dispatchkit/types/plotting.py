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

    def array(self) -> Any:
        """Return the numbers for Matplotlib, in a class that knows the unit; a masked array where some are missing."""
        numbers = self.numbers.view(DrawnNumbers)
        numbers.unit, numbers.conversion = self.unit, self.convert
        if self.numbers.dtype.kind == "f" and np.isnan(self.numbers).any():
            return np.ma.array(numbers, mask=np.isnan(self.numbers))
        return numbers


class DrawnNumbers(np.ndarray[Any, Any]):
    """Numbers that Matplotlib draws in the unit of an axis; parts and masked arrays of them know the unit, too.

    Attributes
    ----------
    unit, conversion : as in `Drawn`; None of what has come out of a computation without them
    """

    unit: Any
    conversion: Any

    def __array_finalize__(self, source: Any) -> None:
        self.unit = getattr(source, "unit", None)
        self.conversion = getattr(source, "conversion", None)

    def __getitem__(self, key: Any) -> Any:
        """Return a part; single numbers, too, in an array, since Matplotlib does not convert what is a number."""
        part = super().__getitem__(key)
        if self.unit is None or isinstance(part, np.ndarray):
            return part
        number = np.asarray(part).view(type(self))
        number.__array_finalize__(self)
        return number

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))


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
    gaps = None
    if isinstance(x, np.ma.MaskedArray):
        gaps, x = np.ma.getmaskarray(x), x.data
    shown = Drawn(np.asarray(x), unit=getattr(x, "unit", None), convert=getattr(x, "conversion", None))
    if gaps is not None:
        return shown.without(gaps)
    return shown


def members(x: Any) -> Sequence[Any]:
    """Return the members of what Matplotlib draws at once, such as both limits of an axis; an array is the only one.

    Parameters
    ----------
    x : array, or sequence of arrays, numbers and None
    """
    if isinstance(x, (list, tuple)):
        return [member for member in x if member is not None]
    if _is_of_objects(x):
        return list(x.ravel())
    return [x]


def _is_of_objects(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == object


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
        if _is_of_objects(value):
            numbers = [drawn(member).in_unit(unit).numbers for member in value.ravel()]
            return np.asarray(numbers, dtype=float).reshape(value.shape)
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
    registry.setdefault(DrawnNumbers, _converter)
    return True
