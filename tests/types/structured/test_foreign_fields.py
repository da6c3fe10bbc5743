"""Structured matrices with fields of PyTorch give arrays of PyTorch, with the values and gradients of NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import types

torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")
pytest.importorskip("scipy")

N = 4


def matrix(v: Any) -> Any:
    """Return a banded matrix."""
    return types.BandedTensor(dk.stack([v, v + 4, v]) + 0 * v, lower=1, upper=1)


def kronecker(v: Any) -> Any:
    return types.KroneckerTensor(v[:2, None] * v[:2] + v[2], v[2:, None] * v[2:] + v[0])


WORK: dict[str, Callable[[Any], Any]] = {
    "banded solve": lambda v: dk.linalg.solve(matrix(v), v),
    "banded slogdet": lambda v: dk.linalg.slogdet(matrix(v)).logabsdet,
    "banded cholesky": lambda v: dk.linalg.cholesky(types.BandedTensor(v[None] + 1, lower=0, upper=0)).to_dense(),
    "Toeplitz solve": lambda v: dk.linalg.solve(types.ToeplitzTensor(v), v),
    "Toeplitz slogdet": lambda v: dk.linalg.slogdet(types.ToeplitzTensor(v)).logabsdet,
    "Toeplitz and low rank": lambda v: dk.linalg.solve(
        types.ToeplitzTensor(v) + types.LowRankTensor(v[:, None], v[None]), v
    ),
    "Kronecker eigenvalues": lambda v: dk.linalg.eigh(kronecker(v))[0],
    "Kronecker projection": lambda v: (dk.linalg.eigh(kronecker(v))[1].mT @ v) ** 2,
    "Kronecker svd": lambda v: (dk.linalg.svd(kronecker(v))[0].mT @ v) ** 2,
    "svd of a tall product": lambda v: (
        (dk.linalg.svd(types.KroneckerTensor(dk.stack([v, v**2], axis=1), v[:1, None]), full_matrices=False)[0].mT @ v)
        ** 2
    ),
    "Kronecker and scalar": lambda v: dk.linalg.solve(kronecker(v) + types.ScalarTensor(N, v[0]), v),
}


@pytest.mark.parametrize("name", WORK)
def test_fields_of_pytorch_give_arrays_of_pytorch(name: str) -> None:
    start = np.array([4.0, 1.0, 0.5, 0.3])
    found: list[Any] = []
    wanted: list[Any] = []
    for v, results in ((dk.asarray(torch.asarray(start)), found), (dk.asarray(start), wanted)):
        with dk.densify(on="error"):
            results += [WORK[name](v), dk.func.grad(lambda x: dk.sum(WORK[name](x)))(v)]
    for one, other in zip(found, wanted, strict=True):
        assert isinstance(one.array, torch.Tensor)
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-12)
