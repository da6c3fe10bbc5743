"""Functions of matrices by which orthogonal ones are made: the exponential, and products of reflections."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.as_torch.shared import written_functions
from dispatchkit.as_torch.table import ALONE
from dispatchkit.declare.namespace import tensor_namespace as xp

# Where the norm is at most 1, the terms of the series beyond this one are less than the rounding error.
TERMS = 18


def matrix_exp(input: Any) -> Any:
    return linalg_matrix_exp(input)


def linalg_matrix_exp(A: Any) -> Any:
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_exp: A must be batches of square matrices, but they are of shape {tuple(A.shape)}"
        )
    if 0 in A.shape:
        return xp.clone(A)
    halvings = _halvings(A)
    x, unit = A * 0.5**halvings, xp.eye(A.shape[-1], dtype=A.dtype)
    y = unit + x / TERMS
    for term in range(TERMS - 1, 0, -1):
        y = unit + (x @ y) / term
    for _ in range(halvings):
        y = y @ y
    return y


def _halvings(x: Any) -> int:
    """Return how often matrices are to be halved until their norms are at most 1."""
    while getattr(x, "is_tracer", False):
        x = x.value
    norms = np.abs(np.asarray(x.detach().array)).sum(axis=-1)
    largest = float(norms.max())
    if not math.isfinite(largest) or largest <= 1:
        return 0
    return math.ceil(math.log2(largest))


def orgqr(input: Any, input2: Any) -> Any:
    return linalg_householder_product(input, input2)


def linalg_householder_product(input: Any, tau: Any) -> Any:
    rows, columns = input.shape[-2:]
    if rows < columns or tau.shape[-1] > columns:
        raise RuntimeError(
            f"linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1], and that "
            f"to tau.shape[-1]; found input of shape {tuple(input.shape)} and tau of shape {tuple(tau.shape)}"
        )
    y = xp.eye(rows, columns, dtype=input.dtype)
    below, unit = xp.tril(input, k=-1), xp.eye(rows, columns, dtype=input.dtype)
    for place in reversed(range(tau.shape[-1])):
        v = (below + unit)[..., :, place : place + 1]
        y = y - tau[..., place, None, None] * (v @ (xp.conj(xp.matrix_transpose(v)) @ y))
    return xp.broadcast_to(y, input.shape)


ALONE.update(written_functions(globals()))
