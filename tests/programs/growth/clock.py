"""Measured exponents: the least of several times of the processor, at sizes that grow."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import process_time

__all__ = ["ALLOWED", "Allowance", "Slope", "exponent", "keep_memory", "least_seconds", "slope"]

# What an exponent may be above theory: logarithms, caches that are outgrown, and noise.
ALLOWED = 0.15
BUDGET, LONGEST, ROUNDS = 0.01, 0.2, 3  # seconds of repeats, and of the last call that is tried
Make = Callable[[int], Callable[[], object]]
NO_LIMIT = math.inf
# Seconds below which the steps of the clock count, as it counts microseconds on some machines; and calls at once.
SHORT, MOST_TOGETHER = 20e-6, 256


def keep_memory() -> None:
    """Let the C library keep what is freed: else every large array is memory anew, which the kernel fills with zeros.

    That would take more time than most operations do, from some size on. Elsewhere than on Linux nothing is changed.
    """
    trim_threshold, mmap_threshold = -1, -3  # the numbers of malloc.h
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for parameter in (trim_threshold, mmap_threshold):
        mallopt(parameter, 1 << 30)


class Allowance:
    """Seconds of the processor for several subjects, in turn: what one leaves over is the next ones'.

    Parameters
    ----------
    seconds : for all of them
    subjects : how many there are
    """

    def __init__(self, seconds: float, subjects: int) -> None:
        self.seconds, self.subjects = seconds, subjects

    @contextmanager
    def share(self, most: float = NO_LIMIT) -> Iterator[float]:
        """Enter a block of one subject, whose share in seconds this gives, at most so many."""
        start = process_time()
        yield min(most, max(self.seconds, 0.0) / max(self.subjects, 1))
        self.seconds -= process_time() - start
        self.subjects -= 1


@dataclass(frozen=True)
class Slope:
    """An exponent between two sizes."""

    exponent: float
    smaller: int
    larger: int


def least_seconds(work: Callable[[], object], budget: float = BUDGET) -> float:
    """Return the least time of some calls: two, and more while the time lasts.

    Calls that take less than some steps of the clock are measured several at once.
    """
    best, spent, calls, together = math.inf, 0.0, 0, 1
    while calls < 2 or (spent < budget and calls < 500):
        start = process_time()
        for _ in range(together):
            work()
        seconds = process_time() - start
        spent, calls = spent + seconds, calls + 1
        if seconds < SHORT and together < MOST_TOGETHER:
            together, calls = 4 * together, 0
        else:
            best = min(best, seconds / together)
    return best


def exponent(make: Make, sizes: Sequence[int]) -> float:
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


def slope(
    make: Make,
    sizes: Sequence[int],
    expected: Callable[[int, int], float],
    longest: float,
    most: float = NO_LIMIT,
) -> Slope | None:
    """Return the exponent between the largest size that a call is not too slow for, and one of at most a tenth.

    It is measured by turns again, a few times, while it is above what is expected.

    Parameters
    ----------
    make : returns the work of a size
    sizes : in order; each is tried only if the call will probably not take longer than `longest`
    expected : returns what the exponent between two sizes may be
    longest : seconds of a call, and of all calls of a size
    most : seconds of the processor, after which nothing is begun anew

    Returns
    -------
    Slope
        None where no two sizes are reached.
    """
    works: list[Callable[[], object]] = []
    times: list[float] = []
    start = process_time()
    for n in sizes:
        if times and (_foreseen(sizes, times) > longest or process_time() - start > most / 2):
            break
        works.append(make(n))
        times.append(least_seconds(works[-1], longest / 20))
    last = len(times) - 1
    first = max([place for place in range(last) if 10 * sizes[place] <= sizes[last]], default=last - 1)
    if first < 0:
        return None
    smaller, larger = sizes[first], sizes[last]
    for _ in range(2 * ROUNDS):
        found = math.log(times[last] / times[first]) / math.log(larger / smaller)
        if found <= expected(smaller, larger) or process_time() - start > most:
            break
        for place in (first, last):
            times[place] = min(times[place], least_seconds(works[place], longest / 5))
    return Slope(found, smaller, larger)


def _foreseen(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Return about how long a call of the next size takes, if the times go on growing as they do; at first by n²."""
    last = len(times) - 1
    growth = 2.0
    if last:
        growth = max(1.0, math.log(times[last] / times[last - 1]) / math.log(sizes[last] / sizes[last - 1]))
    return float(times[last] * (sizes[last + 1] / sizes[last]) ** growth)
