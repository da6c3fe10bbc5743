"""The gallery of ports says of its pages what `measure.py` counts, and each page has its program with and without."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "examples" / "ports"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.stem != "index")


def measure() -> ModuleType:
    module = ModuleType("measure")
    module.__file__ = str(FOLDER / "measure.py")
    exec(compile((FOLDER / "measure.py").read_text(encoding="utf-8"), module.__file__, "exec"), vars(module))  # noqa: S102
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_and_the_index_have_the_number_of_lines(page: Path) -> None:
    text, tool = page.read_text(encoding="utf-8"), measure()
    lines = tool.lines_of(tool.BLOCK.findall(text)[0])
    table = text.partition("## In numbers")[2]
    cells = re.findall(r"^\| (\d+) \| .* \| ([\d.]+) \|$", table, re.MULTILINE)
    (row,) = re.findall(
        rf"\({page.name}\) \| .* \| (\d+) \| ([\d.]+) \|$", (FOLDER / "index.md").read_text(), re.MULTILINE
    )
    assert cells == [row]
    assert int(row[0]) == lines
    assert "def structured(" in text
    assert "def plain(" in text


def test_the_ratio_is_that_of_the_times_of_both_by_turns() -> None:
    tool: Any = measure()
    waits = iter([0.0, 3.0, 10.0, 11.0] * (tool.TURNS + 1))
    tool.perf_counter = lambda: next(waits)
    assert tool.ratio(lambda: None, lambda: None) == 3.0
