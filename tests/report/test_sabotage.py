"""The baseline gate: five ways to spoil one rule, each of which the gate has to see, dry where that can be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.__main__ import main
from tests.report.reports import list_alone

HERE = "tests.report.test_sabotage"
GUARDED = f"{HERE}:Guarded"


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense, fields=("values",))
class Guarded:
    """A diagonal matrix with rules that its author wants to keep."""

    def __init__(self, values: Any) -> None:
        self.values = values

    @property
    def shape(self) -> tuple[int, int]:
        return (self.values.shape[0],) * 2

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def to_dense(self) -> Any:
        return self.values * dk.eye(self.shape[0], dtype=self.dtype)


def samples() -> list[Any]:
    return [Guarded(dk.asarray([1.0, 2.0, 4.0]))]


def negative(x: Guarded, /) -> Guarded:
    return Guarded(-x.values)


def total(x: Guarded, /, *, axis: Any = None, dtype: Any = None) -> Any:
    if axis is not None:
        return dk.decline("axis")
    return dk.sum(x.values, dtype=dtype)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the protocol with three operations, so that measuring is quick, and undo what a test registers."""
    kept = {name: dk.tensor_protocol.operations[f"dispatchkit.{name}"] for name in ("negative", "sum", "exp")}
    monkeypatch.setattr(
        dk.tensor_protocol.operations, "_listed", {f"dispatchkit.{name}": one for name, one in kept.items()}
    )
    with dk.local_registrations():
        yield


def rule_removed() -> None:
    dk.implements(dk.sum)(total)


def wrong_number() -> None:
    def doubled(x: Guarded, /) -> Guarded:
        return Guarded(-2 * x.values)

    dk.implements(dk.sum)(total)
    dk.implements(dk.negative)(doubled)


def structure_lost() -> None:
    def dense(x: Guarded, /):  # type: ignore[no-untyped-def]  # as its author has it
        return -x.to_dense()

    dk.implements(dk.sum)(total)
    dk.implements(dk.negative)(dense)


def structure_lost_and_annotated() -> None:
    def dense(x: Guarded, /) -> dk.Tensor:
        return -x.to_dense()  # type: ignore[no-any-return]  # a tensor

    dk.implements(dk.sum)(total)
    dk.implements(dk.negative)(dense)


def promise_broken() -> None:
    def dense(x: Guarded, /) -> Guarded:
        return -x.to_dense()  # type: ignore[no-any-return]  # the sabotage

    dk.implements(dk.sum)(total)
    dk.implements(dk.negative)(dense)


def always_declines() -> None:
    def declining(x: Guarded, /) -> Guarded:
        return dk.decline("not today")  # type: ignore[no-any-return]  # never returns one

    dk.implements(dk.sum)(total)
    dk.implements(dk.negative)(declining)


def keyword_dropped() -> None:
    def total_of_all(x: Guarded, /, *, axis: Any = None) -> Any:
        return total(x, axis=axis)

    dk.implements(dk.negative)(negative)
    dk.implements(dk.sum)(total_of_all)


SABOTAGES: dict[str, tuple[Callable[[], None], bool, str]] = {
    "a rule removed": (rule_removed, True, "negative: "),
    "a wrong number": (wrong_number, False, "negative: native -> wrong value"),
    "structure lost": (structure_lost, True, "no longer promises Guarded"),
    "structure lost behind a promise": (promise_broken, False, "negative: native -> wrong type"),
    "structure lost, and annotated so": (structure_lost_and_annotated, True, "no longer promises Guarded"),
    "always declines": (always_declines, False, "negative: native -> wrong type"),
    "a keyword dropped": (keyword_dropped, True, "no longer takes dtype"),
}


def gate(path: Path, sabotage: Callable[[], None], words: list[str]) -> int:
    """Make a baseline of the sound rules, and return the status of the gate after a sabotage."""
    with dk.local_registrations():
        dk.implements(dk.negative)(negative)
        dk.implements(dk.sum)(total)
        assert main(["coverage", GUARDED, *words, "--json", str(path)]) == 0
        assert main(["coverage", GUARDED, *words, "--baseline", str(path)]) == 0
    sabotage()
    return main(["coverage", GUARDED, *words, "--baseline", str(path)])


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_measured_baseline_sees_each_sabotage(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sabotage, _, text = SABOTAGES[name]
    assert gate(tmp_path / "cov.json", sabotage, ["--samples", f"{HERE}:samples"]) == 1
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_dry_baseline_sees_what_shows_without_a_call(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sabotage, seen, text = SABOTAGES[name]
    assert gate(tmp_path / "cov.json", sabotage, []) == int(seen)
    assert (text in capsys.readouterr().err) is seen


def test_the_types_of_results_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cov.json"
    assert gate(path, structure_lost, ["--samples", f"{HERE}:samples"]) == 1
    assert "  negative: results 1 Guarded -> 1 Tensor\n" in capsys.readouterr().err
    rows = {row["function"]: row for row in json.loads(path.read_text())["functions"]}
    assert rows["negative"]["results"] == {"Guarded": 1}


def test_a_closed_type_needs_no_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    list_alone("dispatchkit.negative", monkeypatch)
    structure_lost()
    sample = samples()
    assert dk.coverage(Guarded, samples=sample)["negative"].bucket in ("native", "dense")
    assert (
        dk.coverage(Guarded, samples=sample, tests=dk.TypeTests(closed=[dk.negative]))["negative"].bucket
        == "plain result"
    )
