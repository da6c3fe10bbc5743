"""Operators: the rules of the functions, and Python's turn only for foreign objects."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    with dk.local_registrations():
        yield


@dk.array_type()
class Duck:
    """An array type without rules of its own; tests register some."""


class Polite:
    """A foreign object that answers reflected operators."""

    def __radd__(self, other: Any) -> str:
        return "radd"

    def __add__(self, other: Any) -> str:
        return "add"

    def __rmatmul__(self, other: Any) -> str:
        return "rmatmul"

    def __lt__(self, other: Any) -> str:
        return "lt"

    def __gt__(self, other: Any) -> str:
        return "gt"


BINARY: list[tuple[Callable[[Any, Any], Any], Any]] = [
    (operator.add, dk.add),
    (operator.sub, dk.subtract),
    (operator.mul, dk.multiply),
    (operator.truediv, dk.divide),
    (operator.floordiv, dk.floor_divide),
    (operator.mod, dk.remainder),
    (operator.pow, dk.pow),
    (operator.matmul, dk.matmul),
    (operator.and_, dk.bitwise_and),
    (operator.or_, dk.bitwise_or),
    (operator.xor, dk.bitwise_xor),
    (operator.lshift, dk.bitwise_left_shift),
    (operator.rshift, dk.bitwise_right_shift),
]
COMPARISONS: list[tuple[Callable[[Any, Any], Any], Any]] = [
    (operator.eq, dk.equal),
    (operator.ne, dk.not_equal),
    (operator.lt, dk.less),
    (operator.le, dk.less_equal),
    (operator.gt, dk.greater),
    (operator.ge, dk.greater_equal),
]
UNARY: list[tuple[Callable[[Any], Any], Any]] = [
    (operator.neg, dk.negative),
    (operator.pos, dk.positive),
    (operator.invert, dk.bitwise_invert),
    (abs, dk.abs),
]


def name_of(value: Any) -> str | None:
    return getattr(value, "__name__", None)


@pytest.mark.parametrize(("symbol", "function"), BINARY, ids=name_of)
def test_one_rule_serves_function_and_operator(symbol: Any, function: Any) -> None:
    dk.implements(function, Duck)(lambda x1, x2, /: (x1, x2))
    x, t, n = Duck(), dk.ones(2), np.ones(2)
    assert symbol(x, x) == (x, x)
    for other in (t, 2.0, np.float64(2.0)):
        assert symbol(x, other)[0] is x
        assert symbol(other, x)[1] is x
    assert symbol(n, x)[1] is x
    assert symbol(x, n)[0] is x


@pytest.mark.parametrize(("symbol", "function"), COMPARISONS, ids=name_of)
def test_comparisons_reach_their_rule(symbol: Any, function: Any) -> None:
    dk.implements(function, Duck)(lambda x1, x2, /: (x1, x2))
    x = Duck()
    assert symbol(x, 1.0) == (x, 1.0)
    assert symbol(x, dk.ones(2))[0] is x
    assert symbol(dk.ones(2), x)[1] is x


@pytest.mark.parametrize(("symbol", "function"), UNARY, ids=name_of)
def test_unary_operators_reach_their_rule(symbol: Any, function: Any) -> None:
    dk.implements(function, Duck)(lambda x, /: x)
    x = Duck()
    assert symbol(x) is x


def test_a_method_reaches_the_rule() -> None:
    @dk.implements(dk.mean)
    def mean_duck(x: Duck, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        return (x, axis)

    x: Any = Duck()
    assert x.mean() == dk.mean(x) == (x, None)
    assert x.mean(0) == x.mean(axis=0) == (x, 0)


def test_an_alias_reaches_the_rule() -> None:
    dk.implements(dk.mul, Duck)(lambda x1, x2, /: "rule")
    x: Any = Duck()
    assert dk.multiply(x, 1) == x * 1 == x.mul(1) == "rule"
    assert dk.mul is dk.multiply


def test_indexing_reaches_the_rule() -> None:
    dk.implements(dk.getitem, Duck)(lambda x, key, /: ("item", key))
    x: Any = Duck()
    assert x[0, 1:] == ("item", (0, slice(1, None)))


@pytest.mark.parametrize("x", [dk.ones(2), Duck()], ids=["Tensor", "Duck"])
def test_a_foreign_object_has_its_turn(x: Any) -> None:
    foreign = Polite()
    assert x + foreign == "radd"
    assert foreign + x == "add"
    assert x @ foreign == "rmatmul"
    assert (x > foreign, x < foreign) == ("lt", "gt")


@pytest.mark.parametrize("x", [dk.ones(2), Duck()], ids=["Tensor", "Duck"])
@pytest.mark.parametrize("foreign", [[1.0, 2.0], "text", object(), {1: 2}])
def test_a_foreign_object_without_one_is_pythons_type_error(x: Any, foreign: Any) -> None:
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for -"):
        x - foreign
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for -"):
        foreign - x


@pytest.mark.parametrize("x", [dk.ones(2), Duck()], ids=["Tensor", "Duck"])
def test_a_foreign_object_is_not_equal(x: Any) -> None:
    assert (x == "text") is False
    assert (x != "text") is True


@pytest.mark.parametrize("foreign", [[1.0, 2.0], (1.0, 2.0), object()])
def test_functions_point_foreign_objects_to_asarray(foreign: Any) -> None:
    for args in ((dk.ones(2), foreign), (foreign, dk.ones(2)), (Duck(), foreign)):
        with pytest.raises(dk.ForeignArgumentError, match="asarray") as caught:
            dk.add(*args)
        assert f" {type(foreign).__name__}, not an array" in str(caught.value)


def test_a_string_is_not_to_be_converted() -> None:
    with pytest.raises(dk.ForeignArgumentError, match=r"argument 'x2' is a str, not an array$"):
        dk.add(dk.ones(2), "text")


def test_the_message_names_function_and_argument() -> None:
    with pytest.raises(dk.ForeignArgumentError) as caught:
        dk.add(dk.ones(2), [1.0])
    assert str(caught.value).startswith("dispatchkit.add: argument 'x2' is a list, not an array; ")


def test_what_merely_has_array_is_a_foreign_object() -> None:
    class HasArray:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise AssertionError("nobody converts it")

    with pytest.raises(TypeError, match="unsupported operand"):
        dk.ones(2) + HasArray()
    with pytest.raises(dk.ForeignArgumentError, match="asarray"):
        dk.add(dk.ones(2), HasArray())


def test_a_pair_without_rule_raises_from_the_operator_too() -> None:
    with pytest.raises(dk.NoImplementationError, match=r"'dispatchkit\.add'"):
        Duck() + dk.ones(2)
    with pytest.raises(dk.NoImplementationError, match=r"'dispatchkit\.add'"):
        dk.ones(2) + Duck()


def test_a_handlers_type_error_passes_through_the_operator() -> None:
    raised = TypeError("of the handler")

    def fail(x1: Any, x2: Any, /) -> Any:
        raise raised

    dk.implements(dk.add, Duck)(fail)
    for left, right in ((Duck(), dk.ones(2)), (dk.ones(2), Duck()), (1.0, Duck())):
        with pytest.raises(TypeError) as caught:
            operator.add(left, right)
        assert caught.value is raised


def test_an_own_operator_is_kept() -> None:
    @dk.array_type()
    class Mine:
        def __add__(self, other: Any) -> str:
            return "mine"

    x: Any = Mine()
    assert x + 1 == "mine"


def test_none_is_refused_where_an_array_is_needed() -> None:
    with pytest.raises(TypeError, match="None"):
        dk.add(dk.ones(2), None)  # type: ignore[call-overload]


def test_an_in_place_operator_writes_the_result_back() -> None:
    dk.implements(dk.subtract, dk.Tensor, Duck)(lambda x1, x2, /: x1 - 1)
    t = before = dk.ones(2)
    t -= Duck()
    assert t is before
    assert t.tolist() == [0.0, 0.0]


def test_an_in_place_operator_that_fails_changes_nothing() -> None:
    t = before = dk.ones(2)
    with pytest.raises(dk.NoImplementationError):
        t -= Duck()
    assert t is before
    assert t.tolist() == [1.0, 1.0]
