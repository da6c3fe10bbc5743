"""Classes that inherit operators from Python's builtins are no array types: the operators would not be the array's."""

import datetime as dt
from collections import UserList, deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, Flag, IntEnum
from typing import Any, NamedTuple

import pytest

import dispatchkit as dk
from dispatchkit.errors import NoImplementationError, RegistrationError
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.instance import tensor_protocol


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    with dk.local_registrations():
        yield


class Point(NamedTuple):
    x: float
    y: float


class Level(IntEnum):
    LOW = 1


BASES: dict[Any, str] = {
    **dict.fromkeys((float, int, complex, str, bytes, bytearray, list, tuple, deque, dt.timedelta), "__add__"),
    **dict.fromkeys((set, frozenset), "__sub__"),
    dict: "__or__",
}


@pytest.mark.parametrize("base", BASES)
def test_a_class_derived_from_a_builtin_is_refused(base: Any) -> None:
    class Own(base):  # type: ignore[misc]
        def to_dense(self) -> dk.Tensor:
            return dk.ones(2)

    before = dict(vars(Own))
    with pytest.raises(RegistrationError) as caught:
        dk.array_type(fallback=dk.fallback.dense)(Own)
    text = str(caught.value)
    assert f"Own derives from {base.__qualname__}, whose operators Python would use in place of the array's: " in text
    assert f"{BASES[base]}" in text.partition("array's: ")[2].partition(";")[0].split(", ")
    assert text.endswith(f"; hold the {base.__qualname__} in a field of a class instead")
    assert dict(vars(Own)) == before
    assert not tensor_protocol.types.participates(Own)


@pytest.mark.parametrize(("cls", "base"), [(Point, "tuple"), (Level, "int")])
def test_a_named_tuple_and_an_enumeration_of_numbers_are_refused(cls: type, base: str) -> None:
    with pytest.raises(RegistrationError, match=rf"array_type: {cls.__name__} derives from {base}, whose operators"):
        dk.array_type(fallback=dk.fallback.rewrap)(cls)


@pytest.mark.parametrize("base", [list, tuple, str, set, dict])
def test_a_class_of_somebody_else_derived_from_a_builtin_is_refused(base: Any) -> None:
    class Theirs(base):  # type: ignore[misc]
        pass

    with pytest.raises(RegistrationError, match=rf"register_type: .*Theirs derives from {base.__name__}, whose"):
        dk.register_type(Theirs, to_dense=lambda x: dk.ones(2))
    with pytest.raises(RegistrationError, match=rf"register_type: {base.__name__} is Python's {base.__name__}, whose"):
        dk.register_type(base, to_dense=lambda x: dk.ones(2))


def test_operators_of_somebody_elses_library_are_meant() -> None:
    dk.register_type(dt.timedelta, to_dense=lambda x: dk.asarray(x.total_seconds()), fallback=dk.fallback.dense)
    with dk.densify(on="allow"):
        assert dk.exp(dt.timedelta()).item() == 1.0


def test_operators_written_in_python_are_meant() -> None:
    class Sums:
        def __add__(self, other: object) -> str:
            return "own"

    class Inherited(Sums):
        pass

    class Listed(UserList[float]):
        pass

    for cls in (Inherited, Listed):
        dk.array_type()(cls)
    assert Inherited() + 1 == "own"
    assert Listed([1.0]) + Listed([2.0]) == [1.0, 2.0]


def test_a_class_that_defines_every_operator_of_its_base_is_fine() -> None:
    names = ("len", "add", "mul", "rmul", "getitem", "eq", "ne", "lt", "le", "gt", "ge")
    members = {f"__{name}__": lambda self, *others: "own" for name in names}
    with pytest.raises(RegistrationError, match=r"array's: __rmul__;"):
        dk.array_type()(type("Short", (tuple,), {k: v for k, v in members.items() if k != "__rmul__"}))
    made = dk.array_type()(type("Full", (tuple,), members))((1.0,))
    assert made + 1 == "own"


def test_enumerations_and_frozen_dataclasses_are_array_types() -> None:
    @dk.array_type()
    class Colour(Enum):
        RED = 1

    @dk.array_type()
    class Switch(Flag):
        ON = 1

    @dk.array_type(fallback=dk.fallback.dense)
    @dataclass(frozen=True, slots=True)
    class Scaled:
        value: float

        def to_dense(self) -> Any:
            return self.value * dk.ones(2)

    with dk.densify(on="allow"):
        total: Any = Scaled(2.0) + Scaled(3.0)  # type: ignore[operator, unused-ignore]
    assert total.tolist() == [5.0, 5.0]
    for value in (Colour.RED, Switch.ON):
        with pytest.raises(NoImplementationError):
            dk.exp(value)


def test_a_protocol_without_operators_takes_builtins() -> None:
    units = DispatchProtocol("__units_function__")

    @units.array_type()
    class Metres(float):
        pass

    units.register_type(list)
    assert units.types.participates(Metres)
    assert units.types.participates(list)
