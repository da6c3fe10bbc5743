"""The ways that a machine can compute in are found out, and the tests are run by each."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import pytest

from tests.programs.processors import __main__ as program
from tests.programs.processors import machines
from tests.programs.processors.machines import KERNELS, PROBE, Setting, Skipped, busy, probe, settings

HASWELL = ("Haswell", ["X86_V3"])


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what a process answers, by the kernel that it is asked for, or by the features that it leaves away."""
    given: dict[str, Any] = {"": HASWELL}

    def answer(environment: Any) -> Any:
        asked = environment.get("OPENBLAS_CORETYPE") or environment.get("NPY_DISABLE_CPU_FEATURES", "")
        return given.get(asked, HASWELL)

    monkeypatch.setattr(machines, "probe", answer)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return given


def test_a_process_says_what_it_computes_by() -> None:
    answer = probe({})
    assert not isinstance(answer, str)
    kernel, features = answer
    assert kernel
    assert features == [word for word in features if word.isidentifier()]


def test_a_process_that_a_signal_ends_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "PROBE", "import os, signal\nos.kill(os.getpid(), signal.SIGILL)")
    assert probe({}) == "this processor cannot run it (signal 4)"
    monkeypatch.setattr(machines, "PROBE", "raise ValueError('wrong product')")
    assert probe({}) == "it does not work here: ValueError: wrong product"
    assert PROBE is not machines.PROBE


def test_kernels_that_cannot_run_and_those_that_are_others_are_left_out_with_the_reason(answers: Any) -> None:
    answers["Prescott"] = ("Katmai", [])
    answers["SkylakeX"] = "this processor cannot run it (signal 4)"
    answers["X86_V3"] = ("Haswell", [])
    found = list(settings())
    run = [
        (setting.name, setting.environment.get("OPENBLAS_CORETYPE")) for setting in found if type(setting) is Setting
    ]
    assert run == [
        ("kernel Prescott, which is Katmai, threads: 2", "Prescott"),
        ("kernel Nehalem, which is Haswell, threads: 1", "Nehalem"),
        ("NumPy without X86_V3", None),
        ("beside 5 busy processes", None),
    ]
    left_out = {setting.name: setting.reason for setting in found if isinstance(setting, Skipped)}
    assert left_out["kernel SkylakeX"] == "this processor cannot run it (signal 4)"
    assert left_out["kernel Zen"] == "OpenBLAS takes Haswell for it, as for Nehalem"
    assert len(run) + len(left_out) == len(KERNELS["x86_64"]) + 2


def test_features_that_numpy_goes_on_to_use_are_no_setting(answers: Any) -> None:
    names = [setting.name for setting in settings() if isinstance(setting, Skipped)]
    assert names[-1] == "NumPy without X86_V3"
    answers[""] = ("Haswell", [])
    assert "NumPy without SIMD features" in [setting.name for setting in settings() if isinstance(setting, Skipped)]


def test_busy_processes_end_with_the_block() -> None:
    with busy(2) as processes:
        assert [process.poll() for process in processes] == [None, None]
    assert all(process.returncode for process in processes)


def test_all_folders_are_numerical_but_those_that_are_named() -> None:
    places = program.numerical()
    assert {"dispatchkit", "tests/linalg", "tests/ops", "tests/tensor"} <= set(places)
    assert all(Path(program.TESTS.parent, place).exists() for place in places)
    assert all(Path(program.TESTS, name, "__init__.py").exists() for name in program.NOT_NUMERICAL)
    assert not any(f"tests/{name}" in places for name in program.NOT_NUMERICAL)


CHECK = """
import os

def test_setting():
    assert os.environ["OPENBLAS_CORETYPE"] == "Nehalem"

def test_other():
    assert False
"""


def test_the_tests_are_run_by_each_setting_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "test_one.py"
    file.write_text(CHECK)
    known = [Setting("kernel Nehalem", {"OPENBLAS_CORETYPE": "Nehalem"}), Skipped("kernel New", "no such processor")]
    monkeypatch.setattr(program, "settings", lambda: iter(known))
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)  # by which all tests may be run
    arguments = [str(file), "-p", "no:cacheprovider", "-q"]
    assert program.main(arguments) == 1
    assert "kernel Nehalem: 1 passed, 1 failed, 0 skipped, " in capfd.readouterr().out
    assert program.main([*arguments, "-k", "setting"]) == 0
    said = capfd.readouterr().out
    assert said.startswith("kernel Nehalem OPENBLAS_CORETYPE='Nehalem'\n")
    assert "kernel New: left out, no such processor" in said
    assert "kernel Nehalem: 1 passed, 0 failed, 0 skipped, " in said
    assert program.main([*arguments, "--only", "Haswell"]) == 0
    assert "passed" not in capfd.readouterr().out
    assert os.environ.get("OPENBLAS_CORETYPE") != "Nehalem"
