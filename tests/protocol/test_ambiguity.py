"""Two rules that fit a call equally well: when it raises, and what the error says."""

import inspect
from typing import Any

import pytest

from dispatchkit.errors import AmbiguousImplementationError
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.kinds import kinds
from tests.protocol.support import Answer, binary, line_of


class A:
    pass


class Sub(A):
    pass


class Low(Sub):
    pass


@pytest.fixture(autouse=True)
def types(protocol: DispatchProtocol) -> None:
    protocol.register_type(A)


@pytest.fixture
def combine(protocol: DispatchProtocol) -> Answer:
    return binary(protocol)


def left_sub(x1: Sub, x2: A, /) -> str:
    return "left"


def right_sub(x1: A, x2: Sub, /) -> str:
    return "right"


def both_sub(x1: Sub, x2: Sub, /) -> str:
    return "both"


def register(protocol: DispatchProtocol, function: Answer, *handlers: Answer) -> None:
    for handler in handlers:
        protocol.implements(function)(handler)


def test_registering_rules_that_cross_is_allowed(protocol: DispatchProtocol, combine: Answer) -> None:
    register(protocol, combine, left_sub, right_sub)
    assert combine(Sub(), A()) == "left"
    assert combine(A(), Sub()) == "right"


def test_the_call_that_meets_both_raises(protocol: DispatchProtocol, combine: Answer) -> None:
    register(protocol, combine, left_sub, right_sub)
    for _ in range(2):
        with pytest.raises(AmbiguousImplementationError):
            combine(Sub(), Sub())


def test_it_is_a_type_error(protocol: DispatchProtocol, combine: Answer) -> None:
    register(protocol, combine, left_sub, right_sub)
    with pytest.raises(TypeError, match="ambiguous"):
        combine(Sub(), Low())


def test_the_message_names_both_and_what_settles_it(protocol: DispatchProtocol, combine: Answer) -> None:
    register(protocol, combine, left_sub, right_sub)
    with pytest.raises(AmbiguousImplementationError) as caught:
        combine(Low(), Low())
    assert str(caught.value).splitlines() == [
        "ambiguous implementations of 'lib.combine' for (Low, Low):",
        f"  left_sub(Sub, A) at {line_of(left_sub)}",
        f"  right_sub(A, Sub) at {line_of(right_sub)}",
        "register (Sub, Sub) to resolve it",
    ]


def test_the_settling_signature_settles_it(protocol: DispatchProtocol, combine: Answer) -> None:
    register(protocol, combine, left_sub, right_sub)
    with pytest.raises(AmbiguousImplementationError, match=r"register \(Sub, Sub\) to resolve it"):
        combine(Low(), Low())
    register(protocol, combine, both_sub)
    assert combine(Low(), Low()) == "both"


def test_the_first_of_several_types_is_written_for_each_position(protocol: DispatchProtocol, combine: Answer) -> None:
    register(protocol, combine, left_sub, right_sub)
    with pytest.raises(AmbiguousImplementationError, match=r"for \(Low, Sub\):"):
        combine(Low(), Sub())


def test_a_more_specific_rule_is_not_ambiguous(protocol: DispatchProtocol, combine: Answer) -> None:
    register(protocol, combine, both_sub, left_sub, right_sub)
    assert combine(Sub(), Low()) == "both"


def test_what_the_mro_orders_is_not_ambiguous(protocol: DispatchProtocol, combine: Answer) -> None:
    class Left:
        pass

    class Right:
        pass

    class Both(Left, Right):
        pass

    protocol.implements(combine, Right)(lambda x1, x2, /: "right")
    protocol.implements(combine, Left)(lambda x1, x2, /: "left")
    assert combine(Both(), 1) == "left"


