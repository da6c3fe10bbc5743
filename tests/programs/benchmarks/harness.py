"""Two ways of doing the same work, compared and then timed by turns."""

import importlib
import platform
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
import numpy.testing as npt

from dispatchkit import accelerator

__all__ = [
    "Effort",
    "Row",
    "Side",
    "Stand",
    "Unavailable",
    "measure",
    "names_of",
    "pytorch",
    "same_results",
    "versions",
]

TOLERANCE = 1e-9


class Unavailable(Exception):  # noqa: N818 not a fault: the row says why it has no figures
    """A row cannot be measured here."""


@dataclass(frozen=True)
class Effort:
    """How long to measure: repeats, and the seconds that the slower side spends in each."""

    repeats: int
    seconds: float


@dataclass(frozen=True)
class Side:
    """A statement and the names that it uses."""

    code: str
    names: Mapping[str, Any]

    def result(self) -> Any:
        return eval(self.code, dict(self.names))  # noqa: S307 the code stands in this package

    def timer(self) -> timeit.Timer:
        # Names bound as locals of the timed loop cost the least, and the same on both sides. Users run with
        # the garbage collector on, so it is on here.
        setup = ["import gc; gc.enable()", *(f"{name} = given[{name!r}]" for name in self.names)]
        # The time of the processor: while it does another process's work, neither side is at work.
        return timeit.Timer(self.code, "\n".join(setup), process_time, {"given": self.names})


@dataclass(frozen=True)
class Row:
    """One line of the table; `build` makes dispatchkit's side and the reference's."""

    topic: str
    work: str
    reference: str
    hold: float
    build: Callable[[], tuple[Side, Side]]


class Stand:
    """What the array-like types of all three libraries hold, so that their results can be compared."""

    value = 7.0


def pytorch() -> Any:
    """Give PyTorch, on one thread."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise Unavailable("PyTorch not installed: pip install torch==2.13.0") from None
    torch.set_num_threads(1)
    return torch


def names_of(library: Any, *names: str) -> dict[str, Any]:
    """Look up the library's functions, to be bound before the timed loop."""
    return {name: getattr(library, name) for name in names}


def plain(result: Any) -> Any:
    """Take the numbers out of a result, whichever library it came from."""
    if isinstance(result, (list, tuple)):
        return [plain(item) for item in result]
    if isinstance(result, Stand):
        return np.asarray(result.value)
    return np.asarray(result.detach().numpy() if hasattr(result, "detach") else result)


def same_results(ours: Side, reference: Side) -> None:
    """Raise AssertionError unless both sides give the same numbers, shapes and dtypes."""

    def compare(actual: Any, expected: Any) -> None:
        if isinstance(expected, list):
            for one, other in zip(actual, expected, strict=True):
                compare(one, other)
        else:
            npt.assert_allclose(actual, expected, rtol=TOLERANCE, atol=TOLERANCE, strict=True)

    compare(plain(ours.result()), plain(reference.result()))


def measure(ours: Side, reference: Side, effort: Effort) -> tuple[float, float]:
    """Seconds per execution of either side: the minimum over repeats in which they take turns."""
    timers = [ours.timer(), reference.timer()]
    number = 1
    while max(timer.timeit(number) for timer in timers) < effort.seconds:
        number *= 2
    best = [float("inf"), float("inf")]
    for repeat in range(effort.repeats):
        for side in (0, 1) if repeat % 2 else (1, 0):
            best[side] = min(best[side], timers[side].timeit(number) / number)
    return best[0], best[1]


def versions() -> str:
    """Return what was measured with."""
    try:
        torch = f"PyTorch {pytorch().__version__}"
    except Unavailable as reason:
        torch = str(reason)
    ours = f"accelerator {accelerator.state}"
    return f"Python {platform.python_version()}, NumPy {np.__version__}, {torch}, {ours}; one thread each"
