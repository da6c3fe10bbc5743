"""Observers: they see each call and its result, wherever it is made, and change neither."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.protocol.modes import Observer, active_observer, live, observed_by, observers, set_observers
from dispatchkit.protocol.overridable import Overridable


class Notes(Observer):
    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.look: Callable[[], Any] = observers

    def saw(self, operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        self.calls.append((operation.name, result))
        self.look()

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


@contextmanager
def observed(notes: Notes) -> Iterator[Notes]:
    outer = observers()
    set_observers(observed_by(notes))
    try:
        yield notes
    finally:
        set_observers(outer)


class Through(dk.TensorFunctionMode):
    def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs)


def test_calls_and_results_are_seen() -> None:
    with observed(Notes()) as notes:
        y = dk.exp(dk.ones(2)) + 1
        y.sum(0)
    assert notes.names == ["ones", "exp", "add", "sum"]
    assert notes.calls[2][1] is y


@dk.array_type()
class Doubled:
    def __init__(self, half: dk.Tensor) -> None:
        self.half = half


def test_calls_inside_of_handlers_are_seen_before_the_call_they_are_part_of() -> None:
    with dk.local_registrations():

        @dk.implements(dk.sin)
        def sin_doubled(x: Doubled, /) -> Any:
            return dk.sin(x.half * 2)

        x = Doubled(dk.ones(2))
        with observed(Notes()) as notes:
            dk.sin(x)
    assert notes.names == ["multiply", "sin", "sin"]


@pytest.mark.parametrize("inside", [True, False])
def test_modes_are_asked_and_do_not_hide_calls(inside: bool) -> None:
    x = dk.ones(2)
    notes = Notes()
    if inside:
        with observed(notes), Through():
            dk.exp(x)
    else:
        with Through(), observed(notes):
            dk.exp(x)
    # The call that the mode makes is one, too.
    assert notes.names == ["exp", "exp"]


def test_calls_that_an_observer_makes_are_not_observed() -> None:
    notes = Notes()
    notes.look = lambda: dk.exp(1.0)
    with observed(notes):
        dk.sin(1.0)
    assert notes.names == ["sin"]


def test_of_each_class_the_last_to_enter_counts() -> None:
    class Others(Notes):
        pass

    others = Others()
    with observed(Notes()) as outer, observed(others), observed(Notes()) as inner:
        dk.exp(1.0)
        assert active_observer(Others) is others
    assert (outer.names, others.names, inner.names) == ([], ["exp"], ["exp"])


def test_calls_that_fail_are_not_seen() -> None:
    with observed(Notes()) as notes:
        with pytest.raises(dk.ForeignArgumentError):
            dk.exp("x")
        dk.sin(1.0)
    assert notes.names == ["sin"]


def test_operators_leave_strangers_to_python() -> None:
    class Stranger:
        def __radd__(self, other: Any) -> str:
            return "mine"

    with observed(Notes()):
        assert dk.ones(1) + Stranger() == "mine"


def test_other_contexts_are_not_observed_and_nothing_stays_behind() -> None:
    before = len(live)
    with observed(Notes()) as notes:
        contextvars.Context().run(dk.exp, 1.0)
        assert len(live) > before
    assert notes.names == []
    assert len(live) == before
    assert observers() == ()
