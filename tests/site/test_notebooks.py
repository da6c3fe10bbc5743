"""The notebooks that are made of tutorials, cell by cell."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbformat")
client: Any = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def notebooks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module that makes notebooks of pages."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    yield pytest.importorskip("notebooks")
    sys.modules.pop("notebooks", None)


def test_the_cells_of_a_fit_run_one_by_one_and_only_the_wrong_formula_raises(
    notebooks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("PYTHONPATH", str(DOCS.parent))
    notebook = notebooks.notebook_of((DOCS / "tutorials" / "enzyme-kinetics.md").read_text(encoding="utf-8"))
    client.NotebookClient(notebook, kernel_name="python3", timeout=300).execute()
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    raised = [output.ename for cell in codes for output in cell.outputs if output.output_type == "error"]
    assert raised == ["UnitError"]
    assert [output.text for output in codes[2].outputs] == ["[3.64 ± 0.50, --, 11.26 ± 0.50] nmol/min\n"]
    assert any("image/png" in output.get("data", {}) for output in codes[-1].outputs)
    assert not any(output.get("name") == "stderr" for cell in codes for output in cell.outputs)
