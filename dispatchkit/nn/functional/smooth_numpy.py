"""GELU of NumPy arrays in single precision, and SiLU, a block at a time, so that what lies between stays in the cache.

The normal distribution function at ``-a`` is ``exp(-a**2 / 2) * t * polynomial(t)`` with ``t = 1 / (1 + slope * a)``,
as in Abramowitz and Stegun, 7.1.26. For values the coefficients are fitted to relative errors below 1e-7 for all `a` up
to 14, where it leaves the range of single precision; for derivatives to errors below 1e-7. SciPy's function computes in
double precision and takes several times as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.backends.numpy_sums import SINGLE
from dispatchkit.nn.functional.rows import DTYPES

__all__ = ["gelu", "silu"]

BLOCK = 1 << 15
# From the highest power down, for a slope of 0.305 and of 0.33. Of the powers of slope * t, which are powers of
# 1 / (1 / slope + a).
SLOPE, SLOPE_OF_DERIVATIVE = 0.305, 0.33
COEFFICIENTS = [
    0.03669834779123615,
    -0.15298499008810634,
    0.18571141451973494,
    -0.03797188968839021,
    0.12101905507277773,
    0.10342169112269924,
    0.12246667490723534,
    0.12163974294410901,
]
COEFFICIENTS_OF_DERIVATIVE = [-0.11067388, 0.37928618, -0.09624313, 0.20623275, 0.12139811]
HALF, ONE, DENSITY = np.float32(0.5), np.float32(1.0), np.float32(1 / math.sqrt(2 * math.pi))
# The bit of the sign: `copysign` takes three times as long as what works on bits.
SIGN = np.int32(-(1 << 31))
# From here on the density is 0.
FAR = np.float32(40.0)
# Of the hyperbolic tangent that stands for the normal distribution function.
ROOT = math.sqrt(2 / math.pi)
CUBIC = 0.044715


def is_single(*arrays: Any) -> bool:
    """Return whether the functions of this module take the arrays."""
    for x in arrays:  # noqa: SIM110  # a generator takes longer than the loop
        if type(x) is not np.ndarray or x.dtype is not SINGLE:
            return False
    return True


def are_alike(*arrays: Any) -> bool:
    """Return whether the functions of SiLU take the arrays: of one dtype, single or double precision."""
    first = arrays[0]
    return all(type(x) is np.ndarray and x.dtype is first.dtype and x.dtype in DTYPES for x in arrays)


def _powers(slope: float, coefficients: list[float]) -> tuple[Any, list[Any]]:
    """Return what is added to distances, and the factors of the powers of one divided by the sum."""
    factors = [c / slope ** (len(coefficients) - i) for i, c in enumerate(coefficients)]
    return np.float32(1 / slope), [np.float32(factor) for factor in factors]


OF_VALUE = _powers(SLOPE, COEFFICIENTS)
OF_DERIVATIVE = _powers(SLOPE_OF_DERIVATIVE, COEFFICIENTS_OF_DERIVATIVE)


def _in_blocks(compute: Callable[..., None], *arrays: Any) -> Any:
    """Return what a function writes for one block of arrays of a shape after another.

    Parameters
    ----------
    compute : takes blocks of the arrays, one for the result, and two to write to in between
    arrays : of one shape
    """
    (y,) = _results_in_blocks(compute, 1, *arrays)
    return y


def _results_in_blocks(compute: Callable[..., None], count: int, *arrays: Any) -> list[Any]:
    """Return what a function writes for one block after another, so many arrays, as `_in_blocks` does."""
    dtype = arrays[0].dtype
    results = [np.empty(arrays[0].shape, dtype) for _ in range(count)]
    flat = [x.reshape(-1) for x in (*arrays, *results)]
    size = flat[0].size
    scratch = np.empty((2, min(BLOCK, size)), dtype)
    with np.errstate(over="ignore", under="ignore"):
        for start in range(0, size, BLOCK):
            blocks = [x[start : start + BLOCK] for x in flat]
            compute(*blocks, *scratch[:, : blocks[0].size])
    return results


def _distances(x: Any, a: Any) -> bool:
    """Write distances from 0, at most `FAR`; return whether one was shortened."""
    np.abs(x, out=a)
    far = not a.max() < FAR
    if far:
        np.minimum(a, FAR, out=a)
    return far


def _positive(x: Any, a: Any, far: bool, y: Any) -> None:
    """Write numbers where they are positive, else 0, of which a sum takes less time than a maximum.

    Parameters
    ----------
    x : numbers
    a : their distances from 0
    far : whether one of the distances was shortened
    y : array written to
    """
    if far:
        np.maximum(x, 0, out=y)
        return
    np.add(x, a, out=y)
    y *= HALF


def _ratio(a: Any, powers: tuple[Any, list[Any]], t: Any, y: Any) -> None:
    """Write what lies beyond distances, divided by ``exp(-a**2 / 2)``."""
    np.add(a, powers[0], out=t)
    np.reciprocal(t, out=t)
    np.multiply(t, powers[1][0], out=y)
    for factor in powers[1][1:]:
        y += factor
        y *= t


def _density(a: Any, y: Any) -> None:
    """Write ``exp(-a**2 / 2)``."""
    np.multiply(a, a, out=y)
    y *= -HALF
    np.exp(y, out=y)


def gelu(x: Any) -> Any:
    """Return ``x * ndtr(x)``: the positive part of `x`, less what lies beyond times the distance."""

    def compute(x: Any, y: Any, a: Any, t: Any) -> None:
        far = _distances(x, a)
        _ratio(a, OF_VALUE, t, y)
        _density(a, t)
        t *= y
        t *= a
        _positive(x, a, far, y)
        y -= t
        if far:
            y[np.isneginf(x)] = np.nan

    return _in_blocks(compute, x)


def gelu_and_slope(x: Any) -> list[Any]:
    """Return `gelu`, and its derivative, which takes few passes more where what lies beyond is known."""

    def compute(x: Any, y: Any, slope: Any, a: Any, t: Any) -> None:
        far = _distances(x, a)
        _ratio(a, OF_VALUE, t, y)
        _density(a, t)
        y *= t
        t *= a
        np.multiply(t, DENSITY, out=slope)
        slope -= y
        slope += HALF
        _give_signs(x, slope, t)
        slope += HALF
        np.multiply(a, y, out=t)
        _positive(x, a, far, y)
        y -= t
        if far:
            y[np.isneginf(x)] = np.nan

    return _results_in_blocks(compute, 2, x)


def _give_signs(x: Any, y: Any, scratch: Any) -> None:
    """Change the signs of numbers where those of others are negative."""
    signs, bits = scratch.view(np.int32), y.view(np.int32)
    np.bitwise_and(x.view(np.int32), SIGN, out=signs)
    bits ^= signs


def gelu_slope(g: Any, x: Any) -> Any:
    """Return `g` times the derivative of `gelu`, whose distance from a half changes its sign with `x`."""

    def compute(g: Any, x: Any, y: Any, a: Any, t: Any) -> None:
        _distances(x, a)
        _ratio(a, OF_DERIVATIVE, t, y)
        np.multiply(a, DENSITY, out=t)
        y -= t
        _density(a, t)
        y *= t
        np.subtract(HALF, y, out=y)
        _give_signs(x, y, t)
        y += HALF
        y *= g

    return _in_blocks(compute, g, x)


@np.errstate(under="ignore", invalid="ignore")
def gelu_of_normal(x: Any, normal: Any, most: float) -> tuple[Any, Callable[..., Any]]:
    """Return ``x * normal``, and what takes its cotangent back, for which the exponential is left to compute.

    Parameters
    ----------
    x : floating-point numbers
    normal : the normal distribution function at them
    most : distance from which on the density is 0
    """

    def pull(g: Any, wanted: Any) -> tuple[Any]:
        bounded = np.clip(x, -most, most)
        y = bounded * bounded
        y *= -0.5
        np.exp(y, out=y)
        y *= 1 / math.sqrt(2 * math.pi)
        y *= bounded
        y += normal
        y *= g[0]
        return (y,)

    return x * normal, pull


def gelu_by_tanh(x: Any, most: float) -> tuple[Any, Callable[..., Any]]:
    """Return GELU by a hyperbolic tangent, and what takes its cotangent back, for which the tangent is kept.

    Parameters
    ----------
    x : floating-point numbers
    most : distance from which on the tangent is 1
    """
    bounded = np.clip(x, -most, most)
    t = bounded * bounded
    t *= ROOT * CUBIC
    t += ROOT
    t *= bounded
    np.tanh(t, out=t)
    y = t + 1.0
    y *= x
    y *= 0.5

    def pull(g: Any, wanted: Any) -> tuple[Any]:
        # Half of 1 + t + x * (1 - t * t) * the slope of what the tangent is taken of.
        slope = bounded * bounded
        slope *= 3 * ROOT * CUBIC
        slope += ROOT
        slope *= bounded
        slope *= 1 - t * t
        slope += t
        slope += 1.0
        slope *= 0.5
        slope *= g[0]
        return (slope,)

    return y, pull


@np.errstate(over="ignore", under="ignore")
def silu(x: Any) -> Any:
    """Return ``x / (1 + exp(-x))``."""
    if x.size <= BLOCK:
        y = np.negative(x, out=np.empty(x.shape, x.dtype))
        np.exp(y, out=y)
        y += 1
        return np.divide(x, y, out=y)

    def compute(x: Any, y: Any, *_: Any) -> None:
        np.negative(x, out=y)
        np.exp(y, out=y)
        y += 1
        np.divide(x, y, out=y)

    return _in_blocks(compute, x)


def silu_and_sigmoid(x: Any) -> list[Any]:
    """Return `silu`, and the logistic function that its derivative is made of."""

    def compute(x: Any, y: Any, s: Any, *_: Any) -> None:
        np.negative(x, out=s)
        np.exp(s, out=s)
        s += 1
        np.divide(x, s, out=y)
        np.reciprocal(s, out=s)

    return _results_in_blocks(compute, 2, x)


def silu_slope(g: Any, x: Any, sigmoid: Any = None) -> Any:
    """Return `g` times the derivative of `silu`, of which the logistic function may be known."""

    def compute(g: Any, x: Any, y: Any, s: Any, _: Any) -> None:
        np.negative(x, out=s)
        np.exp(s, out=s)
        s += 1
        np.reciprocal(s, out=s)
        compute_by_sigmoid(g, x, s, y)

    def compute_by_sigmoid(g: Any, x: Any, s: Any, y: Any, *_: Any) -> None:
        np.subtract(1, s, out=y)
        y *= x
        y += 1
        y *= s
        y *= g

    if sigmoid is None:
        return _in_blocks(compute, g, x)
    return _in_blocks(compute_by_sigmoid, g, x, sigmoid)
