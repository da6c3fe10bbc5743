"""Units of astropy by the names and sizes of their parts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from dispatchkit.errors import UnitError

# Names that astropy alone has for these units.
SPELLED = {"%": "percent", "deg_C": "degC", "deg_F": "degF"}
SCALES = frozenset(("degC", "degF"))
Bases = tuple[tuple[str, Fraction], ...]


class AstropyPart(NamedTuple):
    """A factor of a unit of astropy.

    Attributes
    ----------
    names : that it has
    power : to which it stands
    size : in SI base units; None for points on a scale, such as degrees Celsius, which are no multiples
    bases : the SI base units with their powers, without the radian
    """

    names: tuple[str, ...]
    power: Fraction
    size: float | None
    bases: Bases


def parts_of_astropy(unit: Any) -> list[AstropyPart]:
    """Return the factors of a unit of astropy.

    Raises
    ------
    UnitError : if it has a number as a factor, too, which no unit here has
    """
    if getattr(unit, "scale", None) is None or not hasattr(unit, "bases"):
        raise UnitError(f"'{unit}' of astropy is no product of units")
    if unit.scale != 1:
        raise UnitError(f"'{unit}' of astropy has the factor {unit.scale}; multiply the numbers by it")
    parts = []
    for base, power in zip(unit.bases, unit.powers, strict=True):
        names = tuple(SPELLED.get(name, name) for name in base.names)
        if SCALES.intersection(names):
            parts.append(AstropyPart(names, _exact(power), None, ()))
        else:
            parts.append(AstropyPart(names, _exact(power), *_in_si(base)))
    return parts


def _in_si(unit: Any) -> tuple[float, Bases]:
    """Return the size of a unit in SI base units, and these.

    Raises
    ------
    UnitError : if it is no multiple of them, as a magnitude of a star is not
    """
    try:
        multiple = unit.decompose()
    except ValueError as error:  # of which astropy's own errors are
        raise UnitError(f"'{unit}' of astropy is no multiple of SI units") from error
    return float(multiple.scale), _bases(multiple)


def _bases(unit: Any) -> Bases:
    powers = zip(unit.bases, unit.powers, strict=True)
    return tuple(sorted((base.name, _exact(power)) for base, power in powers if base.name != "rad"))


def _exact(power: Any) -> Fraction:
    return Fraction(power).limit_denominator(1000)
