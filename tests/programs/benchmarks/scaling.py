"""Structured types show their structure's cost: a solve with an n×n scaled identity is O(n)."""

import math
from collections.abc import Iterator

import dispatchkit as dk

from .harness import Effort, Side, measure

__all__ = ["TOPIC", "slope_lines"]

TOPIC = "scaling"
SIZES = (1_000, 10_000, 100_000, 1_000_000)


def slope_lines(effort: Effort) -> Iterator[str]:
    """Give the time of a solve at each size, and the exponent of n between neighbours."""
    from dispatchkit.types import ScalarTensor  # here, so that the rest runs without it

    before: tuple[int, float] | None = None
    for n in SIZES:
        side = Side("solve(s, b)", {"solve": dk.linalg.solve, "s": ScalarTensor(n, 2.0), "b": dk.ones(n)})
        seconds = min(measure(side, side, effort))
        slope = math.log(seconds / before[1]) / math.log(n / before[0]) if before else math.nan
        yield f"solve(ScalarTensor({n}, 2.0), b): {seconds * 1e6:9.1f} µs" + (f", slope {slope:.2f}" if before else "")
        before = n, seconds
