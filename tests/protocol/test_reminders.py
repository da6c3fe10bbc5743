"""Context managers that nobody enters say that they have no effect."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk

MAKERS: dict[str, Callable[[], Any]] = {
    "densify": lambda: dk.densify(on="error"),
    "disable_dispatch": dk.disable_dispatch,
    "local_registrations": dk.local_registrations,
    "record_calls": dk.record_calls,
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_context_that_nobody_enters_says_so(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MAKERS[name]()
    (warning,) = caught
    assert warning.category is RuntimeWarning
    assert str(warning.message) == f"{name}() has no effect before a with statement enters it; write with {name}(...):"
    assert warning.filename == __file__


@pytest.mark.parametrize("name", MAKERS)
def test_a_context_that_is_entered_does_not(name: str) -> None:
    with MAKERS[name]():
        pass


def test_a_decorated_function_is_inside_the_context() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Dense:
        shape = (2,)
        dtype = dk.float64

        def to_dense(self) -> Any:
            return dk.ones(2)

    densify: Any = dk.densify(on="error")

    @densify  # type: ignore[untyped-decorator]
    def total() -> Any:
        return dk.sum(Dense())

    del densify
    for _ in range(2):
        with pytest.raises(dk.DensifyError):
            total()
