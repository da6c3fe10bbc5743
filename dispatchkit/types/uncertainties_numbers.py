"""Numbers of the library uncertainties, taken apart into their independent variables, and made of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np


class Expansion(NamedTuple):
    """Numbers to first order in independent variables.

    Attributes
    ----------
    value : the numbers
    factor : derivatives by each variable in units of its standard deviation, of shape ``(k, *shape)``
    own : whether each number depends on one variable that no other depends on, and k is 1
    """

    value: Any
    factor: Any
    own: bool


def expand(data: Any) -> Expansion | None:
    """Return numbers of uncertainties, an array or nested lists of them, to first order; None for anything else.

    Parameters
    ----------
    data : anything
    """
    if not _holds_number(data):
        return None
    numbers = np.asarray(data, dtype=object)
    flat = numbers.ravel().tolist()
    value = np.array([getattr(number, "nominal_value", number) for number in flat], dtype=np.float64)
    variables: dict[Any, int] = {}
    slopes = [getattr(number, "derivatives", {}) for number in flat]
    for derivatives in slopes:
        for variable in derivatives:
            variables.setdefault(variable, len(variables))
    if len(variables) == len(flat) and all(len(derivatives) == 1 for derivatives in slopes):
        factor = np.array([[slope * variable.std_dev for row in slopes for variable, slope in row.items()]])
        return Expansion(value.reshape(numbers.shape), factor.reshape(1, *numbers.shape), own=True)
    factor = np.zeros((len(variables), len(flat)))
    for place, derivatives in enumerate(slopes):
        for variable, slope in derivatives.items():
            factor[variables[variable], place] = slope * variable.std_dev
    return Expansion(value.reshape(numbers.shape), factor.reshape(-1, *numbers.shape), own=False)


def _holds_number(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return any(map(_holds_number, data))
    if isinstance(data, np.ndarray):
        return data.dtype == object and any(map(_is_number, data.ravel().tolist()))
    return _is_number(data)


def _is_number(data: Any) -> bool:
    return (type(data).__module__ or "").partition(".")[0] == "uncertainties" and hasattr(data, "nominal_value")


def make_numbers(value: Any, ids: Any, factor: Any) -> Any:
    """Return an array of numbers of uncertainties, correlated by their common variables; exact ones are floats.

    Parameters
    ----------
    value : array of numbers
    ids : of the variables, of shape ``(k,)``, or ``(k, *shape)`` where each number has its own
    factor : derivatives by them, of shape ``(k, *shape)``
    """
    ufloat = import_module("uncertainties").ufloat
    variables = {number: ufloat(0.0, 1.0) for number in np.unique(ids).tolist()}
    spread = np.broadcast_to(ids.reshape(*ids.shape, *(1,) * (factor.ndim - ids.ndim)), factor.shape)
    result = np.empty(value.shape, dtype=object)
    for index in np.ndindex(*value.shape):
        number = float(value[index])
        for row in range(len(factor)):
            slope = float(factor[(row, *index)])
            if slope:
                number = number + slope * variables[int(spread[(row, *index)])]
        result[index] = number
    return result
