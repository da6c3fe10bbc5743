"""GELU and SiLU of NumPy arrays in single precision, a block at a time, so that what lies between stays in the cache.

The normal distribution function at ``-a`` is ``exp(-a**2 / 2) * t * polynomial(t)`` with ``t = 1 / (1 + SLOPE * a)``,
as in Abramowitz and Stegun, 7.1.26, with coefficients fitted to relative errors below 1e-7 for all `a` up to 14, where
it leaves the range of single precision. SciPy's function computes in double precision and takes several times as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["gelu", "gelu_slope", "is_single", "silu", "silu_slope"]

BLOCK = 1 << 16
SINGLE = np.dtype("float32")
SLOPE = np.float32(0.305)
# From the highest power down.
COEFFICIENTS = np.asarray(
    [
        0.03669834779123615,
        -0.15298499008810634,
        0.18571141451973494,
        -0.03797188968839021,
        0.12101905507277773,
        0.10342169112269924,
        0.12246667490723534,
        0.12163974294410901,
    ],
    SINGLE,
)
HALF, ONE, DENSITY = np.float32(0.5), np.float32(1.0), np.float32(1 / math.sqrt(2 * math.pi))
# From here on the density is 0.
FAR = np.float32(40.0)


def is_single(x: Any) -> bool:
    """Return whether the functions of this module take an array."""
    return type(x) is np.ndarray and x.dtype is SINGLE


def _in_blocks(compute: Callable[[Any, Any], None], x: Any) -> Any:
    """Return what a function writes for one block after another."""
    y = np.empty(x.shape, x.dtype)
    given, found = x.reshape(-1), y.reshape(-1)
    with np.errstate(over="ignore", under="ignore"):
        for start in range(0, x.size, BLOCK):
            compute(given[start : start + BLOCK], found[start : start + BLOCK])
    return y


def _beyond(x: Any) -> tuple[Any, Any, Any]:
    """Return distances from 0, the density there, and how much of the distribution lies beyond one of them."""
    a = np.abs(x)
    if not a.max() < FAR:
        np.minimum(a, FAR, out=a)
    density = a * a
    density *= -HALF
    np.exp(density, out=density)
    t = a * SLOPE
    t += ONE
    np.reciprocal(t, out=t)
    beyond = t * COEFFICIENTS[0]
    for coefficient in COEFFICIENTS[1:]:
        beyond += coefficient
        beyond *= t
    beyond *= density
    density *= DENSITY
    return a, density, beyond


def gelu(x: Any) -> Any:
    """Return ``x * ndtr(x)``: the positive part of `x`, less what lies beyond times the distance."""

    def compute(x: Any, y: Any) -> None:
        a, _, beyond = _beyond(x)
        beyond *= a
        np.abs(x, out=y)
        y *= HALF
        y += x * HALF
        y -= beyond

    return _in_blocks(compute, x)


def gelu_slope(x: Any) -> Any:
    """Return the derivative of `gelu`, whose distance from a half changes its sign with `x`."""

    def compute(x: Any, y: Any) -> None:
        a, density, beyond = _beyond(x)
        density *= a
        beyond -= density
        np.subtract(HALF, beyond, out=beyond)
        np.copysign(beyond, x, out=y)
        y += HALF

    return _in_blocks(compute, x)


def silu(x: Any) -> Any:
    """Return ``x / (1 + exp(-x))``."""

    def compute(x: Any, y: Any) -> None:
        np.negative(x, out=y)
        np.exp(y, out=y)
        y += ONE
        np.divide(x, y, out=y)

    return _in_blocks(compute, x)


def silu_slope(x: Any) -> Any:
    """Return the derivative of `silu`."""

    def compute(x: Any, y: Any) -> None:
        s = np.negative(x)
        np.exp(s, out=s)
        s += ONE
        np.reciprocal(s, out=s)
        np.subtract(ONE, s, out=y)
        y *= x
        y += ONE
        y *= s

    return _in_blocks(compute, x)
