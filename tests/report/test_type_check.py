"""`dk.check`: laws, coverage and audit of types in one report."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.__main__ import main

QUICK: Any = {"operations": [dk.sum], "checks": ["value", "shape", "keywords"]}


@dk.array_type(fallback=dk.fallback.dense)
class Column:
    """A column of numbers; the rule for sums ignores the axis."""

    def __init__(self, x: Any) -> None:
        self.x = dk.asarray(x)

    def to_dense(self) -> Any:
        return self.x[:, None]


def columns() -> list[Any]:
    return [Column([1.0, 2.0])]


@pytest.fixture
def wrong_sum() -> Any:
    with dk.local_registrations():

        @dk.implements(dk.sum)
        def sum_column(x: Column, /, *, axis: Any = None) -> Any:
            return dk.sum(x.x)

        yield


def test_without_samples_it_reports_coverage_and_audit() -> None:
    found = dk.check(Column)
    assert found
    assert not found.laws
    assert found.coverage["Column"]["sum"].bucket == "dense"
    assert found.audit.types == ("Column", "Tensor")
    head, *rows = str(found).splitlines()
    assert head == "check of Column: no fault found"
    assert any("laws" in row and "not tried: give instances as samples=[...]" in row for row in rows)


@pytest.mark.usefixtures("wrong_sum")
def test_a_law_that_does_not_hold_is_a_fault_with_the_call_that_shows_it() -> None:
    found = dk.check(Column, samples=columns, **QUICK)
    assert not found
    assert found.laws["Column"].failures
    (fault,) = found.failures
    assert "sum_column(Column in any position)" in fault
    assert "check of Column: 1 fault" in str(found)
    assert " 1 failure in " in str(found)


def test_rules_that_fit_equally_well_are_a_fault() -> None:
    class Below(Column):
        pass

    with dk.local_registrations():
        dk.implements(dk.add, Column, Below)(lambda a, b, /: a)
        dk.implements(dk.add, Below, Column)(lambda a, b, /: a)
        (fault,) = dk.check(Column, Below).failures
    assert fault.startswith("ambiguous implementations of 'dispatchkit.add'")


def test_what_is_no_type_or_has_no_sample_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"^check: there is no type to check; write dk\.check\(T, samples=\[\.\.\.\]\)$"
    ):
        dk.check()
    with pytest.raises(TypeError, match=r"^check: takes a type, not an instance of Column; give its type, Column$"):
        dk.check(columns()[0])
    with pytest.raises(
        ValueError, match=r"^check: there is no sample of ScalarTensor; give one, or leave the type out$"
    ):
        dk.check(Column, dk.types.ScalarTensor, samples=columns())


def test_the_command_takes_types(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"{__name__}:Column"]) == 0
    assert capsys.readouterr().out.startswith("check of Column: no fault found")
    assert main(["check", f"{__name__}:Column", "--junit", "out.xml", "--ignore", "partner"]) == 2
    assert "--junit, --ignore is for a check of a whole package, not for " in capsys.readouterr().err
