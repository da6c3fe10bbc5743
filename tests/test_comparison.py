"""The claims of README's table on other systems."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
PROGRAM: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "comparison.py"))


@pytest.mark.parametrize("row", PROGRAM["ROWS"], ids=lambda row: row.__name__)
def test_a_claim_is_true(row: Any) -> None:
    row()
