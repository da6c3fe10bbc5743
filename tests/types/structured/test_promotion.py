"""Rules of structured matrices promote, then compute: integers and booleans give what their dense forms give."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import types

BYTES = np.asarray([200, 7], np.uint8)
HALVES = np.asarray([1.5, -2.5])
DTYPES = ("bool", "uint8", "int8", "uint32", "float16", "float32", "complex64")
OPERATORS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul, operator.lt)


def matrices(dtype: str) -> dict[str, Any]:
    """Return a matrix of each structure with elements of a dtype."""
    vector = dk.asarray(np.asarray([1, 0] if dtype == "bool" else [100, 3], dtype))
    square = dk.asarray(np.asarray([[3, 2], [1, 90]], dtype))
    return {
        "scalar": types.ScalarTensor(2, vector[0]),
        "diagonal": types.DiagonalTensor(vector),
        "permutation": types.PermutationTensor([1, 0], dtype=dtype),
        "triangular": types.TriangularTensor(square),
        "banded": types.BandedTensor(square, lower=1, upper=0),
        "blocks": types.BlockDiagonalTensor([square[:1, :1], square[1:, 1:]]),
        "low rank": types.LowRankTensor(vector[:, None], vector[None, :]),
        "kronecker": types.KroneckerTensor(square, vector[None, :1]),
        "toeplitz": types.ToeplitzTensor(vector),
        "circulant": types.CirculantTensor(vector),
        "sum": types.SumTensor(types.DiagonalTensor(vector), types.PermutationTensor([1, 0], dtype="uint8")),
        "update": types.ScalarTensor(2, vector[0]) + types.LowRankTensor(BYTES[:, None], BYTES[None, :]),
        "shifted": types.KroneckerTensor(square, dk.ones((1, 1), dtype="uint8")) + types.ScalarTensor(2, vector[1]),
    }


def answer(function: Any, *args: Any) -> Any:
    """Return the result as a NumPy array, or the class of the error."""
    try:
        result = function(*args)
    except (TypeError, ValueError, OverflowError, np.linalg.LinAlgError) as error:
        return type(error)
    return (result if isinstance(result, dk.Tensor) else result.to_dense()).numpy()


def check(result: Any, wanted: Any, *, dtype: bool = True) -> None:
    if isinstance(wanted, type):
        assert result is wanted
        return
    assert not isinstance(result, type)
    np.testing.assert_allclose(result, wanted, rtol=2e-3)
    assert not dtype or result.dtype == wanted.dtype


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", matrices("uint8"))
def test_a_matrix_and_another_operand_give_what_the_dense_form_gives(
    name: str, dtype: str, subtests: pytest.Subtests
) -> None:
    x = matrices(dtype)[name]
    dense = x.to_dense()
    others = [(y, y if isinstance(y, dk.Tensor) else y.to_dense()) for y in other_operands()]
    for operation in OPERATORS:
        with subtests.test(operation.__name__):
            for y, plain in others:
                check(answer(operation, x, y), answer(operation, dense, plain))
                check(answer(operation, y, x), answer(operation, plain, dense))


def other_operands() -> list[Any]:
    """Return tensors of three dtypes, and matrices of integers and of halves."""
    return [
        *(dk.asarray(np.asarray([[200, 1], [2, 3]], other)) for other in ("uint8", "bool", "float64")),
        *(types.DiagonalTensor(part) for part in (BYTES, HALVES)),
        types.ToeplitzTensor(BYTES, HALVES),
        types.LowRankTensor(BYTES[:, None], HALVES[None, :]),
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "float32"])
@pytest.mark.parametrize("name", matrices("uint8"))
def test_scalings_systems_and_sums_have_the_dtype_and_the_values_of_the_dense_form(name: str, dtype: str) -> None:
    x = matrices(dtype)[name]
    functions = (
        *(lambda m: m * 2.5, lambda m: m / 3, lambda m: 2 - m, lambda m: m.sum(axis=0), lambda m: m.mean()),
        *(dk.negative, dk.linalg.trace, dk.linalg.matrix_norm),
    )
    for function in functions:
        check(answer(function, x), answer(function, x.to_dense()))
    for right in ("int8", "bool", "float32"):
        vector = dk.ones(2, dtype=right)
        wanted = answer(dk.linalg.solve, x.to_dense(), vector)
        if not isinstance(wanted, type):
            check(answer(dk.linalg.solve, x, vector), wanted)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8"])
@pytest.mark.parametrize("name", matrices("uint8"))
def test_python_numbers_outside_of_the_dtype_are_refused_as_by_the_dense_form(name: str, dtype: str) -> None:
    x = matrices(dtype)[name]
    for number in (-1, 300, 2):
        for operation in (operator.add, operator.sub, operator.mul, operator.lt):
            for call in (lambda m, f=operation, k=number: f(m, k), lambda m, f=operation, k=number: f(k, m)):
                check(answer(call, x), answer(call, x.to_dense()))


def test_the_inverse_of_an_inverse_has_the_dtype_of_inverses() -> None:
    matrix = types.BandedTensor(np.asarray([[2, 3]], np.uint8), lower=0, upper=0)
    twice: Any = dk.linalg.inv(dk.linalg.inv(matrix))
    assert (type(twice), twice.dtype) == (types.BandedTensor, np.float64)


def test_products_of_small_integers_are_int64_as_sums_are() -> None:
    low = types.LowRankTensor(BYTES[:, None], BYTES[None, :])
    assert low.dtype == low.to_dense().dtype == np.int64
    assert low.to_dense().tolist() == [[40000, 1400], [1400, 49]]
    assert types.KroneckerTensor(np.ones((2, 1), bool), np.ones((1, 1), bool)).to_dense().tolist() == [[1], [1]]


@pytest.mark.filterwarnings("ignore")  # of the overflow, and of what becomes dense
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_cast_that_a_part_overflows_in_is_that_of_the_elements(dtype: str) -> None:
    large = 10.0 * float(np.finfo(dtype).max)
    left, right, one = (
        np.asarray([[large], [1.0]]),
        np.asarray([[1 / large, 2.0]]),
        np.asarray([[2.0, 1.0], [1.0, 3.0]]),
    )
    banded = types.BandedTensor([[large, 2.0]], lower=0, upper=0)
    matrices: list[Any] = [
        types.LowRankTensor(left * [[1.0], [0.0]], right),
        types.KroneckerTensor(left, right * 0.5),
        types.ProductTensor(types.DiagonalTensor([large, 1.0]), types.ToeplitzTensor([1 / large, 0.0])),
        types.LoraTensor(one, left / large, right),
        types.InverseTensor(banded),
        types.InverseTensor(banded) @ types.TriangularTensor(one),
        types.DiagonalTensor([large, 1.0]),
    ]
    for matrix in matrices:
        result = matrix.astype(dtype)
        full = result if isinstance(result, dk.Tensor) else result.to_dense()
        assert full.dtype == dtype
        np.testing.assert_allclose(full.numpy(), matrix.to_dense().numpy().astype(dtype), rtol=1e-2)


def wrapping_sums_and_products() -> dict[str, Any]:
    """Return sums and products of integers and booleans whose elements wrap around, alone and among real numbers."""
    sums = {
        dtype: types.SumTensor(
            types.DiagonalTensor(np.asarray(diagonal, dtype)), types.TriangularTensor(np.asarray(square, dtype))
        )
        for dtype, diagonal, square in (
            ("bool", [1, 0], [[1, 0], [1, 1]]),
            ("uint8", [200, 1], [[100, 0], [1, 1]]),
        )
    }
    product, real = types.ProductTensor(*sums["uint8"].terms), types.DiagonalTensor([0.5, 1.0])
    return {
        **sums,
        "product": product,
        "sum of a product": types.SumTensor(product, real),
        "sum of a sum": types.SumTensor(sums["uint8"], real),
        "product of a sum": types.ProductTensor(sums["uint8"], real),
    }


LINEAR: dict[str, Any] = {
    "times a number": lambda x: x * 0.5,
    "by a number": lambda x: x / 2,
    "times a column": lambda x: x @ dk.ones(2),
    "times a row": lambda x: dk.ones(2) @ x,
    "sum": lambda x: x.sum(),
    "plus a tensor": lambda x: x + dk.full((2, 2), 0.5),
    "a tensor less": lambda x: dk.full((2, 2), 0.5) - x,
    "plus a matrix": lambda x: x + types.DiagonalTensor([1.0, 2.0]),
    "a matrix less": lambda x: types.DiagonalTensor([1.0, 2.0]) - x,
    "times a matrix": lambda x: x @ types.DiagonalTensor([0.5, 2.0]),
    "cast": lambda x: x.astype("float64"),
    "determinant": dk.linalg.det,
    "inverse": dk.linalg.inv,
}


@pytest.mark.filterwarnings("ignore")  # what becomes dense
@pytest.mark.parametrize("name", wrapping_sums_and_products())
@pytest.mark.parametrize("function", LINEAR.values(), ids=LINEAR)
def test_sums_and_products_of_integers_wrap_around_before_they_meet_real_numbers(name: str, function: Any) -> None:
    matrix = wrapping_sums_and_products()[name]
    check(answer(function, matrix), answer(function, matrix.to_dense()))
