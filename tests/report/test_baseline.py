"""`python -m dispatchkit coverage` for continuous integration: files, several types, samples, and the baseline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dispatchkit as dk
import tests.report.imperfect
import tests.report.subjects  # noqa: F401  # here: what a test imports first, it unregisters
from dispatchkit.__main__ import main
from dispatchkit.report.commands import COMMANDS

DENSE, REFUSES = "tests.report.subjects:Dense", "tests.report.subjects:Refuses"
IMPERFECT, SAMPLES = "tests.report.imperfect:Imperfect", "tests.report.imperfect:samples"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the protocol with a few operations, so that measuring is quick."""
    names = ("dispatchkit.exp", "dispatchkit.log", "dispatchkit.add", "dispatchkit.zeros")
    kept = {name: dk.tensor_protocol.operations[name] for name in names}
    monkeypatch.setattr(dk.tensor_protocol.operations, "_listed", kept)


def changed(path: Path, function: str, bucket: str | None) -> None:
    """Write into a baseline that a function was in another bucket, or that it was not there."""
    data = json.loads(path.read_text())
    for report in data.get("types", [data]):
        rows = [row for row in report["functions"] if row["function"] != function]
        old = next(row for row in report["functions"] if row["function"] == function)
        report["functions"] = rows if bucket is None else [*rows, {**old, "bucket": bucket}]
    path.write_text(json.dumps(data))


@pytest.mark.usefixtures("few")
def test_files_are_written_and_the_table_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    html, data, markdown = tmp_path / "out.html", tmp_path / "cov.json", tmp_path / "cov.md"
    words = ["--html", str(html), "--json", str(data), "--markdown", str(markdown)]
    assert main(["coverage", DENSE, *words]) == 0
    assert capsys.readouterr().out.startswith("coverage of Dense: ")
    assert html.read_text().startswith("<!doctype html>")
    assert json.loads(data.read_text())["type"] == "Dense"
    assert markdown.read_text().startswith("# Coverage of `Dense`")


@pytest.mark.usefixtures("few")
def test_markdown_without_a_file_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", DENSE, "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("# Coverage of `Dense`")


@pytest.mark.usefixtures("few")
def test_several_types_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", DENSE, REFUSES, "--fail-under", "30"]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("coverage of Dense, Refuses\n")
    assert captured.err == ("coverage: Dense: 0 % of the calls keep the structure, which is under 30 %\n")


@pytest.mark.usefixtures("few")
def test_samples_are_measured_with_those_of_the_further_types(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", IMPERFECT, "--samples", SAMPLES, "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["samples"] == ["Imperfect[2, 2]"]
    assert data["companions"] == ["Falling[2, 2]", "Rewrapped[2, 2]", "Converted[2, 2]"]
    assert {row["function"]: row["bucket"] for row in data["functions"]} == {
        "exp": "native",
        "log": "raises",
        "add": "native",
        "zeros": "no array argument",
    }


@pytest.mark.usefixtures("few")
def test_nothing_got_worse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "cov.json")
    assert main(["coverage", DENSE, "--json", path]) == 0
    assert main(["coverage", DENSE, "--json", path, "--baseline", path]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("few")
def test_what_got_worse_is_status_1_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cov.json"
    main(["coverage", DENSE, REFUSES, "--json", str(path)])
    changed(path, "log", "decomposed")
    capsys.readouterr()
    assert main(["coverage", DENSE, "--baseline", str(path)]) == 1
    assert capsys.readouterr().err == (
        f"coverage: 1 function of Dense got worse than in {path}:\n  log: decomposed -> dense\n"
    )


@pytest.mark.usefixtures("few")
def test_what_got_better_or_is_new_or_gone_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cov.json"
    main(["coverage", DENSE, "--json", str(path)])
    changed(path, "log", "refused")
    changed(path, "add", None)
    data = json.loads(path.read_text())
    data["functions"].append({**data["functions"][0], "function": "former"})
    path.write_text(json.dumps(data))
    capsys.readouterr()
    assert main(["coverage", DENSE, "--baseline", str(path)]) == 0
    assert capsys.readouterr().err == (
        f"coverage: 1 function new for Dense since {path}:\n  add: dense\n"
        f"coverage: 1 function of {path} no longer there: former\n"
    )


@pytest.mark.usefixtures("few")
def test_a_measured_report_is_not_compared_with_a_dry_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "cov.json")
    main(["coverage", IMPERFECT, "--json", path])
    assert main(["coverage", IMPERFECT, "--samples", SAMPLES, "--baseline", path]) == 2
    assert "the baseline of Imperfect was not measured, the report was measured" in capsys.readouterr().err


FAULTY: dict[str, tuple[list[str], str]] = {
    "no baseline": (["--baseline", "/nowhere/cov.json"], "there is no baseline"),
    "no samples": (["--samples", "tests.report.imperfect"], "names no function; write it as package.module:Function"),
    "no sample": (["--samples", "tests.report.imperfect:samples"], "no sample is a Dense; give one"),
}


@pytest.mark.parametrize("name", FAULTY)
def test_words_that_lead_nowhere_are_status_2(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, text = FAULTY[name]
    assert main(["coverage", DENSE, *words]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("coverage: ")
    assert text in captured.err


@pytest.mark.parametrize("text", ["{}", "[1]", "nonsense"])
def test_a_baseline_that_is_none_is_status_2(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cov.json"
    path.write_text(text)
    assert main(["coverage", DENSE, "--baseline", str(path)]) == 2
    assert capsys.readouterr().err.startswith("coverage: ")


def test_commands_have_names_of_their_own() -> None:
    names = [command.name for command in COMMANDS]
    assert len(set(names)) == len(names)
    assert {"coverage", "tour"} <= set(names)
