"""Activations of NumPy arrays in few passes, none of which branches on an element.

Few elements are computed by calls that take arrays without axes for numbers, which NumPy needs not convert; many in
blocks that stay in the cache, whose bounds are arrays, since NumPy's loops over two arrays take a fifth of the time.
Elements are chosen by their bits: what is smaller as an integer, with or without a sign.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.accelerator import computed_by
from dispatchkit.backends.numpy_choices import where
from dispatchkit.backends.numpy_numbers import keep, numbers_in
from dispatchkit.backends.numpy_sums import DOUBLE, SINGLE

__all__ = ["elu", "elu_slope", "hardswish", "hardswish_slope", "selu"]

# Elements from which on bounds are arrays.
MANY = 1 << 11


class _Integers(NamedTuple):
    """Integers of as many bits as a dtype has: with a sign, without one, and 0."""

    signed: Any
    unsigned: Any
    zero: Any


INTEGERS = {
    SINGLE: _Integers(np.int32, np.uint32, np.zeros((), np.int32)),
    DOUBLE: _Integers(np.int64, np.uint64, np.zeros((), np.int64)),
}
# Blocks that are full of one number, by its dtype and bytes; they are not to be changed.
_blocks: dict[Any, Any] = {}
MINUS_ZERO = {dtype: np.asarray(-0.0, dtype) for dtype in (SINGLE, DOUBLE)}
# Six times a sixth is one in both dtypes.
OF_HARDSWISH = {dtype: numbers_in(dtype, 3.0, 6.0, -3.0, 1 / 6) for dtype in INTEGERS}
BLOCK = 1 << 15


def _block_of(number: Any) -> Any:
    """Return a block that is full of a number, an array without axes."""
    key = number.dtype, number.tobytes()
    block = _blocks.get(key)
    if block is None:
        block = np.full(BLOCK, number)
        keep(_blocks, key, block)
    return block


def _in_blocks(compute: Callable[..., None], x: Any, bounds: tuple[Any, ...], *rest: Any) -> Any:
    """Return what a function writes of many elements, a block at a time.

    Parameters
    ----------
    compute : takes a block of `x`, what it writes to, one for what lies between, the bounds, and the rest
    x : array of floating-point numbers
    bounds : arrays without axes, in place of which the function gets blocks
    rest : passed on
    """
    y, full = np.empty(x.shape, x.dtype), [_block_of(bound) for bound in bounds]
    if x.size <= BLOCK:
        compute(x, y, np.empty(x.shape, x.dtype), *[bound[: x.size].reshape(x.shape) for bound in full], *rest)
        return y
    flat, out, between = x.reshape(-1), y.reshape(-1), np.empty(BLOCK, x.dtype)
    for start in range(0, x.size, BLOCK):
        block = slice(start, start + BLOCK)
        part = flat[block]
        n = part.size
        compute(part, out[block], between[:n], *[bound[:n] for bound in full], *rest)
    return y


@computed_by("hardswish")
def hardswish(x: Any) -> Any:
    """Return ``max(x, -3) * (min(max(x, -3) + 3, 6) / 6)``: no product is of 0 and infinity, none overflows."""
    three, six, low, sixth = OF_HARDSWISH[x.dtype]
    if x.size >= MANY:
        return _in_blocks(_hardswish, x, (low, six), three, sixth)
    y = np.empty(x.shape, x.dtype)
    _hardswish(x, y, None, low, six, three, sixth)
    return y


def _hardswish(x: Any, y: Any, t: Any, low: Any, high: Any, three: Any, sixth: Any) -> None:
    if t is None:
        t = np.maximum(x, low)
    else:
        np.maximum(x, low, out=t)
    np.add(t, three, y)
    np.minimum(y, high, out=y)
    np.multiply(y, sixth, y)
    np.multiply(y, t, y)


@computed_by("hardswish_slope")
def hardswish_slope(g: Any, x: Any) -> Any:
    """Return `g` times the derivative of `hardswish`."""
    return g * where(x <= -3, 0.0, where(x >= 3, np.ones_like(x), x / 3.0 + 0.5))


def elu(x: Any, alpha: float) -> Any:
    """Return `x` where it is positive, else ``alpha * (exp(x) - 1)``, for an `alpha` from 0 to 1.

    What is not positive is at most 0, and so is what is computed of it, which is nearer to 0: as unsigned integers the
    bits of both are larger than those of a positive number, and what is computed is the smaller one.
    """
    zero, factor = MINUS_ZERO[x.dtype], None
    if alpha != 1:
        (factor,) = numbers_in(x.dtype, alpha)
    if x.size >= MANY:
        return _in_blocks(_elu, x, (zero,), factor)
    y = np.empty(x.shape, x.dtype)
    _elu(x, y, None, zero, factor)
    return y


def _elu(x: Any, y: Any, _: Any, zero: Any, factor: Any) -> None:
    np.minimum(x, zero, out=y)
    np.expm1(y, y)
    if factor is not None:
        np.multiply(y, factor, y)
    integer = INTEGERS[x.dtype].unsigned
    bits = y.view(integer)
    np.minimum(x.view(integer), bits, out=bits)


@computed_by("elu_slope")
def elu_slope(g: Any, x: Any, scale: float, alpha: float) -> Any:
    """Return `g` times the derivative of exponential linear units: a scale, below 0 times ``alpha * exp(x)``."""
    slope = where(x > 0, 1.0, alpha * np.exp(where(x >= 0, 0.0, x)))
    if scale != 1:
        slope = scale * slope
    return g * slope


def selu(x: Any, scale: float, alpha: float) -> Any:
    """Return ``scale * x`` where `x` is positive, else ``scale * alpha * (exp(x) - 1)``, for any `alpha`.

    As integers with a sign those of negative numbers are less than 0: what is smaller, or larger, is one part of `x`
    with 0 in place of the other.
    """
    above, below = numbers_in(x.dtype, scale, scale * alpha)
    zero = INTEGERS[x.dtype].zero
    if x.size >= MANY:
        return _in_blocks(_selu, x, (zero,), above, below)
    y = np.empty(x.shape, x.dtype)
    _selu(x, y, np.empty(x.shape, x.dtype), zero, above, below)
    return y


def _selu(x: Any, y: Any, t: Any, zero: Any, above: Any, below: Any) -> None:
    integer = INTEGERS[x.dtype].signed
    of_x, of_y, of_t = x.view(integer), y.view(integer), t.view(integer)
    np.minimum(of_x, zero, out=of_y)
    np.bitwise_xor(of_x, of_y, of_t)
    np.expm1(y, y)
    np.multiply(y, below, y)
    np.multiply(t, above, t)
    np.bitwise_or(of_y, of_t, of_y)
