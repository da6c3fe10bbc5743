"""The command line on packages of other protocols, and what it says before it works."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dispatchkit as dk
from dispatchkit.__main__ import main
from tests.report.reports import coverage_of, known_coverage

PACKAGE = """
import dispatchkit as dk

imaging = dk.DispatchProtocol("__imaging_function__", namespace="imaging")

@imaging.overridable(arrays=("image",))
def blur(image, radius=1.0):
    return image

@imaging.overridable(arrays=("image",))
def crop(image, box):
    return image[box]

@imaging.array_type()
class Tiled:
    pass

@imaging.implements(blur)
def blur_tiles(image: Tiled, radius=1.0) -> Tiled:
    return image

@imaging.implements(crop)
def crop_tiles(image: Tiled, box):
    return dk.decline("not written yet")
"""


@pytest.fixture
def imaging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Write a package with a protocol of its own; return its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.syspath_prepend(tmp_path)
    name = f"imaging_{tmp_path.name}".replace("-", "_").lower()
    (tmp_path / f"{name}.py").write_text(PACKAGE)
    yield name
    sys.modules.pop(name, None)


def test_check_finds_the_protocol_of_the_package_by_itself(imaging: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", imaging]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"check of {imaging}: 1 array type and 2 rules: 1 declines\n")
    assert main(["check", imaging, "--protocol", f"{imaging}:imaging", "--ignore", "declines"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", "json"], "check: json has no array type and no rule, so there is nothing to check; name a package"),
        (
            ["check", "json", "--protocol", "dispatchkit:tensor_protocol"],
            "check: json has no array type and no rule of __tensor_function__, so there is nothing to check",
        ),
        (["check", "json", "--protocol", "dispatchkit:add"], "check: 'dispatchkit:add' is no DispatchProtocol but "),
        (
            ["check", "json", "--baseline", "no.json"],
            "check: there is no baseline no.json; make it with the same ",
        ),
        (["check", "json", "--sarif", "no/a.sarif"], "check: cannot write no/a.sarif: there is no folder no\n"),
        (
            ["coverage", "dispatchkit.types:ScalarTensor", "--baseline", "no.json"],
            "coverage: there is no baseline no.json; make it with the same command and --json no.json\n",
        ),
        (
            ["audit", "dispatchkit.types:ScalarTensor", "--html", "no/a.html"],
            "audit: cannot write no/a.html: there is no folder no\n",
        ),
    ],
)
def test_what_cannot_be_done_is_said_before_any_work(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for work in ("coverage", "audit", "check_package"):
        monkeypatch.setattr(f"dispatchkit.report.commands.{work}", None)
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(message)


def test_coverage_and_audit_take_the_protocol_of_the_type(imaging: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", f"{imaging}:Tiled", "--format", "json"]) == 0
    functions = json.loads(capsys.readouterr().out)["functions"]
    assert {row["function"]: row["bucket"] for row in functions} == {"blur": "implemented", "crop": "implemented"}
    assert main(["audit", f"{imaging}:Tiled"]) == 0
    assert main(["coverage", f"{imaging}:Tiled", "--protocol", "dispatchkit:tensor_protocol"]) == 2
    assert capsys.readouterr().err == (
        "coverage: Tiled takes no part in __tensor_function__; it takes part in __imaging_function__, "
        "so give its protocol as 'protocol'\n"
    )


def test_the_error_of_each_tool_names_the_protocol_of_the_type() -> None:
    protocol = dk.DispatchProtocol("__named_in_errors__")

    @protocol.array_type()
    class Elsewhere:
        pass

    text = "Elsewhere takes no part in __tensor_function__; it takes part in __named_in_errors__, so give its protocol"
    for tool in (dk.coverage, dk.audit):
        with pytest.raises(TypeError, match=text):
            tool(Elsewhere)


def test_findings_stand_at_their_lines_in_sarif_and_in_annotations(
    imaging: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", imaging, "--format", "github"]) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"::error file={imaging}.py,line=22,title=dispatchkit%3A declines::crop_tiles(")
    assert last == f"check of {imaging}: 1 array type and 2 rules: 1 declines"
    assert main(["check", imaging, "--sarif", "out.sarif"]) == 1
    log = json.loads(Path("out.sarif").read_text(encoding="utf-8"))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "dispatchkit"
    assert all(rule["id"] and rule["shortDescription"]["text"] for rule in driver["rules"])
    (result,) = run["results"]
    assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "declines"
    assert result["message"]["text"].startswith("crop_tiles(Tiled in any position) at ")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": f"{imaging}.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 22}


@pytest.mark.parametrize("columns", [60, 80])
def test_lines_fit_the_terminal_and_no_name_is_cut(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("dispatchkit.report.commands.coverage", known_coverage)
    names = ["ScalarTensor", "MetadataTensor", "DiagonalTensor"]
    types = [f"dispatchkit.types:{name}" for name in names]
    commands = [["audit", *types, "--operations", "add,matmul,divide"], ["coverage", types[0]], ["coverage", *types]]
    for words in commands:
        assert main(words) == 0
        out = capsys.readouterr().out
        wide = [line for line in out.splitlines() if len(line) > columns]
        assert all(len(line.split()) == 1 for line in wide)  # a path that is longer than the line
        assert set(re.findall(r"\bScalar\w*", out)) == {"ScalarTensor"}


def test_the_number_that_is_compared_is_the_one_that_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dispatchkit.report.commands.coverage", known_coverage)
    name = "dispatchkit.types:ScalarTensor"
    report = coverage_of(dk.types.ScalarTensor)
    bound = json.loads(report.to_json())["structured_percent"]
    assert str(report).startswith(f"coverage of ScalarTensor: {bound:g} % of the calls keep the structure (")
    assert main(["coverage", name, "--fail-under", f"{bound:g}"]) == 0
    assert main(["coverage", name, "--fail-under", f"{bound + 0.01:.2f}"]) == 1
    assert f"coverage: {bound:g} % of the calls keep the structure, which is under" in capsys.readouterr().err
