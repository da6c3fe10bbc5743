"""What advice promises of a recorded program is what comes once the rules are written for real."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dispatchkit as dk
from tests.report import promised
from tests.report.promised import WORKLOADS, Workload, losses, recorded, steps, write


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    with dk.local_registrations():
        promised.register()
        yield


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.program.__name__)
def test_what_is_promised_is_what_comes_rule_by_rule(workload: Workload) -> None:
    followed = list(steps(workload))
    assert followed
    for suggestion, promise, came in followed:
        assert came == promise, suggestion


def test_the_losses_that_a_rule_leads_to_are_forecast() -> None:
    workload = Workload(promised.centre, promised.ring)
    write("@dk.implements(dk.mean)\ndef mean_ring(x: Ring, /) -> dk.Tensor:\n    ...", promised.Ring)
    advice = recorded(workload).advice(3)
    first = advice[0]
    assert (first.operation, first.calls, first.nbytes) == ("subtract", 5, 160)
    assert (first.new_calls, first.new_nbytes, first.new) == (10, 320, ("std", "cumulative_sum"))
    assert [one.operation for one in advice] == ["subtract", "std", "cumulative_sum"]
    assert (advice[2].left, advice[2].left_nbytes) == (0, 0)
    text = str(advice)
    assert "of which 5 calls became dense (160 B)" in text
    assert "then what it gives makes 10 further calls (320 B) become dense: std, cumulative_sum" in text
    assert "  with all of these 0 calls become dense (0 B)\n" in text
    assert "def subtract_ring(x1: Ring, x2: dk.Tensor, /) -> Ring:" in text


def test_a_rule_for_a_kind_that_stands_is_not_suggested_but_what_it_lacks() -> None:
    advice = recorded(Workload(promised.code, promised.coded)).advice(3)
    assert [one.operation for one in advice] == ["maximum", "divide"]
    assert "def maximum_coded(x1: Coded, x2: float, /) -> Coded:" in advice[0].stub
    write("\n\n".join(one.stub for one in advice), promised.Coded)  # a warning would be an error
    assert losses(recorded(Workload(promised.code, promised.coded))) == (0, 0)
    assert isinstance(dk.exp(promised.coded()), promised.Coded)
