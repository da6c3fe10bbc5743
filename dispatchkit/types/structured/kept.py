"""What is kept of a computation, such as factors, while a matrix lives and holds the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

__all__ = ["KEPT", "NOT_COPIED", "kept"]

KEPT = "_kept"  # the attribute, which copies and files leave out
# All attributes that do: the others hold what is known of arrays that nobody can change, and of small ones.
NOT_COPIED = frozenset({KEPT, "_fixed", "_regular"})
T = TypeVar("T")


def kept(owner: Any, name: str, arrays: Sequence[np.ndarray], compute: Callable[..., T]) -> T:
    """Return what a function gives for arrays, or what it gave before for arrays of the same numbers.

    The numbers themselves are compared with copies: whoever has an array can write into it, by a tensor or by NumPy,
    and only the former would be counted as a change.

    Parameters
    ----------
    owner : the matrix, with whose life it ends
    name : of what is kept
    arrays : what it is computed from, and the arguments of `compute`
    compute : called where nothing is kept, or for other numbers; what it raises comes through, and nothing is kept then
    """
    results = vars(owner).get(KEPT)
    if results is None:
        results = vars(owner)[KEPT] = {}
    found = results.get(name)
    if found is not None:
        copies, result = found
        if len(copies) == len(arrays) and all(map(_same, copies, arrays)):
            return result
    result = compute(*arrays)
    results[name] = [_copy_of(array) for array in arrays], result
    return result


# Bytes of which a copy as such takes less time to make and to compare than an array.
FEW_BYTES = 10_000


def _copy_of(x: np.ndarray) -> tuple[tuple[int, ...], np.dtype, bytes | np.ndarray]:
    if x.nbytes <= FEW_BYTES:
        return x.shape, x.dtype, x.tobytes()
    return x.shape, x.dtype, x.copy()


def _same(copy: tuple[tuple[int, ...], np.dtype, Any], x: np.ndarray) -> bool:
    shape, dtype, numbers = copy
    if x.shape != shape or x.dtype != dtype:
        return False
    if type(numbers) is bytes:
        return x.tobytes() == numbers
    return not np.count_nonzero(x != numbers)
