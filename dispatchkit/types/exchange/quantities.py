"""Quantities of Pint and astropy, and `NDData` of astropy, made of the shipped types."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.errors import UnitError
from dispatchkit.types.exchange.libraries import is_of, library
from dispatchkit.types.exchange.parts import Parts
from dispatchkit.types.exchange.reading import read_foreign


def read_object(package: str, data: Any, caller: str, meant: str) -> Any:
    """Return an array of a library in the shipped types.

    Parameters
    ----------
    package : the library
    data : of that library
    caller : the method, for errors
    meant : what `data` must be, for errors

    Raises
    ------
    TypeError : for anything else
    """
    first = data
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    read = None
    if is_of(package, first):
        read = read_foreign(data)
    if read is None:
        raise TypeError(f"{caller}: data must be {meant}, not a {type(data).__name__}")
    return read


def make_pint(parts: Parts, caller: str, registry: Any) -> Any:
    """Return a quantity of Pint, of masked or uncertain numbers where these are; a measurement of one uncertain number.

    Parameters
    ----------
    parts : what the array holds
    caller : the method, for errors
    registry : of Pint; its application registry where it is None
    """
    parts.require(caller, "a quantity of Pint", ("unit", "mask", "uncertainty"))
    pint = library("pint", caller)
    if registry is None:
        registry = pint.get_application_registry()
    unit = ""
    if parts.unit is not None:
        unit = f"{parts.unit:D}"
    try:
        unit = registry.Unit(unit)
    except (AttributeError, ValueError) as error:  # of which Pint's own errors are
        raise UnitError(f"{caller}: the registry of Pint does not know '{parts.unit}'") from error
    elements = parts.elements(caller)
    if parts.valid is not None:
        return registry.Quantity(np.ma.array(elements, mask=parts.missing()), unit)
    if elements.ndim:
        return registry.Quantity(elements, unit)
    if parts.factor is not None and hasattr(elements.item(), "nominal_value"):
        return registry.Measurement(elements.item(), unit)
    return registry.Quantity(elements[()], unit)


OF_ASTROPY_MEANT = "a Quantity, Masked, Column or NDData of astropy"
# By the names that astropy alone has for these units.
OF_ASTROPY = {"degC": "deg_C", "percent": "%", "degF": "deg_F", "knot": "kn"}


def make_astropy(parts: Parts, caller: str) -> Any:
    """Return a `Quantity` of astropy, `Masked` where elements are missing; `NDData` of uncertain ones and of metadata.

    Parameters
    ----------
    parts : what the array holds
    caller : the method, for errors

    Raises
    ------
    TypeError : if uncertain numbers are correlated
    UnitError : if astropy does not know the unit
    """
    parts.require(caller, "a quantity of astropy", ("metadata", "unit", "mask", "uncertainty"))
    units = library("astropy.units", caller)
    unit = None
    if parts.unit is not None:
        unit = _unit_of(units, parts.unit, caller)
    numbers = parts.values()
    if parts.factor is not None or parts.metadata:
        return _make_nddata(parts, numbers, unit, caller)
    if unit is not None:
        numbers = units.Quantity(numbers, unit, dtype=numbers.dtype)
    if parts.valid is not None:
        return library("astropy.utils.masked", caller).Masked(numbers, mask=parts.missing())
    return numbers


def _unit_of(units: Any, unit: Any, caller: str) -> Any:
    """Return a unit of astropy."""
    result = units.dimensionless_unscaled
    imperial = library("astropy.units.imperial", caller)
    for name, power in unit.parts:
        if name.startswith("delta_"):
            raise UnitError(
                f"{caller}: astropy has no unit for differences of temperatures such as '{name}'; write x.to('K')"
            )
        theirs = OF_ASTROPY.get(name, name)
        try:
            factor = units.Unit(theirs)
        except ValueError:
            factor = getattr(imperial, theirs, None) or _define(units, type(unit)(name), caller)
        result = result * factor**power
    return result


def _define(units: Any, unit: Any, caller: str) -> Any:
    """Return a unit that astropy does not know, defined by its size in SI units, under its own name."""
    size, bases = unit.in_si()
    si = units.dimensionless_unscaled
    try:
        for base, power in bases:
            si = si * units.Unit(base) ** power
    except ValueError as error:
        raise UnitError(f"{caller}: astropy does not know '{unit}'; write x.to(unit) with one that it knows") from error
    return units.def_unit(str(unit), size * si)


def _make_nddata(parts: Parts, numbers: Any, unit: Any, caller: str) -> Any:
    nddata = library("astropy.nddata", caller)
    uncertainty = None
    if parts.factor is not None:
        uncertainty = nddata.StdDevUncertainty(_independent_std(parts, caller))
    mask = None
    if parts.valid is not None:
        mask = parts.missing()
    return nddata.NDData(numbers, uncertainty=uncertainty, mask=mask, unit=unit, meta=parts.metadata or {})


def _independent_std(parts: Parts, caller: str) -> Any:
    """Return the standard deviations of numbers that are not correlated with each other.

    Raises
    ------
    TypeError : if they are
    """
    factor = parts.factor.detach().numpy()
    flat, ids = factor.reshape(len(factor), -1), np.asarray(parts.sources.ids)
    if ids.ndim == 1:
        shared = (np.count_nonzero(flat, axis=1) > 1).any()
    else:
        used = ids.reshape(flat.shape)[flat != 0]
        shared = len(np.unique(used)) < len(used)
    if shared:
        raise TypeError(
            f"{caller}: NDData of astropy holds no correlations, and these numbers are correlated; write "
            f"UncertainTensor(x.value, x.std) for independent ones"
        )
    return np.sqrt((np.abs(flat) ** 2).sum(axis=0)).reshape(factor.shape[1:])
