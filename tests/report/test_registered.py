"""`rules` and `explain`: the rules of types and operations, and which of them answers, by types alone."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest

import dispatchkit as dk


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Left:
    def to_dense(self) -> Any:
        raise AssertionError("explain calls nothing")


class Below(Left):
    pass


@dk.array_type()
class Right:
    pass


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with dk.local_registrations():

        @dk.implements(dk.matmul)
        def matmul_both(x1: Left, x2: Right, /) -> Any: ...

        @dk.implements(dk.matmul)
        def matmul_left(x1: Left, x2: dk.Tensor, /) -> Any: ...

        @dk.implements(dk.kinds.reduction)
        def reduction_right(op: Any, x: Right, /) -> Any: ...

        yield


def names(found: Any) -> list[str]:
    return [getattr(rule.handler, "__name__", "") for rule in found]


def test_all_rules_of_a_type_are_listed_with_pairs_kinds_and_superclasses() -> None:
    assert names(dk.rules(Left)) == names(dk.rules(Below)) == ["matmul_both", "matmul_left"]
    assert names(dk.rules(Right)) == ["matmul_both", "reduction_right"]
    assert [rule.target for rule in dk.rules(Right)] == ["matmul", "kind reduction"]


def test_all_rules_of_an_operation_are_listed_with_those_of_its_kinds() -> None:
    assert {"matmul_both", "matmul_left"} <= set(names(dk.rules(dk.matmul)))
    assert "reduction_right" in names(dk.rules(dk.sum))
    assert "reduction_right" not in names(dk.rules(dk.matmul))
    assert "reduction_right" in names(dk.rules(dk.kinds.reduction))


def test_a_list_of_rules_prints_a_line_each_with_file_and_line() -> None:
    text = str(dk.rules(Left)).splitlines()
    assert text[0].startswith(f"matmul(Left, Right): matmul_both at {__file__}:")
    assert str(dk.rules(type("Bare", (), {}))) == "no rules"


def test_which_rule_answers_is_told_by_types_alone() -> None:
    found = dk.explain(dk.matmul, Below, Right)
    assert (found.who, found.handler.__name__ if found.handler else "") == ("Below", "matmul_both")
    assert found.location.startswith(__file__)
    assert found.order == ["Below", "Right"]
    assert dk.explain(dk.sum, Right).what.startswith("reduction_right")


def test_types_alone_say_what_follows_and_why_nobody_answers() -> None:
    assert dk.explain(dk.std, Left).what == "decompose: the body of std"
    assert dk.explain(dk.std, Left).outcome.endswith("if its calls are answered; else Left: dense: to_dense() of Left")
    found = dk.explain(dk.exp, Right)
    assert (found.who, found.what, found.location, found.handler) == ("", "", "", None)
    assert [line.what for line in found.lines] == ["no rule for exp", "its fallback is to refuse"]


def test_types_stand_for_arrays_beside_arrays_in_lists_and_with_keywords() -> None:
    assert dk.explain(dk.matmul, Below(), Right).call == "dispatchkit.matmul(Below, Right)"
    assert dk.explain(dk.concat, Left, Right).call == dk.explain(dk.concat, [Left, Right]).call
    assert dk.explain(dk.sum, dk.types.ScalarTensor, axis=0).what.startswith("sum_scalar_tensor")
    assert dk.explain(dk.maximum, Right).call == "dispatchkit.maximum(Right, Right)"


def test_a_type_where_no_array_is_expected_is_a_value() -> None:
    assert dk.explain(dk.astype, Left, float).call == "dispatchkit.astype(Left)"
    assert dk.explain(dk.astype, dk.types.ScalarTensor(2, 1.0), float).call == "dispatchkit.astype(ScalarTensor)"


def test_a_call_that_names_types_is_not_made() -> None:
    with pytest.raises(
        TypeError, match=r"^explain: run=True calls dispatchkit\.exp, which takes arrays, not their types$"
    ):
        dk.explain(dk.exp, Left, run=True)


def test_which_still_answers_with_a_warning_that_names_what_to_write() -> None:
    text = r"^dk\.which\(operation, \*types\) is deprecated, and goes with the next minor version; write dk\.explain\("
    with pytest.warns(DeprecationWarning, match=text) as caught:
        found = dk.which(dk.matmul, Below, Right)
    assert caught[0].filename == __file__
    assert found.what == dk.explain(dk.matmul, Below, Right).what


def test_mistakes_are_named() -> None:
    with pytest.raises(TypeError, match="len is not overridable"):
        dk.rules(len)
    with pytest.raises(TypeError, match=r"^rules: takes a type, not an instance of Right; give its type, Right$"):
        dk.rules(Right())  # type: ignore[arg-type]
    assert "takes 1 positional argument but 2 were given" in dk.explain(dk.exp, Left, Left).outcome


UNITS = dk.DispatchProtocol("__units_function__", namespace="units")


@UNITS.overridable(arrays=("x",))
def scale(x: Any, factor: float = 2.0) -> Any:
    return x * factor


@UNITS.array_type()
class Metres:
    pass


@UNITS.implements(scale)
def scale_metres(x: Metres, factor: float = 2.0) -> Any: ...


def test_a_protocol_of_its_own_lists_its_rules() -> None:
    listed = UNITS.rules(Metres)
    assert str(listed).startswith("units.scale(Metres in any position): scale_metres at ")
    assert listed == UNITS.rules(scale) == dk.rules(scale)
    assert [rule.handler for rule in listed] == [scale_metres]
    assert [rule.handler for rule in UNITS.rules()] == [scale_metres]
    assert str(UNITS.rules(dk.kinds.function)) == "no rules"
    assert str(dk.rules(Metres)) == "no rules"


def test_a_protocol_of_its_own_refuses_what_is_not_its_own() -> None:
    with pytest.raises(TypeError, match=r"^rules: takes a type, not an instance of Metres; give its type, Metres$"):
        UNITS.rules(Metres())  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="is not overridable by __units_function__"):
        UNITS.rules(dk.sum)
    with pytest.raises(TypeError, match="is not overridable by __tensor_function__"):
        dk.rules(None)  # type: ignore[arg-type]


def test_who_answers_a_function_of_another_protocol_is_told() -> None:
    answer = dk.explain(scale, Metres)
    assert answer.handler is scale_metres
    assert (answer.call, answer.what.partition(" at ")[0]) == (
        "units.scale(Metres)",
        "scale_metres(Metres in any position)",
    )
    assert dk.explain(scale, Metres()).outcome.startswith("Metres: scale_metres(Metres in any position)")


def test_the_functions_of_a_protocol_print_a_line_each() -> None:
    assert repr(UNITS.operations) == "units.scale(x: 'Any', factor: 'float' = 2.0) -> 'Any'"
    assert repr(dk.DispatchProtocol("__empty_function__").operations) == "no overridable functions"


def test_a_bound_method_keeps_its_array_in_every_function_that_takes_an_operation() -> None:
    s = dk.types.ScalarTensor(3, 2.0)
    assert dk.explain(s.sum).what == dk.explain(dk.sum, dk.types.ScalarTensor).what
    assert dk.explain(s.add, dk.Tensor).call == "dispatchkit.add(ScalarTensor, Tensor)"
    assert dk.explain(s.__radd__, dk.Tensor).call == "dispatchkit.add(Tensor, ScalarTensor)"
    assert dk.redispatch(s.sum, (), without=dk.types.MetadataTensor) == 6.0
    assert dk.explain(s.sum).call == dk.explain(functools.partial(dk.sum, s)).call == "dispatchkit.sum(ScalarTensor)"
