"""The adviser: what to implement next, and the skeletons that it writes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.declare.samples import draw, sample
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.stubs import stub_for
from dispatchkit.report import Advice, Coverage, Row
from dispatchkit.report.covering.rows import STRUCTURED
from dispatchkit.report.covering.survey import Survey, dry_calls
from dispatchkit.testing.calls import measuring
from tests.report.reports import coverage_of
from tests.report.subjects import Refuses, Rewraps, Sized
from tests.turns import LONG


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Advised(Sized):
    """Has nothing but its data."""


@pytest.fixture(autouse=True)
def only_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what other tests have made overridable."""
    found = dk.tensor_protocol.operations
    kept = {name: one for name, one in found.items() if one.namespace.partition(".")[0] == "dispatchkit"}
    monkeypatch.setattr(dk.tensor_protocol.operations, "_listed", kept)


def written(*args: Any, **kwargs: Any) -> Advised:
    """Stand for a rule that keeps the structure; nobody calls it."""
    raise AssertionError


LENGTH = 12 if LONG else 5


@cache
def advice_for_advised() -> Advice:
    """Return what to write for `Advised`, made once: the first suggestions of it are those of a shorter list."""
    return coverage_of(Advised).advice(LENGTH)


def kept(rows: Iterable[Row]) -> set[str]:
    return {row.qualified_name for row in rows if row.bucket in STRUCTURED}


def test_what_is_said_to_be_unlocked_is_unlocked() -> None:
    before = kept(coverage_of(Advised).rows)
    with dk.local_registrations():
        for suggestion in list(advice_for_advised())[: 2 if LONG else 1]:
            exec(suggestion.stub, {"dk": dk, "Advised": Advised})  # noqa: S102  # made here
            after = kept(dk.coverage(Advised).rows)
            gained = after - before - {f"dispatchkit.{suggestion.operation}"}
            assert gained == {f"dispatchkit.{name}" for name in suggestion.unlocks}
            before = after


def test_the_first_choice_unlocks_no_less_than_any_other() -> None:
    protocol, first = dk.tensor_protocol, advice_for_advised()[0]
    rows = [row for row in coverage_of(Advised).rows if row.bucket not in (*STRUCTURED, "no array argument")]
    lacking = [protocol.operations[row.qualified_name] for row in rows]
    # What calls no others becomes dense whatever they have rules for.
    calling = [one for one in lacking if one.decomposition() is not None or one.joins is not None]
    assert 0 < len(first.unlocks) < len(calling) < len(lacking)
    for operation in lacking[:: 40 if LONG else 120]:
        with dk.local_registrations(), measuring():
            dk.implements(operation.function, Advised)(written)
            survey = Survey(protocol, Advised)
            gained = kept([survey.row(one) for one in calling if one is not operation])
        assert len(gained) <= len(first.unlocks)


def test_what_two_operations_unlock_together_is_found() -> None:
    @dk.operation(samples=[sample(draw(2, low=1))])
    def both(xp: Any, x: Any, /) -> Any:
        return xp.multiply(xp.exp(x), xp.log(x))

    with dk.local_registrations():
        for name, one in dk.tensor_protocol.operations.items():
            if name.split(".")[-1] not in ("exp", "log", "both") and not one.parameters.nullary:
                dk.implements(one.function, Advised)(written)
        advice = dk.coverage(Advised).advice()
    assert {advice[0].operation, advice[1].operation} == {"exp", "log"}
    assert advice[0].unlocks == ()
    assert [name.rpartition(".")[2] for name in advice[1].unlocks] == ["both"]
    dk.tensor_protocol.operations.forget(dk.tensor_protocol.operation(both))


def test_it_reads_as_a_list() -> None:
    text = str(advice_for_advised())
    lines = text.splitlines()
    assert lines[0] == "advice for Advised:"
    assert lines[1].startswith("  1. ")
    assert "(now dense) unlocks" in lines[1]
    assert "       @dk.implements(dk." in text


def test_a_type_that_does_not_decompose_is_told_so() -> None:
    advice = coverage_of(Refuses).advice(1)
    assert len(advice) == 1
    assert advice.note == "Refuses does not decompose: with fallback.decompose a rule helps more functions"


def test_a_type_that_has_everything_needs_nothing() -> None:
    advice = coverage_of(dk.types.MetadataTensor).advice()
    assert len(advice) == 0
    assert "nothing to add" in str(advice)
    assert len(coverage_of(Rewraps).advice()) == 0


def test_skeletons_compile_and_register() -> None:
    suggestions = advice_for_advised()
    assert len(suggestions) == LENGTH
    with dk.local_registrations():
        for suggestion in suggestions:
            exec(suggestion.stub, {"dk": dk, "Advised": Advised})  # noqa: S102  # made here
        after = dk.coverage(Advised)
        for suggestion in suggestions:
            assert after[suggestion.operation].bucket == "implemented", suggestion
            assert "not with every argument" not in after[suggestion.operation].note


def test_skeletons_of_some_operations() -> None:
    names = ("dispatchkit.add", "dispatchkit.linalg.trace", "dispatchkit.einsum", "dispatchkit.concat")
    operations = [tensor_protocol.operations[name] for name in names]
    add, trace, einsum, concat = (stub_for(operation, dry_calls(operation)[0].key(Advised)) for operation in operations)
    assert add.startswith("@dk.implements(dk.add)\ndef add_advised(x1: Advised, x2: Advised, /):\n")
    assert trace.startswith(
        "@dk.implements(dk.linalg.trace)\ndef trace_advised(x: Advised, /, *, offset=0, dtype=None):"
    )
    assert "def einsum_advised(subscripts, /, *operands: Advised, optimize=True):" in einsum
    assert "def concat_advised(arrays: list[Advised], /, *, axis=0):" in concat


def test_a_report_without_its_type_gives_no_advice() -> None:
    with pytest.raises(ValueError, match="this report does not hold the type"):
        Coverage("Advised", ()).advice()


def test_a_type_that_does_not_decompose_is_advised_of_kinds_first_and_of_creation_last() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Held:
        def __init__(self, values: Any) -> None:
            self.values = dk.asarray(values)

        def to_dense(self) -> Any:
            return self.values

    advice = dk.coverage(Held).advice(8)
    assert advice[0].operation == "kinds.elementwise"
    assert {"exp", "add"} <= set(advice[0].answers)
    assert advice[1].operation == "kinds.reduction"
    assert not {"asarray", "tensor", "zeros"} & {suggestion.operation for suggestion in advice}
