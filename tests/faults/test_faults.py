"""Errors at some lines of each scenario, and what of it would be found."""

from __future__ import annotations

import itertools
import weakref

import pytest

import dispatchkit as dk
from dispatchkit.accelerator import core
from dispatchkit.protocol.rules import Handlers, Rule
from tests.programs.faults.injection import ERRORS, Injection
from tests.programs.faults.running import faults, lines_of
from tests.programs.faults.scenarios import SCENARIOS

TRIED = 12  # of the lines of a scenario


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_error_at_some_line_leaves_nothing_half_changed(name: str) -> None:
    lines = lines_of(name)
    errors = itertools.cycle(ERRORS)
    found = [fault for at in range(1, lines + 1, 1 + lines // TRIED) for fault in faults(name, next(errors), [at])]
    assert not found, "\n".join(map(str, found))


def test_a_rule_that_is_half_registered_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def add(self: Handlers, rule: Rule) -> object:
        owned = self._types.records.make(rule.types[0]).owned
        owned[rule] = None
        self._rules.setdefault(rule.target, weakref.WeakValueDictionary())[rule.signature] = rule
        return lambda: None

    monkeypatch.setattr(Handlers, "add", add)
    name = "a rule of two types"
    text = "\n".join(map(str, faults(name, MemoryError, range(1, lines_of(name) + 1))))
    assert "a rule of two types: MemoryError at line" in text
    assert "rule for <function exp" in text


@pytest.mark.skipif(core is not None, reason="compiled functions have no lines")
def test_an_error_is_raised_at_the_line_that_is_asked_for_and_names_it() -> None:
    counting = Injection()
    assert counting.run(dk.no_grad().__enter__) is None
    dk.reset_modes()
    injection = Injection(KeyboardInterrupt(), counting.lines)
    assert isinstance(injection.run(dk.no_grad().__enter__), KeyboardInterrupt)
    assert injection.place.startswith("graph/recording.py:")
    assert dk.reset_modes() == []
    assert Injection(KeyboardInterrupt(), counting.lines + 1).run(lambda: None) is None


def test_the_end_of_a_block_is_no_place_for_an_error() -> None:
    name = "a block of a mode"
    assert not faults(name, KeyboardInterrupt, range(1, lines_of(name) + 1))
