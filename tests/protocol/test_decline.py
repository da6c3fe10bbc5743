"""Declining: `NotImplemented`, `decline`, and asking again without a type."""

from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.densify import densify
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.steps import decline
from tests.protocol.support import Answer, binary, unary


class A:
    def to_dense(self) -> float:
        return 1.0


class B:
    pass


@pytest.fixture(autouse=True)
def types(protocol: DispatchProtocol) -> None:
    for cls in (A, B):
        protocol.register_type(cls)


@pytest.fixture
def combine(protocol: DispatchProtocol) -> Answer:
    return binary(protocol)


@pytest.fixture
def scale(protocol: DispatchProtocol) -> Answer:
    return unary(protocol)


def test_decline_is_returned_like_notimplemented(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(combine, A)(lambda x1, x2, /: decline("not with that"))
    protocol.implements(combine, B)(lambda x1, x2, /: "B")
    assert combine(A(), B()) == "B"


def test_each_reason_stands_with_its_rule(protocol: DispatchProtocol, combine: Answer) -> None:
    def rule_a(x1: A, x2: Any, /) -> Any:
        return decline("shapes differ")

    def rule_b(x1: Any, x2: B, /) -> Any:
        return decline("only floats")

    def rule_plain(x1: A, x2: B, /) -> Any:
        return NotImplemented

    for rule in (rule_a, rule_b, rule_plain):
        protocol.implements(combine)(rule)
    with pytest.raises(NoImplementationError) as caught:
        combine(A(), B())
    reasons = {line.partition("(")[0]: line.rpartition(" declined")[2] for line in caught.value.asked}
    assert reasons["A: rule_plain"] == ""
    assert reasons["A: rule_a"] == ": shapes differ"
    assert reasons["B: rule_b"] == ": only floats"


def test_a_reason_is_not_kept_for_the_next_call(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.implements(scale, A)(lambda x, factor: decline("too large") if factor > 10 else NotImplemented)
    with pytest.raises(NoImplementationError, match="declined: too large"):
        scale(A(), 11.0)
    with pytest.raises(NoImplementationError) as caught:
        scale(A(), 9.0)
    assert "too large" not in str(caught.value)


def test_a_reason_of_an_inner_call_is_not_told_of_the_outer(
    protocol: DispatchProtocol, combine: Answer, scale: Answer
) -> None:
    protocol.implements(scale, A)(lambda x, factor=2.0: decline("of the inner"))

    def outer(x1: A, x2: int, /) -> Any:
        try:
            scale(x1)
        except NoImplementationError:
            pass
        return NotImplemented

    protocol.implements(combine)(outer)
    with pytest.raises(NoImplementationError) as caught:
        combine(A(), 1)
    assert "of the inner" not in str(caught.value)


def test_a_handler_is_called_once_though_it_declined(protocol: DispatchProtocol, scale: Answer) -> None:
    calls: list[A] = []

    def count(x: A, factor: float = 2.0) -> Any:
        calls.append(x)
        return decline("counted")

    protocol.implements(scale, A)(count)
    for expected in (1, 2):
        with pytest.raises(NoImplementationError):
            scale(A())
        assert len(calls) == expected


def test_declining_is_decided_call_by_call(protocol: DispatchProtocol, scale: Answer) -> None:
    def picky(x: A, factor: float = 2.0) -> Any:
        return decline("too large") if factor > 10 else "rule"

    protocol.implements(scale, A)(picky)
    assert scale(A(), 1.0) == "rule"
    with pytest.raises(NoImplementationError, match="too large"):
        scale(A(), 11.0)
    assert scale(A(), 2.0) == "rule"


# Asking again.


def test_redispatch_asks_as_if_a_type_had_declined(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(combine, A)(lambda x1, x2, /: "A")
    protocol.implements(combine, B)(lambda x1, x2, /: "B")
    assert combine(A(), B()) == "A"
    assert protocol.redispatch(combine, (A(), B()), {}, without=A) == "B"
    assert protocol.redispatch(combine, (A(), B()), without=B) == "A"


def test_redispatch_goes_on_to_the_fallback(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.register_type(A, fallback=fallback.dense)
    protocol.implements(scale, A)(lambda x, factor=2.0: "rule")
    with densify(on="allow"):
        assert protocol.redispatch(scale, (A(),), {"factor": 3.0}, without=A) == ("body", 1.0, 3.0)


def test_redispatch_of_the_last_one_raises(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.implements(scale, A)(lambda x, factor=2.0: "rule")
    with pytest.raises(NoImplementationError, match="A: taken to have declined"):
        protocol.redispatch(scale, (A(),), {}, without=A)


def test_a_method_may_redispatch_without_its_own_type(protocol: DispatchProtocol, combine: Answer) -> None:
    class Logging:
        log: list[str] = []  # noqa: RUF012  # shared on purpose

        @classmethod
        def __lib_function__(cls, func: Answer, types: Any, args: Any, kwargs: Any) -> Any:
            cls.log.append(func.__name__)
            return protocol.redispatch(func, args, kwargs, without=cls)

    protocol.implements(combine, B)(lambda x1, x2, /: "B")
    assert combine(Logging(), B()) == "B"
    assert Logging.log == ["combine"]


def test_redispatch_leaves_later_calls_as_they_are(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(combine, A)(lambda x1, x2, /: "A")
    with pytest.raises(NoImplementationError):
        protocol.redispatch(combine, (A(), 1), {}, without=A)
    assert combine(A(), 1) == "A"


def test_redispatch_takes_overridable_functions_alone(protocol: DispatchProtocol) -> None:
    with pytest.raises(TypeError, match="len is not overridable by __lib_function__"):
        protocol.redispatch(len, (A(),), {}, without=A)


def test_redispatch_does_not_change_the_callers_kwargs(protocol: DispatchProtocol, scale: Answer) -> None:
    def clears(x: A, **kwargs: Any) -> str:
        kwargs.clear()
        return "rule"

    protocol.implements(scale, A)(clears)
    given = {"factor": 3.0}
    protocol.redispatch(scale, (A(),), given, without=B)
    assert given == {"factor": 3.0}


def test_who_declined_is_not_said_of_later_calls() -> None:
    class Inert(dk.Tensor):
        pass

    @dk.array_type(fallback=dk.fallback.dense)
    class Plain:
        def to_dense(self) -> Any:
            return dk.ones(2)

    @dk.implements(dk.add, Inert)
    def declines(x1: Any, x2: Any, /) -> Any:
        return dk.decline("not today")

    assert dk.add(Inert([1.0, 2.0]), 1.0).tolist() == [2.0, 3.0]
    with pytest.warns(dk.errors.DensifyWarning) as caught:
        dk.add(Plain(), 1.0)
    assert str(caught[0].message).endswith("Plain dense (16 B)")


def test_a_handler_with_a_union_is_asked_once_and_its_reason_is_given_once() -> None:
    asked: list[Any] = []

    @dk.array_type(fallback=dk.fallback.dense)
    class Plain:
        def to_dense(self) -> Any:
            return dk.ones(2)

    class Below(Plain):
        pass

    @dk.implements(dk.add)
    def add_plain(x1: Plain | Below, x2: Plain | Below | dk.Tensor | float, /) -> Any:
        asked.append(x2)
        return dk.decline("not today")

    for other in (2.0, Below(), dk.ones(2)):
        asked.clear()
        with pytest.warns(dk.errors.DensifyWarning) as caught:
            dk.add(Plain(), other)
        assert len(asked) == 1
        assert asked[0] is other
        said = str(caught[0].message)
        assert said.count("declined") == 1
        assert f"{type(other).__name__}) at " in said
        assert said.endswith("declined: not today")
