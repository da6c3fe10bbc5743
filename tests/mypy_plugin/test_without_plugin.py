"""Decorators keep the types of what they decorate, also for those who do without the plugin.

The checks are mypy's own, as the project checks its tests, without the plugin: `assert_type`, and comments that silence
an error, which are errors themselves where there is none. Running the code shows that they are true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

import pytest

import dispatchkit as dk


def test_classes_and_handlers_keep_their_types() -> None:
    @dk.array_type(fallback=dk.fallback.rewrap)
    @dataclass
    class Data:
        value: int

        def doubled(self) -> int:
            return 2 * self.value

    @dk.implements(dk.exp)
    def exp_data(x: Data, /) -> str:
        return str(x.value)

    @dk.converts()
    def to_int(x: Data) -> int:
        return x.value

    assert_type(Data(1), Data)
    assert assert_type(Data(1).doubled(), int) == 2
    assert assert_type(exp_data(Data(1)), str) == "1"
    assert assert_type(to_int(Data(1)), int) == 1
    with pytest.raises(TypeError):
        Data("1", 2)  # type: ignore[call-arg, arg-type]
    with pytest.raises(TypeError):
        exp_data(x=Data(1))  # type: ignore[call-arg]


def test_functions_made_overridable_keep_their_signature() -> None:
    protocol = dk.DispatchProtocol("__wide_function__")

    @protocol.overridable
    def plain(x: float, width: int = 2) -> float:
        return x * width

    @protocol.overridable(kind=dk.kinds.elementwise)
    def declared(x: float, width: int = 2) -> float:
        return x * width

    @protocol.array_type()
    class Wide: ...

    assert assert_type(plain(1.0, width=3), float) == 3.0
    assert assert_type(declared(1.0), float) == 2.0
    assert isinstance(assert_type(Wide(), Wide), Wide)
    with pytest.raises(TypeError):
        plain(1.0, wdth=3)  # type: ignore[call-arg]


def test_operations_have_the_parameters_and_results_of_their_bodies() -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def cube(xp: Any, x: dk.Tensor, /, *, scale: float = 1.0) -> dk.Tensor:
        made: dk.Tensor = x * x * x * scale
        return made

    assert assert_type(cube(dk.ones(2), scale=2.0), dk.Tensor).tolist() == [2.0, 2.0]
