"""Functions under other names, and with other names of parameters."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from dispatchkit.declare.source import with_parameters


class Base:
    def double(self, x: int, *, times: int = 2) -> Any:
        """Return it twice, by a function that has it."""
        return sum(x for _ in range(times))


class Derived(Base):
    def double(self, x: int, *, times: int = 2) -> Any:
        x = super().double(x, times=times)
        return x, times


def test_parameters_get_other_names() -> None:
    functions: list[Any] = [Base.double, Derived.double]
    base, derived = (with_parameters(function, {"x": "value"}) for function in functions)
    assert list(inspect.signature(base).parameters) == ["self", "value", "times"]
    assert (base.__name__, base.__doc__, base.__annotations__["value"]) == ("double", Base.double.__doc__, "int")
    assert base(Base(), value=3) == base(Base(), 3) == 6
    assert derived(Derived(), value=3, times=3) == (9, 3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'x'"):
        base(Base(), x=3)


def test_a_name_that_a_variable_has_is_refused() -> None:
    function: Any = Base.double
    with pytest.raises(ValueError, match="double: a variable has the name 'times' already"):
        with_parameters(function, {"x": "times"})
