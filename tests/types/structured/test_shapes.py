"""Shapes and values of results are those of the dense matrices, whatever sizes, batches, values and indices are."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import types
from tests.types.structured.support import dense

pytestmark = [
    pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning"),
    pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning"),
]


def numbers(*shape: int) -> Any:
    """Return numbers of a shape, none of them 0."""
    return np.random.default_rng(0).normal(size=shape) + 3


def diagonally_dominant(*shape: int) -> Any:
    """Return regular square matrices."""
    return numbers(*shape) + 5 * shape[-1] * np.eye(shape[-1])


def banded(batch: tuple[int, ...], n: int) -> Any:
    """Return tridiagonal matrices."""
    return types.BandedTensor(numbers(*batch, 3, n) + 9 * np.eye(3)[1][:, None], lower=1, upper=1)


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


def alone(make: Callable[[int], Any]) -> Callable[[tuple[int, ...], int], Any]:
    """Return a maker of single matrices in the form of those of batches."""
    return lambda batch, n: make(n)


MATRICES = {f"{name} {batch} {n}": (make, batch, n) for name, make in MAKERS.items() for batch, n in (
    *(((), n) for n in (0, 1, 4)),
    *((batch, n) for batch in ((0,), (1,), (2,), (2, 0)) for n in (0, 3)),
)}  # fmt: skip
MATRICES.update({f"{name} {n}": (alone(make), (), n) for name, make in SINGLE.items() for n in (0, 1, 4)})


def made(name: str) -> Any:
    """Return a matrix by its name."""
    make, batch, n = MATRICES[name]
    return make(batch, n)


def answer(call: Callable[[Any], Any], x: Any) -> Any:
    """Return what a call gives, dense and in a list, or the type of the exception that it raises."""
    try:
        result = call(x)
        parts = result if isinstance(result, (tuple, list)) else [result]
        arrays = [np.asarray(dense(part).detach()) for part in parts]
    except (ValueError, IndexError, TypeError, np.linalg.LinAlgError) as error:
        return error
    shapes = [tuple(part.shape) for part in parts]
    assert shapes == [array.shape for array in arrays], f"declared shape {shapes}"
    return arrays


def close(x: Any, y: Any) -> bool:
    """Return whether two arrays of one shape have the same elements but for roundoff."""
    return np.array_equal(x, y) or np.allclose(x, y, rtol=1e-8, atol=1e-8, equal_nan=True)


def differences(x: Any, calls: dict[str, Callable[[Any], Any]]) -> list[str]:
    """Return in which calls a matrix differs from its dense form, in shape, value, or in whether they raise."""
    plain, texts = x.to_dense(), []
    assert plain.shape == x.shape
    with dk.densify(on="allow"), np.errstate(all="ignore"):
        answers = {name: (answer(call, x), answer(call, plain)) for name, call in calls.items()}
    for name, (found, wanted) in answers.items():
        if isinstance(found, Exception) or isinstance(wanted, Exception):
            if not (isinstance(found, Exception) and isinstance(wanted, Exception)):
                texts.append(f"{name}: {found!r}, dense {wanted!r}")
        elif [a.shape for a in found] != [a.shape for a in wanted]:
            texts.append(f"{name}: shapes {[a.shape for a in found]}, dense {[a.shape for a in wanted]}")
        elif not all(map(close, found, wanted)):
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
INDICES: dict[str, Callable[[Any], Any]] = {f"x[{key}]": operator.itemgetter(key) for key in KEYS}


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


def functions() -> dict[str, Callable[[Any], Any]]:
    """Return elementwise functions, reductions and linear algebra by their names."""
    calls: dict[str, Callable[[Any], Any]] = {
        f.__name__: f for f in (dk.negative, dk.abs, dk.sin, dk.expm1, dk.sqrt, dk.isnan, dk.imag, dk.cos)
    }
    calls |= {
        "2 * x": lambda x: 2 * x,
        "x / 2": lambda x: x / 2,
        "x**2": lambda x: x**2,
        "x + x": lambda x: x + x,
        "x * x": lambda x: x * x,
        "x * rows": lambda x: x * dk.arange(float(x.shape[-1])),
        "x + dense": lambda x: x + dk.ones(x.shape[-2:]),
        "larger batch - x": lambda x: dk.ones((2, *x.shape)) - x,
        "x @ x": lambda x: x @ x,
        "x @ x.mT": lambda x: x @ x.mT,
        "x @ vector": lambda x: x @ dk.ones(x.shape[-1]),
        "vector @ x": lambda x: dk.ones(x.shape[-2]) @ x,
        "x @ no columns": lambda x: x @ dk.ones((x.shape[-1], 0)),
        "x @ batch": lambda x: x @ dk.ones((2, *[1] * (x.ndim - 2), x.shape[-1], 2)),
        "x @ empty batch": lambda x: x @ dk.ones((0, *[1] * (x.ndim - 2), x.shape[-1], 2)),
        "x @ too long a vector": lambda x: x @ dk.ones(x.shape[-1] + 2),
        "solve": lambda x: dk.linalg.solve(x, dk.ones(x.shape[-1])),
        "power 0": lambda x: dk.linalg.matrix_power(x, 0),
        "power 2": lambda x: dk.linalg.matrix_power(x, 2),
        "(2 x) @ columns": lambda x: (2 * x) @ dk.ones((x.shape[-1], 2)),
        "row of -x": lambda x: (-x)[..., 0:, 0],
        "sum of x @ x": lambda x: dk.sum(x @ x, axis=-1),
    }
    linalg = dk.linalg
    for f in (linalg.trace, linalg.diagonal, linalg.det, linalg.slogdet, linalg.cholesky, linalg.matrix_norm):
        calls[f.__name__] = f
    # What is singular is so by roundoff.
    calls["inv"] = lambda x: linalg.inv(x) if "LowRankTensor" not in type(x).__name__ else x
    for f in (dk.sum, dk.mean):
        for axis in (None, 0, -1, -2, (-1, -2), (0, 0), (0, -2), (), 5):
            for keepdims in (False, True):
                reduction = functools.partial(f, axis=axis, keepdims=keepdims)
                calls[f"{f.__name__}({axis}, {keepdims})"] = reduction
    return calls


@pytest.mark.parametrize("name", MATRICES)
def test_every_function_gives_what_it_gives_of_the_dense_matrix(name: str) -> None:
    calls = functions()
    if name.startswith(("LowRank ", "Sum")):
        calls = {key: call for key, call in calls.items() if key not in ("solve", "inv", "cholesky")}
    assert not differences(made(name), calls)


@pytest.mark.parametrize("call", [lambda p: 2 * p, lambda p: -p, dk.sin, lambda p: dk.asarray(1.0) * p, dk.abs])
@pytest.mark.parametrize("moving", [[0, 1, 2], [1, 0, 2]])
def test_values_of_a_permutation_do_not_decide_the_type_of_a_function(moving: list[int], call: Any) -> None:
    expected = type(call(types.PermutationTensor([2, 0, 1])))
    assert type(call(types.PermutationTensor(moving))) is expected
    assert type(call(types.PermutationTensor([moving, moving]))) is expected


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_a_permutation_times_a_number_has_a_derivative_by_it_where_it_is_1(factor: float) -> None:
    p = types.PermutationTensor([1, 0, 2])

    def loss(s: Any) -> Any:
        return dk.sum((s * p) @ dk.arange(3.0))

    s = dk.tensor(factor)
    assert dk.func.grad(loss)(s).item() == 3.0
    assert dk.func.jvp(loss, (s,), (dk.asarray(1.0),))[1].item() == 3.0


INFINITE: dict[str, Any] = {
    "LowRank": types.LowRankTensor([[np.inf], [1.0]], [[1.0, 1.0]]),
    "Kronecker": types.KroneckerTensor([[np.inf, 1.0], [0.0, 1.0]], [[1.0]]),
    "Circulant": types.CirculantTensor([np.inf, 1.0]),
    "Toeplitz": types.ToeplitzTensor([np.inf, 1.0]),
    "Diagonal": types.DiagonalTensor([np.inf, 1.0]),
    "Permutation": types.PermutationTensor([1, 0]),
    "Sum": types.SumTensor(types.PermutationTensor([1, 0]), types.CirculantTensor([np.nan, 1.0])),
}


@pytest.mark.parametrize("right", INFINITE)
@pytest.mark.parametrize("left", INFINITE)
def test_sums_and_products_of_infinite_matrices_have_an_answer(left: str, right: str) -> None:
    for operation in (dk.add, dk.subtract, dk.multiply, dk.matmul):
        with np.errstate(all="ignore"):
            found = operation(INFINITE[left], INFINITE[right])
            assert dense(found).shape == (2, 2)
    with pytest.raises(ValueError, match=r"cannot be multiplied|mismatch|shapes"):
        dk.matmul(INFINITE[left], types.LowRankTensor(numbers(3, 1), numbers(1, 3)))


@pytest.mark.parametrize("left", MAKERS)
def test_batches_that_do_not_broadcast_are_refused_by_sums_and_products(left: str, subtests: pytest.Subtests) -> None:
    for right in MAKERS:
        with subtests.test(right):
            is_refused_with_a_batch_that_does_not_broadcast(left, right)


def is_refused_with_a_batch_that_does_not_broadcast(left: str, right: str) -> None:
    x1, x2 = MAKERS[left]((2,), 1), MAKERS[right]((3,), 1)
    x2 = x2 if x1.shape[-1] == x2.shape[-1] else MAKERS[left]((3,), 1)
    for operation in (dk.add, dk.matmul):
        with pytest.raises(ValueError, match=r"broadcast|cannot be multiplied|do not fit|one size"):
            operation(x1, x2)


def test_a_symmetric_toeplitz_matrix_of_booleans_has_a_transpose() -> None:
    x = types.ToeplitzTensor([True, False])
    assert not differences(x, {"mT": lambda x: x.mT, "sum": lambda x: dk.sum(x, axis=-2)})


def test_a_product_of_infinite_low_ranks_is_that_of_the_dense_matrices() -> None:
    x = INFINITE["LowRank"]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((x @ x).to_dense().numpy(), (x.to_dense() @ x.to_dense()).numpy())


def of_an_empty_batch(number: float) -> dict[str, Any]:
    """Return matrices of empty batches, with a number in the parts that have no batch."""
    matrix, vector, order = np.full((2, 2), number), np.full(2, number), types.PermutationTensor(np.zeros((0, 2), int))
    return {
        "block": types.BlockDiagonalTensor([numbers(0, 2, 2), matrix]),
        "Kronecker": types.KroneckerTensor(numbers(0, 2, 2), matrix),
        "Kronecker of a diagonal": types.KroneckerTensor(numbers(0, 2, 2), types.DiagonalTensor(vector)),
        "product": types.ProductTensor(types.DiagonalTensor(vector), order),
        "sum": types.SumTensor(types.ToeplitzTensor(vector), order),
        "update": types.DiagonalTensor(vector) + types.LowRankTensor(numbers(0, 2, 1), numbers(1, 2)),
        "shifted": types.KroneckerTensor(numbers(0, 2, 2), matrix) + types.ScalarTensor(4, dk.asarray(number)),
    }


OF_MATRICES: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(dk.linalg, name) for name in ("inv", "cholesky", "det", "eigvalsh", "svdvals", "matrix_rank")},
    "solve": lambda x: dk.linalg.solve(x, dk.ones(x.shape[-1])),
    "solve a structure": lambda x: dk.linalg.solve(x, x),
    "slogdet": lambda x: dk.linalg.slogdet(x)[1],
    "eigh": lambda x: dk.linalg.eigh(x)[0],
    "inverse power": lambda x: dk.linalg.matrix_power(x, -1),
    "spectral norm": lambda x: dk.linalg.matrix_norm(x, ord=2),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the infinities
@pytest.mark.parametrize("number", [0.0, np.inf])
@pytest.mark.parametrize("name", of_an_empty_batch(0.0))
def test_parts_that_have_no_batch_are_not_examined_where_the_batch_is_empty(name: str, number: float) -> None:
    assert not differences(of_an_empty_batch(number)[name], OF_MATRICES)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of means of nothing
@pytest.mark.parametrize("number", [0.0, 2.0, np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int8"])
def test_a_matrix_without_rows_gives_what_the_dense_one_gives(number: float, dtype: str) -> None:
    if dtype == "int8" and number == np.inf:
        return
    empty = np.zeros(0, dtype)
    functions = {name: call for name, call in OF_MATRICES.items() if "norm" not in name}
    functions |= {
        "sum": dk.sum,
        "mean": dk.mean,
        "mean of rows": lambda x: x.mean(axis=0),
        "norm": dk.linalg.matrix_norm,
    }
    for x in (
        types.ScalarTensor(0, dk.asarray(np.asarray(number, dtype))),
        types.ScalarTensor(0, dk.asarray(np.asarray(number, dtype))) + types.LowRankTensor(empty[:, None], empty[None]),
        *(types.DiagonalTensor(empty), types.CirculantTensor(empty), types.ToeplitzTensor(empty)),
    ):
        assert not differences(x, functions)
        for name, call in functions.items():
            found, wanted = answer(call, x), answer(call, x.to_dense())
            assert isinstance(wanted, Exception) or found[0].dtype == wanted[0].dtype, name


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
@pytest.mark.parametrize("make", [types.ToeplitzTensor, types.CirculantTensor, types.DiagonalTensor])
def test_matrices_without_elements_have_derivatives_and_become_not_dense(make: Any, shape: tuple[int, ...]) -> None:
    calls: dict[str, Callable[[Any], Any]] = {
        "det": dk.linalg.det,
        "slogdet": lambda x: dk.linalg.slogdet(x)[1],
        "solve": lambda x: dk.linalg.solve(x, dk.ones((x.shape[-1], 2))),
        "solve a vector": lambda x: dk.linalg.solve(x, dk.ones(x.shape[-1])),
        "product": lambda x: x @ dk.ones((x.shape[-1], 2)),
    }
    for call in calls.values():
        assert dk.func.grad(lambda v, call=call: call(make(v)).sum())(dk.zeros(shape)).shape == shape
    with dk.densify(on="error"):
        assert dk.linalg.solve(make(dk.zeros(shape)), dk.ones(shape[-1])).shape == shape


def test_a_difference_from_a_structure_whose_negative_is_dense_is_that_of_tensors() -> None:
    @dk.array_type(fields=("vector",))
    class Reflection(types.StructuredTensor):
        def __init__(self, vector: Any) -> None:
            self.vector = dk.asarray(vector)

        shape = property(lambda self: (*self.vector.shape, *self.vector.shape))
        dtype = property(lambda self: self.vector.dtype)

        def to_dense(self) -> Any:
            return dk.eye(self.vector.size) - 2 * dk.linalg.outer(self.vector, self.vector)

    small = types.ToeplitzTensor(np.asarray([1, 2], np.int16), np.asarray([1, 3], np.int16))
    for x in (Reflection([0.6, 0.8]), types.ProductTensor(small, small)):
        calls = {"tensor": lambda x: dk.ones((2, 2)) - x, "diagonal": lambda x: types.DiagonalTensor([1.0, 2.0]) - x}
        assert not differences(x, calls)


def test_the_negative_of_a_product_of_integers_keeps_its_factors() -> None:
    small = types.ToeplitzTensor(np.asarray([1, 2], np.int16), np.asarray([1, 3], np.int16))
    with dk.densify(on="error"):
        assert isinstance(-types.ProductTensor(small, small), types.ProductTensor)


OBLONG: dict[str, Any] = {
    "Toeplitz": lambda: types.ToeplitzTensor([1.0, 2.0, 3.0], [1.0, 5.0, 6.0, 7.0]),
    "complex Toeplitz": lambda: types.ToeplitzTensor([1.0, 2j, 3.0]),
    "batch of Toeplitz": lambda: types.ToeplitzTensor(numbers(2, 3)),
    "low rank": lambda: types.LowRankTensor(numbers(3, 2), numbers(2, 4)),
    "batch of low rank": lambda: types.LowRankTensor(numbers(2, 3, 1), numbers(1, 5)),
}


@pytest.mark.parametrize("name", OBLONG)
@pytest.mark.parametrize("offset", range(-4, 6))
def test_each_diagonal(name: str, offset: int) -> None:
    matrix = OBLONG[name]()
    with dk.densify(on="error"):
        diagonal = dk.linalg.diagonal(matrix, offset=offset)
    expected = np.diagonal(matrix.to_dense().numpy(), offset=offset, axis1=-2, axis2=-1)
    np.testing.assert_allclose(diagonal.numpy(), expected, strict=True)
    diagonal[...] = 0  # which is in memory of its own
    np.testing.assert_allclose(dk.linalg.diagonal(matrix, offset=offset).numpy(), expected)
