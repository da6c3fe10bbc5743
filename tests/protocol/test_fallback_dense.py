"""`fallback.dense` and `fallback.refuse`: what becomes dense, in which order, and who is told."""

import abc
import re
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.errors import AnswerError, DensifyWarning, NoImplementationError, RegistrationError
from dispatchkit.protocol.densify import densify
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.steps import decline
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
    @protocol.array_type()
    class Opaque(A):
        to_dense = None  # type: ignore[assignment]

    protocol.register_type(A, fallback=fallback.dense)
    with pytest.raises(NoImplementationError, match=r"cannot become dense: it has no to_dense\(\)"):
        binary(protocol)(Opaque(), 1)


@pytest.mark.parametrize("options", [{"fallback": fallback.decompose | fallback.dense}, {"dense": "full"}])
def test_a_method_that_is_not_there_is_refused_at_once(protocol: DispatchProtocol, options: dict[str, Any]) -> None:
    class Opaque:
        pass

    texts = {
        "fallback": r"Opaque declares fallback\.dense, but has no to_dense\(\); define to_dense\(self\)",
        "dense": r"dense='full' of .*Opaque names no method of it; define full\(self\)",
    }
    with pytest.raises(RegistrationError, match=f"^array_type: .*{texts[next(iter(options))]}"):
        protocol.array_type(**options)(Opaque)
    with pytest.raises(RegistrationError, match=r"^register_type: .*Opaque declares .*pass to_dense=function$"):
        protocol.register_type(Opaque, fallback=fallback.dense)


def test_subclasses_of_an_abstract_base_give_the_dense_form(protocol: DispatchProtocol) -> None:
    @protocol.array_type(fallback=fallback.dense)
    class Base(abc.ABC):
        @abc.abstractmethod
        def to_dense(self) -> Any: ...

    class Concrete(Base):
        def to_dense(self) -> float:
            return 1.0

    with densify(on="allow"):
        assert unary(protocol)(Concrete()) == ("body", 1.0, 2.0)


def structured(to_dense: Any) -> Any:
    """Return an instance of an array type of tensors with this dense form."""

    class Structured:
        shape, dtype = (2,), dk.float64

    Structured.to_dense = to_dense  # type: ignore[attr-defined]
    return dk.array_type(fallback=dk.fallback.dense)(Structured)()


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (None, "None"),
        ([1.0, 2.0], "a value of type list"),
        (dk.types.ScalarTensor(2, 1.0), "a value of type ScalarTensor"),
    ],
)
def test_a_dense_form_that_is_no_plain_array_is_named(made: Any, named: str) -> None:
    def to_dense(self: Any) -> Any:
        return made

    place = re.escape(line_of(to_dense))
    text = rf"^dispatchkit\.cos: to_dense\(\) of .*Structured at {place} returned {named}; return a plain array$"
    with densify(on="allow"), pytest.raises(AnswerError, match=text):
        dk.cos(structured(to_dense))


def test_a_dense_form_that_needs_itself_is_named() -> None:
    def to_dense(self: Any) -> Any:
        return dk.cos(self)

    x = structured(to_dense)
    place = re.escape(line_of(to_dense))
    text = rf"of .*Structured at {place} calls dispatchkit\.cos on .*Structured, whose fallback is to_dense\(\)$"
    for _ in range(2):
        with densify(on="allow"), pytest.raises(AnswerError, match=text) as caught:
            dk.sin(x)
        assert len(caught.traceback) < 30


def test_a_dense_form_that_needs_an_attribute_read_off_it_is_named() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Shapeless:
        def to_dense(self) -> Any:
            return dk.ones(self.shape)

    text = r"to_dense\(\) of .*Shapeless at .* reads .*Shapeless\.shape, which is taken from to_dense\(\); define it$"
    with densify(on="allow"), pytest.raises(AnswerError, match=text):
        dk.cos(Shapeless())


def test_a_dense_form_may_need_that_of_another_instance() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Nested:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def to_dense(self) -> Any:
            return dk.cos(self.inner)

    with densify(on="allow"):
        assert dk.sin(Nested(Nested(dk.zeros(2)))).tolist() == dk.sin(dk.cos(dk.ones(2))).tolist()


def test_an_endless_chain_of_dense_forms_says_where(protocol: DispatchProtocol) -> None:
    def to_dense(self: Any) -> Any:
        return dk.cos(type(self)())

    with densify(on="allow"), pytest.raises(RecursionError) as caught:
        dk.cos(structured(to_dense))
    (note,) = caught.value.__notes__
    assert f"Structured at {line_of(to_dense)}, called by dispatchkit.cos" in note


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
            return memoryview(bytes(1600)).cast("d", (10, 20))

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
