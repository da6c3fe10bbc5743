"""The stubs of `dispatchkit.as_torch` are those of the table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.typing.as_torch_stub import ROOT


def test_the_stubs_are_up_to_date() -> None:
    # In an interpreter of its own, since operations that other tests declare add methods.
    program = (
        "import json; from tests.typing.as_torch_stub import make_stubs; "
        "print(json.dumps({str(path): text for path, text in make_stubs().items()}))"
    )
    root = Path(__file__).parents[2]
    printed = subprocess.run([sys.executable, "-c", program], cwd=root, check=True, capture_output=True, text=True)
    written = {str(path): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.pyi")}
    assert written == json.loads(printed.stdout), "run `python -m tests.typing.as_torch_stub`"
