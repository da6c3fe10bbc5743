"""Arrays of other libraries read into the shipped types: units, what is missing, and standard deviations are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit import ops
from dispatchkit.errors import UnitError
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.types.exchange.libraries import class_of, is_of, packages_of
from dispatchkit.types.exchange.parts import around
from dispatchkit.types.missing import is_marked, marks_by_nan, split_missing
from dispatchkit.types.uncertainties_numbers import is_number

SIMPLE = (int, float, complex, str, bytes, np.generic)


def as_array(data: Any) -> Any:
    """Return what a wrapper is made around: an array type as it is, anything else as a tensor.

    What has a unit, missing elements or standard deviations in another library has them in what is returned.
    """
    if type(data) is np.ndarray and data.dtype != object:
        return ops.asarray(data)
    if tensor_protocol.types.participates(type(data)):
        return data
    read = read_foreign(data)
    if read is None:
        return ops.asarray(data)
    return read


def read_foreign(data: Any) -> Any:
    """Return an array of another library in the shipped types; None for what holds plain numbers, or no array.

    Parameters
    ----------
    data : anything, also lists with numbers or arrays of these libraries in them
    """
    if isinstance(data, (Tensor, *SIMPLE)):
        return None
    if type(data) is np.ndarray:
        if data.dtype == object and data.size and is_number(data.ravel()[0]):
            return class_of("uncertainty").of_numbers(data)
        return None
    if isinstance(data, (list, tuple)):
        return _read_members(data)
    packages = packages_of(data)
    if "pint" in packages and hasattr(data, "magnitude"):
        return around(as_array(data.magnitude), unit=data.units)
    if "astropy" in packages:
        return _read_astropy(data)
    if is_number(data):
        return class_of("uncertainty").of_numbers(data)
    if isinstance(data, np.ma.MaskedArray) or packages & {"pandas", "polars"}:
        return _read_missing(data)
    return None


def _read_missing(data: Any) -> Any:
    """Return a masked array of NumPy, or a column or table; None for one whose missing elements are NaN, or no data."""
    numbers, valid = split_missing(data)
    if valid is None or marks_by_nan(data):
        return None
    if valid.all() and not isinstance(data, np.ma.MaskedArray):
        valid = None
    return around(as_array(numbers), mask=valid)


def _read_astropy(data: Any) -> Any:
    """Return a quantity, a masked array, a column or `NDData` of astropy; None for anything else."""
    if hasattr(data, "uncertainty") and hasattr(data, "meta"):
        return _read_nddata(data)
    unit = getattr(data, "unit", None)
    masked = isinstance(data, np.ndarray) and hasattr(data, "unmasked")
    if masked:
        valid = ~np.broadcast_to(np.asarray(data.mask), data.shape)
        numbers, unit = _without_scale(getattr(data.unmasked, "value", data.unmasked), unit)
        return around(as_array(np.asarray(numbers)), mask=valid, unit=unit)
    if isinstance(data, np.ma.MaskedArray):
        return around(_read_missing(data), unit=unit)
    if not hasattr(data, "value") or not hasattr(data, "unit") or np.asarray(data.value).dtype == object:
        return None
    numbers, unit = _without_scale(data.value, unit)
    return around(as_array(np.asarray(numbers)), unit=unit)


def _without_scale(numbers: Any, unit: Any) -> tuple[Any, Any]:
    """Return numbers and a unit of astropy without the number that is a factor of it."""
    scale = getattr(unit, "scale", 1)
    if scale == 1:
        return numbers, unit
    return numbers * scale, type(unit)(1, unit.bases, unit.powers)


# What `NDData` holds beside numbers, uncertainty, mask, unit and meta.
OF_NDDATA = ("wcs", "psf", "flags")


def _read_nddata(data: Any) -> Any:
    """Return `NDData` of astropy, of which the uncertainty is one of independent standard deviations.

    Raises
    ------
    TypeError : if it holds what no shipped type does
    """
    for name in OF_NDDATA:
        if getattr(data, name, None) is not None:
            raise TypeError(f"NDData of astropy has {name}, which no array type holds; set it to None first")
    array, std = as_array(data.data), None
    if data.uncertainty is not None:
        std = _std_of_astropy(data.uncertainty, data.unit)
    valid = None
    if data.mask is not None:
        valid = ~np.broadcast_to(np.asarray(data.mask, bool), data.data.shape)
    return around(array, uncertainty=std, mask=valid, unit=data.unit, metadata=dict(data.meta) or None)


def _std_of_astropy(uncertainty: Any, unit: Any) -> Any:
    """Return the standard deviations that an uncertainty of astropy means, in the unit of the numbers.

    Raises
    ------
    TypeError : for one that is not known to be of independent standard deviations
    """
    powers = {"std": 1, "var": 0.5, "ivar": -0.5}
    if uncertainty.uncertainty_type not in powers:
        raise TypeError(
            f"an uncertainty of astropy must be of standard deviations or variances, not a {type(uncertainty).__name__}"
        )
    numbers = uncertainty.quantity ** powers[uncertainty.uncertainty_type]
    if unit is None:
        return np.asarray(numbers.value)
    return np.asarray(numbers.to_value(unit))


def _read_members(members: Any) -> Any:
    """Return a list as one array, if there are numbers or arrays of another library in it; None otherwise."""
    leaves = list(map(type, members))
    if not leaves or {int, float, complex, bool}.issuperset(leaves):
        return None
    first = next((member for member in members if _has_unit(member)), None)
    if first is not None:
        return _read_quantities(members, first)
    if any(map(is_marked, leaves)):
        numbers, valid = split_missing(members)
        return around(as_array(numbers), mask=valid)
    if any(map(is_number, members)):
        return class_of("uncertainty").of_numbers(members)
    if not any(isinstance(member, (list, tuple)) for member in members):
        return None
    if any(isinstance(member, (list, tuple)) and _holds_numbers(member) for member in members):
        return class_of("uncertainty").of_numbers(members)
    read = [read_foreign(member) for member in members]
    if all(member is None for member in read):
        return None
    return ops.stack([as_array(member) for member in members])


def _holds_numbers(members: Any) -> bool:
    return any(_holds_numbers(member) if isinstance(member, (list, tuple)) else is_number(member) for member in members)


def _has_unit(member: Any) -> bool:
    """Return whether a member of a list is a quantity of Pint or astropy."""
    if hasattr(member, "magnitude") and hasattr(member, "units"):
        return is_of("pint", member)
    return hasattr(member, "value") and hasattr(member, "unit") and is_of("astropy", member)


def _read_quantities(members: Any, first: Any) -> Any:
    """Return quantities as one, in the unit of the first; uncertain ones together, since they may be correlated."""
    if hasattr(first, "magnitude") and all(is_number(getattr(member, "magnitude", None)) for member in members):
        return around(as_array([member.m_as(first.units) for member in members]), unit=first.units)
    try:
        return ops.stack([class_of("unit")(member) for member in members])
    except UnitError as error:
        raise UnitError(f"a list of quantities must be of one dimension: {error}") from error
