"""Measuring the shipped types shows no fault, and no shipped type is left out."""

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
# What refuses calls by design, such as a dense form; their own tests hold them to the conformance suite.
REFUSING = {dk.types.MaskedTensor, dk.types.NamedTensor, dk.types.QuantityTensor, dk.types.UncertainTensor}


@pytest.mark.parametrize("part", range(PARTS))
def test_measuring_the_shipped_types_shows_no_fault(part: int) -> None:
    if find_spec("scipy") is None:
        pytest.skip("the special functions cannot be called without SciPy")
    # In a process of its own, where no test has made functions overridable.
    done = subprocess.run(
        [sys.executable, "-m", "tests.report.shipped", str(part)],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
    )
    assert "| native |" in done.stdout
    assert not [fault for fault in FAULTS if f"| {fault} |" in done.stdout]


def test_every_shipped_type_is_measured() -> None:
    named: set[Any] = {getattr(dk.types, name) for name in dk.types.__all__} - {dk.types.StructuredTensor}
    shipped = {cls for cls in named if dk.tensor_protocol.types.participates(cls)}
    assert {type(one) for one in samples()} == shipped - REFUSING
