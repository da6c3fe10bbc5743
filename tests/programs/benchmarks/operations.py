"""Every operation against NumPy's function of the same name: what a call costs beside the arithmetic, by size.

That is every declared operation for which NumPy has one, in its namespace, `linalg`, `fft` or among the methods of its
random generator, and indexing. Both sides get the same arrays. Results on few and on thousands of elements are compared
first: the same numbers, shapes and dtypes. `real` and `imag` copy here, where NumPy gives views: results of elementwise
operations have memory of their own.

On many elements what counts is the ratio, so calls that do no work per element are told apart there, by microseconds.
"""

import ast
import operator
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import catalogue  # noqa: F401  # every operation is timed
from dispatchkit.declare.operation import DeclaredOperation

from .harness import Effort, Side, measure, same_results
from .operations_calls import VIEWS, calls_of, inputs_of

__all__ = ["TOPIC", "operation_lines", "operations", "sides", "timed"]

TOPIC = "operations"
SIZES = (4, 10_000, 10_000_000)
MANY = 1_000_000
# Hundreds of calls: each is repeated less often than a row of the table is.
REPEATS = 20
# A ratio to hold for many elements.
HELD = 1.05
# A call on many elements is repeated for so many seconds, and on for so many where that did not show the ratio held:
# what else the machine does only adds to a minimum.
LARGE_SECONDS = (0.1, 0.6)
WORST = 10
NAMESPACES = {"": np, "linalg": np.linalg, "fft": np.fft, "random": np.random.Generator}
MEANT_OTHERWISE = frozenset({"random.multinomial"})  # NumPy counts how often each category is drawn
INDEXING = {"getitem": operator.getitem, "setitem": operator.setitem}
# What results are passed through to be compared: elements of some are whatever the memory holds, or in any order.
COMPARABLE = {"empty": "ones_like", "empty_like": "ones_like", "unique_values": "sort"}


@dataclass(frozen=True)
class Timing:
    """A call, and its seconds on either side."""

    name: str
    call: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def extra(self) -> float:
        return self.ours - self.theirs

    @property
    def view(self) -> bool:
        return self.call in VIEWS.get(self.name, ())

    @property
    def keywords(self) -> bool:
        return any(isinstance(node, ast.keyword) for node in ast.walk(ast.parse(self.call)))

    def line(self) -> str:
        times = f"{self.ours * 1e6:12.2f} µs {self.theirs * 1e6:12.2f} µs"
        return f"  {self.name + ': ' + self.call:60s} {times}  {self.ratio:6.2f}  {self.extra * 1e6:+.2f} µs"


def operations() -> Iterator[tuple[str, DeclaredOperation, Callable[..., Any], str, str]]:
    """Yield each operation with NumPy's function, and the call of either, for each of its calls.

    Raises
    ------
    LookupError : if NumPy has a function of an operation's name and there is no call of it
    """
    for full_name, entry in dk.tensor_protocol.operations.items():
        name = full_name.removeprefix("dispatchkit.")
        namespace, _, last = name.rpartition(".")
        theirs = INDEXING.get(name) or getattr(NAMESPACES.get(namespace), last, None)
        if not isinstance(entry, DeclaredOperation) or not callable(theirs) or name in MEANT_OTHERWISE:
            continue
        calls = calls_of(name, entry)
        if not calls:
            raise LookupError(f"{name}: to be measured against NumPy's, give it calls")
        for call in calls:
            ours, code = (call, call) if isinstance(call, str) else call
            yield name, entry, theirs, ours, code


def ours_of(name: str, value: Any) -> Any:
    """Return an argument as dispatchkit's side takes it."""
    if isinstance(value, np.random.Generator):
        return dk.random.Generator(0)
    return dk.asarray(value) if isinstance(value, np.ndarray) and name != "array" else value


def sides(entry: DeclaredOperation, theirs: Any, ours: str, code: str, size: int) -> tuple[Side, Side]:
    """Return both sides of a call, with the names that they use and no others."""
    inputs = inputs_of(entry, size)

    def names(call: str, f: Any) -> dict[str, Any]:
        used = compile(call, "<call>", "exec").co_names
        return {name: f if name == "f" else getattr(inputs, name) for name in used}

    mine = {name: ours_of(name, value) for name, value in names(ours, entry.function).items()}
    return Side(ours, mine), Side(code, names(code, theirs))


