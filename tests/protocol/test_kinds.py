"""Rules for a whole kind of operations."""

import pickle
import re
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.errors import NoImplementationError, UnsupportedArgumentError
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.steps import decline
from tests.protocol.support import Answer


class A:
    pass


class B:
    pass


class Sub(A):
    pass


@pytest.fixture(autouse=True)
def types(protocol: DispatchProtocol) -> None:
    for cls in (A, B):
        protocol.register_type(cls)


def make(protocol: DispatchProtocol, name: str, kind: Kind) -> Answer:
    """Return an operation of two arrays and a keyword, of some kind."""

    def function(x1: Any, x2: Any = None, /, *, axis: Any = None) -> Any:
        return "body"

    function.__name__ = name
    return protocol.overridable(kind=kind, arrays=("x1", "x2"))(function)


@pytest.fixture
def add(protocol: DispatchProtocol) -> Answer:
    return make(protocol, "add", kinds.elementwise)


@pytest.fixture
def total(protocol: DispatchProtocol) -> Answer:
    return make(protocol, "total", kinds.reduction)


def test_the_handler_gets_the_public_function_first(protocol: DispatchProtocol, add: Answer, total: Answer) -> None:
    @protocol.implements(kinds.elementwise)
    def elementwise_a(function: Answer, x: A, /, *args: Any, **kwargs: Any) -> Any:
        return function, x, args, kwargs

    x = A()
    assert add(x, 2, axis=0) == (add, x, (2,), {"axis": 0})
    with pytest.raises(NoImplementationError):
        total(x)


def test_kinds_are_inside_all(protocol: DispatchProtocol, add: Answer, total: Answer) -> None:
    protocol.implements(kinds.all, A)(lambda function, *args, **kwargs: function.__name__)
    assert (add(A()), total(A())) == ("add", "total")


def test_the_narrower_kind_answers(protocol: DispatchProtocol, add: Answer, total: Answer) -> None:
    protocol.implements(kinds.all, A)(lambda function, *args, **kwargs: "all")
    protocol.implements(kinds.elementwise, A)(lambda function, *args, **kwargs: "elementwise")
    assert (add(A()), total(A())) == ("elementwise", "all")


@pytest.mark.parametrize("kind_first", [True, False])
def test_the_operation_beats_its_kind(protocol: DispatchProtocol, add: Answer, *, kind_first: bool) -> None:
    for target, text in [(kinds.elementwise, "kind"), (add, "operation")][:: 1 if kind_first else -1]:
        protocol.implements(target, A)(lambda *args, text=text, **kwargs: text)  # type: ignore[arg-type]
    assert add(A(), 1) == "operation"


def test_an_operation_rule_of_a_superclass_beats_a_kind_rule(protocol: DispatchProtocol, add: Answer) -> None:
    protocol.implements(kinds.elementwise, Sub)(lambda function, *args, **kwargs: "kind")
    protocol.implements(add, A)(lambda *args, **kwargs: "operation")
    assert add(Sub()) == "operation"


def test_the_kind_answers_after_the_operation_declined(protocol: DispatchProtocol, add: Answer) -> None:
    protocol.implements(kinds.elementwise, A)(lambda function, *args, **kwargs: "kind")
    protocol.implements(add, A)(lambda *args, **kwargs: decline("not today"))
    assert add(A()) == "kind"


def test_the_type_may_stand_in_any_position(protocol: DispatchProtocol, add: Answer) -> None:
    protocol.implements(kinds.elementwise, A)(lambda function, *args, **kwargs: "kind")
    assert add(1, A()) == add(B(), A()) == "kind"


def test_several_types_are_a_signature(protocol: DispatchProtocol, add: Answer) -> None:
    protocol.implements(kinds.elementwise, A, B)(lambda function, *args, **kwargs: "pair")
    assert add(A(), B()) == "pair"
    with pytest.raises(NoImplementationError):
        add(B(), A())


def test_annotations_of_two_arrays_are_a_signature(protocol: DispatchProtocol, add: Answer) -> None:
    @protocol.implements(kinds.elementwise)
    def elementwise_pair(function: Answer, x1: A, x2: B, /, **kwargs: Any) -> str:
        return "pair"

    assert add(A(), B()) == "pair"
    with pytest.raises(NoImplementationError):
        add(A(), A())


def test_an_operation_declared_later_is_covered(protocol: DispatchProtocol) -> None:
    protocol.implements(kinds.elementwise, A)(lambda function, *args, **kwargs: function.__name__)
    assert make(protocol, "later", kinds.elementwise)(A()) == "later"


def test_a_keyword_the_handler_lacks_is_guarded(protocol: DispatchProtocol, add: Answer) -> None:
    protocol.implements(kinds.elementwise, A)(lambda function, x1, x2=None, /: "kind")
    assert add(A()) == "kind"
    with pytest.raises(UnsupportedArgumentError, match="takes the keyword 'axis'"):
        add(A(), axis=0)


def test_an_equal_signature_replaces(protocol: DispatchProtocol, add: Answer) -> None:
    for text in ("old", "new"):
        protocol.implements(kinds.elementwise, A)(lambda function, *args, text=text, **kwargs: text)
        assert add(A()) == text
    assert len(protocol.handlers.of(kinds.elementwise)) == 1


