"""QuantityTensor against Pint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from dispatchkit.types import QuantityTensor, Unit
from tests.programs.oracles.drawing import Draw
from tests.programs.oracles.pair import Operand, Pair, Parts
from tests.programs.oracles.pairs.units_astropy import in_base_units
from tests.programs.oracles.units_lines import drawn_unit, lines_of_units

__all__ = ["UnitsPint"]


class UnitsPint(Pair):
    """Units: Pint wraps an array, and answers the functions of NumPy that it lists."""

    name: ClassVar[str] = "units-pint"
    ours: ClassVar[str] = "QuantityTensor"
    specialist: ClassVar[str] = "Pint"
    needs: ClassVar[tuple[str, ...]] = ("pint",)

    def lines(self) -> Sequence[str]:
        """Return the lines of all that Pint says it answers."""
        from pint.facets.numpy import numpy_func  # optional

        return lines_of_units((*numpy_func.HANDLED_FUNCTIONS, *numpy_func.HANDLED_UFUNCS))

    def draw_extra(self, draw: Draw, name: str, data: np.ndarray[Any, Any], before: Mapping[str, Operand]) -> Any:
        """Return a unit, mostly of the dimension of the operands that are drawn already."""
        return drawn_unit(draw, [operand.extra for operand in before.values() if operand.lifted])

    def make_ours(self, operand: Operand) -> Any:
        """Return a quantity of ours."""
        return QuantityTensor(operand.data.copy(), operand.extra)

    def make_theirs(self, operand: Operand) -> Any:
        """Return a quantity of Pint."""
        return _registry().Quantity(operand.data.copy(), operand.extra)

    def parts_of_ours(self, result: Any) -> Parts:
        """Return the dimension and the numbers in base units."""
        if isinstance(result, QuantityTensor):
            return in_base_units(np.asarray(result.magnitude), result.unit)
        return {"value": np.asarray(result), "unit": ""}

    def parts_of_theirs(self, result: Any) -> Parts:
        """Return the same of a quantity of Pint."""
        if isinstance(result, _registry().Quantity):
            return in_base_units(np.asarray(result.magnitude), Unit(f"{result.units:D}"))
        return {"value": np.asarray(result), "unit": ""}


@cache
def _registry() -> Any:
    """Return a registry of units."""
    import pint  # optional

    return pint.UnitRegistry()
