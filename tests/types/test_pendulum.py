"""The fit of docs/examples/pendulum.py is the one of weighted sums by hand."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dispatchkit.types import Unit

PROGRAM = Path(__file__).parents[2] / "docs" / "examples" / "pendulum.py"


def test_the_fit_has_the_value_and_the_uncertainty_of_its_derivatives() -> None:
    program: dict[str, Any] = runpy.run_path(str(PROGRAM))
    lengths, times = np.array(program["LENGTHS"]) / 100, np.array(program["TIMES"]) / 10

    def by_hand(lengths: Any, times: Any) -> float:
        return float((2 * np.pi) ** 2 * (lengths @ lengths) / (times**2 @ lengths))

    g = program["fitted"](*program["measurements"]())
    assert g.unit == Unit("m/s**2")
    assert float(g.magnitude.value) == pytest.approx(by_hand(lengths, times))
    variance = 0.0
    for step in np.eye(len(lengths)) * 1e-6:
        along = (by_hand(lengths + step, times) - by_hand(lengths - step, times)) / 2e-6
        across = (by_hand(lengths, times + step) - by_hand(lengths, times - step)) / 2e-6
        variance += (along * 0.001) ** 2 + (across * 0.005) ** 2
    assert float(g.magnitude.std) == pytest.approx(variance**0.5, rel=1e-6)
    assert float(program["trained"](*program["measurements"]()).magnitude) == pytest.approx(
        by_hand(lengths, times), rel=1e-3
    )
