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
        return data.dtype == object and any(map(is_number, data.ravel().tolist()))
    return is_number(data)


def is_number(data: Any) -> bool:
    """Return whether something is a number of uncertainties.

    Parameters
    ----------
    data : anything
    """
    return (type(data).__module__ or "").partition(".")[0] == "uncertainties" and hasattr(data, "nominal_value")


def factor_of_covariance(covariance: Any, n: int) -> Any:
    """Return derivatives of numbers by independent sources, of shape (k, n), from their covariances.

    Parameters
    ----------
    covariance : array of shape (n, n)
    n : number of numbers

    Raises
    ------
    ValueError : if these are no covariances of so many numbers
    """
    name = "UncertainTensor.from_covariance"
    if covariance.shape != (n, n):
        raise ValueError(f"{name}: {n} numbers have covariances of shape {(n, n)}, not {covariance.shape}")
    if covariance.dtype.kind not in "fiu" or not np.isfinite(covariance).all():
        raise ValueError(f"{name}: covariances are finite real numbers")
    matrix = covariance.astype(np.float64)
    if (np.diagonal(matrix) < 0).any():
        raise ValueError(f"{name}: a variance is not negative, found {float(np.diagonal(matrix).min())}")
    # Of correlations, which do not depend on the scales of the numbers.
    std = np.sqrt(np.diagonal(matrix))
    scales = np.where(std > 0, std, 1.0)
    correlations = matrix / scales[:, None] / scales
    allowed = 1e-7
    if not np.allclose(correlations, correlations.T, rtol=0, atol=allowed):
        raise ValueError(f"{name}: covariances are symmetric, and these differ from their transpose")
    values, vectors = np.linalg.eigh(correlations)
    if n and values[0] < -allowed * n:
        raise ValueError(
            f"{name}: no numbers have these covariances: the least eigenvalue of their correlations is "
            f"{values[0]:.3g}, and would be 0 or more"
        )
    kept = values > n * np.finfo(np.float64).eps
    return np.sqrt(values[kept])[:, None] * vectors[:, kept].T * scales


def make_numbers(value: Any, ids: Any, factor: Any) -> Any:
    """Return an array of numbers of uncertainties, correlated by their common variables; exact ones are floats.

    Parameters
    ----------
    value : array of numbers
    ids : of the variables, of shape ``(k,)``, or ``(k, *shape)`` where each number has its own
    factor : derivatives by them, of shape ``(k, *shape)``

    Raises
    ------
    TypeError : for complex numbers
    """
    if value.dtype.kind == "c":
        raise TypeError("the library uncertainties has no complex numbers; convert dk.real(x) and dk.imag(x)")
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
