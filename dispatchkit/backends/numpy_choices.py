"""Choices between the elements of NumPy arrays without a branch for each: `where`, `logaddexp`.

NumPy's loops branch at each element. A processor guesses which way, and where elements come in no order it is wrong so
often that they take ten times as long as the passes below, which do the same for all elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from dispatchkit.backends.numpy_sums import DOUBLE, SINGLE

__all__ = ["BLOCK", "MANY_LOGARITHMS", "larger_of_zero", "logaddexp", "slices", "where"]

# Elements from which on NumPy's loop takes longer: of choices, of logarithms, and of comparisons with a number.
MANY, MANY_LOGARITHMS, MANY_COMPARED = 1 << 13, 1 << 7, 1 << 10
# Elements of a block, which stay in the cache between two passes.
BLOCK = 1 << 15
BOOL = np.dtype(bool)
# Integers of as many bits, by the characters of dtypes.
INTEGERS: dict[str, Any] = {"f": np.int32, "i": np.int32, "d": np.int64, "l": np.dtype("l").type, "q": np.int64}
# What keeps its value in an array of floating-point numbers.
NUMBERS = (int, float)
DTYPES = (SINGLE, DOUBLE)
ndarray = np.ndarray


def slices(count: int) -> Iterator[slice]:
    """Yield the blocks of so many elements."""
    return (slice(start, start + BLOCK) for start in range(0, count, BLOCK))


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """Choose elements as `numpy.where`, many of them by their bits."""
    if type(condition) is ndarray and condition.size >= MANY and condition.dtype is BOOL:
        y = _chosen_by_bits(condition, x1, x2)
        if y is not None:
            return y
    return np.where(condition, x1, x2)


def _chosen_by_bits(condition: Any, x1: Any, x2: Any) -> Any:
    """Return chosen elements of arrays of one shape and dtype, or of one and a number; None for all others."""
    like = x1
    if type(x1) is not ndarray:
        like = x2
    if type(like) is not ndarray or like.dtype.char not in INTEGERS or not like.dtype.isnative:
        return None
    if not (condition.shape == like.shape and condition.flags.c_contiguous):
        return None
    first, second = _bits(x1, like), _bits(x2, like)
    if first is None or second is None:
        return None
    y = np.empty(like.shape, like.dtype)
    out, chosen = y.reshape(-1).view(INTEGERS[like.dtype.char]), condition.reshape(-1).view(np.int8)
    for block in slices(y.size):
        _choose_block(chosen[block], first[block], second[block], out[block])
    return y


class _Same:
    """An integer that stands in each block."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, block: slice) -> Any:
        return self.value


def _bits(x: Any, like: Any) -> Any:
    """Return the elements of an array as integers, or a number as the one of its bits; None for other operands."""
    integer = INTEGERS[like.dtype.char]
    if type(x) is ndarray:
        if x.shape == like.shape and x.dtype is like.dtype and x.flags.c_contiguous:
            return x.reshape(-1).view(integer)
        return None
    if not _is_number(x, like.dtype):
        return None
    return _Same(like.dtype.type(x).view(integer))


def _is_number(x: Any, dtype: Any) -> bool:
    """Return whether a number is one of a dtype of floating-point numbers, and so is what NumPy makes of both."""
    if type(x) not in NUMBERS:
        return type(x) is dtype.type
    return dtype.kind == "f" and not np.finfo(dtype).max < abs(x) < np.inf


def _choose_block(chosen: Any, x1: Any, x2: Any, out: Any) -> None:
    """Write one integer where a byte is not 0, and another where it is; either of the two may be 0 everywhere."""
    if type(x2) is not ndarray and x2 == 0:
        np.bitwise_and(x1, _all_bits(chosen != 0), out)
    elif type(x1) is not ndarray and x1 == 0:
        np.bitwise_and(x2, _all_bits(chosen == 0), out)
    else:
        np.bitwise_xor(x1, x2, out)
        np.bitwise_and(out, _all_bits(chosen != 0), out)
        np.bitwise_xor(out, x2, out)


def _all_bits(condition: Any) -> Any:
    """Return bytes in which all bits are set where a condition holds, and none elsewhere."""
    return np.negative(condition.view(np.int8))


def larger_of_zero(x: Any) -> Any:
    """Return the larger of each element and 0 as `numpy.maximum`, whose loop over two arrays takes a third."""
    if x.size < MANY_COMPARED or x.dtype not in DTYPES or not x.flags.c_contiguous:
        return np.maximum(x, 0)
    zeros = _zeros(x.dtype)
    if x.size <= BLOCK:
        return np.maximum(x, zeros[: x.size].reshape(x.shape))
    y = np.empty(x.shape, x.dtype)
    flat, out = x.reshape(-1), y.reshape(-1)
    for block in slices(x.size):
        part = flat[block]
        np.maximum(part, zeros[: part.size], out=out[block])
    return y


@lru_cache(maxsize=4)
def _zeros(dtype: Any) -> Any:
    """Return a block of zeros, which are not to be changed."""
    return np.zeros(BLOCK, dtype)


@np.errstate(under="ignore", invalid="ignore")
def logaddexp(x1: Any, x2: Any, /) -> Any:
    """Add numbers given by their logarithms as `numpy.logaddexp`; NaN stays NaN, of which NumPy warns."""
    x, other = x1, x2
    if type(x1) is not ndarray:
        x, other = x2, x1
    if not (type(x) is ndarray and x.size >= MANY_LOGARITHMS and x.dtype in DTYPES and x.flags.c_contiguous):
        return np.logaddexp(x1, x2)
    if type(other) is ndarray and other.shape == x.shape and other.dtype is x.dtype and other.flags.c_contiguous:
        other = other.reshape(-1)
    elif _is_number(other, x.dtype):
        other = _Same(np.full(min(x.size, BLOCK), other, x.dtype))
    else:
        return np.logaddexp(x1, x2)
    y = np.empty(x.shape, x.dtype)
    terms, out = x.reshape(-1), y.reshape(-1)
    for block in slices(x.size):
        _add_block(terms[block], other[block], out[block])
    return y


def _add_block(x1: Any, x2: Any, out: Any) -> None:
    """Write the larger one and what the other adds to it; of two equal infinities NumPy knows what."""
    x2 = x2[: len(x1)]
    np.maximum(x1, x2, out=out)
    share = np.minimum(x1, x2)
    np.subtract(share, out, share)
    np.exp(share, share)
    np.log1p(share, share)
    np.add(out, share, out)
    undecided = np.isnan(out)
    if undecided.any():
        out[undecided] = np.logaddexp(x1[undecided], x2[undecided])
