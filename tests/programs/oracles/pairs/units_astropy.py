"""QuantityTensor against astropy.units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from dispatchkit.types import QuantityTensor, Unit
from tests.programs.oracles.drawing import Draw
from tests.programs.oracles.pair import Operand, Pair, Parts
from tests.programs.oracles.units_lines import drawn_unit, lines_of_units

__all__ = ["UnitsAstropy"]


class UnitsAstropy(Pair):
    """Units: astropy has a subclass of `numpy.ndarray`, whose integers become floating-point numbers."""

    name: ClassVar[str] = "units-astropy"
    ours: ClassVar[str] = "QuantityTensor"
    specialist: ClassVar[str] = "astropy.units"
    needs: ClassVar[tuple[str, ...]] = ("astropy",)

    def lines(self) -> Sequence[str]:
        """Return the lines of all that astropy says it answers."""
        from astropy.units.quantity_helper import function_helpers, helpers  # optional

        functions = {
            *function_helpers.SUBCLASS_SAFE_FUNCTIONS,
            *function_helpers.FUNCTION_HELPERS,
            *function_helpers.DISPATCHED_FUNCTIONS,
        }
        return lines_of_units((*functions, *helpers.UFUNC_HELPERS))

    def draw_extra(self, draw: Draw, name: str, data: np.ndarray[Any, Any], before: Mapping[str, Operand]) -> Any:
        """Return a unit, mostly of the dimension of the operands that are drawn already."""
        return drawn_unit(draw, [operand.extra for operand in before.values() if operand.lifted])

    def wanted(self, line: str, operands: Mapping[str, Operand]) -> bool:
        """Leave out what holds no numbers yet."""
        return line != "np.empty(x)"

    def make_ours(self, operand: Operand) -> Any:
        """Return a quantity of ours."""
        return QuantityTensor(operand.data.copy(), operand.extra)

    def make_theirs(self, operand: Operand) -> Any:
        """Return a quantity of astropy, of the same dtype."""
        from astropy import units  # optional

        unit = units.Unit(operand.extra or units.dimensionless_unscaled)
        return units.Quantity(operand.data.copy(), unit, dtype=operand.data.dtype)

    def parts_of_ours(self, result: Any) -> Parts:
        """Return the dimension and the numbers in its first unit."""
        if isinstance(result, QuantityTensor):
            return in_base_units(np.asarray(result.magnitude), result.unit)
        return {"value": np.asarray(result), "unit": ""}

    def parts_of_theirs(self, result: Any) -> Parts:
        """Return the same of a quantity of astropy."""
        from astropy import units  # optional

        if isinstance(result, units.Quantity):
            return in_base_units(np.asarray(result.value), Unit(unit_text(result.unit)))
        return {"value": np.asarray(result), "unit": ""}


def unit_text(unit: Any) -> str:
    """Return a unit of astropy as text of ours."""
    powers = [f"({base.to_string()})**({power})" for base, power in zip(unit.bases, unit.powers, strict=True)]
    text = "*".join(powers)
    if unit.scale != 1:
        raise ValueError(f"a unit with a scale of its own: {unit}")
    return text.replace("(%)", "(percent)")


def in_base_units(value: np.ndarray[Any, Any], unit: Unit) -> Parts:
    """Return the numbers in base units and the name of these, of which a radian is a number."""
    (factor, bases) = unit._base
    text = "*".join(f"{name}**{power}" for name, power in bases if name != "rad")
    if factor.value() == 1:
        return {"value": value, "unit": text}
    scaled = np.asarray(value * float(factor.value()))
    return {"value": scaled.astype(np.result_type(value.dtype, np.float16), copy=False), "unit": text}
