"""The package in docs/template is what its page says: its tests pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "docs" / "template"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["pytest", "-q", "-p", "no:cacheprovider"], " passed"),
        (["dispatchkit", "check", "diagonal_matrices"], "nothing found"),
    ],
    ids=["tests", "check"],
)
def test_the_commands_of_the_template_pass(command: list[str], said: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(TEMPLATE / "src")))}
    command = [sys.executable, "-m", *command]
    done = subprocess.run(command, check=False, cwd=TEMPLATE, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert said in done.stdout


def test_the_page_lists_the_files_of_the_template() -> None:
    page = (ROOT / "docs" / "guides" / "packaging-a-type.md").read_text(encoding="utf-8")
    files = [path for path in TEMPLATE.rglob("*") if path.is_file() and path.suffix in {".py", ".toml", ".md", ".yml"}]
    missing = [str(name) for path in files if str(name := path.relative_to(TEMPLATE).as_posix()) not in page]
    assert missing == []
