"""The progress bar: when it appears, what it shows, and that nothing of it is left."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit import progress
from dispatchkit.autograd import gradcheck
from tests.graph.test_leaves import leaf


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Stands still until it is told how far to go at each look."""

    def __init__(self, step: float = 0.0) -> None:
        self.now = 0.0
        self.step = step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def attach(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Return what makes stderr a terminal; pytest would take it away again between a fixture and its test."""

    def attached() -> Terminal:
        made = Terminal()
        monkeypatch.setattr(sys, "stderr", made)
        return made

    return attached


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "monotonic", made)
    return made


def test_it_appears_after_a_second_and_is_taken_away(attach: Callable[[], Terminal], clock: Clock) -> None:
    terminal = attach()
    with progress.Progress("work", 4) as bar:
        bar.advance()
        assert terminal.getvalue() == ""
        clock.now = 1.0
        bar.advance()
        assert terminal.getvalue() == f"\r\x1b[K[{'#' * 15}{'.' * 15}]  50% work"
        bar.advance()
        assert terminal.getvalue().count("\r") == 1  # too soon for another
        clock.now = 1.5
        bar.advance()
        assert terminal.getvalue().endswith(f"\r\x1b[K[{'#' * 30}] 100% work")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_an_error_takes_it_away_too(attach: Callable[[], Terminal], clock: Clock) -> None:
    terminal = attach()

    def work() -> None:
        with progress.Progress("work", 2) as bar:
            clock.now = 2.0
            bar.advance()
            raise LookupError

    with pytest.raises(LookupError):
        work()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_nothing_appears_where_nobody_looks(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    clock.step = 10.0
    assert gradcheck(dk.exp, (leaf(1.0, 2.0),))
    assert stream.getvalue() == ""


@pytest.mark.parametrize("options", [{}, {"check_forward_ad": True, "check_batched_grad": True}, {"fast_mode": True}])
def test_gradcheck_comes_to_the_end_of_it(
    attach: Callable[[], Terminal], clock: Clock, options: dict[str, Any]
) -> None:
    terminal = attach()
    clock.step = 0.5
    assert gradcheck(lambda x: (x * x, dk.sin(x)), (leaf(1.0, 2.0),), **options)
    shares = [int(share) for share in re.findall(r"(\d+)% gradcheck", terminal.getvalue())]
    assert shares == sorted(shares)
    assert shares[-1] == 100


def test_gradcheck_that_is_done_at_once_shows_nothing(attach: Callable[[], Terminal], clock: Clock) -> None:
    terminal = attach()
    assert gradcheck(dk.exp, (leaf(1.0),))
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"check_forward_ad": True},
        {"check_forward_ad": True, "check_backward_ad": False},
        {"check_batched_grad": True},
        {"check_forward_ad": True, "check_batched_forward_grad": True},
    ],
)
def test_gradcheck_announces_as_many_steps_as_it_takes(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], fast_mode: bool
) -> None:
    announced: list[int] = []
    taken: list[None] = []

    class Counted(progress.Progress):
        def __init__(self, name: str, count: int) -> None:
            announced.append(count)
            super().__init__(name, count)

        def advance(self, label: str | None = None) -> None:
            taken.append(None)
            super().advance(label)

    # The function of that name stands before the module, which holds what it calls.
    monkeypatch.setattr(import_module("dispatchkit.autograd.gradcheck"), "Progress", Counted)
    assert gradcheck(lambda x, y: (x * y, dk.sin(x)), (leaf(1.0, 2.0), leaf(3.0)), fast_mode=fast_mode, **options)
    assert announced == [len(taken)]
