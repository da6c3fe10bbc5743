"""Copies, casts, zeros and `detach` of array types go field by field where the type has no rule."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from tests.interop.everywhere import Diagonal, LowRank

V = np.array([1.0, -2.0, 3.0])


def diagonal(*, requires_grad: bool = False) -> Any:
    return Diagonal(dk.tensor(V, requires_grad=requires_grad))


@pytest.fixture(autouse=True)
def nothing_becomes_dense() -> Any:
    with dk.densify(on="error"):
        yield


@pytest.mark.parametrize("copied", [dk.clone, lambda x: x.copy(), lambda x: x.clone(), copy.deepcopy, np.copy])
def test_a_copy_has_fields_of_its_own(copied: Any) -> None:
    d = diagonal()
    made = copied(d)
    assert type(made) is Diagonal
    assert not np.shares_memory(made.d.numpy(), d.d.numpy())
    assert made.d.tolist() == V.tolist()
    low = LowRank(dk.ones((3, 1)), dk.ones((1, 4)))
    assert type(copied(low)) is LowRank
    assert not np.shares_memory(copied(low).v.numpy(), low.v.numpy())


def test_a_shallow_copy_has_the_same_fields() -> None:
    d = diagonal()
    assert copy.copy(d).d is d.d


def test_gradients_flow_through_a_clone_and_not_through_detach() -> None:
    d = diagonal(requires_grad=True)
    y = dk.clone(d)
    y.d.sum().backward()
    assert d.d.grad is not None
    assert d.d.grad.tolist() == [1.0, 1.0, 1.0]
    out = d.detach()
    assert type(out) is Diagonal
    assert not out.d.requires_grad
    assert np.shares_memory(out.d.numpy(), d.d.detach().numpy())


def test_a_cast_is_of_the_fields_where_that_is_one_of_the_elements() -> None:
    d = diagonal(requires_grad=True)
    for made in (dk.astype(d, dk.float32), d.to(dk.float32), d.to(dk.ones(1, dtype=dk.float32)), d.astype("float32")):
        assert type(made) is Diagonal
        assert made.dtype == made.d.dtype == np.float32
        assert made.d.requires_grad
    assert type(d.to("cpu")) is Diagonal
    assert d.to("cpu", copy=True).d is not d.d
    assert d.to(dk.float64) is not None
    # Whole numbers of a product are no products of whole numbers.
    low = LowRank(dk.asarray([[0.5]]), dk.asarray([[4.0]]))
    with pytest.raises(dk.DensifyError):
        dk.astype(low, dk.int64)
    assert dk.astype(low.to_dense(), dk.int64).tolist() == [[2]]


def test_zeros_are_the_product_with_zero_where_the_type_has_a_rule() -> None:
    d = diagonal(requires_grad=True)
    for made in (dk.zeros_like(d), np.zeros_like(d)):
        assert type(made) is Diagonal
        assert not made.d.requires_grad
        assert made.d.tolist() == [0.0, 0.0, 0.0]
        assert not np.signbit(made.d.numpy()).any()
    assert dk.zeros_like(d, dtype=dk.float32).d.dtype == np.float32
    endless = Diagonal(dk.asarray([np.inf, 1.0]))
    assert type(dk.zeros_like(endless)) is dk.Tensor
    assert dk.zeros_like(endless).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.filterwarnings("ignore::dispatchkit.errors.FieldWarning")
def test_zeros_of_a_type_that_no_zero_fields_make_are_right() -> None:
    @dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
    @dataclass
    class Logs:
        """Positive numbers, kept as their logarithms."""

        log: dk.Tensor

        @property
        def shape(self) -> Any:
            return self.log.shape

        @property
        def dtype(self) -> Any:
            return self.log.dtype

        def to_dense(self) -> Any:
            return dk.exp(self.log)

    logs: Any = Logs
    assert dk.zeros_like(logs(dk.zeros(2))).tolist() == [0.0, 0.0]
    assert isinstance(dk.clone(logs(dk.zeros(2))), Logs)

    @dk.implements(dk.multiply)
    def scaled(x1: Logs, x2: float, /) -> Any:
        return Logs(x1.log + float(np.log(x2)) if x2 else x1.log * 0 - np.inf)

    zeros = dk.zeros_like(logs(dk.zeros(2)))
    assert isinstance(zeros, Logs)
    assert zeros.to_dense().tolist() == [0.0, 0.0]


def test_a_rule_of_the_type_goes_first() -> None:
    @dk.array_type()
    @dataclass
    class Counted:
        values: dk.Tensor
        copies: int = 0
        shape, dtype = (2,), dk.float64

    @dk.implements(dk.clone)
    def clone_counted(x: Counted, /) -> Any:
        return Counted(dk.clone(x.values), x.copies + 1)

    assert dk.clone(Counted(dk.ones(2))).copies == 1
    explained = str(dk.explain(dk.clone, diagonal()))
    assert "each field: clone of d" in explained


def test_arrays_outside_the_fields_are_not_lost() -> None:
    @dk.array_type()
    class Hidden:
        shape, dtype = (2,), dk.float64

        def __init__(self, n: int) -> None:
            self.n = n
            self.values = dk.ones(n)

    hidden: Any = Hidden(2)
    with pytest.raises(dk.NoImplementationError, match="holds arrays in other attributes than its fields"):
        dk.clone(hidden)
    with pytest.raises(TypeError, match=r"detach: Hidden holds arrays that are not in its fields; declare them"):
        hidden.detach()


def test_fields_of_numpy_stay_numpys_and_containers_are_walked() -> None:
    @dk.array_type()
    @dataclass
    class Blocks:
        blocks: list[Any]
        names: dict[str, Any]
        shape, dtype = (2, 2), dk.float64

    a = np.ones(2)
    blocks: Any = Blocks([a, dk.ones(2)], {"left": dk.zeros(1), "n": 3})
    made = dk.clone(blocks)
    assert type(made.blocks[0]) is np.ndarray
    assert made.blocks[0] is not a
    assert made.blocks[1] is not blocks.blocks[1]
    assert made.names["n"] == 3
    assert not np.shares_memory(made.names["left"].numpy(), blocks.names["left"].numpy())


def test_zeros_leave_integers_that_are_no_elements_as_they_are() -> None:
    order, toeplitz = dk.types.PermutationTensor([1, 0]), dk.types.ToeplitzTensor([1.0, -2.0])
    quantized = dk.types.QuantizedTensor(np.asarray([[1, -2], [3, 4]], np.int8), np.asarray([-1.0, 2.0]))
    for matrix in (quantized, dk.types.KroneckerTensor(dk.types.DiagonalTensor([2.0]), order), order @ toeplitz):
        assert (dk.zeros_like(matrix) @ dk.ones((2, 2))).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert type(dk.zeros_like(quantized)) is type(quantized)


def test_zeros_in_the_likeness_of_a_singular_inverse_are_zero() -> None:
    inverse, one = dk.types.InverseTensor(dk.types.BandedTensor([[0.0]], lower=0, upper=0)), dk.ones((1, 1))
    for matrix in (inverse, inverse @ inverse.mT, inverse + dk.types.DiagonalTensor([1.0])):
        assert dk.zeros_like(matrix).tolist() == [[0.0]]
        assert (dk.zeros_like(matrix) @ one).tolist() == [[0.0]]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "complex64"])
def test_zeros_have_the_dtype_of_the_matrix(dtype: str) -> None:
    numbers = np.ones((2, 2), dtype)
    for matrix in (
        dk.types.ScalarTensor(2, dk.asarray(numbers[0, 0])),
        dk.types.DiagonalTensor(numbers[0]),
        dk.types.TriangularTensor(numbers),
        dk.types.BandedTensor(numbers, lower=1, upper=0),
        dk.types.BlockDiagonalTensor([numbers]),
        dk.types.ToeplitzTensor(numbers[0]),
        dk.types.CirculantTensor(numbers[0]),
        dk.types.KroneckerTensor(numbers, numbers),
        dk.types.LowRankTensor(numbers, numbers),
    ):
        zeros = dk.zeros_like(matrix)
        assert (type(zeros), zeros.dtype) == (type(matrix), matrix.dtype)


def test_zeros_of_a_type_inside_a_type_are_of_both_types() -> None:
    low = dk.types.LowRankTensor([[1.0], [-2.0]], [[3.0, 4.0]])
    matrix = low + dk.types.ScalarTensor(2, dk.tensor(1.0))
    with dk.densify(on="error"):
        zeros = dk.zeros_like(matrix)
    assert (type(zeros), type(zeros.base), type(zeros.update)) == (type(matrix), dk.types.ScalarTensor, type(low))
    assert zeros.to_dense().tolist() == [[0.0, 0.0], [0.0, 0.0]]
    endless = dk.types.LowRankUpdateTensor(dk.types.ScalarTensor(2, dk.tensor(float("inf"))), low)
    with dk.densify(on="allow"):
        assert dk.zeros_like(endless).tolist() == [[0.0, 0.0], [0.0, 0.0]]
