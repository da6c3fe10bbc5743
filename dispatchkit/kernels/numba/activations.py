"""GELU and SiLU in single precision, by the formulas of `smooth_numpy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.kernels.numba.rows import LARGEST, contiguous, exp, loop
from dispatchkit.nn.functional import smooth_numpy
from dispatchkit.nn.functional.smooth import gelu, silu

ZERO, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)
OF_VALUE, OF_DERIVATIVE = ((first, *factors) for first, factors in (smooth_numpy.OF_VALUE, smooth_numpy.OF_DERIVATIVE))
DENSITY = smooth_numpy.DENSITY
# From here on exp(-a**2 / 2) is 0.
FAR = np.float32(16)


@loop
def _gelu(x: Any, y: Any) -> None:
    c = OF_VALUE
    for i in range(x.size):
        a = abs(x[i])
        near = min(a, FAR)
        t = ONE / (near + c[0])
        q = (((c[1] * t + c[2]) * t + c[3]) * t + c[4]) * t
        q = ((((q + c[5]) * t + c[6]) * t + c[7]) * t + c[8]) * t
        q *= exp(-HALF * near * near)
        # What lies beyond is 0 times the distance, which is NaN at minus infinity.
        if x[i] < -near:
            y[i] = q * -a
        else:
            y[i] = max(x[i], ZERO) - q * near


@loop
def _gelu_slope(g: Any, x: Any, y: Any) -> None:
    c = OF_DERIVATIVE
    for i in range(x.size):
        a = abs(x[i])
        a = min(a, FAR)
        t = ONE / (a + c[0])
        q = ((((c[1] * t + c[2]) * t + c[3]) * t + c[4]) * t + c[5]) * t
        q = HALF - (q - a * DENSITY) * exp(-HALF * a * a)
        y[i] = ((-q if x[i] < ZERO else q) + HALF) * g[i]


@loop
def _exp_of_negative(x: Any) -> Any:
    return exp(-max(min(x, LARGEST), -LARGEST))


@loop
def _silu(x: Any, y: Any) -> None:
    for i in range(x.size):
        y[i] = x[i] / (ONE + _exp_of_negative(x[i]))


@loop
def _silu_slope(g: Any, x: Any, y: Any) -> None:
    for i in range(x.size):
        s = ONE / (ONE + _exp_of_negative(x[i]))
        y[i] = ((ONE - s) * x[i] + ONE) * s * g[i]


def _elementwise(compute: Callable[..., None], *arrays: Any) -> Any:
    """Return the array that a loop writes for arrays of one shape."""
    if not smooth_numpy.is_single(*arrays):
        return NotImplemented
    y = np.empty(arrays[0].shape, np.float32)
    compute(*[contiguous(x, -1) for x in arrays], y.reshape(-1))
    return y


def _exact_slope(g: Any, x: Any, approximate: str) -> Any:
    if approximate == "none":
        return _elementwise(_gelu_slope, g, x)
    return NotImplemented


@gelu.def_kernel("numba", gradients=_exact_slope)
def exact_gelu(x, /, *, approximate="none"):
    if approximate == "none":
        return _elementwise(_gelu, x)
    return NotImplemented


silu.def_kernel("numba", lambda x, /: _elementwise(_silu, x), lambda g, x: _elementwise(_silu_slope, g, x))
