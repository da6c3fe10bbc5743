"""`fallback.rewrap`: compute on the first field, and put the result in its place in a copy."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import dispatchkit as dk
from dispatchkit.errors import NoImplementationError, RegistrationError
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from tests.protocol.support import Answer


@pytest.fixture
def double(protocol: DispatchProtocol) -> Answer:
    @protocol.overridable
    def double(x: Any) -> Any:
        return x * 2

    return double


@pytest.fixture
def combine(protocol: DispatchProtocol) -> Answer:
    @protocol.overridable
    def combine(x1: Any, x2: Any) -> Any:
        return x1 + x2

    return combine


class Named:
    constructed = 0

    def __init__(self, value: Any, name: str) -> None:
        self.value, self.name = value, name
        type(self).constructed += 1


@pytest.fixture(autouse=True)
def named(protocol: DispatchProtocol) -> None:
    protocol.register_type(Named, fallback=fallback.rewrap)


def test_the_other_fields_are_kept(double: Answer) -> None:
    found = double(Named(1.5, "speed"))
    assert type(found) is Named
    assert (found.value, found.name) == (3.0, "speed")


def test_the_constructor_is_not_called(double: Answer) -> None:
    x = Named(1.5, "speed")
    before = Named.constructed
    double(x)
    assert Named.constructed == before


def test_the_source_stays_as_it_was(double: Answer) -> None:
    x = Named(1.5, "speed")
    assert double(x) is not x
    assert x.value == 1.5


def test_the_first_of_two_gives_the_other_fields(combine: Answer) -> None:
    found = combine(Named(1.0, "left"), Named(2.0, "right"))
    assert (found.value, found.name) == (3.0, "left")
    found = combine(1.0, Named(2.0, "right"))
    assert (found.value, found.name) == (3.0, "right")


def test_attributes_that_are_no_fields_are_copied_too(double: Answer) -> None:
    x = Named(1.5, "speed")
    x.note = "kept"  # type: ignore[attr-defined]
    assert double(x).note == "kept"


def test_a_subclass_stays_one(double: Answer) -> None:
    class Sub(Named):
        pass

    assert type(double(Sub(1.5, "speed"))) is Sub


def test_a_frozen_dataclass(protocol: DispatchProtocol, double: Answer) -> None:
    @protocol.array_type(fallback=fallback.rewrap)
    @dataclass(frozen=True, slots=True)
    class Frozen:
        value: float
        unit: str

    assert double(Frozen(1.5, "m")) == Frozen(3.0, "m")


def test_slots(protocol: DispatchProtocol, double: Answer) -> None:
    class Slotted:
        __slots__ = ("unit", "value")

        def __init__(self, value: float, unit: str) -> None:
            self.value, self.unit = value, unit

    protocol.register_type(Slotted, fallback=fallback.rewrap)
    found = double(Slotted(1.5, "m"))
    assert (found.value, found.unit) == (3.0, "m")


def test_declared_fields_go_before_the_constructor(protocol: DispatchProtocol, double: Answer) -> None:
    @protocol.array_type(fallback=fallback.rewrap, fields=("data",))
    class Declared:
        def __init__(self, unit: str) -> None:
            self.unit, self.data = unit, 1.5

    found = double(Declared("m"))
    assert (found.data, found.unit) == (3.0, "m")


def test_a_parameter_that_is_no_attribute_is_no_field(protocol: DispatchProtocol, double: Answer) -> None:
    @protocol.array_type(fallback=fallback.rewrap)
    class Halved:
        def __init__(self, source: float, value: float) -> None:
            self.value = value + source / 2

    assert double(Halved(1.0, 1.0)).value == 3.0


def test_a_type_without_fields_says_why(protocol: DispatchProtocol, double: Answer) -> None:
    @protocol.array_type(fallback=fallback.rewrap, fields=())
    class Empty:
        pass

    with pytest.raises(NoImplementationError, match="cannot be rewrapped: it has no fields"):
        double(Empty())


def test_a_type_without_constructor_says_what_to_declare(protocol: DispatchProtocol, double: Answer) -> None:
    @protocol.array_type(fallback=fallback.rewrap)
    class Bare:
        pass

    with pytest.raises(TypeError, match=r"array_type\(fields=\('value', \.\.\.\)\)"):
        double(Bare())


def test_a_named_tuple(protocol: DispatchProtocol, double: Answer) -> None:
    class Pair(NamedTuple):
        value: float
        unit: str

    protocol.register_type(Pair, fallback=fallback.rewrap)
    assert double(Pair(1.5, "m")) == Pair(3.0, "m")


def test_fields_that_are_no_attributes_are_named(protocol: DispatchProtocol, double: Answer) -> None:
    class Hidden:
        def __init__(self, data: float, unit: str) -> None:
            self._data, self._unit = data, unit

    protocol.register_type(Hidden, fallback=fallback.rewrap)
    text = (
        r"Hidden cannot be rewrapped: its fields 'data', 'unit' are parameters of the constructor and no attributes; "
    )
    with pytest.raises(RegistrationError, match=rf"^lib\.double: .*{text}.*fields=\('data', \.\.\.\)$"):
        double(Hidden(1.5, "m"))


def test_a_declared_field_that_is_no_attribute_is_named(protocol: DispatchProtocol, double: Answer) -> None:
    class Misspelt(Named):
        pass

    protocol.register_type(Misspelt, fallback=fallback.rewrap, fields=("valeu", "name"))
    text = r"fields=\('valeu', 'name'\) of .*Misspelt name 'valeu', which an instance does not have; "
    with pytest.raises(RegistrationError, match=rf"{text}its attributes are value, name$"):
        double(Misspelt(1.5, "speed"))


def test_a_declared_field_that_slots_do_not_have_is_refused(protocol: DispatchProtocol) -> None:
    class Slotted:
        __slots__ = ("unit", "value")

    text = r"fields of .*Slotted name 'valeu', which is no attribute; its attributes are unit, value$"
    with pytest.raises(RegistrationError, match=rf"^register_type: {text}"):
        protocol.register_type(Slotted, fallback=fallback.rewrap, fields=("valeu",))


def test_a_first_field_that_holds_no_array_is_named() -> None:
    @dk.array_type(fallback=dk.fallback.rewrap)
    class Labelled:
        def __init__(self, label: str, data: dk.Tensor) -> None:
            self.label, self.data = label, data

    text = r"Labelled cannot be rewrapped: its first field 'label' holds a value of type str, not an array; declare "
    with pytest.raises(RegistrationError, match=rf"^dispatchkit\.exp: .*{text}"):
        dk.exp(Labelled("m", dk.ones(2)))


def test_a_dataclass_compares_elementwise() -> None:
    @dataclass
    class Unit:
        data: dk.Tensor
        unit: str

    @dataclass
    class Sub(Unit):
        pass

    own = Sub.__eq__
    with dk.local_registrations():
        dk.array_type(fallback=dk.fallback.rewrap)(Sub)
        x = Sub(dk.asarray([1.0, 2.0]), "m")
        equal: Any = x == dk.asarray([1.0, 3.0])
        assert (equal.data.tolist(), equal.unit) == ([True, False], "m")
        assert len({x, x}) == 1
    after: Any = Sub
    assert (after.__eq__, after.__hash__) == (own, None)
    assert Unit(dk.ones(1), "m") == Unit(dk.ones(1), "m")


def test_a_comparison_of_the_author_of_a_dataclass_stays() -> None:
    @dk.array_type(fallback=dk.fallback.rewrap)
    @dataclass
    class Unit:
        data: dk.Tensor

        def __eq__(self, other: object) -> bool:
            return True

    assert (Unit(dk.zeros(2)) == 3) is True


def test_a_result_of_another_type_is_wrapped(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def halve(x: Any) -> Any:
        return x / 2

    found = halve(Named(3, "count"))
    assert type(found) is Named
    assert found.value == 1.5


def test_each_of_several_results_is_wrapped(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def split(x: Any) -> Any:
        return (x * 0.25, x * 0.75)

    small, large = split(Named(4.0, "length"))
    assert [(small.value, small.name), (large.value, large.name)] == [(1.0, "length"), (3.0, "length")]


def test_the_inner_call_reaches_the_rules_of_the_field(protocol: DispatchProtocol, double: Answer) -> None:
    @protocol.array_type()
    class Inner:
        pass

    made = Inner()
    protocol.implements(double, Inner)(lambda x: made)
    found = double(Named(Inner(), "outer"))
    assert found.value is made
    assert found.name == "outer"


def test_two_types_are_rewrapped_one_in_the_other(protocol: DispatchProtocol, combine: Answer) -> None:
    class Unit:
        def __init__(self, value: Any, unit: str) -> None:
            self.value, self.unit = value, unit

    protocol.register_type(Unit, fallback=fallback.rewrap)
    found = combine(Named(1.0, "left"), Unit(2.0, "m"))
    assert (found.name, found.value.unit, found.value.value) == ("left", "m", 3.0)


def test_an_exception_of_the_inner_call_passes_through(protocol: DispatchProtocol) -> None:
    raised = ZeroDivisionError("inner")

    @protocol.overridable
    def fail(x: Any) -> Any:
        raise raised

    with pytest.raises(ZeroDivisionError) as caught:
        fail(Named(1.0, "speed"))
    assert caught.value is raised
