"""What Pint's application registry says of a unit, as exact numbers: its relations are read as they are written."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import Any, NamedTuple

from dispatchkit.errors import UnitError
from dispatchkit.types.units.size import UnitSize

Powers = dict[str, Fraction]
# Pint's constants that are no rational number.
CONSTANTS_OF_PI = frozenset(("pi", "π"))


class PintUnit(NamedTuple):
    """A unit of Pint.

    Attributes
    ----------
    size : in Pint's base units
    powers : of Pint's base units, by name
    origin : where the zero of a scale of points stands in base units
    """

    size: UnitSize
    powers: Powers
    origin: Fraction = Fraction(0)


def unit_of_pint(name: str) -> PintUnit:
    """Return what Pint's application registry says of a name.

    Parameters
    ----------
    name : of a unit, with a prefix or without one

    Raises
    ------
    UnitError : if Pint is not installed, does not know the name, or has a unit of it that is a logarithm
    """
    try:
        pint = import_module("pint")
    except ImportError:
        raise UnitError(f"unknown unit '{name}'; Pint, which knows more, is not installed") from None
    registry = pint.get_application_registry().get()
    try:
        registry.get_root_units(name)  # which loads the registry, and raises for what it does not know
    except Exception as error:
        raise UnitError(f"unknown unit '{name}', also to Pint: {error}") from error
    return _resolve(registry, name)


def _resolve(registry: Any, name: str) -> PintUnit:
    """Return a unit in base units, by what the definitions of the units that it is made of say."""
    if name in CONSTANTS_OF_PI:
        return PintUnit(UnitSize(pi=Fraction(1)), {})
    definition = registry._units.get(name)
    if definition is None:
        prefix, stem, _ = registry.parse_unit_name(name)[0]
        inner = _resolve(registry, stem)
        if prefix:
            factor = _as_written(registry._prefixes[prefix].converter.scale)
        else:
            factor = Fraction(1)
        return inner._replace(size=inner.size.times(UnitSize(factor)))
    if definition.is_base:
        return PintUnit(UnitSize(), {definition.name: Fraction(1)})
    converter = definition.converter
    if not hasattr(converter, "scale") or hasattr(converter, "logbase"):
        raise UnitError(f"'{name}' is logarithmic: its sums would be products; convert to what it is the level of")
    factor, references = _relation(definition)
    size, powers = UnitSize(factor), Powers()
    for reference, exponent in references.items():
        inner = _resolve(registry, reference)
        size = size.times(inner.size.to_the(exponent))
        for base, power in inner.powers.items():
            powers[base] = powers.get(base, Fraction(0)) + power * exponent
    origin = _as_written(getattr(converter, "offset", 0))
    if origin:
        (reference,) = references
        origin *= _resolve(registry, reference).size.value()
    return PintUnit(size, {base: power for base, power in powers.items() if power}, origin)


def _relation(definition: Any) -> tuple[Fraction, Powers]:
    """Return how many of which product of units a unit is: by the text of its definition, else by its number."""
    references = {name: Fraction(power).limit_denominator(1000) for name, power in definition.reference.items()}
    text = (getattr(definition, "raw", None) or "").partition("=")[2].partition("=")[0].partition(";")[0]
    if text.strip():
        parse = import_module("pint.util").ParserHelper.from_string
        pint_errors = import_module("pint.errors").PintError
        try:
            relation = parse(text.strip(), Fraction)
        except (ValueError, TypeError, ArithmeticError, pint_errors):  # a text read with floating-point numbers alone
            return _as_written(definition.converter.scale), references
        if dict(relation.items()) == references:
            return _as_written(relation.scale), references
    return _as_written(definition.converter.scale), references


def _as_written(number: Any) -> Fraction:
    """Return a number as the shortest decimal fraction that is printed for it."""
    if isinstance(number, float):
        return Fraction(repr(number))
    return Fraction(number)
