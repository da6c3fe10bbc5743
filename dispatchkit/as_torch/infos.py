"""Decompositions that say in numbers which matrices have none: `torch.linalg.cholesky_ex`, ..."""

from __future__ import annotations

import numpy as np

from dispatchkit.as_torch.table import TRANSLATIONS
from dispatchkit.declare.namespace import tensor_namespace as xp


def _values(A):
    """Return the elements of matrices as NumPy's array, for a question that no derivative asks."""
    return np.asarray(A.detach().numpy())


def _not_positive(matrix):
    """Return the order of the first leading minor that is not positive definite, 0 where all are."""
    for order in range(1, len(matrix) + 1):
        try:
            factor = np.linalg.cholesky(matrix[:order, :order])
        except np.linalg.LinAlgError:
            return order
        if not np.isfinite(factor[-1, -1]):
            return order
    return 0


def _zero_pivot(matrix):
    """Return the number of the first pivot of an LU decomposition that is 0, counted from 1, and 0 where none is."""
    rows = np.array(matrix)
    for k in range(len(rows)):
        pivot = k + int(np.argmax(np.abs(rows[k:, k])))
        if rows[pivot, k] == 0:
            return k + 1
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k + 1 :] -= np.outer(rows[k + 1 :, k] / rows[k, k], rows[k])
    return 0


def _infos(A, of_one):
    """Return what a function says of each matrix."""
    matrices = _values(A)
    found = [of_one(matrix) for matrix in matrices.reshape(-1, *matrices.shape[-2:])]
    return np.asarray(found, np.int32).reshape(matrices.shape[:-2])


def _answered(name, A, infos, check_errors, compute):
    """Return what a function gives for matrices, nan where it has no result, and the numbers.

    Raises
    ------
    LinAlgError : where a number is not 0, if errors are checked
    """
    if not infos.any():
        return compute(A), xp.asarray(infos)
    if check_errors:
        raise np.linalg.LinAlgError(f"torch.linalg.{name}: found a matrix with info {infos[infos != 0].flat[0]}")
    failed = xp.asarray(infos != 0)[..., None, None]
    unit = xp.eye(A.shape[-1], dtype=A.dtype)
    y = compute(xp.where(failed, unit, A))
    if y.ndim < A.ndim:
        failed = failed[..., 0]
    return xp.where(failed, xp.asarray(np.nan, dtype=y.dtype), y), xp.asarray(infos)


def cholesky_ex(A, *, upper=False, check_errors=False):
    infos = _quick(A, np.linalg.cholesky, _not_positive)
    return _answered("cholesky_ex", A, infos, check_errors, lambda x: xp.linalg.cholesky(x, upper=upper))


def inv_ex(A, *, check_errors=False):
    infos = _quick(A, np.linalg.inv, _zero_pivot)
    return _answered("inv_ex", A, infos, check_errors, xp.linalg.inv)


def solve_ex(A, B, *, left=True, check_errors=False):
    infos = _quick(A, np.linalg.inv, _zero_pivot)
    solve = TRANSLATIONS["linalg.solve"]
    return _answered("solve_ex", A, infos, check_errors, lambda x: solve(x, B, left=left))


def _quick(A, whole, of_one):
    """Return zeros where a function of all matrices at once does not raise, else what another says of each."""
    try:
        y = whole(_values(A))
    except np.linalg.LinAlgError:
        return _infos(A, of_one)
    if not np.all(np.isfinite(y)):
        return _infos(A, of_one)
    return np.zeros(A.shape[:-2], np.int32)


TRANSLATIONS.update({"linalg.cholesky_ex": cholesky_ex, "linalg.inv_ex": inv_ex, "linalg.solve_ex": solve_ex})
