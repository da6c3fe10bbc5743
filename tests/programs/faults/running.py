"""Runs scenarios with an error at line after line, and compares the state before with the state after."""

from __future__ import annotations

import contextvars
import traceback
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit.types import DiagonalTensor

from .injection import Injection
from .scenarios import SCENARIOS
from .state import state

__all__ = ["Fault", "faults", "lines_of"]


@dataclass(frozen=True)
class Fault:
    """An error after which something is half changed.

    Attributes
    ----------
    scenario : its name in `SCENARIOS`
    error : that was raised
    at, place : the number of the line, from 1, and where it is
    text : what is half changed
    """

    scenario: str
    error: str
    at: int
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.scenario}: {self.error} at line {self.at}, {self.place}: {self.text}"


def alone(function: Any, *args: Any) -> Any:
    """Call a function in a context of its own, where nothing is set."""

    def call() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args)

    return contextvars.Context().run(call)


def lines_of(name: str) -> int:
    """Return how many lines a scenario comes to."""
    alone(_run, name, Injection())  # what is made once in a process
    counting = Injection()
    alone(_run, name, counting)
    return counting.lines


def faults(name: str, error: type[BaseException], lines: Iterable[int]) -> list[Fault]:
    """Return what errors leave half changed at some lines of a scenario."""
    found: list[Fault] = []
    for at in lines:
        injection = Injection(error(), at)
        text = alone(_run, name, injection)
        if text:
            found.append(Fault(name, error.__name__, at, injection.place, text))
    return found


def _run(name: str, injection: Injection) -> str:
    """Run a scenario; return what is half changed afterwards, "" where nothing is."""
    scene = SCENARIOS[name]()
    try:
        before, looked = state(), scene.look()
        raised = injection.run(scene.run)
        if injection.error is None and raised is not None:
            raise raised
        if isinstance(raised, AssertionError):
            return "".join(traceback.format_exception_only(raised))
        raised = None
        text = _half_changed(before, looked, scene, name, injection)
        return text or _wrong_program()
    finally:
        dk.reset_modes()
        scene.undo()


_done: dict[str, dict[str, Any]] = {}


def _half_changed(before: dict[str, Any], looked: dict[str, Any], scene: Any, name: str, injection: Injection) -> str:
    after = state()
    on = [
        key for key in before.keys() | after.keys() if key.startswith("context: ") and before.get(key) != after.get(key)
    ]
    if injection.leaving and on:
        dk.reset_modes()  # an error before a block has begun to be left
        after = state()
    loose = {"random numbers", "operations"}  # which a scene may change; it looks itself
    wrong = [key for key in before.keys() | after.keys() if key not in loose and before.get(key) != after.get(key)]
    if wrong:
        return "; ".join(f"{key}: {after.get(key)!r}, before {before.get(key)!r}" for key in wrong)
    now = scene.look()
    if injection.error is None:
        _done[name] = now
        return ""
    wrong = [key for key, value in now.items() if value != looked.get(key) and value != _done[name].get(key)]
    return "; ".join(
        f"{key}: {now[key]!r}, before {looked[key]!r}, wholly changed {_done[name][key]!r}" for key in wrong
    )


def _wrong_program() -> str:
    """Return what a small program that knows nothing of the scenario gets wrong."""
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    (dk.sin(DiagonalTensor(x) @ dk.ones(2)) * x).sum().backward()
    expected = np.sin([1.0, 2.0]) + np.cos([1.0, 2.0]) * [1.0, 2.0]
    assert x.grad is not None
    return "" if np.allclose(x.grad.numpy(), expected) else f"a program afterwards: {x.grad}, right {expected}"
