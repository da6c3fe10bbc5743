"""`coverage`: every overridable function in exactly one bucket, and how the report reads."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.report import CoverageSet
from dispatchkit.report.covering.rows import BUCKETS, STRUCTURED
from tests.report import subjects
from tests.report.reports import coverage_of, coverage_of_all
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
    Sized,
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
    report = coverage_of(cls)
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
    assert coverage_of(cls)[name].bucket == bucket


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
    row = coverage_of(Refuses)["exp"]
    file, _, line = row.location.rpartition(":")
    assert Path(file).name == "subjects.py"
    text = Path(subjects.__file__ or "").read_text().splitlines()
    assert "exp" in "".join(text[int(line) - 2 : int(line) + 1])
    assert coverage_of(Refuses)["log"].location == ""


def test_a_rule_for_a_pair_is_noted() -> None:
    assert coverage_of(Refuses)["add"].note == "with Tensor"


def test_a_rule_for_a_number_counts() -> None:
    assert coverage_of(dk.types.ScalarTensor)["pow"].bucket == "inherited"


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
    report = coverage_of(Refuses)
    calls = sum(row.calls for row in report.rows)
    assert sum(report.outcomes.values()) == calls
    assert report.percent == pytest.approx(100 * (calls - report.outcomes["refused"]) / calls)
    # A change of an element would be made in a dense copy, and be lost.
    dense = coverage_of(Dense)
    assert [row.function for row in dense.rows if "refused" in row.outcomes] == ["setitem"]
    assert 99 < dense.percent < 100
    # Attributes alone: a shape is read without a dense copy.
    assert sorted(row.function for row in dense.rows if row.bucket == "each field") == ["astype", "clone", "zeros_like"]
    assert 0 < dense.structured_percent < 2
    assert coverage_of(dk.types.MetadataTensor).structured_percent == 100.0


def test_a_type_that_takes_no_part_is_refused() -> None:
    with pytest.raises(TypeError, match=r"coverage: Bystander takes no part in __tensor_function__; decorate it"):
        dk.coverage(Bystander)
    with pytest.raises(TypeError, match=r"^coverage: takes a type, not an instance of int$"):
        dk.coverage(3)  # type: ignore[call-overload]


def test_a_name_that_is_not_there_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="no overridable function is called 'nothing'"):
        coverage_of(Dense)["nothing"]


def test_functions_made_overridable_are_covered() -> None:
    @dk.overridable
    def of_my_own(x: Any, /) -> Any:
        return x

    rows = [row for row in dk.coverage(Refuses).rows if row.function == "of_my_own"]
    assert len(rows) == 1
    assert rows[0].bucket == "refused"


@pytest.mark.parametrize("cls", TYPES, ids=lambda cls: cls.__name__)
def test_json_has_its_schema(cls: type) -> None:
    report = coverage_of(cls)
    text = report.to_json()
    assert isinstance(text, str)
    data = json.loads(text)
    assert set(data) == {"type", "percent", "structured_percent", "structured_range", "totals", "outcomes", "functions"}
    assert data["type"].endswith(cls.__name__)
    assert data["totals"] == report.totals
    assert sum(data["totals"].values()) == len(data["functions"])
    for entry in data["functions"]:
        texts = ["function", "namespace", "kind", "bucket", "location", "note"]
        assert list(entry) == [*texts, "calls", "outcomes", "rules", "certain"]
        assert all(isinstance(entry[name], str) for name in texts)
        assert sum(entry["outcomes"].values()) == entry["calls"]
    assert data["outcomes"] == report.outcomes
    assert 0 <= data["structured_percent"] <= data["percent"] <= 100


def test_names_that_hold_marks_of_html_and_markdown_are_code_in_markdown() -> None:
    made = type("<script>|`x`", (), {"to_dense": lambda self: dk.ones(2)})
    with dk.local_registrations():
        cls = dk.array_type(fallback=dk.fallback.dense)(made)
        dk.implements(dk.exp, cls)(lambda x, /: x)
        report = dk.coverage(cls)
        coverages = report, CoverageSet((report, coverage_of(Refuses)))
        with dk.record_calls() as recorded:
            dk.exp(cls())
        texts = [
            *(one.to_markdown() for one in coverages),
            dk.audit(cls).to_markdown(),
            recorded.summary().to_markdown(),
        ]
    assert [text.splitlines()[0] for text in texts[:2]] == [
        "# Coverage of `` <script>|`x` ``",
        "# Coverage of `` <script>|`x` ``, `Refuses`",
    ]
    assert "|  | `` <script>\\|`x` `` | `Refuses` |" in texts[1]
    for text in texts:
        outside = re.sub(r"(`+)(.*?[^`])\1(?!`)", "", text)
        assert "<script>" not in outside.replace("\\<", "")


def test_markdown_has_totals_and_every_function() -> None:
    report = coverage_of(Refuses)
    text = report.to_markdown()
    lines = text.splitlines()
    assert lines[0] == "# Coverage of `Refuses`"
    assert re.search(r"\d % of the calls keep the structure \(up to 1 %, .*\), (< )?1 % are answered\.$", lines[2])
    assert "| bucket | functions | calls | of calls | what it means |" in lines
    assert any(line.startswith("| `exp` | elementwise | implemented | (Refuses in any position)") for line in lines)
    assert all(f"`{row.short_name}`" in text for row in report.rows if row.bucket != "no array argument")
    assert f"| all functions | {len(report.rows)} | {sum(report.outcomes.values())} |  |  |" in lines


def test_the_table_reads() -> None:
    report = coverage_of(Refuses)
    text = str(report)
    assert text.startswith("coverage of Refuses: ")
    assert "by a rule of its own" in text
    assert "by namespace" in text
    assert "by kind " in text
    assert "dispatchkit.linalg" in text
    assert "subjects.py:" in text
    assert " %" in text
    assert repr(report) == text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_columns_of_several_types_stay_in_line_with_long_names() -> None:
    table = str(dk.coverage([Dense, Subclass]))
    lines = table.rpartition("\n\n")[2].splitlines()
    assert lines[0].split() == ["function", "Dense", "Subclass"]
    assert max(len(line.split()[0]) for line in lines) > 26
    assert {len(line) for line in lines} == {len(lines[0])}


def test_many_types_are_numbered_so_that_no_line_is_long() -> None:
    report = coverage_of(Subclass)
    reports = [replace(report, type=f"Derived{number}FromDense") for number in range(9)]
    table = str(CoverageSet(tuple(reports)))
    assert "9=Derived8FromDense" in table
    lines = [line for line in table.splitlines() if "of a superclass" not in line]
    assert max(map(len, lines)) < 140


@dk.array_type(
    fallback=dk.fallback.decompose | dk.fallback.dense, tests=dk.TypeTests(closed=[dk.add, dk.kinds.reduction])
)
class Closed(subjects.Sized):
    pass


@dk.implements(dk.sum)
def sum_closed(x: Closed, /, *, axis: Any = None) -> Closed:
    return Closed(dk.sum(x.data))


@dk.implements(dk.mean)
def mean_closed(x: Closed, /, **keywords: Any) -> dk.Tensor:
    return dk.mean(x.data, **keywords)  # type: ignore[no-any-return]  # a tensor


@dk.implements(dk.multiply)
def multiply_closed(x1: Closed, x2: Closed, /) -> Closed:
    return Closed(x1.data * x2.data)


@dk.implements(dk.multiply)
def multiply_by_tensor(x1: Closed, x2: dk.Tensor, /) -> Closed:
    return Closed(x1.data * x2)


def test_each_call_is_counted() -> None:
    report = coverage_of(Closed)
    row = report["multiply"]
    assert (row.bucket, row.calls) == ("implemented", 7)
    # (Closed, Closed), (Closed, Tensor), (Closed, float), (Closed, int); the others have the number or tensor first.
    assert row.outcomes == {"implemented": 4, "dense": 3}
    kept = sum(report.outcomes[bucket] for bucket in STRUCTURED if bucket in report.outcomes)
    assert report.structured_percent == pytest.approx(100 * kept / sum(report.outcomes.values()))


def test_the_headline_is_a_range_where_rules_may_decline() -> None:
    with dk.local_registrations():

        @dk.array_type(fallback=dk.fallback.dense)
        class Signs(Sized):
            pass

        @dk.implements(dk.negative)
        def negative_signs(x: Signs, /) -> Signs:
            return x

        @dk.implements(dk.matrix_transpose)
        def transposed_signs(x: Signs, /) -> Signs:
            return x

        certain = dk.coverage(Signs)

        @dk.implements(dk.kinds.elementwise)
        def any_signs(op: Any, x: Signs, /, *args: Any, **kwargs: Any) -> Any:
            return dk.decline("for the sake of the test")

        open_rule = dk.coverage(Signs)
        both = CoverageSet((open_rule, coverage_of(Dense)))
        measured = dk.coverage(Signs, samples=[Signs(dk.ones((2, 2)))])
    assert certain["negative"].certain == open_rule["negative"].certain == 1
    least, most = open_rule.structured_range
    assert 0.5 < least <= certain.structured_range[0] < 1.5
    assert most > 20
    assert open_rule["exp"].certain == 0 < open_rule["exp"].outcomes["by kind"]
    head = repr(open_rule).splitlines()[0]
    kept = f"{round(open_rule.structured_percent, 2):g} % of the calls keep the structure"
    assert head.endswith(f"Signs: {kept} (1 to {most:.0f} %, since rules may decline), > 99 % are answered")
    assert f"(<b>1 to {most:.0f} %</b>, since rules may decline), <b>&gt; 99 %</b>" in open_rule.to_html()
    assert re.search(r"elementwise +up to \d+ %", str(open_rule))
    rows = [line.split("  ") for line in str(both).splitlines() if line.startswith("  keep the structure")]
    assert [row[-1] for row in rows] == ["of the calls at least", "of the calls at most"]
    # Calls show which of the bounds it is.
    assert measured.structured_range == (measured.structured_percent,) * 2
    assert 0 < measured.structured_percent < most


def test_what_depends_on_values_may_keep_the_structure() -> None:
    report = coverage_of(dk.types.ScalarTensor)
    undecided = report.outcomes["depends on values"]
    assert undecided > 0
    least, most = report.structured_range
    assert least < report.structured_percent
    assert most == pytest.approx(report.structured_percent + 100 * undecided / sum(report.outcomes.values()))


def test_all_rules_of_a_function_are_listed_with_file_line_and_keywords() -> None:
    report = coverage_of(Closed)
    found = report["multiply"].rules
    assert [rule.types for rule in found] == ["Closed, Closed", "Closed, Tensor"]
    assert [rule.entered for rule in found] == [1, 3]
    for rule, name in zip(found, ("multiply_closed", "multiply_by_tensor"), strict=True):
        file, _, line = rule.location.rpartition(":")
        assert f"def {name}" in "".join(Path(file).read_text().splitlines()[int(line) - 1 : int(line) + 1])
    assert report["sum"].rules[0].keywords == ("axis",)
    assert report["sum"].rules[0].result == "Closed"
    text = str(report)
    assert text.count("(Closed, Tensor) ") == 1


def test_a_rule_that_lacks_a_keyword_does_not_answer_the_call_that_gives_it() -> None:
    assert coverage_of(Closed)["sum"].outcomes == {"implemented": 4, "plain result": 1}


def test_what_the_author_calls_closed_must_not_become_plain() -> None:
    report = coverage_of(Closed)
    assert report["add"].bucket == "plain result"
    assert report["add"].outcomes == {"dense": 6, "plain result": 1}
    assert report["mean"].bucket == "plain result"
    assert report["subtract"].bucket == "dense"
    assert dk.coverage(Closed, tests=dk.TypeTests(closed=[dk.subtract]))["subtract"].bucket == "plain result"
    with pytest.raises(TypeError, match="is not overridable by __tensor_function__"):
        dk.coverage(Closed, tests=dk.TypeTests(closed=[len]))


def test_a_notebook_shows_the_report_as_tables_in_colour() -> None:
    report = coverage_of(Closed)
    page = report._repr_html_()
    assert page.startswith('<div class="dk-report"><style>')
    assert "<h2>coverage of Closed</h2>" in page
    assert '<td class="o b-implemented">implemented</td>' in page
    assert page.count("<details>") == page.count("</details>") > 2
    assert "<script" not in page
    both = coverage_of_all(Closed, Dense)._repr_html_()
    assert "<h2>coverage of Closed, Dense</h2>" in both
