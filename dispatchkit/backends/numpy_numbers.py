"""Numbers beside NumPy's arrays of floating-point numbers, as arrays without axes, which NumPy need not convert.

A function of a few elements takes half the time beside one than beside a number of Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.backends.numpy_sums import DOUBLE, SINGLE

__all__ = ["ONE", "ZERO", "are_numbers_of", "bounded", "keep", "numbers_in"]

# None of these arrays is to be changed.
ONE = {dtype: np.ones((), dtype) for dtype in (SINGLE, DOUBLE)}
ZERO = {dtype: np.zeros((), dtype) for dtype in (SINGLE, DOUBLE)}
LARGEST = {dtype: float(np.finfo(dtype).max) for dtype in (SINGLE, DOUBLE)}
# Elements from which on a call of NumPy's function of both bounds takes less time than two calls.
MANY = 1 << 9
MOST = 64  # that are kept of each kind
NUMBERS = (float, int)
ndarray = np.ndarray
_numbers: dict[Any, tuple[Any, ...]] = {}


def numbers_in(dtype: Any, *numbers: float) -> tuple[Any, ...]:
    """Return numbers as arrays of a dtype without axes, which are not to be changed."""
    key: tuple[Any, ...] = (dtype, *numbers)
    if not all(numbers):
        key = dtype, repr(numbers)  # the two zeros are equal
    arrays = _numbers.get(key)
    if arrays is None:
        arrays = tuple([np.asarray(number, dtype) for number in numbers])
        keep(_numbers, key, arrays)
    return arrays


def keep(known: dict[Any, Any], key: Any, value: Any) -> None:
    """Put a value into a table, which forgets all others where it is full."""
    if len(known) >= MOST:
        known.clear()
    known[key] = value


def are_numbers_of(x: Any, *numbers: Any) -> bool:
    """Return whether an array is NumPy's, in single or double precision, of which all numbers may be elements."""
    if type(x) is not ndarray:
        return False
    most = LARGEST.get(x.dtype)
    if most is None:
        return False
    for number in numbers:  # noqa: SIM110  # a generator takes longer than the loop
        if type(number) not in NUMBERS or not -most <= number <= most:
            return False
    return True


def bounded(x: Any, low: float, high: float) -> Any:
    """Return the elements of an array in the range between two numbers, NaN where one is."""
    least, most = numbers_in(x.dtype, low, high)
    if x.size >= MANY:
        return x.clip(least, most, np.empty(x.shape, x.dtype))
    y = np.asarray(np.maximum(x, least))
    return np.minimum(y, most, out=y)
