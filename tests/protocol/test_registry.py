"""What is registered: one type or several, the most specific rule, replacing, undoing, refusing."""

from typing import Any

import pytest

from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.engine import DispatchProtocol
from tests.protocol.support import Answer, binary, many, unary


class A:
    pass


class B:
    pass


class Sub(A):
    pass


class Low(Sub):
    pass


@pytest.fixture(autouse=True)
def types(protocol: DispatchProtocol) -> None:
    for cls in (A, B):
        protocol.register_type(cls)


@pytest.fixture
def combine(protocol: DispatchProtocol) -> Answer:
    return binary(protocol)


def says(protocol: DispatchProtocol, function: Answer, text: str, *types: type) -> None:
    """Register a handler that returns a text."""

    @protocol.implements(function, *types)
    def handler(*args: Any, **kwargs: Any) -> str:
        return text


def test_one_type_serves_any_position(protocol: DispatchProtocol, combine: Answer) -> None:
    says(protocol, combine, "A", A)
    assert combine(A(), 1) == combine(1, A()) == combine(B(), A()) == "A"


def test_several_types_are_an_ordered_signature(protocol: DispatchProtocol, combine: Answer) -> None:
    says(protocol, combine, "AB", A, B)
    assert combine(A(), B()) == "AB"
    with pytest.raises(NoImplementationError):
        combine(B(), A())


def test_a_signature_of_a_sequence_is_of_its_members(protocol: DispatchProtocol) -> None:
    gather = many(protocol)
    says(protocol, gather, "AB", A, B)
    assert gather(A(), B()) == gather(A(), B(), A()) == "AB"
    with pytest.raises(NoImplementationError):
        gather(B(), A())


@pytest.mark.parametrize("pair_first", [True, False])
def test_a_pair_beats_one(protocol: DispatchProtocol, combine: Answer, *, pair_first: bool) -> None:
    for text, types in [("pair", (A, B)), ("one", (A,))][:: 1 if pair_first else -1]:
        says(protocol, combine, text, *types)
    assert combine(A(), B()) == "pair"
    assert combine(B(), A()) == "one"


def test_a_pair_of_superclasses_beats_one_of_the_class(protocol: DispatchProtocol, combine: Answer) -> None:
    says(protocol, combine, "one", Sub)
    says(protocol, combine, "pair", A, B)
    assert combine(Sub(), B()) == "pair"


def test_one_answers_after_the_pair_declined(protocol: DispatchProtocol, combine: Answer) -> None:
    says(protocol, combine, "one", A)

    @protocol.implements(combine)
    def combine_pair(x1: A, x2: B, /) -> Any:
        return NotImplemented

    assert combine(A(), B()) == "one"


@pytest.mark.parametrize("registered", [(A, Sub), (Sub, A)])
def test_the_nearest_class_of_the_mro_answers(
    protocol: DispatchProtocol, combine: Answer, registered: tuple[type, ...]
) -> None:
    for cls in registered:
        says(protocol, combine, cls.__name__, cls)
    assert combine(A(), 1) == "A"
    assert combine(Sub(), 1) == combine(1, Low()) == "Sub"


def test_the_mro_decides_between_two_bases(protocol: DispatchProtocol, combine: Answer) -> None:
    class Both(B, A):
        pass

    says(protocol, combine, "A", A)
    says(protocol, combine, "B", B)
    assert combine(Both(), 1) == "B"


def test_the_superclass_answers_after_the_subclass_declined(protocol: DispatchProtocol) -> None:
    scale = unary(protocol)
    says(protocol, scale, "A", A)
    protocol.implements(scale, Sub)(lambda *args, **kwargs: NotImplemented)
    assert scale(Sub()) == "A"


def test_a_position_is_more_specific_than_any_position(protocol: DispatchProtocol, combine: Answer) -> None:
    says(protocol, combine, "anywhere", A)

    @protocol.implements(combine)
    def combine_left(x1: A, x2: Any, /) -> str:
        return "left"

    assert combine(A(), 1) == "left"
    assert combine(1, A()) == "anywhere"


def test_one_of_two_candidates_answers_for_both(protocol: DispatchProtocol, combine: Answer) -> None:
    says(protocol, combine, "B", B)
    assert combine(A(), B()) == "B"


def test_the_first_candidate_with_a_rule_answers(protocol: DispatchProtocol, combine: Answer) -> None:
    says(protocol, combine, "A", A)
    says(protocol, combine, "B", B)
    assert combine(A(), B()) == "A"
    assert combine(B(), A()) == "B"


def test_a_rule_is_asked_once_in_a_call(protocol: DispatchProtocol, combine: Answer) -> None:
    calls = []

    @protocol.implements(combine)
    def combine_pair(x1: A, x2: B, /) -> Any:
        calls.append("pair")
        return NotImplemented

    with pytest.raises(NoImplementationError):
        combine(A(), B())
    assert calls == ["pair"]


def test_an_equal_signature_replaces(protocol: DispatchProtocol, combine: Answer) -> None:
    says(protocol, combine, "old", A, B)
    assert combine(A(), B()) == "old"
    says(protocol, combine, "new", A, B)
    assert combine(A(), B()) == "new"
    assert len(protocol.rules()) == 1


def test_another_signature_does_not_replace(protocol: DispatchProtocol, combine: Answer) -> None:
    says(protocol, combine, "AB", A, B)
    says(protocol, combine, "BA", B, A)
    assert (combine(A(), B()), combine(B(), A())) == ("AB", "BA")


def test_functions_of_one_name_keep_their_rules_apart(protocol: DispatchProtocol) -> None:
    first, second = unary(protocol), unary(protocol)
    says(protocol, first, "first", A)
    assert first(A()) == "first"
    with pytest.raises(NoImplementationError):
        second(A())
    says(protocol, first, "changed", A)
    assert first(A()) == "changed"


def test_implements_gives_the_handler_back(protocol: DispatchProtocol, combine: Answer) -> None:
    def handler(x1: A, x2: B, /) -> str:
        return "pair"

    assert protocol.implements(combine)(handler) is handler


def test_a_registration_for_a_class_makes_it_take_part(protocol: DispatchProtocol) -> None:
    class New:
        pass

    scale = unary(protocol)
    assert scale(New())[0] == "body"
    says(protocol, scale, "rule", New)
    assert scale(New()) == "rule"


def test_a_signature_may_name_a_class_not_seen_before(protocol: DispatchProtocol, combine: Answer) -> None:
    class New:
        pass

    says(protocol, combine, "pair", A, New)
    assert combine(A(), New()) == "pair"


def test_a_rule_is_replaced_whichever_of_its_types_is_older(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.array_type()
    class Older: ...

    class Newer: ...

    protocol.implements(combine, Older, Newer)(lambda x1, x2, /: "first")
    protocol.implements(combine, Older, Newer)(lambda x1, x2, /: "second")
    assert combine(Older(), Newer()) == "second"
