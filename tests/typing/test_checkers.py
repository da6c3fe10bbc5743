"""What type checkers say without the plugin: of each script they report the lines marked as errors, and no others."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SCRIPTS = [HERE / name for name in ("user_script.py", "right.py", "wrong.py", "spelled.py")]
PYRIGHT = Path(sys.executable).with_name("basedpyright")


def expected(checker: str) -> set[tuple[str, int]]:
    """Return the lines that a type checker is to report, each by its file and number."""
    mark = re.compile(rf"  # error( to {checker})?(:|$)")
    return {
        (script.name, number)
        for script in SCRIPTS
        for number, line in enumerate(script.read_text(encoding="utf-8").splitlines(), 1)
        if mark.search(line)
    }


def test_mypy_reports_the_marked_lines(tmp_path: Path) -> None:
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = true\nfollow_imports = silent\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(tmp_path / "cache")]
    ran = subprocess.run([*command, *map(str, SCRIPTS)], cwd=ROOT, capture_output=True, text=True, check=False)
    found = {(name, int(n)) for name, n in re.findall(r"(\w+\.py):(\d+): error", ran.stdout)}
    assert found == expected("mypy"), ran.stdout + ran.stderr


@pytest.mark.skipif(not PYRIGHT.exists(), reason="basedpyright is not installed")
@pytest.mark.parametrize("mode", ["standard", "recommended"])  # pyright's and basedpyright's
def test_pyright_reports_the_marked_lines(tmp_path: Path, mode: str) -> None:
    config = tmp_path / "pyrightconfig.json"
    settings = {"include": [*map(str, SCRIPTS)], "extraPaths": [str(ROOT)], "typeCheckingMode": mode}
    config.write_text(json.dumps(settings), encoding="utf-8")
    command = [str(PYRIGHT), "--outputjson", "-p", str(config), "--pythonpath", sys.executable]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = json.loads(ran.stdout)["generalDiagnostics"]
    # The modules of as_torch are made of its table, so that there are stubs of them, but no source.
    faults = [d for d in told if d["severity"] == "error" and d.get("rule") != "reportMissingModuleSource"]
    found = {(Path(d["file"]).name, d["range"]["start"]["line"] + 1) for d in faults}
    assert found == expected("pyright"), faults
