"""Measured exponents: the least of several times of the processor, at sizes that grow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from time import process_time

__all__ = ["ALLOWED", "exponent", "least_seconds"]

# What an exponent may be above theory: logarithms, caches that are outgrown, and noise.
ALLOWED = 0.15
BUDGET, LONGEST, ROUNDS = 0.01, 0.2, 3  # seconds of repeats, and of the last call that is tried


def least_seconds(work: Callable[[], object]) -> float:
    """Return the least time of some calls: two, and more while the time lasts."""
    best, spent, calls = math.inf, 0.0, 0
    while calls < 2 or (spent < BUDGET and calls < 500):
        start = process_time()
        work()
        seconds = process_time() - start
        best, spent, calls = min(best, seconds), spent + seconds, calls + 1
    return best


def exponent(make: Callable[[int], Callable[[], object]], sizes: Sequence[int]) -> float:
    """Return the exponent of the size in the time of what `make` gives, between the largest sizes that are reached.

    Parameters
    ----------
    make : returns the work of a size
    sizes : in order, of which the largest are left out where a call takes longer than all others are worth
    """
    works, times = [], []
    for n in sizes:
        works.append(make(n))
        times.append(least_seconds(works[-1]))
        if times[-1] > LONGEST:
            break
    if len(times) < 2:
        return math.nan
    # By turns once more: what else the machine does comes and goes.
    for _ in range(ROUNDS):
        for place, work in enumerate(works[-2:], len(works) - 2):
            times[place] = min(times[place], least_seconds(work))
    *_, before, last = zip(sizes, times, strict=False)
    return math.log(last[1] / before[1]) / math.log(last[0] / before[0])
