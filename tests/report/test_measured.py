"""`coverage` with samples: every function is called, and what is wrong lands in the bucket that names it."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.report import MeasuredRow
from dispatchkit.report.covering.measure import measured_row
from dispatchkit.report.covering.rows import MEASURED
from dispatchkit.report.covering.survey import Survey
from dispatchkit.testing import tensors
from dispatchkit.testing.calls import measuring
from dispatchkit.testing.samples import TypeSample
from tests.report import imperfect
from tests.report.imperfect import Converted, Deciding, Falling, Imperfect, Plain, Rewrapped, Undense, matrix
from tests.report.reports import coverage_of, coverage_of_all
from tests.report.subjects import Sized

PROTOCOL = dk.tensor_protocol


@pytest.fixture(scope="module")
def report() -> Any:
    """Measure the imperfect type."""
    return dk.coverage(Imperfect, samples=[Imperfect(matrix())])


@pytest.fixture(scope="module")
def falling() -> Any:
    """Measure the type that falls back."""
    return dk.coverage(Falling, samples=[lambda: Falling(matrix())])


def row_of(cls: type, name: str, sample: Any, *companions: Any) -> MeasuredRow:
    """Measure one function."""
    with measuring():
        operation = PROTOCOL.operations[f"dispatchkit.{name}"]
        beside = [TypeSample(PROTOCOL, one) for one in companions]
        return measured_row(Survey(PROTOCOL, cls), operation, [TypeSample(PROTOCOL, sample)], beside)


LANDED = [
    ("exp", "native", ""),
    ("mean", "by kind", ""),
    ("sin", "wrong value", "sin(Imperfect[2, 2]): 0.910297 instead of 0.909297 at (0, 0)"),
    ("cos", "wrong dtype", "cos(Imperfect[2, 2]): dtype float32 instead of float64"),
    ("tan", "wrong value", "tan(Imperfect[2, 2]): shape (1, 2) instead of (2, 2)"),
    ("negative", "wrong value", "negative(Imperfect[2, 2]): argument 'x' is left changed: -2 instead of 2 at (0, 0)"),
    ("tanh", "wrong gradient", "tanh(Imperfect[2, 2]): no gradient flows to Imperfect[2, 2]"),
    ("square", "wrong gradient", "square(Imperfect[2, 2]): gradient of Imperfect[2, 2]: 2.25 instead of 4.5 at (1, 1)"),
    ("log", "raises", "log(Imperfect[2, 2]): ZeroDivisionError: no logarithm today"),
    ("sqrt", "wrong type", "sqrt(Imperfect[2, 2]): a Tensor where Imperfect is promised"),
    ("abs", "wrong type", "abs(Imperfect[2, 2]): a ndarray instead of an array"),
    ("linalg.slogdet", "wrong type", "slogdet(Imperfect[2, 2]): a Tensor instead of 2 results"),
    ("linalg.eigh", "native", ""),
    ("zeros", "no array argument", ""),
    ("bitwise_and", "never reached", ""),
]


@pytest.mark.parametrize(("name", "bucket", "problem"), LANDED, ids=[case[0] for case in LANDED])
def test_each_fault_lands_in_its_bucket(report: Any, name: str, bucket: str, problem: str) -> None:
    assert (report[name].bucket, report[name].problem) == (bucket, problem)


def test_what_nobody_answers_is_refused(report: Any) -> None:
    row = report["astype"]
    assert row.bucket == "refused"
    assert "no implementation found for 'dispatchkit.astype'" in row.problem


def test_every_function_is_in_one_bucket_and_the_totals_add_up(report: Any) -> None:
    assert set(report.totals) == set(MEASURED)
    assert sum(report.totals.values()) == len(report.rows) == len(coverage_of(Imperfect).rows)
    for row in report.rows:
        assert sum(row.outcomes.values()) == row.calls
        assert (row.calls == 0) is (row.bucket in ("never reached", "no array argument"))


def test_faults_do_not_count_as_answers(report: Any) -> None:
    answered = report.outcomes["native"] + report.outcomes["by kind"] + report.outcomes["each field"]
    assert report.percent == report.structured_percent == pytest.approx(100 * answered / sum(report.outcomes.values()))


def test_a_function_counts_by_the_best_of_its_forms_and_tells_the_others(report: Any) -> None:
    row = report["add"]
    assert row.bucket == "native"
    assert row.note == "with Tensor"
    assert set(row.outcomes) == {"native", "refused"}
    assert row.problem.startswith("add(Imperfect[2, 2], Imperfect[2, 2]): no implementation")


def test_a_rule_that_lacks_keywords_is_seen(report: Any) -> None:
    assert report["sum"].takes_keywords is False
    assert report["sum"].outcomes == {"native": 1, "by kind": 4}
    assert report["exp"].takes_keywords is True
    assert report["astype"].takes_keywords is None


def test_rules_stand_where_the_row_says(report: Any) -> None:
    file, _, line = report["exp"].location.rpartition(":")
    assert Path(file) == Path(imperfect.__file__ or "")
    assert "exp" in "".join(Path(file).read_text().splitlines()[int(line) - 1 : int(line) + 1])


def test_a_lost_dtype_is_called_so(report: Any) -> None:
    assert report["cos"].outcomes == {"wrong dtype": 1}
    assert report.buckets["wrong dtype"] == "a result of another dtype than that of the dense computation"


def test_a_plain_result_is_a_bucket_where_the_author_says_that_the_type_is_closed() -> None:
    sample = Falling(matrix())
    open_row = row_of(Falling, "multiply", sample)
    assert open_row.results == {"Falling": 1, "Tensor": 12}
    with measuring():
        operation = PROTOCOL.operation(dk.cos)
        closed = Survey(PROTOCOL, Falling, closed=[dk.kinds.elementwise])
        row = measured_row(closed, operation, [TypeSample(PROTOCOL, sample)], [])
    assert (row.bucket, row.outcomes) == ("plain result", {"plain result": 1})
    assert row.problem == "cos(Falling[2, 2]): a Tensor, though Falling is closed under it"


def test_fallbacks_are_told_apart(falling: Any) -> None:
    assert falling["multiply"].bucket == "native"
    assert falling["square"].bucket == "decomposed"
    assert falling["cos"].bucket == "dense"
    assert falling["cos"].densified == 32
    assert falling["multiply"].outcomes == {"native": 1, "dense": 12}


def test_a_rule_that_makes_its_argument_dense_is_seen(falling: Any) -> None:
    assert falling["exp"].bucket == "dense"
    assert falling["exp"].rules[0].types == "Falling in any position"
    assert falling["exp"].densified >= 32


@pytest.mark.parametrize(
    ("cls", "name", "bucket"),
    [
        (Rewrapped, "exp", "rewrapped"),
        (Converted, "exp", "converted"),
        (Converted, "sin", "wrong value"),
        (Deciding, "exp", "own method"),
        (Plain, "exp", "inherited"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_other_ways_to_answer(cls: Any, name: str, bucket: str) -> None:
    assert row_of(cls, name, cls(matrix())).bucket == bucket


def test_a_type_without_dense_form_is_called_though_not_compared() -> None:
    with dk.local_registrations():

        @dk.implements(dk.exp)
        def exp_undense(x: Undense, /) -> Undense:
            return x

        row = row_of(Undense, "exp", Undense())
    assert (row.bucket, row.note) == ("native", "values not compared: no dense form")
    assert row_of(Undense, "log", Undense()).bucket == "refused"


def test_companions_stand_beside_the_samples() -> None:
    alone = row_of(Falling, "divide", Falling(matrix()))
    row = row_of(Falling, "divide", Falling(matrix()), dk.types.ScalarTensor(2, 3.0))
    assert row.calls == alone.calls + 2
    assert row.outcomes["native"] == alone.outcomes["native"] + 1


def test_a_strategy_gives_a_sample_of_each_shape_and_dtype(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROTOCOL, "operations", {"dispatchkit.exp": PROTOCOL.operation(dk.exp)})
    dtypes = st.sampled_from(["float64", "float32"])
    report = dk.coverage(Falling, samples=st.builds(Falling, tensors(shape=(2, 2), dtype=dtypes)))
    assert sorted(report.samples) == ["Falling[2, 2]", "Falling[2, 2] float32"]  # type: ignore[attr-defined]  # measured
    assert report["exp"].calls == 2


def test_several_types_stand_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {name: PROTOCOL.operations[name] for name in ("dispatchkit.exp", "dispatchkit.add")}
    monkeypatch.setattr(PROTOCOL, "operations", kept)
    reports = dk.coverage([Falling, Rewrapped], samples=[Falling(matrix()), Rewrapped(matrix())])
    assert [one.type for one in reports] == ["Falling", "Rewrapped"]
    assert reports["Falling"].companions == ("Rewrapped[2, 2]",)  # type: ignore[attr-defined]  # measured
    assert reports[1]["exp"].bucket == "rewrapped"
    with pytest.raises(KeyError, match="no report is of a type called 'Nothing'"):
        reports["Nothing"]


def test_functions_of_ones_own_are_called_with_arrays_of_the_shape() -> None:
    @dk.overridable
    def of_both(x: Any, y: Any, scale: float = 1.0) -> Any:
        return dk.sum(x) * scale + dk.sum(y)

    @dk.overridable(arrays=("x",))
    def of_a_number(x: Any, *, count: int) -> Any:
        return x

    rows = {}
    for function in (of_both, of_a_number):
        operation = PROTOCOL.operation(function)
        with measuring():
            subject = TypeSample(PROTOCOL, Falling(matrix()))
            rows[operation.name] = measured_row(Survey(PROTOCOL, Falling), operation, [subject], [])
        PROTOCOL.operations.forget(operation)
    assert rows["of_both"].bucket == "dense"
    assert rows["of_a_number"].bucket == "never reached"


def test_nothing_is_left_behind() -> None:
    dk.manual_seed(7)
    x = Falling(matrix())
    before = (matrix().tolist(), dk.densify_ledger())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dk.coverage(Falling, samples=[x])
    assert caught == []
    assert (x.data.tolist(), dk.densify_ledger()) == before
    drawn = dk.rand(3)
    dk.manual_seed(7)
    np.testing.assert_array_equal(drawn.numpy(), dk.rand(3).numpy())


@dk.array_type()
class Shapeless:
    """Tells nothing of itself."""


WRONG: list[tuple[Any, Any, type[Exception], str]] = [
    (Falling, [], ValueError, r"^coverage: no sample is a Falling; give one, or leave the samples out$"),
    (
        Falling,
        [3.0],
        TypeError,
        r"^coverage: a sample must be an instance of an array type, or .* found 3.0$",
    ),
    (Falling, [Rewrapped(matrix())], TypeError, r"^coverage: a sample is a Rewrapped, not a Falling; give it among"),
    (Shapeless, [Shapeless()], TypeError, r"^coverage: Shapeless has neither a dense form nor shape and dtype"),
]


@pytest.mark.parametrize(("cls", "samples", "error", "text"), WRONG)
def test_samples_that_are_none(cls: Any, samples: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        dk.coverage(cls, samples=samples)


def test_a_protocol_without_plain_arrays_cannot_be_measured() -> None:
    units = dk.DispatchProtocol("__units_function__")

    @units.array_type()
    class Metres:
        pass

    with pytest.raises(ValueError, match=r"DispatchProtocol\('__units_function__'\) has no plain arrays to compare"):
        dk.coverage(Metres, samples=[Metres()], protocol=units)


def test_json_has_its_schema(report: Any) -> None:
    data = json.loads(report.to_json())
    assert list(data) == [
        *("type", "percent", "structured_percent", "structured_range", "totals", "outcomes"),
        *("samples", "companions", "functions"),
    ]
    assert data["samples"] == ["Imperfect[2, 2]"]
    assert data["totals"] == report.totals
    row = next(one for one in data["functions"] if one["function"] == "sum")
    page = (Path(__file__).parents[2] / "docs" / "seeing.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)`", page.partition("and each of `functions`:")[2].partition("###")[0], re.MULTILINE)
    assert list(row) == [
        *("function", "namespace", "kind", "bucket", "location", "note", "calls", "outcomes", "rules", "certain"),
        *listed,
    ]
    assert (row["calls"], row["outcomes"], row["takes_keywords"]) == (5, {"native": 1, "by kind": 4}, False)
    assert row["results"] == {"Tensor": 5}
    assert [(one["types"], one["keywords"], one["entered"]) for one in row["rules"]] == [
        ("Imperfect in any position", [], 1),
        ("Imperfect in any position", ["axis", "keepdims", "dtype"], 4),
    ]
    both = json.loads(coverage_of_all(Imperfect, Falling).to_json())
    assert [one["type"] for one in both["types"]] == ["Imperfect", "Falling"]


def test_the_table_reads(report: Any) -> None:
    text = str(report)
    assert text.startswith("coverage of Imperfect: ")
    words = next(line.split() for line in text.splitlines() if line.startswith("  wrong gradient  "))
    assert words[:4] == ["wrong", "gradient", "2", "2"]
    assert " ".join(words[-7:]) == "derivatives other than those of the dense computation"[-len(" ".join(words[-7:])) :]
    part = text.partition("  wrong gradient:\n")[2].splitlines()
    assert {line.split()[0] for line in part[1:3]} == {"tanh", "square"}
    assert "not every keyword" in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_markdown_has_what_was_measured(report: Any) -> None:
    lines = report.to_markdown().splitlines()
    assert "| function | kind | bucket | details |" in lines
    assert any("tanh" in line and "| wrong gradient |" in line and "no gradient flows" in line for line in lines)


def test_several_types_are_a_matrix() -> None:
    reports = coverage_of_all(Imperfect, Falling)
    lines = str(reports).splitlines()
    assert lines[0] == "coverage of Imperfect, Falling"
    assert any(line.split() == ["exp", "N", "N"] for line in lines)
    markdown = reports.to_markdown().splitlines()
    assert "| `exp` | elementwise | implemented | implemented |" in markdown
    assert "| `add` | elementwise | implemented (3 of 7 keep it) | dense |" in markdown
    assert len(reports) == 2


@pytest.mark.parametrize(
    ("dtype", "error", "bucket"),
    [
        ("float64", 1e-9, "native"),
        ("float64", 5e-6, "wrong value"),
        ("float32", 5e-6, "native"),
        ("float32", 5e-4, "wrong value"),
        ("float16", 7e-4, "native"),
        ("float16", 1e-2, "wrong value"),
    ],
)
def test_a_value_may_be_off_by_the_rounding_of_its_dtype(dtype: str, error: float, bucket: str) -> None:
    with dk.local_registrations():

        @dk.implements(dk.floor)
        def floor_and_an_error(x: Imperfect, /) -> Imperfect:
            return Imperfect(dk.astype(dk.astype(dk.floor(x.data), dk.float64) * (1 + error), dtype))

        assert row_of(Imperfect, "floor", Imperfect(dk.astype(matrix() * 64, dtype))).bucket == bucket


def test_a_type_whose_dense_form_is_refused_is_called_but_not_compared() -> None:
    @dk.array_type(fallback=dk.fallback.refuse, fields=("data",))
    class Length(Sized):
        def to_dense(self) -> Any:
            raise ValueError("a length is no number")

    dk.implements(dk.negative, Length)(lambda x, /: Length(-matrix()))
    row = row_of(Length, "negative", Length(matrix()))
    assert (row.bucket, row.note, row.calls) == ("native", "values not compared: no dense form", 1)
