"""Numbers in one unit become numbers in another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit import ops
from dispatchkit.types.units.unit import Rescaling

# By dtype: how large whole numbers are of which products are finite.
LARGEST_FACTOR: dict[Any, float] = dict.fromkeys((np.dtype("f4"), np.dtype("c8")), 2.0**12)
# The dtype whose range ends at 65504: a factor may be beyond it where the product is not.
NARROWEST = np.dtype("f2")


def convert_numbers(value: Any, step: Rescaling) -> Any:
    """Return numbers in another unit, by the exact numerator and denominator where the dtype holds all products."""
    factor, divisor, before, after = step
    dtype = getattr(value, "dtype", None)
    if dtype == NARROWEST:
        return ops.astype(convert_numbers(ops.astype(value, np.float32), step), NARROWEST)
    if before:
        value = value + before
    if factor != 1 and divisor != 1 and factor > LARGEST_FACTOR.get(dtype, math.inf):
        factor, divisor = factor / divisor, 1.0
    if factor != 1:
        value = value * factor
    if divisor != 1:
        value = value / divisor
    if after:
        return value + after
    return value
