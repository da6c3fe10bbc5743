"""What Python asks of arrays: `divmod`, `round`, `math`, a buffer; the further names of cumulative sums."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import AutogradError, DensifyError

A = np.array([[1.5, -2.25], [3.0, 0.125]])


def test_divmod_gives_quotient_and_remainder_from_either_side() -> None:
    x = dk.tensor(A, requires_grad=True)
    got: Any
    for got, want in ((divmod(x, 0.5), divmod(A, 0.5)), (divmod(7.0, x), divmod(7.0, A)), (divmod(A, x), divmod(A, A))):
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one.detach().numpy(), other)
    divmod(x, 0.7)[1].sum().backward()
    np.testing.assert_array_equal(np.asarray(x.grad), np.ones((2, 2)))
    with pytest.raises(TypeError, match="unsupported operand"):
        divmod(x, "text")


def test_round_takes_decimals() -> None:
    x = dk.asarray(A)
    assert round(x).tolist() == [[2.0, -2.0], [3.0, 0.0]]
    assert round(x, 1).tolist() == [[1.5, -2.2], [3.0, 0.1]]
    assert isinstance(round(dk.types.ScalarTensor(2, 1.7)), dk.types.ScalarTensor)


@pytest.mark.parametrize("make", [dk.types.MaskedTensor, dk.types.UncertainTensor])
def test_in_asks_whether_an_element_equals_a_value(make: Any) -> None:
    x = make([[2.0, 0.0], [3.0, 0.5]])
    assert 2.0 in x
    assert 7.0 not in x


def test_what_is_missing_equals_no_value() -> None:
    assert 2.0 not in dk.types.MaskedTensor([[1.0, 2.0]], [[True, False]])
    assert 2.0 not in dk.types.MaskedTensor([1.0, 2.0], False)


def test_functions_of_math_take_one_element() -> None:
    x = dk.asarray([-2.75])
    assert (math.trunc(x), math.floor(x), math.ceil(x)) == (-2, -3, -2)
    with pytest.raises(ValueError, match="one element"):
        math.trunc(dk.asarray(A))


def test_cumulative_sums_have_pytorchs_names() -> None:
    x = dk.asarray(A)
    np.testing.assert_array_equal(x.cumsum(0).numpy(), A.cumsum(0))
    np.testing.assert_array_equal(x.cumprod(axis=1).numpy(), A.cumprod(1))
    assert dk.cumsum is dk.cumulative_sum


def test_the_memory_is_a_buffer() -> None:
    x = dk.asarray(A.copy())
    view = x.__buffer__(0)
    assert (view.shape, view.format) == ((2, 2), "d")
    np.asarray(view)[0, 0] = 9.0
    assert x[0, 0].item() == 9.0
    if sys.version_info >= (3, 12):
        assert bytes(memoryview(x)) == x.numpy().tobytes()
    with pytest.raises(AutogradError, match="would lose the graph"):
        dk.tensor(A, requires_grad=True).__buffer__(0)


def test_types_and_tensors_have_one_namespace() -> None:
    metadata: Any = dk.types.MetadataTensor(A, {"unit": "m"})
    assert dk.ones(2).__array_namespace__() is metadata.__array_namespace__() is dk
    with pytest.raises(ValueError, match=r"'1999\.12' is not known; known: 2021\.12"):
        metadata.__array_namespace__(api_version="1999.12")


def test_a_python_number_is_rounded() -> None:
    assert dk.round(1.7).item() == 2.0
    assert dk.round(3).item() == 3


class Decibels:
    """Powers by their levels: the first field has the shape of the array, and other elements."""

    def __init__(self, level: Any) -> None:
        self.level: dk.Tensor = dk.asarray(level)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.level.shape

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float64)

    def to_dense(self) -> Any:
        return 10 ** (self.level / 10)


def decibels(level: float) -> Any:
    return dk.array_type(fallback=dk.fallback.dense)(type("Decibels", (Decibels,), {}))(level)


def by_function(level: float) -> Any:
    """Return an array whose dense form is made by a function, and is a Python number."""
    cls = type("Unmade", (), {"__init__": Decibels.__init__, "shape": (), "dtype": np.dtype(np.float64)})
    return dk.array_type(fallback=dk.fallback.dense, dense=lambda x: 10 ** (x.level.item() / 10))(cls)(level)


def quantized(number: int) -> Any:
    return dk.types.QuantizedTensor(dk.asarray([[number]], dtype=dk.int8), dk.asarray([0.25]))


ONE_ELEMENT: dict[str, tuple[Callable[[], Any], float]] = {
    "levels": (lambda: decibels(30.0), 1000.0),
    "levels, of power one": (lambda: decibels(0.0), 1.0),
    "dense by a function": (lambda: by_function(30.0), 1000.0),
    "low rank": (lambda: dk.types.LowRankTensor([[2.0]], [[3.0]]), 6.0),
    "low rank, zero": (lambda: dk.types.LowRankTensor([[1.0]], [[0.0]]), 0.0),
    "quantized": (lambda: quantized(5), 1.25),
    "quantized, zero": (lambda: quantized(0), 0.0),
    "lora": (lambda: dk.types.LoraTensor(dk.ones((1, 1)), dk.ones((1, 1)), dk.ones((1, 1))), 2.0),
    "diagonal": (lambda: dk.types.DiagonalTensor([3.0]), 3.0),
    "permutation": (lambda: dk.types.PermutationTensor([0]), 1.0),
    "metadata": (lambda: dk.types.MetadataTensor([3.0], {"unit": "m"}), 3.0),
    "metadata of low rank": (lambda: dk.types.MetadataTensor(dk.types.LowRankTensor([[2.0]], [[3.0]])), 6.0),
    "lazy": (lambda: dk.types.LazyTensor(dk.asarray([4.0])) + 1.0, 5.0),
}
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: x.item(),
    "float": float,
    "int": int,
    "bool": bool,
    "complex": complex,
    "sqrt": math.sqrt,
    "trunc": math.trunc,
    "floor": math.floor,
}


@pytest.mark.parametrize("asked", NUMBERS)
@pytest.mark.parametrize("name", ONE_ELEMENT)
def test_what_python_asks_of_one_element_is_answered_by_the_dense_form(name: str, asked: str) -> None:
    make, element = ONE_ELEMENT[name]
    # The program asks for it itself, which no budget forbids.
    with dk.densify(on="error"):
        found = NUMBERS[asked](make())
    expected = NUMBERS[asked](np.float64(element))
    assert (type(found), found) == (type(expected), pytest.approx(expected))


def test_a_number_that_a_program_asks_for_is_deliberate_and_inside_an_operation_it_is_not() -> None:
    power = decibels(30.0)
    dk.clear_densify_ledger()
    with dk.densify(on="error"):
        float(power)
    (entry,) = dk.densify_ledger()
    assert (entry.file, entry.function, entry.count, entry.nbytes, entry.deliberate) == (
        __file__,
        "Decibels.item",
        1,
        8,
        True,
    )

    with dk.local_registrations():

        @dk.implements(dk.exp, type(power))
        def exponential(x: Any, /) -> Any:
            return dk.asarray(math.exp(float(x) / 1000))

        assert dk.exp(power).item() == pytest.approx(math.e)
        with dk.densify(on="error"), pytest.raises(DensifyError, match=r"'Decibels\.item' would make Decibels dense"):
            dk.exp(power)


class Held:
    """A value of one field, whose dense form nobody knows."""

    def __init__(self, data: Any) -> None:
        self.data: dk.Tensor = dk.asarray(data)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> Any:
        return self.data.dtype


@pytest.mark.parametrize("value", [3.0, 3, True])
@pytest.mark.parametrize("fallback", [dk.fallback.refuse, dk.fallback.rewrap])
def test_only_a_type_that_rewraps_gives_its_first_field_for_a_truth_value_or_a_place(value: Any, fallback: Any) -> None:
    x = dk.array_type(fallback=fallback)(type("Held", (Held,), {}))(value)
    if fallback == dk.fallback.rewrap and not isinstance(value, float):
        assert (x.item(), bool(x)) == (value, True)
        return
    for number in NUMBERS.values():
        with pytest.raises(TypeError) as caught:
            number(x)
        assert str(caught.value) == "Held has no dense form whose element could be a number; define to_dense()"
