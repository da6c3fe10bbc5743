"""`implements(operation, commutative=True)`: one rule for both orders of the operands, which it gets in its own."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import RegistrationError

COMMUTATIVE = {
    *("add", "multiply", "maximum", "minimum", "hypot", "logaddexp", "equal", "not_equal"),
    *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
}


@dk.array_type()
class Tagged:
    """Holds an array; its rules say which operand they were given first."""

    def __init__(self, x: Any) -> None:
        self.x = dk.asarray(x)


class Special(Tagged):
    """A subclass, for rules that are nearer."""


def join_tagged(a: Tagged, b: dk.Tensor | float, /) -> Any:
    assert isinstance(a, Tagged)
    return f"{a.x.tolist()} {dk.asarray(b).tolist()}"


def grown(x: Any, y: Any) -> Any:
    x += y
    return x


@pytest.fixture
def both_orders() -> Any:
    with dk.local_registrations():
        for function in (dk.add, dk.maximum, dk.equal, dk.bitwise_or, dk.logaddexp):
            dk.implements(function, commutative=True)(join_tagged)
        yield


def test_the_commutative_operations_are_these_and_their_elements_may_be_exchanged() -> None:
    entries = [entry for entry in dk.tensor_protocol.operations.values() if entry.commutative]
    assert {entry.name for entry in entries if entry.namespace == "dispatchkit"} == COMMUTATIVE
    x, y = np.asarray([3, 0, 5, 1]), np.asarray([2, 7, 5, 0])
    for entry in entries:
        if entry.namespace == "dispatchkit":
            function: Any = entry.function
            kind = bool if entry.kind is dk.kinds.logical else int
            left, right = dk.asarray(x.astype(kind)), dk.asarray(y.astype(kind))
            assert function(left, right).tolist() == function(right, left).tolist(), entry.name


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: x + y,
        lambda x, y: y + x,
        lambda x, y: dk.add(y, x),
        lambda x, y: np.add(y, x),
        grown,
        lambda x, y: dk.maximum(y, x),
        lambda x, y: y == x,
        lambda x, y: dk.logaddexp(y, x),
        lambda x, y: y | x,
    ],
)
@pytest.mark.parametrize("other", [np.asarray(2.0), 2.0])
@pytest.mark.usefixtures("both_orders")
def test_a_rule_is_given_its_operands_in_its_own_order(call: Callable[[Any, Any], Any], other: Any) -> None:
    assert call(Tagged([1.0]), other) == "[1.0] 2.0"


@pytest.mark.usefixtures("both_orders")
def test_numbers_that_the_annotation_leaves_out_have_no_rule_in_either_order() -> None:
    tagged: Any = Tagged([1.0])
    with pytest.raises(dk.NoImplementationError, match="Tagged"):
        tagged + 2j
    with pytest.raises(dk.NoImplementationError, match="Tagged"):
        2j + tagged


def test_one_type_is_given_first_whichever_order_the_call_has() -> None:
    with dk.local_registrations():
        dk.implements(dk.multiply, Tagged, commutative=True)(lambda a, b, /: ("first", type(a), type(b)))
        assert 3.0 * Tagged(1.0) == ("first", Tagged, float)
        assert Tagged(1.0) * 3.0 == ("first", Tagged, float)
        assert (Tagged(1.0) * Special(1.0))[1:] == (Tagged, Special)


def test_two_types_that_both_fit_either_way_are_given_as_the_call_has_them() -> None:
    with dk.local_registrations():
        dk.implements(dk.add, Tagged, Special, commutative=True)(lambda a, b, /: (a.x.item(), b.x.item()))
        assert Special(1.0) + Special(2.0) == (1.0, 2.0)
        assert Tagged(1.0) + Special(2.0) == (1.0, 2.0)
        assert Special(2.0) + Tagged(1.0) == (1.0, 2.0)


@pytest.mark.parametrize("first", [True, False])
def test_a_rule_for_the_other_order_is_asked_instead_whichever_was_registered_first(first: bool) -> None:
    def register_own() -> None:
        dk.implements(dk.add, dk.Tensor, Tagged)(lambda a, b, /: "own")

    with dk.local_registrations():
        if first:
            register_own()
        dk.implements(dk.add, Tagged, dk.Tensor, commutative=True)(lambda a, b, /: "both")
        if not first:
            register_own()
        assert (Tagged(1.0) + dk.ones(1), dk.ones(1) + Tagged(1.0)) == ("both", "own")


def test_a_rule_that_is_registered_again_without_it_leaves_no_other_order() -> None:
    with dk.local_registrations():
        dk.implements(dk.add, Tagged, dk.Tensor, commutative=True)(lambda a, b, /: "both")
        with dk.local_registrations():
            dk.implements(dk.add, Tagged, dk.Tensor)(lambda a, b, /: "one")
            assert Tagged(1.0) + dk.ones(1) == "one"
            with pytest.raises(dk.NoImplementationError):
                dk.ones(1) + Tagged(1.0)
        assert dk.ones(1) + Tagged(1.0) == "both"


@pytest.mark.usefixtures("both_orders")
def test_explain_and_rules_say_that_the_operands_are_swapped() -> None:
    line = dk.explain(dk.add, dk.ones(1), Tagged(1.0)).lines[0]
    assert line.what.startswith("join_tagged(Tensor, Tagged), operands swapped at ")
    listed = [str(rule).partition(" at ")[0] for rule in dk.rules(Tagged) if rule.target == "add"]
    assert "add(Tensor, Tagged): join_tagged, operands swapped," in listed
    assert "add(Tagged, Tensor): join_tagged" in listed


@pytest.mark.usefixtures("both_orders")
def test_an_audit_finds_no_asymmetry_and_coverage_the_rule_in_both_orders() -> None:
    report = dk.audit([Tagged, dk.Tensor], operations=[dk.add, dk.maximum])
    assert not report.of_kind("asymmetry")
    assert report[dk.Tensor, Tagged]["add"].share == "rule"


def test_an_operation_whose_order_matters_is_refused_with_its_name() -> None:
    text = (
        r"does not fit dispatchkit\.subtract, since subtract\(x1, x2\) is not subtract\(x2, x1\); register a rule for "
    )
    with pytest.raises(RegistrationError, match=text):
        dk.implements(dk.subtract, commutative=True)
    with pytest.raises(RegistrationError, match=r"dispatchkit\.sum, which does not take two arrays; leave it out"):
        dk.implements(dk.sum, commutative=True)
    with pytest.raises(
        RegistrationError, match=r"may be exchanged, such as dk\.add, not for kinds\.logical; a rule for "
    ):
        dk.implements(dk.kinds.logical, commutative=True)


def test_operations_and_functions_of_users_declare_it() -> None:
    with dk.local_registrations():

        @dk.operation(kind=dk.kinds.elementwise, commutative=True)
        def blend(xp: Any, x1: Any, x2: Any, /) -> Any:
            return (x1 + x2) / 2

        dk.implements(blend, commutative=True)(join_tagged)
        assert blend(2.0, Tagged([1.0])) == "[1.0] 2.0"
    with pytest.raises(
        RegistrationError, match="operation: one cannot be commutative: its first two parameters must be"
    ):

        @dk.operation(kind=dk.kinds.elementwise, commutative=True)
        def one(xp: Any, x: Any, /) -> Any:
            return x


def test_arguments_of_other_protocols_are_exchanged_by_name_as_well() -> None:
    words = dk.DispatchProtocol("__words_function__")

    @words.overridable(commutative=True)
    def join(left: Any, right: Any, sep: str = " ") -> Any:
        return f"{left}{sep}{right}"

    @words.array_type()
    class Word:
        pass

    @words.implements(join, commutative=True)
    def join_word(left: Word, right: str, sep: str = " ") -> Any:
        return type(left), right, sep

    calls = [join("a", Word()), join("a", right=Word()), join(right=Word(), left="a"), join(Word(), "a")]
    assert calls == [(Word, "a", " ")] * 4
    assert join("a", Word(), "-") == (Word, "a", "-")


def test_gradients_and_batches_pass_through_the_other_order() -> None:
    with dk.local_registrations():
        dk.implements(dk.multiply, Tagged, dk.Tensor, commutative=True)(lambda a, b, /: Tagged(a.x * b))
        grad = dk.func.grad(lambda t: dk.sum((t * Tagged([2.0, 3.0])).x))(dk.ones(2))
        assert grad.tolist() == [2.0, 3.0]
        batched = dk.func.vmap(lambda t: (t * Tagged([2.0, 3.0])).x)(dk.asarray([[1.0, 1.0], [2.0, 2.0]]))
        assert batched.tolist() == [[2.0, 3.0], [4.0, 6.0]]


def test_a_notebook_cell_may_run_twice_without_a_warning() -> None:
    with dk.local_registrations(), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            exec("dk.implements(dk.add, Tagged, float, commutative=True)(lambda a, b, /: 'cell')", dict(globals()))  # noqa: S102
        assert 1.0 + Tagged(1.0) == "cell"


def test_both_orders_arrive_in_another_process() -> None:
    with dk.local_registrations():
        dk.implements(dk.add, Tagged, float, commutative=True)(join_tagged)
        packed = pickle.dumps(
            dk.tensor_protocol.pack_rules(dk.tensor_protocol.handlers.of(dk.tensor_protocol.operation(dk.add)))
        )
        mine = [rule for rule in pickle.loads(packed) if Tagged in rule["types"]]
    assert [(rule["types"], rule["swapped"]) for rule in mine] == [((Tagged, float), False), ((float, Tagged), True)]
