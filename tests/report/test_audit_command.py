"""`python -m dispatchkit audit`: what it prints and writes, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tests.report.subjects  # what a test registers is undone, so that it must be there before  # noqa: F401
from dispatchkit.__main__ import main
from dispatchkit.report.auditing.findings import KINDS
from tests.report.test_command_line import run

REFUSES, DENSE = "tests.report.subjects:Refuses", "tests.report.subjects:Dense"


def test_it_prints_a_table_and_has_the_plain_tensor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", REFUSES, DENSE]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("audit of Refuses, Dense, Tensor: ")
    assert captured.err == ""


def test_a_tensor_that_is_named_is_there_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", REFUSES, "dispatchkit:Tensor", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["types"] == ["Refuses", "Tensor"]


def test_markdown_and_some_operations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", REFUSES, "--format", "markdown", "--operations", "add, linalg.solve"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# Audit of `Refuses`, `Tensor`\n\n2 calls of two arrays for each ordered pair.")
    assert "## Asymmetry: " in out


def test_files_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, page = tmp_path / "out.json", tmp_path / "out.html"
    assert main(["audit", DENSE, "--json", str(data), "--html", str(page)]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads(data.read_text(encoding="utf-8"))["types"] == ["Dense", "Tensor"]
    assert capsys.readouterr().out.startswith("audit of Dense")


def test_findings_of_named_kinds_are_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", REFUSES, "--fail-on", "asymmetry,ambiguity", "--format", "json"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "audit: found 1 asymmetry\n"
    assert json.loads(captured.out)["totals"]["asymmetry"] == 1


def test_findings_of_other_kinds_are_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    others = ",".join(kind for kind in KINDS if kind != "asymmetry")
    assert main(["audit", REFUSES, "--fail-on", others]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kinds", ["worse", "ambiguity,worse", "", ","])
def test_a_kind_that_is_none_is_status_2(kinds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["audit", REFUSES, "--fail-on", kinds])
    assert caught.value.code == 2
    assert (
        "is no kind; kinds are ambiguity, unreachable, cycle, lossy, missing, asymmetry, shadowed"
        in capsys.readouterr().err
    )


WRONG = {
    "no type": (["tests.report.subjects"], "names no type; write it as package.module:Type"),
    "no module": (["tests.nothing:Type"], "nothing"),
    "no attribute": (["tests.report.subjects:Nothing"], "Nothing"),
    "no array type": (["tests.report.subjects:Bystander"], "Bystander takes no part in __tensor_function__"),
    "no operation": ([REFUSES, "--operations", "nothing"], "no overridable function is called 'nothing'"),
    "no folder": ([REFUSES, "--html", "nowhere/at/all.html"], "there is no folder nowhere/at"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_audited_is_status_2_and_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, message = WRONG[name]
    assert main(["audit", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("audit: ")
    assert not captured.err.startswith("audit: audit")
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_the_audit_in_a_process() -> None:
    done = run("audit", "dispatchkit.types:ScalarTensor", "dispatchkit.types:MetadataTensor", "--fail-on", "ambiguity")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith("audit of ScalarTensor, MetadataTensor, Tensor: ")
    failing = run("audit", REFUSES, "--fail-on", "asymmetry")
    assert (failing.returncode, failing.stderr) == (1, "audit: found 1 asymmetry\n")
