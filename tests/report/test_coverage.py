"""`coverage`: every overridable function in exactly one bucket, and how the report reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.report.coverage.rows import BUCKETS
from tests.report import subjects
from tests.report.subjects import (
    ByKind,
    Bystander,
    Converts,
    Decomposes,
    Dense,
    Derived,
    OwnMethod,
    Refuses,
    Rewraps,
    Subclass,
)

TYPES = [
    *(Refuses, Dense, Rewraps, Decomposes, Converts, ByKind, Derived, Subclass, OwnMethod),
    *(dk.types.ScalarTensor, dk.types.MetadataTensor),
]
BUCKETED: list[tuple[type, str, str]] = [
    (Refuses, "exp", "implemented"),
    (Refuses, "log", "refused"),
    (Refuses, "add", "implemented"),
    (Refuses, "subtract", "refused"),
    (Refuses, "zeros", "no array argument"),
    (Dense, "log", "dense"),
    (Dense, "concat", "dense"),
    (Dense, "zeros", "no array argument"),
    (Rewraps, "log", "rewrapped"),
    (Decomposes, "matmul", "implemented"),
    (Decomposes, "mm", "decomposed"),
    (Decomposes, "log", "refused"),
    (Converts, "exp", "converted"),
    (Converts, "mean", "converted"),
    (Converts, "log", "refused"),
    (ByKind, "exp", "by kind"),
    (ByKind, "sum", "refused"),
    (Derived, "exp", "implemented"),
    (Derived, "mean", "inherited"),
    (Derived, "log", "refused"),
    (Subclass, "exp", "inherited"),
    (Subclass, "linalg.inv", "inherited"),
    (OwnMethod, "exp", "own method"),
    (OwnMethod, "zeros", "no array argument"),
    (dk.types.MetadataTensor, "linalg.slogdet", "by kind"),
    (dk.types.ScalarTensor, "mean", "implemented"),
    (dk.types.ScalarTensor, "exp", "dense"),
]


@pytest.mark.parametrize("cls", TYPES, ids=lambda cls: cls.__name__)
def test_every_function_is_in_exactly_one_bucket_and_the_totals_add_up(cls: type) -> None:
    report = dk.coverage(cls)
    names = [f"{row.namespace}.{row.function}" for row in report.rows]
    assert len(set(names)) == len(names)
    functions = {
        dk.overrides.resolve_name(function)
        for place, listed in dk.overrides.get_overridable_functions().items()
        if place is not dk.Tensor
        for function in listed
    }
    assert set(names) == functions
    assert {row.bucket for row in report.rows} <= set(BUCKETS)
    assert sum(report.totals.values()) == len(report.rows)
    for bucket, count in report.totals.items():
        assert count == sum(row.bucket == bucket for row in report.rows)


@pytest.mark.parametrize(("cls", "name", "bucket"), BUCKETED, ids=lambda value: getattr(value, "__name__", value))
def test_a_function_is_in_the_right_bucket(cls: type, name: str, bucket: str) -> None:
    assert dk.coverage(cls)[name].bucket == bucket


@pytest.mark.parametrize(("cls", "name", "bucket"), BUCKETED, ids=lambda value: getattr(value, "__name__", value))
def test_what_is_said_to_be_refused_raises_and_the_rest_answers(cls: Any, name: str, bucket: str) -> None:
    if bucket == "no array argument" or cls in (OwnMethod, dk.types.ScalarTensor):
        return
    place: Any = dk
    for part in name.split("."):
        place = getattr(place, part)
    x = cls(dk.eye(2) + 1)
    args = {"add": (x, dk.ones((2, 2))), "subtract": (x, x), "matmul": (x, x), "mm": (x, x), "concat": ([x, x],)}
    with dk.densify(on="allow"):
        if bucket == "refused":
            with pytest.raises(dk.NoImplementationError):
                place(*args.get(name, (x,)))
        else:
            place(*args.get(name, (x,)))


def test_a_handler_is_shown_with_file_and_line() -> None:
    row = dk.coverage(Refuses)["exp"]
    file, _, line = row.location.rpartition(":")
    assert Path(file).name == "subjects.py"
    text = Path(subjects.__file__ or "").read_text().splitlines()
    assert "exp" in "".join(text[int(line) - 2 : int(line) + 1])
    assert dk.coverage(Refuses)["log"].location == ""


def test_a_rule_for_a_pair_is_noted() -> None:
    assert dk.coverage(Refuses)["add"].note == "with Tensor"


def test_a_rule_for_a_number_counts() -> None:
    assert dk.coverage(dk.types.ScalarTensor)["pow"].bucket == "implemented"


def test_no_rule_is_called() -> None:
    @dk.array_type(fallback=dk.fallback.refuse)
    class Counted(subjects.Sized):
        pass

    called = []
    with dk.local_registrations():

        @dk.implements(dk.exp)
        def exp_counted(x: Counted, /) -> Any:
            called.append(x)

        assert dk.coverage(Counted)["exp"].bucket == "implemented"
    assert called == []
    assert dk.coverage(Counted)["exp"].bucket == "refused"


def test_per_cent() -> None:
    report = dk.coverage(Refuses)
    reachable = len(report.rows) - report.totals["no array argument"]
    assert report.percent == pytest.approx(100 * (reachable - report.totals["refused"]) / reachable)
    assert dk.coverage(Dense).percent == 100.0
    copies = [row.function for row in dk.coverage(Dense).rows if row.bucket == "fieldwise"]
    assert sorted(copies) == ["astype", "clone", "zeros_like"]
    assert dk.coverage(Dense).structured_percent == pytest.approx(100 * len(copies) / reachable)
    assert dk.coverage(dk.types.MetadataTensor).structured_percent == 100.0


def test_a_type_that_takes_no_part_is_refused() -> None:
    with pytest.raises(TypeError, match=r"coverage: 'Bystander' takes no part in __tensor_function__; decorate it"):
        dk.coverage(Bystander)
    with pytest.raises(TypeError, match="takes no part"):
        dk.coverage(3)  # type: ignore[call-overload]


def test_a_name_that_is_not_there_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="no overridable function is called 'nothing'"):
        dk.coverage(Dense)["nothing"]


def test_functions_made_overridable_are_covered() -> None:
    @dk.overridable
    def of_my_own(x: Any, /) -> Any:
        return x

    rows = [row for row in dk.coverage(Refuses).rows if row.function == "of_my_own"]
    assert len(rows) == 1
    assert rows[0].bucket == "refused"


@pytest.mark.parametrize("cls", TYPES, ids=lambda cls: cls.__name__)
def test_json_has_its_schema(cls: type) -> None:
    report = dk.coverage(cls)
    text = report.to_json()
    assert isinstance(text, str)
    data = json.loads(text)
    assert set(data) == {"type", "percent", "structured_percent", "totals", "functions"}
    assert data["type"].endswith(cls.__name__)
    assert data["totals"] == report.totals
    assert sum(data["totals"].values()) == len(data["functions"])
    for entry in data["functions"]:
        assert set(entry) == {"function", "namespace", "kind", "bucket", "location", "note"}
        assert all(isinstance(value, str) for value in entry.values())
    assert 0 <= data["structured_percent"] <= data["percent"] <= 100


def test_markdown_has_both_tables() -> None:
    report = dk.coverage(Refuses)
    lines = report.to_markdown().splitlines()
    assert lines[0] == "# Coverage of `Refuses`"
    assert "| bucket | functions | per cent | what it means |" in lines
    assert any(line.startswith("| `dispatchkit.exp` | elementwise | implemented |") for line in lines)
    rows = [line for line in lines if line.startswith("| `")]
    assert len(rows) == len(report.rows)
    assert f"| all functions | {len(report.rows)} | 100 | |" in lines
    assert all(line.count("|") == 5 for line in rows)


def test_the_table_reads() -> None:
    text = str(dk.coverage(Refuses))
    assert text.startswith("coverage of Refuses: ")
    assert "by a rule of its own" in text
    assert "by namespace" in text
    assert "by kind" in text
    assert "dispatchkit.linalg" in text
    assert "subjects.py:" in text
    assert " %" in text
    assert repr(dk.coverage(Refuses)) == text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_columns_of_several_types_stay_in_line_beside_long_names() -> None:
    table = str(dk.coverage([Dense, Subclass]))
    lines = [line for line in table.partition("\n\n")[2].splitlines() if line]
    assert max(len(line.split()[0]) for line in lines) > 26
    assert {len(line) for line in lines} == {len(table.partition("\n")[0])}
