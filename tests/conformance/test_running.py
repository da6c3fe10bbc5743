"""What the program makes of a suite: a small one, whose tests fail by what they run over."""

import tomllib
from pathlib import Path

import pytest

from tests.programs.conformance.__main__ import EXPECTED, LIBRARIES, main

OPTIONS = """
def pytest_addoption(parser):
    parser.addoption("--max-examples", type=int)
    parser.addoption("--disable-deadline", action="store_true")
    parser.addoption("--derandomize", action="store_true")
"""
TESTS = """
import os
import pytest

over_tensors = "arrays_of" in os.environ["ARRAY_API_TESTS_MODULE"]

def test_passes():
    pass

def test_fails_over_both():
    assert False

class TestInside:
    @pytest.mark.parametrize("text", ["x_i is +0"])
    def test_fails_over_tensors(self, text):
        assert not over_tensors, "a fault"

def test_fails_over_the_library_in_another_example(request):
    assert not over_tensors and request.config.getoption("--max-examples") < 1000

runs = 0

def test_fails_over_the_library_in_another_run():
    global runs
    runs += 1
    assert not over_tensors and runs == 1

def test_fails_over_the_library_by_another_exception(request):
    assert not over_tensors
    if request.config.getoption("--max-examples") == 1000:
        raise KeyError

def test_fails_over_the_library_alone():
    assert over_tensors
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "array_api_tests").mkdir()
    (tmp_path / "conftest.py").write_text(OPTIONS)
    (tmp_path / "array_api_tests" / "test_all.py").write_text(TESTS)
    return tmp_path


def test_a_failure_over_tensors_alone_is_listed(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(suite), "--arrays", "torch"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "torch: 2 of 7 tests fail",
        "dispatchkit over torch: 5 of 7 tests fail",
        "FAILED array_api_tests/test_all.py::TestInside::test_fails_over_tensors[x_i is +0]",
        "  AssertionError: a fault",
        "FAILED array_api_tests/test_all.py::test_fails_over_the_library_by_another_exception",
        "  assert not True",
        "2 fail over tensors alone, of which 2 are not expected",
    ]


def test_an_expected_failure_has_its_reason(
    suite: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = tmp_path / "expected.toml"
    test = "array_api_tests/test_all.py::TestInside::test_fails_over_tensors[x_i is +0]"
    other = "array_api_tests/test_all.py::test_fails_over_the_library_by_another_exception"
    expected.write_text(f'[torch]\n"{test}" = "a reason"\n"{other}" = "as above"\n')
    monkeypatch.setattr("tests.programs.conformance.__main__.EXPECTED", expected)
    assert main([str(suite), "-n", "2", "--arrays", "torch"]) == 0
    listed = f"expected {test}\n  a reason\nexpected {other}\n  as above\n2 fail over tensors alone, of which 0 are not"
    assert listed in capsys.readouterr().out


def test_every_expected_failure_is_of_a_known_library_and_says_why() -> None:
    for library, reasons in tomllib.loads(EXPECTED.read_text()).items():
        assert library in LIBRARIES
        assert all(test.startswith("array_api_tests/test_") and reason for test, reason in reasons.items())
