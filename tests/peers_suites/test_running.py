"""What the program makes of a suite: a small one, some of whose failures are recorded."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.programs.peers_suites import __main__ as program
from tests.programs.peers_suites.__main__ import EXPECTED, SUITES, Suite, main, patterns

TESTS = """
import pytest

def test_passes():
    pass

def test_fails():
    assert False, "a fault"

class TestInside:
    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_recorded(self, number):
        assert False

    def test_mended(self):
        pass

@pytest.mark.skip
def test_skipped():
    pass
"""
RECORD = """
[[group]]
kind = "convention"
reason = "it is so"
tests = ["tests.test_all.TestInside::*"]
"""


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a checkout with a suite, whose plugin does nothing, and a record."""
    (tmp_path / "toy" / "tests").mkdir(parents=True)
    (tmp_path / "toy" / "tests" / "test_all.py").write_text(TESTS)
    (tmp_path / "expected").mkdir()
    (tmp_path / "expected" / "toy.toml").write_text(RECORD)
    suite = Suite("toy", ("tests",), "toy")
    monkeypatch.setattr(program, "SUITES", {"toy": suite})
    monkeypatch.setattr(program, "EXPECTED", tmp_path / "expected")
    return tmp_path


def test_new_failures_fail_and_recorded_ones_that_pass_are_named(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--at", str(toy), "--patterns"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "toy: 2 of 6 tests pass",
        "  3 convention: it is so",
        "passes now: tests.test_all.TestInside::test_mended",
        "FAILED tests.test_all::test_fails",
        "  AssertionError: a fault",
        "toy: 1 fail that are not recorded",
        '  "tests.test_all::test_fails",',
    ]


def test_recorded_failures_are_no_failure(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--at", str(toy), "-k", "not test_fails"]) == 0
    assert "toy: 2 of 5 tests pass" in capsys.readouterr().out


def test_a_suite_that_is_not_there_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--at", str(tmp_path / "nowhere")]) == 0
    assert "toy: passed over; there is no" in capsys.readouterr().out


def test_patterns_stand_for_failures_alone() -> None:
    failing = ["a.C::test_x[1-2]", "a.C::test_x[1-3]", "a.C::test_y", "b.D::test_z", "b.D::test_w"]
    passing = ["a.C::test_x[2-2]", "c::test"]
    assert list(patterns(failing, passing)) == ["a.C::test_x[1-*", "a.C::test_y", "b.*"]


@pytest.mark.parametrize("path", sorted(EXPECTED.glob("*.toml")), ids=lambda path: path.stem)
def test_every_record_is_of_a_suite_and_says_why(path: Path) -> None:
    assert path.stem in SUITES
    for group in tomllib.loads(path.read_text())["group"]:
        assert group.keys() == {"kind", "reason", "tests"}
        assert group["kind"] in ("convention", "not planned", "not yet")
        assert group["reason"]
        assert group["tests"]
