"""`isclose` and `allclose`: whether arrays agree within tolerances, by the operations that types answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.typing import ArrayLike
from dispatchkit.errors import UnitError
from dispatchkit.protocol.instance import tensor_protocol


def isclose(
    x1: ArrayLike | Any,
    x2: ArrayLike | Any,
    /,
    rtol: ArrayLike | float = 1e-5,
    atol: ArrayLike | float | None = None,
    equal_nan: bool = False,
) -> Any:
    """Return whether each two elements agree within tolerances: ``abs(x1 - x2) <= atol + rtol * abs(x2)``.

    Parameters
    ----------
    x1 : array or number, of shape (...)
    x2 : array or number that broadcasts with `x1`
    rtol : the difference that is allowed, in proportion to `x2`
    atol : the difference that is allowed besides; 1e-8 by default, and 0 of quantities with a unit, in which it is
        given
    equal_nan : whether NaN agrees with NaN

    Returns
    -------
    array
        Of booleans.

    Raises
    ------
    UnitError : if `x1`, `x2` and `atol` have units that do not convert into each other

    Notes
    -----
    It is made of operations, whose rules and fallbacks answer for array types: units convert, and what is missing in
    one array is missing in the result. An infinity agrees with itself alone.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.isclose(dk.asarray([1.0, 1.1, dk.nan]), dk.asarray([1.0 + 1e-9, 1.2, dk.nan]))
    tensor([ True, False, False])
    >>> length = dk.types.QuantityTensor([1.0, 2.0], "m")
    >>> dk.isclose(length, length.to("cm"))
    tensor([ True,  True])
    """
    a, b = floating(x1), floating(x2)
    with np.errstate(invalid="ignore"):
        close = (xp.abs(a - b) <= _tolerance(b, rtol, atol)) & xp.isfinite(b) | (a == b)
    if equal_nan:
        return close | (xp.isnan(a) & xp.isnan(b))
    return close


def allclose(
    x1: ArrayLike | Any,
    x2: ArrayLike | Any,
    /,
    rtol: ArrayLike | float = 1e-5,
    atol: ArrayLike | float | None = None,
    equal_nan: bool = False,
) -> bool:
    """Return whether all elements of two arrays agree within tolerances.

    Parameters
    ----------
    x1, x2, rtol, atol, equal_nan : as of `isclose`

    Returns
    -------
    bool
        True for arrays without elements.

    Raises
    ------
    UnitError : if `x1`, `x2` and `atol` have units that do not convert into each other
    ValueError : if all elements are missing

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.asarray([0.1, 0.2])
    >>> dk.allclose(x + 0.1 - 0.1, x), dk.allclose(x, 2 * x)
    (True, False)
    """
    return int(xp.count_nonzero(~isclose(x1, x2, rtol, atol, equal_nan))) == 0


def floating(x: Any) -> Any:
    """Return an array of integers or booleans as one of floating-point numbers."""
    array = x
    if not tensor_protocol.types.participates(type(x)):
        array = xp.asarray(x)
    if array.dtype.kind in "fc":
        return array
    return xp.astype(array, np.float64)


def _tolerance(x: Any, rtol: Any, atol: Any) -> Any:
    """Return both tolerances together; a plain 0 is small in every unit, and the default where there are none."""
    if _is_zero(rtol) and atol is not None and not _is_zero(atol):
        return atol  # of points on a scale, too, which have no absolute value
    try:
        relative = rtol * xp.abs(x)
    except UnitError as error:
        raise UnitError(
            f"isclose: {error}; of points on a scale the differences are compared: give rtol=0, and atol in a unit of "
            f"differences, such as QuantityTensor(0.1, 'K')"
        ) from None
    if _is_zero(atol):
        return relative
    try:
        if atol is None:
            return 1e-8 + relative
        return atol + relative
    except UnitError as error:
        if atol is None:
            return relative
        raise UnitError(f"isclose: {error}; give atol in a unit, atol=QuantityTensor({atol!r}, unit), or 0") from None


def _is_zero(tolerance: Any) -> bool:
    return isinstance(tolerance, (int, float)) and tolerance == 0
