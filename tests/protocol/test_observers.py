"""Observers: they see each call and its result, wherever it is made, and change neither."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.protocol.observers import (
    CallEvent,
    Observer,
    active_observer,
    live,
    observers,
    observing,
)
from dispatchkit.protocol.overridable import Overridable
from tests.programs.faults.running import faults, lines_of


class Notes(Observer):
    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.look: Callable[[], Any] = observers

    def on_result(self, operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        self.calls.append((operation.name, result))
        self.look()

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


@contextmanager
def observed(notes: Notes) -> Iterator[Notes]:
    with observing(notes):
        yield notes


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


def test_operators_leave_foreign_objects_to_python() -> None:
    class Foreign:
        def __radd__(self, other: Any) -> str:
            return "mine"

    with observed(Notes()):
        assert dk.ones(1) + Foreign() == "mine"


def test_other_contexts_are_not_observed_and_nothing_stays_behind() -> None:
    before = len(live)
    with observed(Notes()) as notes:
        contextvars.Context().run(dk.exp, 1.0)
        assert len(live) > before
    assert notes.names == []
    assert len(live) == before
    assert observers() == ()


def test_a_decomposition_leaves_later_fallbacks_off_where_it_is_observed() -> None:
    @dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
    class Square:
        shape = (2, 2)
        dtype = dk.float64

        def to_dense(self) -> dk.Tensor:
            return dk.ones((2, 2))

    dk.clear_densify_ledger()
    with dk.densify(on="allow"), observed(Notes()) as notes:
        dk.softmax(Square())
    # Nobody answers `max`, so that the decomposition is given up, and `softmax` itself becomes dense.
    assert [entry.function for entry in dk.densify_ledger()] == ["dispatchkit.softmax"]
    assert notes.names[-1] == "softmax"


def test_a_call_inside_of_a_decomposition_is_seen_once() -> None:
    with dk.local_registrations():

        @dk.array_type(fallback=dk.fallback.decompose)
        class Negated:
            dtype = dk.float64
            shape = (2,)

        @dk.implements(dk.exp)
        def exp_negated(x: Negated, /) -> dk.Tensor:
            return dk.ones(2)

        @dk.operation
        def twice_exp(xp: Any, x: Any, /) -> Any:
            return xp.exp(x) * 2

        with observed(Notes()) as notes:
            twice_exp(Negated())
    assert notes.names == ["ones", "exp", "multiply", "twice_exp"]


class Clock(Observer):
    def __init__(self) -> None:
        self.seen: list[tuple[CallEvent, Any, BaseException | None]] = []
        self.begun: list[str] = []

    def on_start(self, call: CallEvent) -> None:
        assert call.started == call.ended == 0
        self.begun.append(call.name)

    def on_end(self, call: CallEvent, result: Any, error: BaseException | None) -> None:
        self.seen.append((call, result, error))


@contextmanager
def clocked() -> Iterator[Clock]:
    clock = Clock()
    with observing(clock):
        yield clock


def test_calls_are_told_of_before_and_after_with_what_they_are_part_of() -> None:
    with dk.local_registrations():

        @dk.implements(dk.sin)
        def sin_doubled(x: Doubled, /) -> Any:
            return dk.sin(x.half * 2)

        x = Doubled(dk.ones(2))
        with clocked() as clock:
            dk.sin(x)
    assert clock.begun == ["dispatchkit.sin", "dispatchkit.multiply", "dispatchkit.sin"]
    multiply, inner, outer = (call for call, _, _ in clock.seen)
    assert multiply.outer is inner.outer is outer
    assert outer.outer is None
    assert outer.started <= multiply.started <= multiply.ended <= inner.started <= inner.ended <= outer.ended
    assert (
        multiply.ended - multiply.started + inner.ended - inner.started <= outer.inside <= outer.ended - outer.started
    )


def test_calls_that_fail_are_told_of_with_their_error() -> None:
    with clocked() as clock:
        with pytest.raises(dk.ForeignArgumentError):
            dk.exp("x")
        dk.sin(1.0)
    assert [(call.name, type(error)) for call, _, error in clock.seen] == [
        ("dispatchkit.exp", dk.ForeignArgumentError),
        ("dispatchkit.sin", type(None)),
    ]
    assert all(call.outer is None for call, _, _ in clock.seen)


def test_who_was_asked_last_is_noted() -> None:
    with dk.local_registrations():

        @dk.implements(dk.sin)
        def sin_doubled(x: Doubled, /) -> Any:
            return dk.decline("not today")

        with clocked() as clock:
            with pytest.raises(dk.NoImplementationError):
                dk.sin(Doubled(dk.ones(2)))
            with Through():
                dk.exp(dk.ones(2))
    asked = [(call.name, call.asked) for call, _, _ in clock.seen]
    assert asked[:3] == [("dispatchkit.ones", None), ("dispatchkit.sin", None), ("dispatchkit.ones", asked[2][1])]
    assert isinstance(asked[-1][1], Through)


def test_backward_passes_are_told_of() -> None:
    class Sweeps(Observer):
        names: list[str] = []  # noqa: RUF012  # one test's

        def on_backward(self, vertices: Any) -> None:
            self.names += [vertex.name for vertex in vertices]

    x = dk.ones(2, requires_grad=True)
    with observing(Sweeps()):
        dk.sum(x * 2).backward()
    assert sorted(Sweeps.names)[-2:] == ["MultiplyBackward", "SumBackward"]


def test_a_mode_that_declines_an_observed_call_is_asked_once() -> None:
    asked: list[str] = []

    class Declines(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            asked.append(func.__name__)
            return NotImplemented

    x = dk.ones((2, 2))
    with dk.record_calls() as record, Declines():
        dk.sum(x, axis=0)
        dk.clip(x, 0.0, 1.0)
        dk.concat([x, x])
    assert asked == [call.name for call in record.calls] == ["sum", "clip", "concat"]


def test_an_interrupt_while_observers_are_notified_ends_the_call() -> None:
    name = "a block of detect_anomaly"
    assert not faults(name, KeyboardInterrupt, range(1, lines_of(name) + 1))
