"""Random programs of `check_type`: results become arguments, so that what single calls do not show is found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.testing import Conformance, ConformanceError, check_type
from tests.testing.faults import six
from tests.testing.faults.six import FAULTS, Bits, Diagonal, Hankel, Interval, Logs, Money

SAMPLES: dict[type, list[Any]] = {
    Hankel: [Hankel([1.0, 2.0, 3.0, 4.0, 6.0]), Hankel([0.5, 0.0, 2.0])],
    Bits: [Bits.pack([True, False, True, True, True]), Bits.pack([False] * 5)],
    Logs: [six.logs_of(dk.asarray([1.5, -2.0, 0.5])), six.logs_of(dk.asarray([[0.25]])), Logs([0.0, 1.0], [0.0, 0.5])],
    Diagonal: [Diagonal([1.0, 2.0, 3.0]), Diagonal([2.0]), Diagonal([])],
    Interval: [Interval([1.0, -2.0], [1.5, 3.0])],
    Money: [Money([1.0, 2.5], "EUR"), Money([3.0, 0.5], "USD")],
}
# The functions that all types are checked with, besides those of the rule with the fault.
USUAL: dict[type, list[Any]] = {
    Hankel: [dk.isfinite, dk.sum, dk.add, dk.multiply, dk.linalg.trace, dk.matrix_transpose, dk.negative],
    Bits: [dk.logical_not, dk.logical_and, dk.any, dk.count_nonzero],
    Logs: [dk.multiply, dk.negative],
    Diagonal: [dk.add, dk.subtract],
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


@pytest.mark.parametrize("cls", SAMPLES)
def test_a_right_type_gives_no_alarm(cls: type) -> None:
    result = check(cls)
    assert not result.failures
    assert result.tried["programs"] > 50


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_its_rule_is_named(name: str) -> None:
    cls, register = FAULTS[name]
    register()
    rules = [rule for rule in dk.tensor_protocol.rules() if getattr(rule.handler, "__name__", "") == name]
    with pytest.raises(ConformanceError) as caught:
        check(cls, *(rule.target.function for rule in rules))
    # Where a result is at fault that further calls read, these are named.
    failures = caught.value.conformance.failures
    assert any(name in failure.handler or failure.check == "programs" for failure in failures)


def test_there_are_forty_three_faults() -> None:
    assert len(FAULTS) == 43
