"""What an array type prints that has no `__repr__`: its fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dispatchkit as dk


def test_a_type_without_a_repr_prints_its_fields() -> None:
    @dk.array_type()
    class Identity:
        def __init__(self, n: int, value: float) -> None:
            self.n, self.value = n, value

        def to_dense(self) -> Any:
            return self.value * dk.eye(self.n)

    assert repr(Identity(3, 2.0)) == "Identity(n=3, value=2.0)"
    bare = object.__new__(Identity)  # as a debugger may see it, inside of the constructor
    assert repr(bare) == "Identity()"


def test_fields_of_several_lines_stand_below_each_other() -> None:
    @dk.array_type(fields=("values", "unit"))
    class Quantity:
        def __init__(self, values: Any, unit: str) -> None:
            self.values, self.unit = values, unit

    text = repr(Quantity(dk.eye(2), "m"))
    assert text == "Quantity(\n    values=tensor([[1., 0.],\n            [0., 1.]]),\n    unit='m',\n)"


def test_a_repr_that_the_class_or_a_dataclass_defines_stays() -> None:
    @dk.array_type()
    class Named:
        def __repr__(self) -> str:
            return "mine"

    @dk.array_type()
    @dataclass(eq=False)
    class Data:
        value: float

    class Derived(Named):
        pass

    assert (repr(Named()), repr(dk.array_type()(Derived)())) == ("mine", "mine")
    assert repr(Data(1.0)).endswith("Data(value=1.0)")


def test_a_type_that_holds_itself_can_be_printed() -> None:
    @dk.array_type(fields=("inner",))
    class Loop:
        def __init__(self) -> None:
            self.inner: Any = self

    assert repr(Loop()) == "Loop(inner=...)"


def test_what_is_undone_takes_the_repr_away() -> None:
    class Plain:
        def __init__(self, value: float) -> None:
            self.value = value

    with dk.local_registrations():
        dk.array_type()(Plain)
        assert repr(Plain(1.0)) == "Plain(value=1.0)"
    assert repr(Plain(1.0)).startswith("<")
