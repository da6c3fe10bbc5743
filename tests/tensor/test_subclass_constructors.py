"""Constructors of subclasses of `Tensor`: what is written by another library's habit says how it is written here."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import dispatchkit as dk

OWN_ARGUMENTS = "a subclass with arguments of its own defines __init__, which calls super().__init__(data)"


def location(function: Any) -> str:
    code = inspect.unwrap(function).__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


@pytest.mark.parametrize("base", [dk.Tensor, dk.nn.Parameter, type("Sub", (dk.Tensor,), {})])
def test_a_constructor_that_makes_no_array_is_named(base: Any) -> None:
    class Metres(base):  # type: ignore[misc]
        def __init__(self, data: Any, unit: str) -> None:
            self.unit = unit

    class Child(Metres):
        pass

    for cls in (Metres, Child):
        with pytest.raises(TypeError) as caught:
            cls([1.0], "m")
        name = cls.__qualname__.replace("<locals>.", "")
        place = location(Metres.__init__)
        assert (
            str(caught.value)
            == f"{name}.__init__ at {place} gave the tensor no array; call super().__init__(data) in it"
        )


def test_a_constructor_may_leave_the_array_to_the_one_that_calls_it() -> None:
    class Unit(dk.Tensor):
        def __init__(self, unit: str) -> None:
            self.unit = unit

    class Metres(Unit):
        def __init__(self, data: Any) -> None:
            Unit.__init__(self, "m")
            dk.Tensor.__init__(self, data)

    assert (Metres([1.0]) + 1).tolist() == [2.0]
    assert list(inspect.signature(Metres).parameters) == ["data"]


def test_new_with_data_says_to_define_init() -> None:
    class Metres(dk.Tensor):
        def __new__(cls, data: Any, unit: str) -> Any:
            made: Any = super().__new__(cls, data)  # type: ignore[call-arg]
            made.unit = unit
            return made

    with pytest.raises(TypeError) as caught:
        Metres([1.0], "m")
    place = f"test_new_with_data_says_to_define_init.Metres.__new__ at {location(Metres.__new__)}"
    assert str(caught.value) == f"{place}: Tensor takes no data in __new__; {OWN_ARGUMENTS}"


def test_new_that_makes_a_view_says_what_to_write() -> None:
    class Metres(dk.Tensor):
        def __new__(cls, data: Any, unit: str) -> Any:
            return dk.asarray(data).view(cls)

    with pytest.raises(TypeError) as caught:
        Metres([1.0], "m")
    assert str(caught.value) == "view: Metres is a class, not a shape; write x.as_subclass(Metres)"

    class Right(dk.Tensor):
        def __new__(cls, data: Any, unit: str) -> Any:
            return dk.asarray(data).as_subclass(cls)

    with pytest.raises(TypeError) as caught:
        Right([1.0], "m")
    name = "test_new_that_makes_a_view_says_what_to_write.Right"
    assert str(caught.value) == f"{name} takes one positional argument, data, found 2; {OWN_ARGUMENTS}"


def test_new_without_data_stays_possible() -> None:
    class Metres(dk.Tensor):
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            return super().__new__(cls)

        def __init__(self, data: Any, unit: str) -> None:
            super().__init__(data)
            self.unit = unit

    assert Metres([1.0], unit="m").unit == "m"


def test_the_hook_of_numpys_subclasses_is_refused() -> None:
    with pytest.raises(dk.RegistrationError) as caught:

        class Metres(dk.Tensor):
            def __array_finalize__(self, obj: Any) -> None: ...

    assert str(caught.value) == (
        "test_the_hook_of_numpys_subclasses_is_refused.Metres.__array_finalize__ would never be called, since results "
        "are no NumPy arrays; define __tensor_finalize__(self, op, sources), which takes over the attributes of the "
        "sources"
    )
