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
from tests.report.shipped import samples

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "coverage-of-types.md"
# What refuses calls by design, such as a dense form; their own tests hold them to the conformance suite.
REFUSING = {dk.types.MaskedTensor, dk.types.NamedTensor, dk.types.QuantityTensor, dk.types.UncertainTensor}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write the page in a process of its own, where no test has made functions overridable."""
    if find_spec("scipy") is None:
        pytest.skip("the special functions cannot be called without SciPy")
    path = tmp_path_factory.mktemp("docs") / "coverage-of-types.md"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-m", "tests.report.shipped", str(path)],
        check=True,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        timeout=300,
    )
    return path.read_text(encoding="utf-8")


def test_the_table_is_fresh(measured: str) -> None:
    assert PAGE.read_text(encoding="utf-8") == measured, "run: nox -s docs -- --write"


@pytest.mark.parametrize(
    "fault", ["refused", "plain result", "raises", "wrong type", "wrong dtype", "wrong gradient", "wrong value"]
)
def test_no_shipped_type_has_faults(measured: str, fault: str) -> None:
    assert f"| {fault} |" not in measured


def test_every_shipped_type_is_measured() -> None:
    named: set[Any] = {getattr(dk.types, name) for name in dk.types.__all__} - {dk.types.StructuredTensor}
    shipped = {cls for cls in named if dk.tensor_protocol.types.participates(cls)}
    assert {type(one) for one in samples()} == shipped - REFUSING
