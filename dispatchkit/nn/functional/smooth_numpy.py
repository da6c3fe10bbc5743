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

from dispatchkit.accelerator import computed_by
from dispatchkit.backends.numpy_choices import MANY_LOGARITHMS, logaddexp, where
from dispatchkit.backends.numpy_numbers import ONE, ZERO, bounded, numbers_in
from dispatchkit.backends.numpy_sums import DOUBLE, SINGLE

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
HALF, DENSITY = np.float32(0.5), np.float32(1 / math.sqrt(2 * math.pi))
# In place of which the number 0 would take five times as long.
ZEROS = np.zeros(BLOCK, SINGLE)
# The bit of the sign: `copysign` takes three times as long as what works on bits.
SIGN = np.int32(-(1 << 31))
# From here on the density is 0.
FAR = np.float32(40.0)
# Of the hyperbolic tangent that stands for the normal distribution function.
ROOT = math.sqrt(2 / math.pi)
CUBIC = 0.044715
OF_TANH = {dtype: (np.asarray(-2 * ROOT * CUBIC, dtype), np.asarray(-2 * ROOT, dtype)) for dtype in ONE}


def is_single(*arrays: Any) -> bool:
    """Return whether the functions of this module take the arrays."""
    for x in arrays:  # noqa: SIM110  # a generator takes longer than the loop
        if type(x) is not np.ndarray or x.dtype is not SINGLE:
            return False
    return True


def are_alike(*arrays: Any) -> bool:
    """Return whether the functions of SiLU take the arrays: of one dtype, single or double precision."""
    dtype = getattr(arrays[0], "dtype", None)
    if dtype is not SINGLE and dtype is not DOUBLE:
        return False
    for x in arrays:  # noqa: SIM110  # likewise
        if type(x) is not np.ndarray or x.dtype is not dtype:
            return False
    return True


def _powers(slope: float, coefficients: list[float]) -> tuple[Any, list[Any]]:
    """Return what is added to distances, and the factors of the powers of one divided by the sum."""
    factors = [c / slope ** (len(coefficients) - i) for i, c in enumerate(coefficients)]
    return np.asarray(1 / slope, SINGLE), [np.asarray(factor, SINGLE) for factor in factors]


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


def _alone_or_in_blocks(compute: Callable[..., None], x: Any) -> Any:
    """Return what a function writes that needs no further arrays, of one block in fewer steps."""
    if x.size > BLOCK:
        return _in_blocks(compute, x)
    y = np.empty(x.shape, x.dtype)
    compute(x, y)
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


def _ratio(a: Any, powers: tuple[Any, list[Any]], t: Any, y: Any) -> None:
    """Write what lies beyond distances, divided by ``exp(-a**2 / 2)``."""
    np.add(a, powers[0], out=t)
    np.divide(ONE[SINGLE], t, t)  # in half the time of a reciprocal
    np.multiply(t, powers[1][0], y)
    for factor in powers[1][1:]:
        np.add(y, factor, y)
        np.multiply(y, t, y)


def _density(a: Any, y: Any) -> None:
    """Write ``exp(-a**2 / 2)``."""
    np.multiply(a, a, out=y)
    y *= -HALF
    np.exp(y, out=y)


@computed_by("gelu")
def gelu(x: Any) -> Any:
    """Return ``x * ndtr(x)``: the positive part of `x`, less what lies beyond times the distance."""

    def compute(x: Any, y: Any, a: Any, t: Any) -> None:
        far = _distances(x, a)
        _ratio(a, OF_VALUE, t, y)
        _density(a, t)
        t *= y
        t *= a
        np.maximum(x, ZEROS[: x.size], out=y)
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
        np.maximum(x, ZEROS[: x.size], out=y)
        y -= t
        if far:
            y[np.isneginf(x)] = np.nan

    return _results_in_blocks(compute, 2, x)


def _give_signs(x: Any, y: Any, scratch: Any) -> None:
    """Change the signs of numbers where those of others are negative."""
    signs, bits = scratch.view(np.int32), y.view(np.int32)
    np.bitwise_and(x.view(np.int32), SIGN, out=signs)
    bits ^= signs


@computed_by("gelu_slope")
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
def gelu_of_normal(x: Any, normal: Any) -> Any:
    """Return ``x * normal`` in the memory of the normal distribution function at `x`, an array."""
    return np.multiply(x, normal, normal)


@np.errstate(under="ignore", invalid="ignore")
def slope_of_normal(g: Any, x: Any, normal: Any, most: float) -> Any:
    """Return `g` times the derivative of `gelu_of_normal`, in the memory of the normal distribution function.

    Parameters
    ----------
    g, x : arrays of one dtype
    normal : the normal distribution function at `x`
    most : distance from which on the density is 0
    """
    half, factor = numbers_in(x.dtype, -0.5, 1 / math.sqrt(2 * math.pi))
    near = bounded(x, -most, most)
    y = np.multiply(near, near, np.empty(x.shape, x.dtype))
    np.multiply(y, half, y)
    np.exp(y, y)
    np.multiply(y, factor, y)
    np.multiply(y, near, y)
    np.add(y, normal, y)
    return np.multiply(y, g, y)


@computed_by("gelu_by")
def gelu_by(x: Any, ndtr: Any) -> Any:
    """Return `gelu`, by what computes the normal distribution function of an array."""
    return gelu_of_normal(x, ndtr(x))


