"""Factors of symmetric and Hermitian matrices that need not be definite: PyTorch's `linalg.ldl_factor`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.as_torch.functions import linalg_solve
from dispatchkit.as_torch.shared import lapack_size, written_functions
from dispatchkit.as_torch.table import ALONE
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import holds

# Source: Bunch and Kaufman, 1977: the bound on the growth of elements is least with it.
LEAST = (1 + math.sqrt(17)) / 8


def _choice(rest):
    """Return how many rows are eliminated together, and which row is swapped with the last of them.

    Source: LAPACK, dsytf2.
    """
    sizes = np.asarray(lapack_size(rest.detach()))
    if len(sizes) == 1:
        return 1, 0
    row = 1 + int(np.argmax(sizes[1:, 0]))
    first, below = sizes[0, 0], sizes[row, 0]
    if first >= LEAST * below:
        return 1, 0
    beside = np.delete(sizes[row], row).max()
    if first >= LEAST * below * (below / beside):
        return 1, 0
    if sizes[row, row] >= LEAST * beside:
        return 1, row
    return 2, row


def _swapped(matrix, one, other):
    """Return a matrix with two of its rows, and two of its columns, interchanged."""
    order = np.arange(matrix.shape[-1])
    order[[one, other]] = other, one
    return matrix[order][:, order]


def _transposed(matrix, hermitian):
    if hermitian:
        return xp.conj(xp.matrix_transpose(matrix))
    return xp.matrix_transpose(matrix)


def _factored(matrix, hermitian):
    """Return both factors of one matrix in one, the rows swapped, and the number of the first pivot that is 0."""
    n = matrix.shape[-1]
    rest = xp.tril(matrix) + _transposed(xp.tril(matrix, k=-1), hermitian)
    columns: list[Any] = []
    pivots: list[int] = []
    info = 0
    while len(pivots) < n:
        start = len(pivots)
        width, row = _choice(rest)
        rest = _swapped(rest, width - 1, row)
        block, below = rest[:width, :width], rest[width:, :width]
        if width == 1 and not holds(block[0, 0] != 0):
            info, factor = info or start + 1, below
        else:
            factor = xp.matrix_transpose(xp.linalg.solve(xp.matrix_transpose(block), xp.matrix_transpose(below)))
        above = xp.zeros((start, width), dtype=matrix.dtype)
        columns.append(xp.concat([above, xp.tril(block), factor], axis=0))
        rest = rest[width:, width:] - factor @ _transposed(below, hermitian)
        # LAPACK counts rows from 1, those of two together below 0.
        pivots += [(start + row + 1) * (1, -1)[width - 1]] * width
    return xp.concat([matrix[:, :0], *columns], axis=1), pivots, info


def _rebuilt(factors, pivots, hermitian):
    """Return the matrix of factors."""
    end = len(pivots)
    rest = factors[end:, end:]
    while end:
        width = 1 + (pivots[end - 1] < 0)
        start = end - width
        block = xp.tril(factors[start:end, start:end])
        block = block + _transposed(xp.tril(block, k=-1), hermitian)
        factor = factors[end:, start:end]
        below = factor @ block
        rest = rest + below @ _transposed(factor, hermitian)
        upper = xp.concat([block, _transposed(below, hermitian)], axis=1)
        rest = xp.concat([upper, xp.concat([below, rest], axis=1)], axis=0)
        rest = _swapped(rest, width - 1, abs(int(pivots[end - 1])) - 1 - start)
        end = start
    return rest


def linalg_ldl_factor_ex(A, *, hermitian=False, check_errors=False):
    n, lead = A.shape[-1], tuple(A.shape[:-2])
    if A.shape[-2] != n:
        raise RuntimeError(
            f"linalg.ldl_factor_ex: A must be batches of square matrices, but they are {A.shape[-2]} by {n} matrices"
        )
    parts = [_factored(matrix, hermitian) for matrix in xp.reshape(A, (math.prod(lead), n, n))]
    # One matrix more, so that there is one to stack.
    LD = xp.reshape(xp.stack([A.new_zeros(n, n), *(part[0] for part in parts)])[1:], A.shape)
    pivots = np.reshape([part[1] for part in parts], (*lead, n))
    info = np.reshape([part[2] for part in parts], lead)
    if check_errors and info.any():
        raise np.linalg.LinAlgError(f"linalg.ldl_factor: a pivot is 0, by which ldl_solve would divide, info is {info}")
    return LD, xp.asarray(pivots, dtype=xp.int32), xp.asarray(info, dtype=xp.int32)


def linalg_ldl_factor(A, *, hermitian=False):
    return linalg_ldl_factor_ex(A, hermitian=hermitian)[:2]


def linalg_ldl_solve(LD, pivots, B, *, hermitian=False):
    n, lead = LD.shape[-1], tuple(LD.shape[:-2])
    matrices, places = xp.reshape(LD, (math.prod(lead), n, n)), np.reshape(np.asarray(pivots), (math.prod(lead), n))
    rebuilt = [_rebuilt(matrix, row, hermitian) for matrix, row in zip(matrices, places, strict=True)]
    A = xp.reshape(xp.stack([LD.new_zeros(n, n), *rebuilt])[1:], LD.shape)
    return linalg_solve(A, B)


ALONE.update(written_functions(globals()))
