"""The command `dispatchkit`: the tour and the coverage, and the exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dispatchkit as dk
import tests.report.subjects  # noqa: F401  # here: what a test imports first, it unregisters
from dispatchkit.__main__ import main
from dispatchkit.accelerator import state
from tests.report.reports import known_coverage
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
DENSE, REFUSES = "tests.report.subjects:Dense", "tests.report.subjects:Refuses"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, under the filters of the tests."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "dispatchkit", *words],
        capture_output=True,
        check=False,
        cwd=ROOT,
        encoding="utf-8",
        env=environment,
        timeout=PATIENCE,
    )


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command have the reports that other tests have had made."""
    monkeypatch.setattr("dispatchkit.report.commands.coverage", known_coverage)


def test_coverage_prints_a_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["coverage", DENSE]) == 0
    head = capsys.readouterr().out.partition("\n")[0]
    kept = r"[01](\.\d+)? % of the calls keep the structure \(up to 1 %, since rules may decline\)"
    assert re.fullmatch(f"coverage of Dense: {kept}, > 99 % are answered", head)


@pytest.mark.usefixtures("known")
def test_coverage_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", DENSE, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["type"].endswith("Dense")


@pytest.mark.usefixtures("known")
def test_coverage_as_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", DENSE, "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("# Coverage of `Dense`")


@pytest.mark.usefixtures("known")
def test_coverage_above_the_bound(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", "dispatchkit.types:MetadataTensor", "--fail-under", "100"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("known")
def test_coverage_under_the_bound(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", REFUSES, "--format", "json", "--fail-under", "80"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("coverage: ")
    assert captured.err.endswith(" of the calls keep the structure, which is under 80 %\n")
    assert json.loads(captured.out)["structured_percent"] < 80


WRONG = {
    "no type": ("tests.report.subjects", "names no type; write it as package.module:Type"),
    "no module": ("tests.nothing:Type", "nothing"),
    "no attribute": ("tests.report.subjects:Nothing", "Nothing"),
    "a misspelt type": ("dispatchkit.types:DiagonlTensor", "'DiagonlTensor'; did you mean DiagonalTensor?"),
    "an object": ("tests.report.subjects:exp_refuses", "is no type but"),
    "no array type": ("tests.report.subjects:Bystander", "takes no part in __tensor_function__"),
    "nothing": (":", "module"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_covered_is_status_2_and_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path, message = WRONG[name]
    assert main(["coverage", path]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("coverage: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("words", [["nothing"], ["coverage"], ["coverage", DENSE, "--format", "xml"]])
def test_words_that_are_no_command_are_status_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "usage: dispatchkit" in capsys.readouterr().err


def test_no_command_prints_the_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("usage: dispatchkit")
    assert "\n  dispatchkit coverage dispatchkit.types:ScalarTensor --html out.html\n" in captured.out
    assert captured.err == ""


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"dispatchkit {dk.__version__}", f"accelerator: {state}"]


@pytest.mark.parametrize(
    ("word", "hint"),
    [("covrage", "did you mean coverage?"), ("xyz", "the commands are tour, coverage, audit, check")],
)
def test_a_misspelt_command_names_the_one_that_was_meant(
    word: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([word])
    assert f"there is no command '{word}'; {hint}" in capsys.readouterr().err


def test_coverage_in_a_process() -> None:
    done = run("coverage", "dispatchkit.types:ScalarTensor", "--format", "json", "--fail-under", "10")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout)["type"].endswith("ScalarTensor")


def test_failing_coverage_in_a_process() -> None:
    done = run("coverage", REFUSES, "--fail-under", "80")
    assert done.returncode == 1
    assert "which is under 80 %" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_tour_in_a_process() -> None:
    done = run("tour")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    places = [done.stdout.index(part) for part in ("1. Your own", "2. A gradient", "3. Who answers", "4. What the")]
    assert places == sorted(places)
    for part in ("ScaledIdentity(3, 4.0)", "validation loss", "[answers]", "coverage of ScaledIdentity"):
        assert part in done.stdout


def test_a_reader_that_stops_reading_is_no_error() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-m", "dispatchkit", "coverage", REFUSES],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
