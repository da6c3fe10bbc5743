"""The compiled core: that it is used where it is installed, and what keeps it from being used."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import dispatchkit as dk
from dispatchkit import accelerator

ROOT = Path(__file__).parents[1]
MODULE = "dispatchkit.graph.sweep"
SHOW = f"""
import sys, dispatchkit as dk
print(dk.show_config('dicts')['accelerator'], sys.modules['{MODULE}'].__file__.rpartition('.')[2], sep='|')
x = dk.ones(2, requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2.0, 2.0]
"""
installed = pytest.mark.skipif(find_spec(accelerator.NAME) is None, reason="the accelerator is not installed")


def run(folder: Path = ROOT, pure: str = "") -> tuple[str, str]:
    """Return what an interpreter prints of its accelerator, and what it warns of, with modules of a folder first."""
    paths = os.pathsep.join([str(folder), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, accelerator.PURE: pure}
    done = subprocess.run([sys.executable, "-c", SHOW], check=True, capture_output=True, text=True, env=environment)
    return done.stdout.strip(), done.stderr


def pretend(folder: Path, version: str, refusal: str = "") -> Path:
    """Make another accelerator in a folder, which is found first."""
    package = folder / accelerator.NAME
    package.mkdir()
    text = f"__version__ = {version!r}\ndef install(folder):\n    return {refusal!r}\n"
    (package / "__init__.py").write_text(text)
    return folder


@installed
def test_it_is_used_where_it_is_installed() -> None:
    shown, warned = run()
    assert shown.startswith(f"{dk.__version__}|")
    assert not shown.endswith("|py")
    assert warned == ""


@pytest.mark.parametrize("value", ["1", "yes"])
def test_a_variable_switches_it_off(value: str) -> None:
    assert run(pure=value) == ("switched off by DISPATCHKIT_PURE|py", "")


def test_another_version_is_refused_with_a_sentence_and_python_runs(tmp_path: Path) -> None:
    shown, warned = run(pretend(tmp_path, "0.0.9"))
    says = f"it is of version 0.0.9; run pip install dispatchkit-accelerator=={dk.__version__}"
    assert shown == f"refused: {says}|py"
    assert f"RuntimeWarning: dispatchkit {dk.__version__} runs without its accelerator: {says}" in warned


def test_one_that_cannot_be_used_is_refused_with_its_reason(tmp_path: Path) -> None:
    shown, warned = run(pretend(tmp_path, dk.__version__, "it was built for another Python"))
    assert shown == "refused: it was built for another Python|py"
    assert "runs without its accelerator: it was built for another Python" in warned


def test_without_one_python_runs(tmp_path: Path) -> None:
    package = tmp_path / accelerator.NAME
    package.mkdir()
    (package / "__init__.py").write_text(f"raise ModuleNotFoundError(name={accelerator.NAME!r})\n")
    assert run(tmp_path) == ("not installed|py", "")


@installed
def test_what_was_built_from_other_sources_is_refused(tmp_path: Path) -> None:
    refusal = import_module(accelerator.NAME).install(str(tmp_path))
    assert refusal.startswith("dispatchkit.declare.derivative is not as it was when the accelerator was built; build")


@installed
def test_what_was_built_for_another_python_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module(accelerator.NAME)
    monkeypatch.setattr(module, "EXTENSION_SUFFIXES", [".cpython-310-other.so"])
    assert module.install(accelerator.FOLDER).startswith("it was built for another Python than 3.")


def test_the_configuration_names_what_runs(capsys: pytest.CaptureFixture[str]) -> None:
    shown = dk.show_config("dicts")
    assert shown["dispatchkit"] == dk.__version__
    assert shown["accelerator"] == accelerator.state
    assert shown["engine"] == "numpy"
    dk.show_config()
    assert capsys.readouterr().out.splitlines() == [f"{name}: {value}" for name, value in shown.items()]


def test_another_mode_of_the_configuration_is_refused() -> None:
    with pytest.raises(ValueError, match="show_config: mode must be 'stdout' or 'dicts', found 'json'"):
        dk.show_config("json")  # type: ignore[call-overload]
