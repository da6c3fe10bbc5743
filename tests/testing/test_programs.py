"""Random programs of `check_type`: results become arguments, so that what single calls do not show is found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.testing import Conformance, ConformanceError, Failure, check_type, random_programs
from dispatchkit.testing.lines import Lines
from dispatchkit.testing.programs import ProgramCall
from tests.testing.faults import six
from tests.testing.faults.correct import Diag
from tests.testing.faults.six import FAULTS, Bits, Hankel, Interval, Logs, Money
from tests.turns import LONG, some_of

# The checks of single calls.
SINGLE = ("raises", "container", "shape", "value", "dtype", "mutation", "metadata", "companions")
# A rule with a fault takes the place of a right one.
pytestmark = pytest.mark.filterwarnings("ignore::dispatchkit.errors.ReplacementWarning")

SAMPLES: dict[type, list[Any]] = {
    Hankel: [Hankel([1.0, 2.0, 3.0, 4.0, 6.0]), Hankel([0.5, 0.0, 2.0])],
    Bits: [Bits.pack([True, False, True, True, True]), Bits.pack([False] * 5)],
    Logs: [six.logs_of(dk.asarray([1.5, -2.0, 0.5])), six.logs_of(dk.asarray([[0.25]])), Logs([0.0, 1.0], [0.0, 0.5])],
    Diag: [Diag([1.0, 2.0, 3.0]), Diag([2.0]), Diag([])],
    Interval: [Interval([1.0, -2.0], [1.5, 3.0])],
    Money: [Money([1.0, 2.5], "EUR"), Money([3.0, 0.5], "USD")],
}
# The functions that all types are checked with, besides those of the rule with the fault.
USUAL: dict[type, list[Any]] = {
    Hankel: [dk.isfinite, dk.sum, dk.add, dk.multiply, dk.linalg.trace, dk.matrix_transpose, dk.negative],
    Bits: [dk.logical_not, dk.logical_and, dk.any, dk.count_nonzero],
    Logs: [dk.multiply, dk.negative],
    Diag: [dk.add, dk.subtract],
    Interval: [dk.add, dk.negative],
    Money: [dk.add, dk.negative],
}
OPTIONS: dict[type, dict[str, Any]] = {Money: {"metadata": {"currency": six.expected_currency}}}


@pytest.fixture(autouse=True)
def registrations() -> Iterator[None]:
    six._any.clear()
    with dk.local_registrations():
        yield


def check(cls: type, *operations: Any, **options: Any) -> Conformance:
    chosen = list(dict.fromkeys([*operations, *USUAL[cls]]))
    return check_type(cls, SAMPLES[cls], operations=chosen, **{**OPTIONS.get(cls, {}), **options})


def failures(cls: type, operations: list[Any], **options: Any) -> tuple[Failure, ...]:
    try:
        return check(cls, *operations, **options).failures
    except ConformanceError as error:
        return error.conformance.failures


@pytest.mark.parametrize("cls", SAMPLES)
def test_a_right_type_gives_no_alarm(cls: type) -> None:
    result = check(cls)
    assert not result.failures
    assert result.tried["programs"] > 50


@pytest.mark.parametrize("name", some_of(FAULTS, 3))
def test_a_planted_fault_is_found_and_its_rule_is_named(name: str) -> None:
    cls, register = FAULTS[name]
    register()
    rules = [rule for rule in dk.tensor_protocol.rules() if getattr(rule.handler, "__name__", "") == name]
    operations = [rule.target.function for rule in rules]
    # What single calls show all checks show; the others are made where that is not enough, or always.
    single = () if LONG else failures(cls, operations, checks=SINGLE)
    # Where a result is at fault that further calls read, these are named.
    assert any(name in failure.handler for failure in single) or any(
        name in failure.handler or failure.check == "programs" for failure in failures(cls, operations)
    )


def test_there_are_forty_three_faults() -> None:
    assert len(FAULTS) == 43


def test_without_hypothesis_no_random_program_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_programs, "is_available", lambda: False)
    result = check(Money, dk.add, dk.negative, checks=["programs"])
    assert 0 < result.tried["programs"] < 20  # two calls in a row


def test_what_is_refused_is_no_line_of_a_program() -> None:
    program = random_programs.Program()
    x, y = SAMPLES[Money]
    for value in (x, y):
        program.add(value, program.writer.write(value))
    operation = dk.tensor_protocol.operation(dk.add)
    with pytest.raises(six.CurrencyError):
        program.step(ProgramCall(operation, (x, y), {}))
    program.step(ProgramCall(operation, (x, x), {}))
    assert program.lines == ["y1 = dk.add(x1, x1)"]
    assert program.text().endswith("y1 = dk.add(x1, x1)\nprint(y1)")


@pytest.mark.parametrize("monitoring", [True, False])
def test_lines_of_other_files_are_not_noted(monitoring: bool) -> None:
    lines = Lines([six.__file__])
    x = SAMPLES[Money][0]
    with lines.watched() if monitoring else nullcontext(), lines.noted() as entered:
        six.negative_money(x)
    first = six.negative_money.__code__.co_firstlineno
    assert (six.__file__, first + 2) in entered
    assert {file for file, _ in entered} == {six.__file__}
    assert lines.new_in(six.negative_money.__code__) == 0
    assert lines.new_in(six.add_money.__code__) == 3
