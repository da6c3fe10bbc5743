"""Pint's tests of NumPy's functions over `QuantityTensor`.

A plugin of pytest: the registry that the tests take their units from gives units of dispatchkit's.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from dispatchkit.errors import UnitError
from dispatchkit.types import QuantityTensor
from dispatchkit.types.units.unit import Unit
from tests.programs.peers_suites.lifting import Replacing


class Units:
    """A unit that makes a quantity of what it is multiplied with, as Pint's do."""

    __array_ufunc__ = None

    def __init__(self, unit: Unit) -> None:
        self.unit = unit

    def __mul__(self, other: Any) -> Any:
        return Units(self.unit * other.unit) if isinstance(other, Units) else quantity(other, self)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return Units(self.unit / other.unit) if isinstance(other, Units) else quantity(1, self) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / quantity(1, self)

    def __pow__(self, exponent: Any) -> Any:
        return Units(self.unit**exponent)

    def __eq__(self, other: object) -> bool:
        return self.unit == getattr(other, "unit", other)

    def __hash__(self) -> int:
        return hash(self.unit)


def quantity(value: Any, unit: Any = "") -> Any:
    """Return a quantity of numbers and a unit, the former a quantity too."""
    unit = unit.unit if isinstance(unit, Units) else Unit(NAMES.get(str(unit), unit))
    return value * QuantityTensor(1, unit) if isinstance(value, QuantityTensor) else QuantityTensor(value, unit)


NAMES = {"dimensionless": "", "degrees": "deg", "radian": "rad", "radians": "rad", "degree": "deg"}


class OfQuantities(type):
    """The class of the class that the tests call, whose instances are the quantities."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, QuantityTensor)


class Quantity(metaclass=OfQuantities):
    """What makes quantities in the tests."""

    def __new__(cls, value: Any, unit: Any = "") -> Any:
        if isinstance(value, QuantityTensor):
            return value.to(unit.unit if isinstance(unit, Units) else Unit(unit or value.unit))
        return quantity(value, unit)


class Registry:
    """What the tests take units from."""

    Quantity = Quantity

    def __init__(self, **_: Any) -> None:
        pass

    def __call__(self, text: str) -> Any:
        return quantity(1, Unit(text))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Units(Unit(NAMES.get(name, name)))


def compared(check: Any) -> Any:
    """Return a check of two quantities, by the magnitudes in the unit of the first."""

    def check_quantities(first: Any, second: Any, *args: Any, **kwargs: Any) -> None:
        first, second = (
            np.stack(q) if isinstance(q, (list, tuple)) and any(isinstance(x, QuantityTensor) for x in q) else q
            for q in (first, second)
        )
        unit = next((q.unit for q in (first, second) if isinstance(q, QuantityTensor)), Unit(""))
        # A number without a unit has the one of none; anything else is of another type.
        one, other = ((q if isinstance(q, QuantityTensor) else QuantityTensor(q, "")).to(unit) for q in (first, second))
        kwargs = {name: value for name, value in kwargs.items() if name in ("rtol", "atol")}
        check(np.asarray(one.magnitude), np.asarray(other.magnitude), **kwargs)

    return check_quantities


def of_numpy(name: str) -> Any:
    """Return the method that is NumPy's function of that name; a unit in the place of a quantity is one of it."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        args = tuple(quantity(1, arg) if isinstance(arg, Units) else arg for arg in args)
        return getattr(np, name)(self, *args, **kwargs)

    return call


def fill(self: Any, value: Any) -> None:
    """Write a value everywhere."""
    self[...] = value


def sort(self: Any) -> None:
    """Write the elements in their order."""
    self[...] = np.sort(self)


def tolist(self: Any) -> list[Any]:
    """Return nested lists of quantities."""
    if not self.ndim:
        raise AttributeError("tolist")
    return [tolist(part) if part.ndim else part for part in self]


# Methods of NumPy's arrays, by what quantities have instead: NumPy's functions, and assignment to elements.
METHODS: dict[str, Any] = {
    **{name: of_numpy(name) for name in ("clip", "cumprod", "cumsum", "put", "repeat", "round", "take")},
    "compress": lambda self, condition, axis=None: np.compress(condition, self, axis),
    "fill": fill,
    "flat": property(np.ravel),
    "item": lambda self: np.reshape(self, ()),
    "searchsorted": of_numpy("searchsorted"),
    "sort": sort,
    "tolist": tolist,
}
REGISTRY = Registry()


def replaced(value: Any) -> Any:
    """Return what stands for a class of Pint's in the tests."""
    name = getattr(value, "__name__", "")
    if isinstance(value, type) and name in ("DimensionalityError", "OffsetUnitCalculusError"):
        return UnitError
    return Registry if isinstance(value, type) and name == "UnitRegistry" else value


def pytest_configure(config: Any) -> None:
    """Let the tests take their units from the registry of dispatchkit's."""
    import pint
    from pint.testsuite import helpers

    pint._DEFAULT_REGISTRY = REGISTRY
    helpers.assert_quantity_equal = compared(np.testing.assert_array_equal)
    helpers.assert_quantity_almost_equal = compared(np.testing.assert_allclose)
    for name, of in {"m": "magnitude", "units": "unit", "u": "unit"}.items():
        setattr(QuantityTensor, name, property(operator.attrgetter(of)))
    for name, method in METHODS.items():
        setattr(QuantityTensor, name, method)
    config.pluginmanager.register(Replacing(replaced))
