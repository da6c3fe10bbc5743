"""`explain`: who would answer, in which order, without a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.protocol.prediction import stand_in
from tests.report.audited import never
from tests.report.subjects import Decomposes, Dense, OwnMethod, Refuses


def test_a_rule_answers_and_is_shown_with_file_and_line() -> None:
    found = dk.explain(dk.exp, Refuses(dk.ones(2)))
    text = str(found)
    assert text.splitlines()[0] == "dispatchkit.exp(Refuses)"
    assert "asked in the order: Refuses" in text
    assert "[answers unless it declines]" in text
    assert "subjects.py:" in text
    assert repr(found) == text


def test_an_explanation_goes_through_the_chain_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    x = Decomposes(dk.ones((2, 2)))
    before = str(dk.explain(dk.linalg.matrix_norm, x))
    monkeypatch.setattr(stand_in, "build_chain", never)  # that a further one is built is the fault
    assert str(dk.explain(dk.linalg.matrix_norm, x)) == before
    operation = dk.tensor_protocol.operation(dk.linalg.matrix_norm)
    assert Decomposes in {cls for key in operation.chains for cls in key}


def test_a_report_leaves_no_chain_of_calls_behind() -> None:
    class Reported(Decomposes):
        """Is in no call."""

    operation = dk.tensor_protocol.operation(dk.linalg.matrix_norm)
    dk.audit([Reported, dk.Tensor], operations=[dk.linalg.matrix_norm, dk.add])
    assert all(Reported not in key for key in operation.chains)


def test_nobody_answers() -> None:
    text = str(dk.explain(dk.log, Refuses(dk.ones(2))))
    assert "no rule for log" in text
    assert text.endswith("=> NoImplementationError")


def test_a_fallback_answers_after_what_was_passed_over() -> None:
    text = str(dk.explain(dk.add, Dense(dk.ones(2)), dk.ones(2)))
    assert "asked in the order: Dense, Tensor" in text
    assert text.index("no rule for add") < text.index("dense: to_dense() of Dense  [answers]")


def test_a_decomposition_that_is_a_single_call_is_said_to_be_none() -> None:
    assert "its body is one call" in str(dk.explain(dk.log, Decomposes(dk.ones(2))))


def test_a_type_with_its_own_method_decides_at_run_time() -> None:
    found = dk.explain(dk.exp, OwnMethod())
    assert "decides at run time" in str(found)
    assert found.outcome == "decides at run time"


def test_plain_tensors() -> None:
    text = str(dk.explain(dk.add, dk.ones(2), 1.0))
    assert text.splitlines()[0] == "dispatchkit.add(Tensor, float)"
    assert "[answers]" in text


def test_a_member_of_a_sequence_is_shown() -> None:
    assert str(dk.explain(dk.concat, [dk.ones(2), Dense(dk.ones(2))])).startswith("dispatchkit.concat((Tensor, Dense)")


def test_nothing_is_called() -> None:
    class Loud(dk.Tensor):
        @classmethod
        def __tensor_function__(
            cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            raise AssertionError

    dk.explain(dk.exp, Loud([1.0]))
    with dk.densify(on="error"):
        dk.explain(dk.exp, Dense(dk.ones(2)))


def test_running_shows_declines_and_the_result() -> None:
    class Shy:
        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return dk.decline("too shy")

    found = dk.explain(dk.add, Shy(), OwnMethod(), run=True)
    assert "declined: too shy" in str(found)
    assert "[answered]" in str(found)
    assert found.result[0] is dk.add


def test_running_what_nobody_answers_says_so() -> None:
    found = dk.explain(dk.log, Refuses(dk.ones(2)), run=True)
    assert found.outcome == "NoImplementationError"


def test_an_active_mode_is_shown() -> None:
    class Watching(dk.TensorFunctionMode):
        pass

    with Watching():
        assert "Watching" in str(dk.explain(dk.exp, dk.ones(2)))


def test_a_function_that_is_no_operation_is_run_and_recorded() -> None:
    found = dk.explain(len, dk.ones(2))
    assert found.result == 2
    assert str(found).startswith("len: 0 calls, none became dense")
