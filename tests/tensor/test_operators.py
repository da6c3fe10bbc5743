"""Operators: promotion, weak scalars, NumPy on either side, foreign objects."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float32", "float64", "complex64", "complex128"]
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
BITS: dict[str, Callable[[Any, Any], Any]] = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


def equal(result: Any, expected: Any) -> None:
    assert type(result) is dk.Tensor
    assert result.dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(result.detach().numpy(), expected)


@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_promotion_is_numpys(left: str, right: str) -> None:
    a, b = np.ones(2, dtype=left), np.ones(2, dtype=right)
    equal(dk.asarray(a) * dk.asarray(b), a * b)
    equal(dk.asarray(a) * b, a * b)
    equal(a * dk.asarray(b), a * b)
    equal(dk.asarray(a) * b[0], a * b[0])
    equal(a[0] * dk.asarray(b), a[0] * b)


@given(st.sampled_from(DTYPES), st.sampled_from([True, 2, 2.5, 2j]))
def test_python_scalars_are_weak(dtype: str, scalar: complex) -> None:
    a = np.ones(2, dtype=dtype)
    equal(dk.asarray(a) * scalar, a * scalar)
    equal(scalar * dk.asarray(a), scalar * a)
    equal(dk.add(dk.asarray(a), scalar), a + scalar)


def test_mixed_kinds_promote() -> None:
    assert (dk.ones(1, dtype=dk.int64) + dk.ones(1)).dtype == dk.float64
    assert (dk.ones(1, dtype=dk.int64) + dk.ones(1, dtype=dk.float32)).dtype == dk.float64


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    "other", [np.array([2.0, 3.0]), np.float64(2), np.float32(2), np.int64(2), 2, 2.5, np.array(2.0)]
)
def test_numpy_and_numbers_on_either_side(name: str, other: Any) -> None:
    function = BINARY[name]
    a = np.array([1.5, 2.5])
    if name == "@" and np.ndim(other) == 0:
        return
    equal(function(dk.asarray(a), other), function(a, other))
    equal(function(other, dk.asarray(a)), function(other, a))


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("other", [np.array([2, 3]), np.int64(2), 2])
def test_bits_on_either_side(name: str, other: Any) -> None:
    function, a = BITS[name], np.array([5, 6])
    equal(function(dk.asarray(a), other), function(a, other))
    equal(function(other, dk.asarray(a)), function(other, a))


def test_unary_operators() -> None:
    a = np.array([-1.5, 2.0])
    equal(-dk.asarray(a), -a)
    equal(+dk.asarray(a), a)
    equal(abs(dk.asarray(a)), abs(a))
    equal(~dk.asarray(np.array([1, 2])), ~np.array([1, 2]))
    equal(~dk.asarray(np.array([True])), np.array([False]))


def test_numpys_functions_answer_with_tensors() -> None:
    x = dk.ones(2, requires_grad=True)
    for result in (np.add(x, 1), np.exp(x), np.maximum(x, 2.0), np.float64(2) * x, np.ones(2) * x):
        assert type(result) is dk.Tensor
        assert result.requires_grad


class WithArray:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.ones(2)


FOREIGN: dict[str, Any] = {"list": [1.0, 2.0], "tuple": (1.0, 2.0), "array": WithArray(), "text": "a", "None": None}

FOUND = {"list": "a list", "tuple": "a tuple", "array": "a tests.WithArray", "text": "a str", "None": "None"}


@pytest.mark.parametrize("name", ["+", "-", "*", "/", "@", "**", "<", "//"])
@pytest.mark.parametrize("foreign", FOREIGN)
def test_operators_leave_foreign_objects_to_python(name: str, foreign: str) -> None:
    for pair in ((dk.ones(2), FOREIGN[foreign]), (FOREIGN[foreign], dk.ones(2))):
        with pytest.raises(TypeError) as caught:
            BINARY[name](*pair)
        if name != "*":  # a sequence times something asks that for an index
            assert re.search("Tensor|argument 'x[12]' is ", str(caught.value))


@pytest.mark.parametrize("foreign", FOREIGN)
def test_functions_name_the_foreign_object_and_point_to_asarray(foreign: str) -> None:
    value = FOREIGN[foreign]
    message = (
        f"dispatchkit.add: argument 'x2' is {FOUND[foreign]}, not an array"
        + "; convert it with dispatchkit.asarray" * (foreign not in ("text", "None"))
        + "$"
    )
    with pytest.raises(dk.ForeignArgumentError, match=message):
        dk.add(dk.ones(2), value)
    with pytest.raises(dk.ForeignArgumentError, match="dispatchkit.exp: argument 'x'"):  # noqa: RUF043
        dk.exp(value)


def test_a_foreign_objects_own_operator_gets_its_turn() -> None:
    class Other:
        def __radd__(self, other: Any) -> str:
            return "mine"

        def __lt__(self, other: Any) -> str:
            return "less"

    assert dk.ones(2) + Other() == "mine"
    assert (dk.ones(2) > Other()) == "less"


def test_none_as_an_operand_is_named() -> None:
    x: Any = dk.ones(2)
    nothing: Any = None
    add_to: Any = operator.iadd
    for add in (operator.add, add_to):
        with pytest.raises(dk.ForeignArgumentError, match=r"^dispatchkit.add: argument 'x2' is None, not an array$"):
            add(x, nothing)
    with pytest.raises(dk.ForeignArgumentError, match=r"^dispatchkit.subtract: argument 'x1' is None, not an array$"):
        nothing - x
    assert operator.eq(x, nothing) is False
    with pytest.raises(TypeError, match="'<' not supported between instances of 'Tensor' and 'NoneType'"):
        operator.lt(x, nothing)


def test_pytorchs_tensors_are_foreign_objects() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(dk.ForeignArgumentError, match=r"'x2' is a torch.Tensor, not an array; convert it with"):
        dk.add(dk.ones(2), torch.ones(2))


def test_comparison_is_elementwise_and_hashing_by_identity() -> None:
    x, y = dk.ones(2), dk.ones(2)
    equal(x == y, np.array([True, True]))
    assert hash(x) != hash(y)
    assert {x: 1, y: 2}[x] == 1
    assert len({x, y, x}) == 2


def test_comparison_with_a_foreign_object_is_false_as_in_python() -> None:
    assert (dk.ones(2) == "a") is False  # type: ignore[comparison-overlap]
    assert (dk.ones(2) != "a") is True  # type: ignore[comparison-overlap]


def test_functions_take_numbers_and_arrays_alone() -> None:
    equal(dk.add(1, 2), np.asarray(3))
    equal(dk.exp(np.zeros(2)), np.ones(2))
    equal(dk.sum(np.ones(3)), np.asarray(3.0))


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        dk.ones(2) + dk.ones(3)
