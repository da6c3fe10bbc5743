"""Derivatives of structured and sparse matrices where the function has a corner: those of the dense matrix."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import types

PATTERN = types.SparsePattern([0, 1], [1, 0], (2, 2))
# By structure: how many numbers one takes, and how it is made of a vector of them.
MATRICES: dict[str, tuple[int, Callable[[dk.Tensor], Any]]] = {
    "Scalar": (1, lambda v: types.ScalarTensor(3, v[0])),
    "Diagonal": (3, types.DiagonalTensor),
    "batch of Diagonal": (4, lambda v: types.DiagonalTensor(v.reshape((2, 2)))),
    "Triangular": (4, lambda v: types.TriangularTensor(v.reshape((2, 2)))),
    "Banded": (9, lambda v: types.BandedTensor(v.reshape((3, 3)), lower=1, upper=1)),
    "BlockDiagonal": (5, lambda v: types.BlockDiagonalTensor([v[:4].reshape((2, 2)), v[4:].reshape((1, 1))])),
    "LowRank": (4, lambda v: types.LowRankTensor(v[:2].reshape((2, 1)), v[2:].reshape((1, 2)))),
    "Kronecker": (8, lambda v: types.KroneckerTensor(v[:4].reshape((2, 2)), v[4:].reshape((2, 2)))),
    "Toeplitz": (6, lambda v: types.ToeplitzTensor(v[:3], v[3:])),
    "Circulant": (3, types.CirculantTensor),
    "Sum": (6, lambda v: types.DiagonalTensor(v[:3]) + types.CirculantTensor(v[3:])),
    "Product": (6, lambda v: types.DiagonalTensor(v[:3]) @ types.CirculantTensor(v[3:])),
    "Sparse": (2, lambda v: types.SparseTensor(v, PATTERN)),
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "matrix_norm": dk.linalg.matrix_norm,
    "norm": dk.linalg.norm,
    "vector_norm": dk.linalg.vector_norm,
    "vector_norm of order 1": partial(dk.linalg.vector_norm, ord=1),
    "vector_norm of order 3": partial(dk.linalg.vector_norm, ord=3),
    "vector_norm of rows": partial(dk.linalg.vector_norm, axis=-1),
    "std": dk.std,
    "abs": dk.abs,
    "prod": dk.prod,
}


@pytest.mark.filterwarnings("ignore::dispatchkit.errors.DensifyWarning")
@pytest.mark.parametrize("number", [0.0, 1.0])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("structure", MATRICES)
def test_where_a_function_has_a_corner_the_derivatives_are_those_of_the_dense_matrix(
    structure: str, function: str, number: float
) -> None:
    count, make = MATRICES[structure]
    apply, x = FUNCTIONS[function], dk.full((count,), number)

    def of_structure(v: dk.Tensor) -> Any:
        y = apply(make(v))
        return dk.sum(y if isinstance(y, dk.Tensor) else y.to_dense())

    def of_dense(v: dk.Tensor) -> Any:
        return dk.sum(apply(make(v).to_dense()))

    derivatives: dict[str, Callable[[Any], Any]] = {
        "value": lambda f: f(x),
        "reverse": lambda f: dk.func.grad(f)(x),
        "forward": lambda f: dk.func.jvp(f, (x,), (dk.ones_like(x),))[1],
        "second": lambda f: dk.func.hessian(f)(x),
    }
    for name, derivative in derivatives.items():
        found, expected = derivative(of_structure).numpy(), derivative(of_dense).numpy()
        assert not np.isnan(found).any(), name
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7, err_msg=name)