def compare(name: str, mine: Side, reference: Side) -> None:
    """Raise AssertionError unless a call gives, or writes, the same on both sides."""
    if name == "setitem":
        for side in (mine, reference):
            side.timer().timeit(1)
        mine, reference = (replace(side, code="own") for side in (mine, reference))
    elif name in COMPARABLE:
        mine, reference = (
            Side(f"comparable({side.code})", {**side.names, "comparable": getattr(library, COMPARABLE[name])})
            for side, library in ((mine, dk), (reference, np))
        )
    try:
        same_results(mine, reference)
    except AssertionError as error:
        error.add_note(f"while comparing {name}: {mine.code} with NumPy's {reference.code}")
        raise


def timed(name: str, mine: Side, reference: Side, size: int, effort: Effort) -> Timing:
    """Return a call's seconds; results are compared first, but for many elements, where that takes longer."""
    if size < MANY:
        compare(name, mine, reference)
    elif mine.code not in VIEWS.get(name, ()):
        return Timing(name, mine.code, *large(mine, reference))
    return Timing(name, mine.code, *measure(mine, reference, effort))


def large(mine: Side, reference: Side) -> tuple[float, float]:
    """Return the seconds of either side of a call on many elements."""
    ours, theirs = measure(mine, reference, Effort(repeats=1, seconds=0.0))
    for seconds in LARGE_SECONDS:
        repeats = min(REPEATS, max(1, int(seconds / (ours + theirs))))
        again = measure(mine, reference, Effort(repeats, seconds=0.0))
        ours, theirs = min(ours, again[0]), min(theirs, again[1])
        if ours <= HELD * theirs:
            break
    return ours, theirs


def shares(timings: Sequence[Timing]) -> str:
    ratios = np.array([timing.ratio for timing in timings])
    extra = np.array([timing.extra for timing in timings])
    return (
        f"ratio to NumPy median {np.median(ratios):.2f}, {np.mean(ratios <= HELD):.0%} of them at most {HELD}; "
        f"median {np.median(extra) * 1e6:+.2f} µs, {np.mean(extra <= 1e-6):.0%} at most 1 µs over NumPy"
    )


def report(timings: Sequence[Timing], size: int, seconds: float) -> Iterator[str]:
    """Give the lines of one size; views of many elements stand apart."""
    apart = [timing for timing in timings if timing.view and size >= MANY]
    counted = [timing for timing in timings if timing not in apart]
    names = {timing.name for timing in timings}
    yield (
        f"{len(counted)} calls on {size:,} elements, of {len(names)} operations: {shares(counted)} "
        f"(measured in {seconds:.0f} s)"
    )
    keywords = [timing for timing in counted if timing.keywords]
    yield f"  {len(keywords)} of them with keywords: {shares(keywords)}"
    # Of few elements the call itself is what costs, of many what it does with each.
    by = (lambda timing: timing.ratio) if size >= MANY else (lambda timing: timing.extra)
    for timing in sorted(counted, key=by, reverse=True)[:WORST]:
        yield timing.line()
    if apart:
        yield (
            f"{len(apart)} more calls do no work per element (views, memory not written to), so that their time is the "
            f"call's own whatever the size: {shares(apart)}"
        )
        for timing in sorted(apart, key=lambda timing: timing.extra, reverse=True)[:WORST]:
            yield timing.line()


def operation_lines(effort: Effort) -> Iterator[str]:
    """Give for each size the overhead of all operations, and the worst ten."""
    effort = replace(effort, repeats=min(effort.repeats, REPEATS))
    for size in SIZES:
        began = time.perf_counter()
        timings = [
            timed(name, *sides(entry, theirs, ours, code, size), size, effort)
            for name, entry, theirs, ours, code in operations()
        ]
        yield from report(timings, size, time.perf_counter() - began)