@computed_by("gelu_slope_by")
def gelu_slope_by(g: Any, x: Any, ndtr: Any, most: float) -> Any:
    """Return `g` times the derivative of `gelu`, likewise; the density is 0 from a distance on."""
    return slope_of_normal(g, x, ndtr(x), most)


def _exponential_of_cubic(x: Any, y: Any) -> None:
    """Write the exponential that GELU by a hyperbolic tangent divides by one more than."""
    cubic, linear = OF_TANH[x.dtype]
    np.multiply(x, x, y)
    np.multiply(y, cubic, y)
    np.add(y, linear, y)
    np.multiply(y, x, y)
    np.exp(y, y)


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def gelu_by_tanh(x: Any) -> Any:
    """Return GELU by a hyperbolic tangent: as ``x / (1 + exp(-2 * u))`` in place of ``x / 2 * (1 + tanh(u))``.

    Both are equal; the quotient is precise also where the hyperbolic tangent is next to -1.
    """
    return _alone_or_in_blocks(_gelu_of_block, x)


def _gelu_of_block(x: Any, y: Any, *_: Any) -> None:
    _exponential_of_cubic(x, y)
    np.add(y, ONE[x.dtype], y)
    np.divide(x, y, y)


@np.errstate(over="ignore", under="ignore")
def slope_by_tanh(g: Any, x: Any, most: float) -> Any:
    """Return `g` times the derivative of `gelu_by_tanh`: ``s + x * s * (1 - s)`` times the slope of ``2 * u``.

    Parameters
    ----------
    g, x : arrays of one dtype
    most : distance from which on `s`, the logistic function, is 0 or 1
    """
    one, cubic, linear = numbers_in(x.dtype, 1.0, 6 * ROOT * CUBIC, 2 * ROOT)

    def compute(g: Any, x: Any, y: Any, s: Any, t: Any) -> None:
        x = bounded(x, -most, most)
        _exponential_of_cubic(x, s)
        np.add(s, one, s)
        np.divide(one, s, s)
        np.multiply(x, x, y)
        np.multiply(y, cubic, y)
        np.add(y, linear, y)
        np.multiply(y, x, y)
        np.subtract(one, s, t)
        np.multiply(y, t, y)
        np.add(y, one, y)
        np.multiply(y, s, y)
        np.multiply(y, g, y)

    return _in_blocks(compute, g, x)


@computed_by("softplus_slope")
def softplus_slope(g: Any, x: Any, threshold: float) -> Any:
    """Return `g` times the derivative of softplus: the logistic function, and 1 above a threshold."""
    with np.errstate(over="ignore"):
        s = np.negative(x, np.empty(x.shape, x.dtype))
        np.exp(s, s)
    np.add(s, ONE[x.dtype], s)
    np.divide(ONE[x.dtype], s, s)
    return np.multiply(g, where(x > threshold, 1.0, s))


@np.errstate(under="ignore", invalid="ignore")
def softplus(x: Any) -> Any:
    """Return ``log(1 + exp(x))``; NaN stays NaN, of which NumPy warns."""
    if x.size < MANY_LOGARITHMS:
        return np.logaddexp(x, ZERO[x.dtype], np.empty(x.shape, x.dtype))
    return logaddexp(x, 0.0)


def logsigmoid(x: Any) -> Any:
    """Return ``-log(1 + exp(-x))``."""
    y = softplus(np.negative(x, np.empty(x.shape, x.dtype)))
    return np.negative(y, y)


@computed_by("silu")
@np.errstate(over="ignore", under="ignore")
def silu(x: Any) -> Any:
    """Return ``x / (1 + exp(-x))``."""
    return _alone_or_in_blocks(_silu_of_block, x)


def _silu_of_block(x: Any, y: Any, *_: Any) -> None:
    np.negative(x, y)
    np.exp(y, y)
    np.add(y, ONE[x.dtype], y)
    np.divide(x, y, y)


def silu_and_sigmoid(x: Any) -> list[Any]:
    """Return `silu`, and the logistic function that its derivative is made of."""
    one = ONE[x.dtype]

    def compute(x: Any, y: Any, s: Any, *_: Any) -> None:
        np.negative(x, s)
        np.exp(s, s)
        np.add(s, one, s)
        np.divide(x, s, y)
        np.divide(one, s, s)

    return _results_in_blocks(compute, 2, x)


@computed_by("silu_slope")
def silu_slope(g: Any, x: Any, sigmoid: Any = None) -> Any:
    """Return `g` times the derivative of `silu`, of which the logistic function may be known."""
    one = ONE[x.dtype]

    def compute(g: Any, x: Any, y: Any, s: Any, _: Any) -> None:
        np.negative(x, s)
        np.exp(s, s)
        np.add(s, one, s)
        np.divide(one, s, s)
        compute_by_sigmoid(g, x, s, y)

    def compute_by_sigmoid(g: Any, x: Any, s: Any, y: Any, *_: Any) -> None:
        np.subtract(one, s, y)
        np.multiply(y, x, y)
        np.add(y, one, y)
        np.multiply(y, s, y)
        np.multiply(y, g, y)

    if sigmoid is None:
        return _in_blocks(compute, g, x)
    return _in_blocks(compute_by_sigmoid, g, x, sigmoid)
