"""Cholesky factors of banded and Toeplitz matrices, which keep what there is of their structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.types.structured.banded import BandedTensor
from dispatchkit.types.structured.base import floating
from dispatchkit.types.structured.toeplitz import ToeplitzTensor
from dispatchkit.types.structured.triangular import TriangularTensor

__all__: list[str] = []

implements = tensor_protocol.implements
BLOCK = 32  # rows of a block at least: of less, calls take longer than what they compute


@implements(linalg.cholesky)
def cholesky_banded(x: BandedTensor, /, *, upper: bool = False) -> Any:
    """Return the factor, which has the diagonals of one side: block by block, O(n b²) for b diagonals."""
    elements = x.elements
    if x.lower != x.upper or not x.shape[-1] or not holds(ops.isfinite(elements), traced=True):
        return decline("the numbers of diagonals on both sides differ, or there are inf or nan")
    if not holds(ops.conj(ops.matrix_transpose(x).elements) == elements, traced=True):
        return decline("the matrix is not Hermitian")
    n, width = x.shape[-1], max(x.lower, BLOCK)
    count = -(-n // width)
    places = ops.reshape(ops.arange(count * width, device=elements.device), (count, width))
    diagonal = _block(x, places[:, :, None], places[:, None, :])
    below = _block(x, places[1:, :, None], places[:-1, None, :])
    above = _block(x, places[:-1, :, None], places[1:, None, :])
    below = (below + ops.conj(ops.matrix_transpose(above))) / 2
    factors, lower = [linalg.cholesky(diagonal[..., 0, :, :])], []
    for k in range(1, count):
        left = linalg.solve(factors[-1], ops.conj(ops.matrix_transpose(below[..., k - 1, :, :])))
        lower.append(ops.conj(ops.matrix_transpose(left)))
        factors.append(linalg.cholesky(diagonal[..., k, :, :] - ops.matmul(lower[-1], left)))
    lower.append(ops.zeros_like(factors[-1]))
    stacked = ops.concat([ops.stack(factors, axis=-3), ops.stack(lower, axis=-3)], axis=-2)
    columns = ops.arange(n, device=elements.device)
    rows = columns % width + ops.arange(x.lower + 1, device=elements.device)[:, None]
    bands = stacked[..., columns // width + 0 * rows, rows, columns % width + 0 * rows]
    factor = BandedTensor(bands, lower=x.lower, upper=0)
    return ops.conj(ops.matrix_transpose(factor)) if upper else factor


def _block(x: BandedTensor, rows: Tensor, columns: Tensor) -> Any:
    """Return elements at indices, those of the identity outside the matrix."""
    n = x.shape[-1]
    found = floating(x.elements_at(ops.minimum(rows, n - 1) + 0 * columns, ops.minimum(columns, n - 1) + 0 * rows))
    unit = ops.astype(rows == columns, found.dtype)
    return ops.where((rows < n) & (columns < n), found, unit)


@implements(linalg.cholesky)
def cholesky_toeplitz(x: ToeplitzTensor, /, *, upper: bool = False) -> Any:
    """Return the factor, a triangle, by Schur's algorithm: O(n²).

    Raises
    ------
    numpy.linalg.LinAlgError : if the matrix is not positive definite
    """
    column, row = floating(x.column), floating(x.first_row)
    if x.shape[-1] != x.shape[-2] or not x.shape[-1] or not holds(ops.isfinite(x.diagonals), traced=True):
        return decline("the matrix is not square and finite")
    if not holds(column[..., 1:] == ops.conj(row[..., 1:]), traced=True) or not holds(
        ops.imag(column[..., :1]) == 0 if column.dtype.kind == "c" else column[..., :0] == 0, traced=True
    ):
        return decline("the matrix is not Hermitian")
    first = ops.real(column[..., :1])
    rest = (column[..., 1:] + ops.conj(row[..., 1:])) / 2
    _check_positive(first)
    root = ops.sqrt(first)
    # T - Z @ T @ Z.mT = u @ u^H - v @ v^H, where Z moves down by one row; each step takes a column off.
    u, v = ops.concat([ops.astype(root, rest.dtype), rest / root], axis=-1), rest / root
    columns = [u]
    for k in range(1, x.shape[-1]):
        u = u[..., :-1]
        turn = v[..., :1] / u[..., :1]
        left = 1 - ops.square(ops.abs(turn))
        _check_positive(left)
        u, v = (u - ops.conj(turn) * v) / ops.sqrt(left), ((v - turn * u) / ops.sqrt(left))[..., 1:]
        columns.append(ops.pad(u, [*[(0, 0)] * (u.ndim - 1), (k, 0)]))
    factor = TriangularTensor(ops.stack(columns, axis=-1))
    return ops.conj(ops.matrix_transpose(factor)) if upper else factor


def _check_positive(x: Tensor) -> None:
    if not holds(x > 0, traced=True):
        raise np.linalg.LinAlgError("cholesky: the ToeplitzTensor is not positive definite")
