"""GELU and SiLU in single precision, by the formulas of `smooth_numpy`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.nn.functional.activations import smooth_numpy
from dispatchkit.nn.functional.compiled.loops import loop

__all__ = ["KERNELS"]

ZERO, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)
OF_VALUE, OF_DERIVATIVE = ((first, *factors) for first, factors in (smooth_numpy.OF_VALUE, smooth_numpy.OF_DERIVATIVE))
DENSITY = smooth_numpy.DENSITY
# From here on exp(-a**2 / 2) is 0, and beyond this exponents are 0 or infinite.
FAR, LARGEST = np.float32(16), np.float32(160)
# Of exp, as in Cephes: 2**n * (1 + r + r**2 * polynomial(r)), with a logarithm of 2 in two parts. What a large number
# is added to and subtracted from is rounded to an integer.
PER_LOG_2, LOG_2 = np.float32(1 / math.log(2)), (np.float32(0.693359375), np.float32(-2.12194440e-4))
ROUNDING = np.float32(3 << 22)
OF_EXPONENTIAL = tuple(
    np.float32(c)
    for c in (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
)


@loop
def _exp(x: Any) -> Any:
    """Return the exponential of a number between minus and plus `LARGEST`, 0 or infinity where it is out of range."""
    n = (x * PER_LOG_2 + ROUNDING) - ROUNDING
    r = (x - n * LOG_2[0]) - n * LOG_2[1]
    p, c = OF_EXPONENTIAL[0], OF_EXPONENTIAL
    p = ((((p * r + c[1]) * r + c[2]) * r + c[3]) * r + c[4]) * r + c[5]
    # 2**n as a product of two powers, whose bits are made.
    half = np.int32(np.int32(n) >> 1)
    low, high = np.int32((half + 127) << 23), np.int32((np.int32(n) - half + 127) << 23)
    return (p * r * r + r + ONE) * low.view(np.float32) * high.view(np.float32)


@loop
def _gelu(x: Any, y: Any) -> None:
    c = OF_VALUE
    for i in range(x.size):
        a = abs(x[i])
        near = min(a, FAR)
        t = ONE / (near + c[0])
        q = (((c[1] * t + c[2]) * t + c[3]) * t + c[4]) * t
        q = ((((q + c[5]) * t + c[6]) * t + c[7]) * t + c[8]) * t
        q *= _exp(-HALF * near * near)
        # What lies beyond is 0 times the distance, which is NaN at minus infinity.
        y[i] = q * -a if x[i] < -near else max(x[i], ZERO) - q * near


@loop
def _gelu_slope(g: Any, x: Any, y: Any) -> None:
    c = OF_DERIVATIVE
    for i in range(x.size):
        a = abs(x[i])
        a = min(a, FAR)
        t = ONE / (a + c[0])
        q = ((((c[1] * t + c[2]) * t + c[3]) * t + c[4]) * t + c[5]) * t
        q = HALF - (q - a * DENSITY) * _exp(-HALF * a * a)
        y[i] = ((-q if x[i] < ZERO else q) + HALF) * g[i]


@loop
def _exp_of_negative(x: Any) -> Any:
    return _exp(-max(min(x, LARGEST), -LARGEST))


@loop
def _silu(x: Any, y: Any) -> None:
    for i in range(x.size):
        y[i] = x[i] / (ONE + _exp_of_negative(x[i]))


@loop
def _silu_slope(g: Any, x: Any, y: Any) -> None:
    for i in range(x.size):
        s = ONE / (ONE + _exp_of_negative(x[i]))
        y[i] = ((ONE - s) * x[i] + ONE) * s * g[i]


def _elementwise(compute: Callable[..., None]) -> Callable[..., Any]:
    """Return what gives the array that a loop writes for arrays of one shape."""

    def computed(*arrays: Any) -> Any:
        y = np.empty(arrays[0].shape, np.float32)
        compute(*[x.reshape(-1) for x in arrays], y.reshape(-1))
        return y

    return computed


KERNELS: dict[Callable[..., Any], Callable[..., Any]] = {
    smooth_numpy.gelu: _elementwise(_gelu),
    smooth_numpy.gelu_slope: _elementwise(_gelu_slope),
    smooth_numpy.silu: _elementwise(_silu),
    smooth_numpy.silu_slope: _elementwise(_silu_slope),
}
