"""The package in docs/template is what its page says: its tests pass."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "docs" / "template"


def test_the_tests_of_the_template_pass() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, check=False, cwd=TEMPLATE, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_the_page_lists_the_files_of_the_template() -> None:
    page = (ROOT / "docs" / "guides" / "packaging-a-type.md").read_text(encoding="utf-8")
    files = [path for path in TEMPLATE.rglob("*") if path.is_file() and path.suffix in {".py", ".toml", ".md"}]
    missing = [str(name) for path in files if str(name := path.relative_to(TEMPLATE).as_posix()) not in page]
    assert missing == []
