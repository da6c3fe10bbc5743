"""The program docs/enzyme_kinetics.py: the page shows it, and what it finds and draws."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_shows_the_program() -> None:
    program = (DOCS / "enzyme_kinetics.py").read_text(encoding="utf-8")
    page = (DOCS / "tutorials" / "enzyme-kinetics.md").read_text(encoding="utf-8")
    parts = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(parts) == 7
    for part in parts:
        assert part in program


def test_the_program_fits_the_table_and_draws_what_is_there() -> None:
    pytest.importorskip("matplotlib").use("agg")
    found = runpy.run_path(str(DOCS / "enzyme_kinetics.py"))
    np.testing.assert_allclose(found["constants"].numpy(), [49.0663, 66.0908], atol=1e-4)
    assert str(found["km"]) == "66.1 ± 4.0 umol/L"
    axes = found["axes"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("substrate (µmol/L)", "rate (nmol/min)")
    points, curve = axes.get_lines()[0], axes.get_lines()[-1]
    assert np.isnan(points.get_ydata(orig=False)).sum() == 2
    np.testing.assert_allclose(curve.get_xdata(orig=False)[[0, -1]], [0.0, 520.0])
    found["plt"].close(found["figure"])
