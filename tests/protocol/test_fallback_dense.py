"""`fallback.dense` and `fallback.refuse`: what becomes dense, in which order, and who is told."""

from typing import Any

import pytest

from dispatchkit.errors import DensifyWarning, NoImplementationError
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.densify import densify
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from tests.protocol.support import Answer, binary, line_of, many, unary


class Plain(tuple[Any, ...]):
    """What `to_dense` makes in these tests."""

    __slots__ = ()


class A:
    def to_dense(self) -> Plain:
        return Plain(["dense A"])


class B:
    def to_dense(self) -> Plain:
        return Plain(["dense B"])


A_DENSE, B_DENSE = A().to_dense(), B().to_dense()


@pytest.fixture
def combine(protocol: DispatchProtocol) -> Answer:
    protocol.register_type(A, fallback=fallback.dense)
    return binary(protocol)


def test_the_call_is_made_again_with_the_dense_form(combine: Answer) -> None:
    with densify(on="allow"):
        assert combine(A(), 1) == ("body", A_DENSE, 1)
        assert combine(1, A()) == ("body", 1, A_DENSE)


def test_every_argument_that_allows_it_becomes_dense(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.register_type(B, fallback=fallback.dense)
    with densify(on="allow"):
        assert combine(A(), B()) == ("body", A_DENSE, B_DENSE)


def test_members_of_sequences_become_dense(protocol: DispatchProtocol, combine: Answer) -> None:
    with densify(on="allow"):
        assert combine([A(), 1], (2, A())) == ("body", [A_DENSE, 1], (2, A_DENSE))
        assert many(protocol)(A(), A()) == ("body", A_DENSE, A_DENSE)


def test_a_keyword_argument_becomes_dense(protocol: DispatchProtocol, combine: Answer) -> None:
    with densify(on="allow"):
        assert unary(protocol)(x=A(), factor=3.0) == ("body", A_DENSE, 3.0)


def test_a_type_that_refuses_stays_as_it_is(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.register_type(B)
    with densify(on="allow"), pytest.raises(NoImplementationError, match=r"\[B\]"):
        combine(A(), B())


def test_the_rule_of_the_other_type_takes_the_dense_form(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.register_type(B)

    @protocol.implements(combine)
    def combine_plain(x1: B, x2: tuple, /) -> Any:  # type: ignore[type-arg]
        return "plain"

    with densify(on="allow"):
        assert combine(B(), A()) == "plain"


def test_a_rule_goes_before_the_fallback(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(combine, A)(lambda x1, x2, /: "rule")
    assert combine(A(), 1) == "rule"


def test_the_fallback_answers_after_the_rule_declined(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(combine, A)(lambda x1, x2, /: decline("too large"))
    with densify(on="allow"):
        assert combine(A(), 1) == ("body", A_DENSE, 1)


def test_the_rules_of_all_types_go_before_any_fallback(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.register_type(B)
    protocol.implements(combine, B)(lambda x1, x2, /: "rule of B")
    assert combine(A(), B()) == "rule of B"


def test_dense_may_name_another_method(protocol: DispatchProtocol) -> None:
    @protocol.array_type(fallback=fallback.dense, dense="full")
    class Low:
        def full(self) -> str:
            return "full"

    with densify(on="allow"):
        assert unary(protocol)(Low()) == ("body", "full", 2.0)


def test_to_dense_may_be_a_function(protocol: DispatchProtocol) -> None:
    class Foreign:
        pass

    protocol.register_type(Foreign, fallback=fallback.dense, to_dense=lambda x: "by function")
    with densify(on="allow"):
        assert unary(protocol)(Foreign()) == ("body", "by function", 2.0)


def test_a_subclass_redefines_to_dense(protocol: DispatchProtocol, combine: Answer) -> None:
    class Sub(A):
        def to_dense(self) -> Plain:
            return Plain(["dense Sub"])

    with densify(on="allow"):
        assert combine(Sub(), 1) == ("body", ("dense Sub",), 1)


def test_the_fallback_is_inherited_and_can_be_revoked(protocol: DispatchProtocol, combine: Answer) -> None:
    class Inherits(A):
        pass

    class Refuses(A):
        pass

    protocol.register_type(Refuses, fallback=fallback.refuse)
    with densify(on="allow"):
        assert combine(Inherits(), 1) == ("body", A_DENSE, 1)
    with pytest.raises(NoImplementationError, match="its fallback is to refuse"):
        combine(Refuses(), 1)


def test_undeclared_is_to_refuse(protocol: DispatchProtocol) -> None:
    protocol.array_type()(A)
    with pytest.raises(NoImplementationError, match="A: its fallback is to refuse"):
        binary(protocol)(A(), 1)


def test_without_to_dense_the_reason_is_told(protocol: DispatchProtocol) -> None:
    @protocol.array_type(fallback=fallback.dense)
    class Opaque:
        pass

    with pytest.raises(NoImplementationError, match=r"cannot become dense: it has no to_dense\(\)"):
        binary(protocol)(Opaque(), 1)


def test_an_exception_of_to_dense_passes_through(protocol: DispatchProtocol) -> None:
    raised = TypeError("too large to build")

    @protocol.array_type(fallback=fallback.dense)
    class Failing:
        def to_dense(self) -> Any:
            raise raised

    with pytest.raises(TypeError) as caught:
        binary(protocol)(Failing(), 1)
    assert caught.value is raised


def test_a_dense_form_that_is_not_dense_is_an_error_not_a_recursion(protocol: DispatchProtocol) -> None:
    @protocol.array_type(fallback=fallback.dense)
    class Loop:
        def to_dense(self) -> Any:
            return self

    with densify(on="allow"), pytest.raises(TypeError, match="Loop"):
        binary(protocol)(Loop(), 1)


def test_the_warning_names_operation_type_and_size(protocol: DispatchProtocol) -> None:
    class Sized:
        shape, itemsize = (10, 20), 8

        @property
        def dtype(self) -> Any:
            return self

        def to_dense(self) -> Any:
            return memoryview(bytes(1600))

    protocol.register_type(Sized, fallback=fallback.dense)
    with pytest.warns(DensifyWarning, match=r"^'lib\.combine' made .*Sized dense \((1\.6 kB|unknown size)\)$"):
        binary(protocol)(Sized(), 1)


def test_the_warning_points_at_the_callers_line(protocol: DispatchProtocol, combine: Answer) -> None:
    def use() -> Any:
        return combine(A(), 1)

    with pytest.warns(DensifyWarning) as caught:
        use()
    assert [f"{w.filename}:{w.lineno - 1}" for w in caught] == [line_of(use)]


def test_the_warning_points_there_after_a_decline_too(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.register_type(A, fallback=fallback.convert | fallback.dense)
    protocol.implements(combine, A)(lambda x1, x2, /: NotImplemented)

    @protocol.overridable
    def outer(x: Any) -> Any:
        return combine(x, 1)

    def use() -> Any:
        return outer(A())

    with pytest.warns(DensifyWarning) as caught:
        use()
    assert [f"{w.filename}:{w.lineno - 1}" for w in caught] == [line_of(use)]


def test_fallbacks_print_as_they_are_written() -> None:
    assert repr(fallback.decompose | fallback.dense) == "fallback.decompose | fallback.dense"
    assert repr(fallback.refuse) == "fallback.refuse"


def test_fallbacks_are_joined_once_in_order() -> None:
    joined = fallback.dense | fallback.rewrap | fallback.dense
    assert repr(joined) == "fallback.dense | fallback.rewrap"
    assert fallback.rewrap in joined
    assert fallback.convert not in joined


def test_fallbacks_are_tried_in_order(protocol: DispatchProtocol) -> None:
    class Both:
        def __init__(self, value: Any) -> None:
            self.value = value

        def to_dense(self) -> str:
            return "dense"

    combine = binary(protocol)
    protocol.register_type(Both, fallback=fallback.dense | fallback.rewrap)
    with densify(on="allow"):
        assert combine(Both(1.0), 1) == ("body", "dense", 1)
    protocol.register_type(Both, fallback=fallback.rewrap | fallback.dense)
    assert combine(Both(1.0), 1)[1] != "dense"
