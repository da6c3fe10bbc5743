"""Cross-entropy of NumPy arrays in the case that training spends its time in: scores (N, C), numbers of N classes.

Both functions leave every other case, and every error, to the way that all libraries take.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["gradient", "loss"]


def loss(x: Any, target: Any, ignore_index: int, reduction: str) -> Any:
    """Return the mean or sum of the losses; None where the case is another one.

    Parameters
    ----------
    x : scores
    target : numbers of classes
    ignore_index : number that does not count
    reduction : ``"mean"`` or ``"sum"``
    """
    largest = _largest(x, target, ignore_index)
    if largest is None:
        return None
    shifted = x - largest
    own = shifted[np.arange(len(target)), target]
    total = np.add.reduce(np.log(np.add.reduce(np.exp(shifted, shifted), 1)) - own)
    return total if reduction == "sum" else total / x.dtype.type(len(target))


def gradient(g: Any, x: Any, target: Any, ignore_index: int, reduction: str) -> Any:
    """Return the cotangent of the scores, from that of a mean or sum; None where the case is another one."""
    largest = _largest(x, target, ignore_index)
    if largest is None:
        return None
    shares = x - largest
    np.exp(shares, shares)
    shares /= np.add.reduce(shares, axis=1, keepdims=True)
    shares[np.arange(len(target)), target] -= 1
    shares *= g if reduction == "sum" else g / x.dtype.type(len(target))
    return shares


def _largest(x: Any, target: Any, ignore_index: int) -> Any:
    """Return the largest score of each place, kept as a column; None where the case is another one."""
    if type(x) is not np.ndarray or type(target) is not np.ndarray or x.ndim != 2 or target.shape != x.shape[:1]:
        return None
    count = x.shape[1]
    if x.dtype.kind != "f" or x.dtype.itemsize < 4 or target.dtype.kind not in "iu" or x.size == 0:
        return None
    if np.minimum.reduce(target) < 0 or np.maximum.reduce(target) >= count or 0 <= ignore_index < count:
        return None
    largest = np.maximum.reduce(x, axis=1, keepdims=True)
    return largest if np.isfinite(largest).all() else None