def test_local_registrations_undo_kind_rules(protocol: DispatchProtocol, add: Answer) -> None:
    with protocol.local_registrations():
        protocol.implements(kinds.elementwise, A)(lambda function, *args, **kwargs: "kind")
        assert add(A()) == "kind"
    with pytest.raises(NoImplementationError):
        add(A())


def test_a_made_overridable_function_is_of_kind_function(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def anything(x: Any) -> str:
        return "body"

    protocol.implements(kinds.function, A)(lambda function, x: "kind")
    assert anything(A()) == "kind"


def test_one_protocols_kind_rules_are_not_anothers(protocol: DispatchProtocol) -> None:
    other = DispatchProtocol("__other_function__", namespace="other")
    other.register_type(A)
    other.implements(kinds.elementwise, A)(lambda function, *args, **kwargs: "other")
    with pytest.raises(NoImplementationError):
        make(protocol, "add", kinds.elementwise)(A())


@pytest.mark.parametrize("name", [kind.name for kind in kinds])
def test_a_kind_prints_as_it_is_written_and_pickles_to_itself(name: str) -> None:
    kind = getattr(kinds, name)
    assert repr(kind) == f"kinds.{name}"
    assert pickle.loads(pickle.dumps(kind)) is kind


def test_the_kinds_around_are_given_by_lineage_and_family() -> None:
    assert kinds.additive.lineage() == (kinds.additive, kinds.arithmetic, kinds.elementwise, kinds.all)
    assert {kind.family for kind in (kinds.additive, kinds.arithmetic, kinds.elementwise)} == {kinds.elementwise}
    assert kinds.all.family is kinds.all


def test_a_rule_for_a_narrower_kind_beats_those_for_the_kinds_around(protocol: DispatchProtocol) -> None:
    for kind in (kinds.additive, kinds.elementwise, kinds.arithmetic, kinds.all):
        protocol.implements(kind, A)(lambda function, *args, answer=kind, **kwargs: answer)
    made = (kinds.additive, kinds.multiplicative, kinds.comparison, kinds.product)
    assert [make(protocol, f"of_{kind.name}", kind)(A()) for kind in made] == [
        kinds.additive,
        kinds.arithmetic,
        kinds.elementwise,
        kinds.all,
    ]


def test_a_rule_for_a_narrower_kind_that_declines_passes_the_call_to_the_kind_around(
    protocol: DispatchProtocol,
) -> None:
    protocol.implements(kinds.comparison, A)(lambda function, *args, **kwargs: decline("not here"))
    protocol.implements(kinds.elementwise, A)(lambda function, *args, **kwargs: "elementwise")
    assert make(protocol, "less", kinds.comparison)(A()) == "elementwise"


def test_a_kind_gives_its_functions_and_those_of_the_kinds_inside() -> None:
    assert list(kinds.rounding) == [dk.floor, dk.ceil, dk.trunc, dk.round]
    assert set(kinds.additive) | set(kinds.multiplicative) < set(kinds.arithmetic) < set(kinds.elementwise)
    assert dk.add in kinds.additive
    assert dk.add not in kinds.comparison


def test_every_operation_is_in_exactly_the_kinds_of_its_lineage() -> None:
    for entry in dk.tensor_protocol.operations.values():
        assert [kind for kind in kinds if entry.function in kind] == list(reversed(entry.kind.lineage()))


def test_an_operation_of_ones_own_is_listed_while_it_is_declared() -> None:
    with dk.local_registrations():

        @dk.operation(kind=kinds.predicate)
        def is_even(xp: Any, x: Any, /) -> Any:
            return x % 2 == 0

        assert is_even in kinds.predicate
        assert is_even in kinds.elementwise
        assert is_even(dk.asarray([2, 3])).tolist() == [True, False]
    assert is_even not in kinds.predicate


@dk.array_type(fallback=dk.fallback.refuse)
class Listed:
    def __init__(self, values: Any) -> None:
        self.values = dk.asarray(values)


def test_a_rule_for_one_array_is_not_called_with_the_list_of_an_operation() -> None:
    with dk.local_registrations():

        @dk.implements(dk.kinds.manipulation)
        def moved(op: Any, x: Listed, /, **keywords: Any) -> Listed:
            return Listed(op(x.values, **keywords))

        assert dk.flip(Listed([1.0, 2.0])).values.tolist() == [2.0, 1.0]
        reason = "a list as 'x', which is annotated as one array: name the types in implements"
        with pytest.raises(NoImplementationError, match=re.escape(reason)):
            dk.concat([Listed([1.0]), Listed([2.0])])
        assert f"[passed over: it cannot be called with {reason}]" in str(dk.explain(dk.stack, [Listed([1.0])]))
        assert dk.coverage(Listed)["concat"].bucket == "refused"


def test_a_rule_with_its_types_in_the_decorator_is_called_with_lists() -> None:
    with dk.local_registrations():
        dk.implements(dk.kinds.manipulation, Listed)(lambda op, x, /, **keywords: type(x).__name__)
        assert dk.concat([Listed([1.0])], axis=0) == "list"
