"""The table of the shipped types in docs/ is what measuring them gives today, and has no fault in it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk
from tests.report.shipped import PARTS, samples
from tests.waiting import PATIENCE

FAULTS = ("refused", "plain result", "raises", "wrong type", "wrong dtype", "wrong gradient", "wrong value")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "coverage-of-types.md"
# What refuses calls by design, such as a dense form; their own tests hold them to the conformance suite.
REFUSING = {dk.types.MaskedTensor, dk.types.NamedTensor, dk.types.QuantityTensor, dk.types.UncertainTensor}


@pytest.mark.parametrize("part", range(PARTS))
def test_the_table_is_fresh_and_shows_no_fault(part: int, tmp_path: Path) -> None:
    if find_spec("scipy") is None:
        pytest.skip("the special functions cannot be called without SciPy")
    path = tmp_path / "coverage-of-types.md"
    # In a process of its own, where no test has made functions overridable.
    subprocess.run(
        [sys.executable, "-m", "tests.report.shipped", str(path), str(part)],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        timeout=PATIENCE,
    )
    text = path.read_text(encoding="utf-8")
    measured, written = columns(text), columns(PAGE.read_text(encoding="utf-8"))
    assert measured == {name: written[name] for name in measured}, "run: nox -s docs -- --write"
    assert not [fault for fault in FAULTS if f"| {fault} |" in text]


def columns(page: str) -> dict[str, list[tuple[str, str]]]:
    """Return the column of each type in both tables: rows that say something of it, by what they are about."""
    cells: dict[str, list[tuple[str, str]]] = {}
    header: list[str] = []
    for line in page.splitlines():
        row = [cell.strip() for cell in line.split("|")[1:-1]]
        if not row:
            header = []
        elif not header:
            header = row
        for name, cell in zip(header, row, strict=False):
            if name.endswith("Tensor`") and cell != "0":
                cells.setdefault(name, []).append((row[0], cell))
    return cells


def test_every_shipped_type_is_measured() -> None:
    named: set[Any] = {getattr(dk.types, name) for name in dk.types.__all__} - {dk.types.StructuredTensor}
    shipped = {cls for cls in named if dk.tensor_protocol.types.participates(cls)}
    assert {type(one) for one in samples()} == shipped - REFUSING
