"""What cannot be registered is refused, and leaves nothing behind."""

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import RegistrationError, ReplacementWarning
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.kinds import kinds
from tests.protocol.support import Answer, binary, line_of, unary

UFUNCS = "numpy." if hasattr(np.add, "__module__") else ""  # NumPy 2.0's do not say where they are from


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
    with pytest.raises(RegistrationError, match=r"other\.scale belongs to .*__other_function__.*, not to ") as caught:
        protocol.implements(unary(other), A)
    assert str(caught.value).endswith("write implements of that protocol, as in @protocol.implements(scale)")


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
    assert protocol.rules() == []


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


def test_a_cost_that_is_no_number_is_refused(protocol: DispatchProtocol) -> None:
    with pytest.raises(RegistrationError, match=r"converts: cost is '1'; write a number, as in @converts\(cost=2\)"):
        protocol.converts(cost="1")  # type: ignore[arg-type]


def test_a_negative_cost_is_refused(protocol: DispatchProtocol) -> None:
    with pytest.raises(RegistrationError, match="converts: cost is -1; it cannot be negative"):
        protocol.converts(cost=-1)


def test_a_conversion_names_two_classes(protocol: DispatchProtocol) -> None:
    with pytest.raises(RegistrationError, match="must name one class it takes and one it gives"):

        @protocol.converts()
        def nowhere(x: A):  # type: ignore[no-untyped-def]  # noqa: ANN202, RUF100
            return x

    record = protocol.types.records.find(A)
    assert record is not None
    assert not record.conversions


def test_the_handler_of_a_kind_takes_the_operation(protocol: DispatchProtocol) -> None:
    text = r"cannot answer for kinds\.function: the handler of a kind receives the operation first, "
    text += "then the arrays; as in "
    with pytest.raises(RegistrationError, match=rf"nothing {text}def f\(op\)$"):

        @protocol.implements(kinds.function, A)
        def nothing() -> None: ...

    with pytest.raises(RegistrationError, match=rf"alone {text}def f\(op, x\)$"):

        @protocol.implements(kinds.function, A)
        def alone(x: Any) -> None: ...

    with pytest.raises(RegistrationError, match=rf"arrays {text}def f\(op, x1, x2\)$"):

        @protocol.implements(kinds.function)
        def arrays(x1: A, x2: A) -> None: ...


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"fallback": "dense"}, "fallback='dense' of A is no fallback; write dk.fallback.dense"),
        ({"fallback": "decompose | dens"}, "; write dk.fallback.decompose | dk.fallback.dense"),
        ({"fallback": [fallback.dense, fallback.rewrap]}, "; write dk.fallback.dense | dk.fallback.rewrap"),
        ({"fallback": fallback}, "; write one of dk.fallback.refuse, dk.fallback.dense, dk.fallback.rewrap, "),
        ({"priority": "1"}, "priority='1' of A is no number; write one such as priority=1"),
        ({"priority": float("nan")}, "priority=nan of A is no number"),
        ({"fields": "data"}, "fields='data' of A is text; write fields=('data',)"),
        ({"fields": 5}, "fields=5 of A is no tuple of names; write one such as fields=('data',)"),
        ({"fields": (5,)}, "fields of A must be attribute names, not 5"),
        ({"dense": 5}, "dense must be a method's name or a function, not 5"),
    ],
)
def test_a_declaration_of_another_type_is_refused(protocol: DispatchProtocol, options: Any, text: str) -> None:
    with pytest.raises(RegistrationError, match=re.escape(text)):
        protocol.array_type(**options)(A)
    if "dense" not in options:
        with pytest.raises(RegistrationError, match=f"^register_type: .*{re.escape(text)}"):
            protocol.register_type(A, **options)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (np.add, f"implements: {UFUNCS}add is not overridable; use dk.add"),
        (np.linalg.inv, "implements: numpy.inv is not overridable; use dk.linalg.inv"),
        (np.power, f"implements: {UFUNCS}power is not overridable; use dk.pow"),
        ("add", "implements: 'add' is a name; give the function itself, dk.add"),
        ("linalg.inv", "implements: 'linalg.inv' is a name; give the function itself, dk.linalg.inv"),
        ("nothing", "implements: 'nothing' is a name; give the function itself"),
        (A, "implements: A is a type; the operation goes first: implements(operation, A)"),
        (3, "implements: 3 is no function; give an operation such as dk.add, or a kind"),
        (re.sub, "implements: sub is not overridable; make it so with overridable(sub)"),
    ],
)
def test_what_is_no_operation_is_refused_with_the_one_that_is_meant(given: Any, text: str) -> None:
    with pytest.raises(RegistrationError, match=f"^{re.escape(text)}$"):
        dk.implements(given, A)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("add", "implements: torch.add is not overridable; use dk.add"),
        ("nn.functional.relu", "implements: torch.relu is not overridable; use dk.relu"),
    ],
)
def test_a_function_of_pytorch_is_refused_with_the_one_that_is_meant(path: str, text: str) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(RegistrationError, match=f"^{re.escape(text)}"):
        dk.implements(operator.attrgetter(path)(torch))


