"""The exponential of a number in single precision, of which several are computed at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.nn.functional.compiled.loops import loop

__all__ = ["LARGEST", "exp"]

ONE = np.float32(1)
# Beyond this exponents are 0 or infinite.
LARGEST = np.float32(160)
# Of exp, as in Cephes: 2**n * (1 + r + r**2 * polynomial(r)), with a logarithm of 2 in two parts. What a large number
# is added to and subtracted from is rounded to an integer.
PER_LOG_2, LOG_2 = np.float32(1 / math.log(2)), (np.float32(0.693359375), np.float32(-2.12194440e-4))
ROUNDING = np.float32(3 << 22)
OF_EXPONENTIAL = tuple(
    np.float32(c)
    for c in (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
)


@loop
def exp(x: Any) -> Any:
    """Return the exponential of a number between minus and plus `LARGEST`, 0 or infinity where it is out of range."""
    n = (x * PER_LOG_2 + ROUNDING) - ROUNDING
    r = (x - n * LOG_2[0]) - n * LOG_2[1]
    p, c = OF_EXPONENTIAL[0], OF_EXPONENTIAL
    p = ((((p * r + c[1]) * r + c[2]) * r + c[3]) * r + c[4]) * r + c[5]
    # 2**n as a product of two powers, whose bits are made.
    half = np.int32(np.int32(n) >> 1)
    low, high = np.int32((half + 127) << 23), np.int32((np.int32(n) - half + 127) << 23)
    return (p * r * r + r + ONE) * low.view(np.float32) * high.view(np.float32)
