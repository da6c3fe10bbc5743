"""Factors of symmetric and Hermitian matrices that need not be definite: PyTorch's `linalg.ldl_factor`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

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
            factor = _divided(below, block)
        above = xp.zeros((start, width), dtype=matrix.dtype)
        columns.append(xp.concat([above, xp.tril(block), factor], axis=0))
        rest = rest[width:, width:] - factor @ _transposed(below, hermitian)
        # LAPACK counts rows from 1, those of two together below 0.
        pivots += [(start + row + 1) * (1, -1)[width - 1]] * width
    return xp.concat([matrix[:, :0], *columns], axis=1), pivots, info


def _divided(x, block):
    """Return rows times the inverse of a block of one or two rows, infinite or NaN where it is singular.

    Source: LAPACK, dsytf2, zhetf2, dsytrs and zhetrs.
    """
    if len(block) == 1:
        return x / block
    above, below = block[0, 1], block[1, 0]
    first, second = block[0, 0] / below, block[1, 1] / above
    factor = 1 / (first * second - 1)
    parts = (
        (x[:, 0] * second - x[:, 1] * (below / above)) / below,
        (x[:, 1] * first - x[:, 0] * (above / below)) / above,
    )
    return xp.stack(parts, axis=1) * factor


def _blocks(pivots):
    """Return the rows that are eliminated together, and which row is swapped with the last of them."""
    blocks, start = [], 0
    while start < len(pivots):
        end = min(start + 1 + (pivots[start] < 0), len(pivots))
        blocks.append((start, end, abs(int(pivots[start])) - 1))
        start = end
    return blocks


def _interchanged(x, one, other):
    """Return a matrix with two of its rows interchanged."""
    if one == other:
        return x
    order = np.arange(x.shape[0])
    order[[one, other]] = other, one
    return x[order]


def _solved(factors, pivots, x, hermitian):
    """Return the solution of the equations of one matrix by its factors, the rows swapped as the pivots say.

    Source: LAPACK, dsytrs and zhetrs.
    """
    blocks = _blocks(pivots)
    for start, end, row in blocks:
        x = _interchanged(x, end - 1, row)
        block = xp.tril(factors[start:end, start:end])
        block = block + _transposed(xp.tril(block, k=-1), hermitian)
        if hermitian and end - start == 1:
            block = (block + xp.conj(block)) / 2
        rest = x[end:] - factors[end:, start:end] @ x[start:end]
        here = xp.matrix_transpose(_divided(xp.matrix_transpose(x[start:end]), xp.matrix_transpose(block)))
        x = xp.concat([x[:start], here, rest], axis=0)
    for start, end, row in reversed(blocks):
        here = x[start:end] - _transposed(factors[end:, start:end], hermitian) @ x[end:]
        x = _interchanged(xp.concat([x[:start], here, x[end:]], axis=0), end - 1, row)
    return x


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
    n, (rows, columns) = LD.shape[-1], B.shape[-2:]
    lead = np.broadcast_shapes(tuple(LD.shape[:-2]), tuple(B.shape[:-2]))
    dtype, count = xp.result_type(LD.dtype, B.dtype), math.prod(lead)
    matrices = xp.reshape(xp.broadcast_to(LD, (*lead, n, n)), (count, n, n))
    places = np.broadcast_to(np.asarray(pivots), (*lead, n)).reshape(count, n)
    sides = xp.reshape(xp.broadcast_to(xp.astype(B, dtype), (*lead, rows, columns)), (count, rows, columns))
    solved = [_solved(*each, hermitian) for each in zip(matrices, places, sides, strict=True)]
    # One matrix more, so that there is one to stack.
    return xp.reshape(xp.stack([sides.new_zeros(rows, columns), *solved])[1:], (*lead, rows, columns))


ALONE.update(written_functions(globals()))
