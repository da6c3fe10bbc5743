"""What cannot be registered is refused, and leaves nothing behind."""

import operator
from collections.abc import Callable
from typing import Any

import pytest

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.conversions import Conversion
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.kinds import kinds
from tests.protocol.support import Answer, binary, unary


class A:
    pass


class B:
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


def test_a_function_that_is_not_overridable_is_refused(protocol: DispatchProtocol) -> None:
    with pytest.raises(
        RegistrationError, match=r"implements: len is not overridable; make it so with overridable\(len\)"
    ):
        protocol.implements(len, A)


def test_a_function_of_another_protocol_is_refused(protocol: DispatchProtocol) -> None:
    other = DispatchProtocol("__other_function__", namespace="other")
    with pytest.raises(RegistrationError, match=r"other\.scale belongs to .*__other_function__.*, not to "):
        protocol.implements(unary(other), A)


def test_too_few_types_are_refused(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def where(condition: Any, x1: Any, x2: Any, /) -> Any:
        return None

    with pytest.raises(RegistrationError, match=r"2 types for .*lib\.where.*3 array parameters; give one"):
        says(protocol, where, "two", A, B)


def test_what_is_no_class_is_refused(protocol: DispatchProtocol, combine: Answer) -> None:
    with pytest.raises(RegistrationError, match="implements: 3 is not a class"):
        says(protocol, combine, "three", 3)  # type: ignore[arg-type]


def test_a_rule_that_no_call_could_reach_is_refused(protocol: DispatchProtocol, combine: Answer) -> None:
    with pytest.raises(RegistrationError, match="names no type of its own"):
        says(protocol, combine, "floats", float)


def test_a_failed_registration_registers_nothing(protocol: DispatchProtocol, combine: Answer) -> None:
    class New:
        pass

    with pytest.raises(RegistrationError):

        @protocol.implements(combine)
        def never(x1: New | B, /) -> None: ...

    assert combine(New(), 1)[0] == "body"
    assert combine.__overridable__.rules == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("immutable", [bytearray, memoryview])
def test_a_class_that_cannot_be_decorated_stays_as_it_was(protocol: DispatchProtocol, immutable: type) -> None:
    with pytest.raises(TypeError):
        protocol.array_type(fallback=fallback.dense)(immutable)
    assert unary(protocol)(immutable(b"x"))[0] == "body"


def test_bad_fields_are_refused(protocol: DispatchProtocol) -> None:
    class New:
        pass

    with pytest.raises(RegistrationError, match=r"fields of .*New must be attribute names, not 'a b'"):
        protocol.array_type(fields=("a b",))(New)
    assert unary(protocol)(New())[0] == "body"


def test_array_type_takes_a_class(protocol: DispatchProtocol) -> None:
    with pytest.raises(RegistrationError, match=r"decorates a class, not .*; write @array_type\(\)"):
        protocol.array_type()(len)  # type: ignore[type-var]


@pytest.mark.parametrize("scalar", [int, float, complex, bool, type(None)])
def test_register_type_refuses_scalars(protocol: DispatchProtocol, scalar: type) -> None:
    with pytest.raises(RegistrationError, match=f"{scalar.__name__} mixes with arrays as it is"):
        protocol.register_type(scalar)


def test_register_type_takes_a_class(protocol: DispatchProtocol) -> None:
    with pytest.raises(RegistrationError, match="register_type takes a class, not 'A'"):
        protocol.register_type("A")  # type: ignore[arg-type]


def test_register_type_takes_in_a_builtin_class(protocol: DispatchProtocol) -> None:
    protocol.register_type(bytearray)
    scale = unary(protocol)
    says(protocol, scale, "bytes", bytearray)
    assert scale(bytearray()) == "bytes"


def test_a_negative_cost_is_refused(protocol: DispatchProtocol) -> None:
    with pytest.raises(RegistrationError, match="converts: cost is -1; it cannot be negative"):
        protocol.converts(cost=-1)


def test_a_conversion_names_two_classes(protocol: DispatchProtocol) -> None:
    with pytest.raises(RegistrationError, match="must name one class it takes and one it gives"):

        @protocol.converts()
        def nowhere(x: A):  # type: ignore[no-untyped-def]  # noqa: ANN202, RUF100
            return x

    record = protocol.records.find(A)
    assert record is not None
    assert not any(isinstance(owned, Conversion) for owned in record.owned)


def test_the_handler_of_a_kind_takes_the_operation(protocol: DispatchProtocol) -> None:
    with pytest.raises(RegistrationError, match="the handler of a kind takes the operation first"):

        @protocol.implements(kinds.function, A)
        def nothing() -> None: ...


@pytest.mark.parametrize(
    ("handler", "name"), [(str, "str"), (operator.attrgetter("value"), r"operator.attrgetter('value')")]
)
def test_what_has_no_signature_is_refused_by_name(protocol: DispatchProtocol, handler: Any, name: str) -> None:
    text = f"{name} has no signature that could be read; give it one by a function around it, as in def handler"
    uses: dict[str, Callable[..., Any]] = {
        "implements": protocol.implements(unary(protocol), A),
        "converts": protocol.converts(),
        "overridable": protocol.overridable,
    }
    for use, decorate in uses.items():
        with pytest.raises(RegistrationError) as caught:
            decorate(handler)
        assert f"{use}: {text}" in str(caught.value)
    assert protocol.rules() == []


def test_what_cannot_be_called_is_no_handler(protocol: DispatchProtocol) -> None:
    handler: Any = "text"
    with pytest.raises(RegistrationError, match="implements: 'text' is not callable"):
        protocol.implements(unary(protocol), A)(handler)
