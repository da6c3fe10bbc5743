"""What type checkers say of a user's script, without the plugin: the lines marked as errors, and no others."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("user_script.py")
ROOT = SCRIPT.parents[2]
PYRIGHT = Path(sys.executable).with_name("basedpyright")
EXPECTED = {n for n, line in enumerate(SCRIPT.read_text(encoding="utf-8").splitlines(), 1) if line.endswith("# error")}


def test_mypy_reports_the_marked_lines(tmp_path: Path) -> None:
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = true\nfollow_imports = silent\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(tmp_path / "cache")]
    ran = subprocess.run([*command, str(SCRIPT)], cwd=ROOT, capture_output=True, text=True, check=False)
    found = {int(n) for n in re.findall(r"user_script\.py:(\d+): error", ran.stdout)}
    assert found == EXPECTED, ran.stdout + ran.stderr


@pytest.mark.skipif(not PYRIGHT.exists(), reason="basedpyright is not installed")
def test_pyright_reports_the_marked_lines(tmp_path: Path) -> None:
    config = tmp_path / "pyrightconfig.json"
    settings = {"include": [str(SCRIPT)], "extraPaths": [str(ROOT)], "typeCheckingMode": "standard"}
    config.write_text(json.dumps(settings), encoding="utf-8")
    command = [str(PYRIGHT), "--outputjson", "-p", str(config), "--pythonpath", sys.executable]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    faults = [d for d in json.loads(ran.stdout)["generalDiagnostics"] if d["severity"] == "error"]
    assert {d["range"]["start"]["line"] + 1 for d in faults} == EXPECTED, faults
