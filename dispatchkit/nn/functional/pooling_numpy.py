"""Averages of windows of NumPy arrays that lie side by side."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial, reduce
from math import prod
from typing import Any

import numpy as np

from dispatchkit.backends.numpy_sums import total
from dispatchkit.nn.functional.rows import DTYPES

__all__ = ["averages_of_blocks"]

FEW = 4  # elements of a window along an axis up to which NumPy adds slices in less time than neighbours


def averages_of_blocks(x: Any, lengths: tuple[int, ...]) -> Any:
    """Return averages, and what takes their cotangent back; NotImplemented where windows are not of one length.

    NumPy takes several times as long for sums over several short axes.

    Parameters
    ----------
    x : array of shape (..., *shape)
    lengths : of the last axes of the result
    """
    if type(x) is not np.ndarray or x.dtype not in DTYPES or not x.flags.c_contiguous:
        return NotImplemented
    axes = len(lengths)
    shape = x.shape[x.ndim - axes :]
    if any(n % length for n, length in zip(shape, lengths, strict=True)):
        return NotImplemented
    kernels = [n // length for n, length in zip(shape, lengths, strict=True)]
    y = _sums_of_blocks(x, lengths, kernels)
    y = np.divide(y, prod(kernels), out=None if y is x else y)
    return y.reshape(*x.shape[: x.ndim - axes], *lengths), partial(_given_to_blocks, x.shape, lengths, kernels)


def _sums_of_blocks(x: Any, lengths: Sequence[int], kernels: Sequence[int]) -> Any:
    """Return the sums of windows, in their order."""
    if prod(lengths) == 1:
        return total(x.reshape(-1, prod(kernels)), axis=1)
    if max(kernels) <= FEW:
        return _sums_of_slices(x, kernels)
    for axis in reversed(range(len(lengths))):
        behind = prod(lengths[axis + 1 :])
        if behind == 1:
            x = total(x.reshape(-1, kernels[axis]), axis=1)
        else:
            x = np.add.reduce(x.reshape(-1, kernels[axis], behind), 1)
    return x


def _sums_of_slices(x: Any, kernels: Sequence[int]) -> Any:
    """Return sums of windows, which have so many elements along each of the last axes."""
    for axis, kernel in enumerate(kernels, start=x.ndim - len(kernels)):
        if kernel > 1:
            before = (slice(None),) * axis
            x = reduce(operator.add, [x[(*before, slice(i, None, kernel))] for i in range(kernel)])
    return x


def _given_to_blocks(
    shape: tuple[int, ...], lengths: Sequence[int], kernels: Sequence[int], g: Any, wanted: Any
) -> tuple[Any]:
    """Return the cotangent of what was averaged: each element of a window has an equal share."""
    lead = shape[: len(shape) - len(lengths)]
    share = g[0] / prod(kernels)
    inner = [part for pair in zip(lengths, kernels, strict=True) for part in pair]
    apart = [part for length in lengths for part in (length, 1)]
    total = np.empty((*lead, *inner), share.dtype)
    total[...] = share.reshape(*lead, *apart)
    return (total.reshape(shape),)