def test_implements_without_parentheses_is_refused() -> None:
    with pytest.raises(RegistrationError, match=r"add is the handler; write @dk\.implements\(dk\.add\) above it$"):

        @dk.implements
        def add(x1: A, x2: A, /) -> None: ...

    with pytest.raises(RegistrationError, match=r"own is the handler; write @dk\.implements\(operation\) above it$"):

        @dk.implements
        def own(x1: A, x2: A, /) -> None: ...


def test_what_cannot_be_made_overridable_is_refused(protocol: DispatchProtocol) -> None:
    with pytest.raises(RegistrationError, match=r"^overridable takes a function, not 'add'; write @overridable above"):
        protocol.overridable("add")  # type: ignore[call-overload]
    with pytest.raises(RegistrationError, match=r"^overridable: arrays='xs' is text; write arrays=\('xs',\)$"):
        protocol.overridable(arrays="xs")(len)  # type: ignore[call-overload]
    with pytest.raises(RegistrationError, match=r"^overridable: kind='linalg' is no kind; write one such as dk\.kinds"):
        protocol.overridable(kind="linalg")(len)  # type: ignore[call-overload]


def test_a_rule_of_another_module_is_not_replaced_in_silence(protocol: DispatchProtocol, combine: Answer) -> None:
    def of_module(module: str) -> Any:
        def rule(x1: Any, x2: Any, /) -> str:
            return module

        rule.__module__ = module
        return protocol.implements(combine, A, B)(rule)

    first = of_module("first")
    of_module("first")  # as a cell of a notebook that is run again
    place = re.escape(line_of(first))
    text = rf"^implements: .*rule\(A, B\) at {place} replaces rule\(A, B\) at {place} as the rule for lib\.combine$"
    with pytest.warns(ReplacementWarning, match=text) as caught:
        of_module("second")
    assert caught[0].filename == __file__
    assert combine(A(), B()) == "second"
    with pytest.raises(ReplacementWarning):
        of_module("third")
    assert combine(A(), B()) == "second"


@pytest.mark.parametrize(("handler", "name"), [(str, "str"), (max, "<built-in function max>")])
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
    assert protocol.handlers.of_operations() == []


def test_what_cannot_be_called_is_no_handler(protocol: DispatchProtocol) -> None:
    handler: Any = "text"
    with pytest.raises(RegistrationError, match="implements: 'text' is not callable"):
        protocol.implements(unary(protocol), A)(handler)


def test_the_functions_of_a_protocol_are_printed_as_they_are_written(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def blur(image: dk.ArrayLike, others: list[dk.ArrayLike], sigma: float = 1.0) -> None: ...

    assert repr(protocol.operations).endswith("(image: ArrayLike, others: list[ArrayLike], sigma: float = 1.0) -> None")