def test_a_pair_goes_before_two_rules_that_cross_with_any(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.implements(combine)
    def left(x1: A, x2: Any, /) -> str:
        return "left"

    @protocol.implements(combine)
    def right(x1: Any, x2: A, /) -> str:
        return "right"

    with pytest.raises(AmbiguousImplementationError, match=r"register \(A, A\) to resolve it"):
        combine(A(), A())

    @protocol.implements(combine)
    def pair(x1: A, x2: A, /) -> str:
        return "pair"

    assert combine(A(), A()) == "pair"


def test_the_members_of_a_union_do_not_cross(protocol: DispatchProtocol) -> None:
    class B:
        pass

    @protocol.overridable
    def gather(x: Any, others: Any) -> Any:
        return "body"

    @protocol.implements(gather)
    def gather_either(x: A, others: list[A | B]) -> str:
        return "rule"

    assert gather(A(), [A(), B()]) == "rule"


def test_the_three_that_cross_are_all_named(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def where(condition: Any, x1: Any, x2: Any, /) -> Any:
        return None

    @protocol.implements(where)
    def first(condition: Sub, x1: A, x2: A, /) -> None: ...

    @protocol.implements(where)
    def second(condition: A, x1: Sub, x2: A, /) -> None: ...

    @protocol.implements(where)
    def third(condition: A, x1: A, x2: Sub, /) -> None: ...

    with pytest.raises(AmbiguousImplementationError) as caught:
        where(Sub(), Sub(), Sub())
    assert [rule.partition("(")[0] for rule in caught.value.rules] == ["first", "second", "third"]
    assert caught.value.resolved_by == "Sub, Sub, Sub"


def test_rules_for_an_operation_and_its_kind_are_not_ambiguous(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(kinds.function, A)(lambda function, *args: "kind")
    protocol.implements(combine, A)(lambda x1, x2, /: "operation")
    assert combine(A(), A()) == "operation"


def test_replacing_one_of_them_keeps_the_ambiguity(protocol: DispatchProtocol, combine: Answer) -> None:
    register(protocol, combine, left_sub, right_sub, left_sub)
    with pytest.raises(AmbiguousImplementationError) as caught:
        combine(Sub(), Sub())
    assert len(caught.value.rules) == 2


def test_an_ambiguity_undone_is_gone(protocol: DispatchProtocol, combine: Answer) -> None:
    register(protocol, combine, left_sub)
    with protocol.local_registrations():
        register(protocol, combine, right_sub)
        with pytest.raises(AmbiguousImplementationError):
            combine(Sub(), Sub())
    assert combine(Sub(), Sub()) == "left"


def test_the_nearest_member_of_a_union_decides_where_its_handler_comes(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def scale(x: Any) -> Any:
        return "body"

    @protocol.implements(scale)
    def of_ends(x: Low | A) -> str:
        return "ends"

    @protocol.implements(scale)
    def of_middle(x: Sub) -> str:
        return "middle"

    assert [scale(x) for x in (Low(), Sub(), A())] == ["ends", "middle", "ends"]


def test_registrations_that_share_a_signature_object_are_rivals(protocol: DispatchProtocol, combine: Answer) -> None:
    shared = inspect.signature(left_sub)

    def left(*args: Any) -> str:
        return "left"

    def right(*args: Any) -> str:
        return "right"

    for handler, types in ((left, (Sub, A)), (right, (A, Sub))):
        handler.__signature__ = shared  # type: ignore[attr-defined]
        protocol.implements(combine, *types)(handler)
    with pytest.raises(AmbiguousImplementationError, match=r"left\(Sub, A\).*\n.*right\(A, Sub\)"):
        combine(Sub(), Sub())


def test_registrations_that_share_a_signature_object_are_each_asked(
    protocol: DispatchProtocol, combine: Answer
) -> None:
    class Other:
        pass

    protocol.register_type(Other)
    asked: list[str] = []

    def first(*args: Any) -> Any:
        asked.append("first")
        return NotImplemented

    def second(*args: Any) -> str:
        asked.append("second")
        return "second"

    shared = inspect.signature(both_sub)
    handlers: list[tuple[Any, type]] = [(first, A), (second, Other)]
    for handler, cls in handlers:
        handler.__signature__ = shared
        protocol.implements(combine, cls)(handler)
    assert combine(A(), Other()) == "second"
    assert asked == ["first", "second"]
