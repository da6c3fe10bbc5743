"""Shapes and values of results are those of the dense matrices, whatever sizes, batches, values and indices are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import types
from tests.types.structured.support import dense

pytestmark = pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning")


def numbers(*shape: int) -> Any:
    """Return numbers of a shape, none of them 0."""
    return np.random.default_rng(0).normal(size=shape) + 3


def diagonally_dominant(*shape: int) -> Any:
    """Return regular square matrices."""
    return numbers(*shape) + 5 * shape[-1] * np.eye(shape[-1])


def banded(batch: tuple[int, ...], n: int) -> Any:
    """Return tridiagonal matrices."""
    bands = numbers(*batch, 3, n) + np.asarray([[0.0], [9.0], [0.0]])
    return types.BandedTensor(bands, lower=1, upper=1)


def permutations(batch: tuple[int, ...], n: int) -> Any:
    """Return matrices that reverse the order."""
    return types.PermutationTensor(np.broadcast_to(np.arange(n)[::-1], (*batch, n)).copy())


def low_rank(batch: tuple[int, ...], n: int) -> Any:
    """Return matrices of rank 1."""
    return types.LowRankTensor(numbers(*batch, n, 1), numbers(*batch, 1, n))


def kronecker(batch: tuple[int, ...], n: int) -> Any:
    """Return a product of two factors, the second without a batch."""
    return types.KroneckerTensor(diagonally_dominant(*batch, n, n), diagonally_dominant(2, 2))


MAKERS: dict[str, Callable[[tuple[int, ...], int], Any]] = {
    "Diagonal": lambda batch, n: types.DiagonalTensor(numbers(*batch, n)),
    "Banded": banded,
    "Bidiagonal": lambda batch, n: types.BandedTensor(numbers(*batch, 2, n), lower=1, upper=0),
    "Triangular": lambda batch, n: types.TriangularTensor(numbers(*batch, n, n)),
    "Permutation": permutations,
    "Identity": lambda batch, n: types.PermutationTensor(np.broadcast_to(np.arange(n), (*batch, n)).copy()),
    "BlockDiagonal": lambda batch, n: types.BlockDiagonalTensor(
        [diagonally_dominant(*batch, n, n), diagonally_dominant(1, 1)]
    ),
    "LowRank": low_rank,
    "Kronecker": kronecker,
    "Toeplitz": lambda batch, n: types.ToeplitzTensor(numbers(*batch, n) + 9.0 * (np.arange(n) == 0)),
    "General Toeplitz": lambda batch, n: types.ToeplitzTensor(
        numbers(*batch, n) + 9.0 * (np.arange(n) == 0), numbers(*batch, n) + 1
    ),
    "Circulant": lambda batch, n: types.CirculantTensor(numbers(*batch, n) + 9.0 * (np.arange(n) == 0)),
    "ShiftedKronecker": lambda batch, n: types.ShiftedKroneckerTensor(kronecker(batch, n), dk.asarray(2.0)),
    "LowRankUpdate": lambda batch, n: types.LowRankUpdateTensor(
        types.DiagonalTensor(numbers(*batch, n)), low_rank(batch, n)
    ),
    "Sum": lambda batch, n: types.SumTensor(banded(batch, n), permutations(batch, n)),
    "Sum with Kronecker": lambda batch, n: types.SumTensor(
        types.TriangularTensor(numbers(*batch, 2 * n, 2 * n)), kronecker(batch, n)
    ),
    "Product": lambda batch, n: types.ProductTensor(types.DiagonalTensor(numbers(*batch, n)), permutations(batch, n)),
    "Inverse": lambda batch, n: types.InverseTensor(banded(batch, n)),
}
SINGLE: dict[str, Callable[[int], Any]] = {
    "Scalar": lambda n: types.ScalarTensor(n, 2.0),
    "Sparse": lambda n: types.SparseTensor.from_dense(dk.tril(diagonally_dominant(n, n))),
    "Sparse without elements": lambda n: types.SparseTensor.coo([], [], [], shape=(n, n)),
}
MATRICES = {f"{name} {batch} {n}": (make, batch, n) for name, make in MAKERS.items() for batch, n in (
    *(((), n) for n in (0, 1, 4)),
    *((batch, n) for batch in ((0,), (1,), (2,), (2, 0)) for n in (0, 3)),
)}  # fmt: skip
MATRICES.update({f"{name} {n}": (lambda _, n, m=make: m(n), (), n) for name, make in SINGLE.items() for n in (0, 1, 4)})


def made(name: str) -> Any:
    """Return a matrix by its name."""
    make, batch, n = MATRICES[name]
    return make(batch, n)


def answer(call: Callable[[Any], Any], x: Any) -> Any:
    """Return what a call gives, dense and in a list, or the type of the exception that it raises."""
    try:
        with np.errstate(all="ignore"):
            result = call(x)
            parts = result if isinstance(result, (tuple, list)) else [result]
            arrays = [np.asarray(dense(part).detach()) for part in parts]
    except (ValueError, IndexError, TypeError, np.linalg.LinAlgError) as error:
        return error
    shapes = [tuple(part.shape) for part in parts]
    assert shapes == [array.shape for array in arrays], f"declared shape {shapes}"
    return arrays


def differences(x: Any, calls: dict[str, Callable[[Any], Any]]) -> list[str]:
    """Return in which calls a matrix differs from its dense form, in shape, value, or in whether they raise."""
    plain, texts = x.to_dense(), []
    assert plain.shape == x.shape
    for name, call in calls.items():
        found, wanted = answer(call, x), answer(call, plain)
        if isinstance(found, Exception) or isinstance(wanted, Exception):
            if not (isinstance(found, Exception) and isinstance(wanted, Exception)):
                texts.append(f"{name}: {found!r}, dense {wanted!r}")
        elif [a.shape for a in found] != [a.shape for a in wanted]:
            texts.append(f"{name}: shapes {[a.shape for a in found]}, dense {[a.shape for a in wanted]}")
        elif not all(
            np.allclose(a, b, rtol=1e-8, atol=1e-8, equal_nan=True) for a, b in zip(found, wanted, strict=True)
        ):
            texts.append(f"{name}: {found}, dense {wanted}")
    return texts


PLACES: list[Any] = [0, -1, *(slice(*bounds) for bounds in (
    (None,), (0, 0), (0, 2), (1, None), (None, -1), (-2, None), (3, 1), (4, 2), (-1, 0), (10, 20), (-10, 10),
    (None, None, 2), (None, None, -1), (2, 0, -1),
))]  # fmt: skip
KEYS: list[Any] = [
    *((..., i, j) for i in PLACES for j in PLACES),
    *(None, ..., (), (None, ..., 0), (..., None), (0, ...), slice(0, 0), slice(3, 1), [], [0], [-1, 0], True, False),
    *((..., []), (..., 0, []), (..., [0], [-1]), (..., [], []), (..., slice(0, 0), [0]), (0, ..., 0), 10, (..., 10)),
]
INDICES = {f"x[{key}]": (lambda x, key=key: x[key]) for key in KEYS}


@pytest.mark.parametrize("name", MATRICES)
def test_every_index_gives_what_it_gives_of_the_dense_matrix(name: str) -> None:
    assert not differences(made(name), INDICES)


def test_a_block_of_a_sum_has_structured_terms_or_is_dense() -> None:
    kronecker_and_low_rank = kronecker((), 2) + low_rank((), 4)
    total = kronecker_and_low_rank + types.TriangularTensor(numbers(4, 4))
    assert isinstance(total, types.SumTensor)
    for x in (total, total.mT, -total):
        assert not differences(x, {"block": lambda x: x[1:3, 1:3], "power": lambda x: dk.linalg.matrix_power(x, 3)})
        assert not differences(x, {"block of a block": lambda x: (x[0:3, 0:3] ** 3)[1:, 1:]})
