"""Print the table."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import ModuleType

import dispatchkit as dk

from . import (
    fast_paths,
    kernels,
    layers,
    libraries,
    mechanisms,
    memory,
    mlp,
    modules,
    operations,
    optimisers,
    overrides,
    peers,
    scaling,
    tensors,
    transforms,
)
from .harness import Effort, Row, Unavailable, measure, same_results, versions

ROWS = [
    *overrides.ROWS,
    *mechanisms.ROWS,
    *tensors.ROWS,
    *modules.ROWS,
    *mlp.ROWS,
    *layers.ROWS,
    *optimisers.ROWS,
    *transforms.ROWS,
    *peers.ROWS,
]
HEADER = ("work", "reference", "dispatchkit", "reference", "ratio", "to hold", "held")
THOROUGH = Effort(repeats=50, seconds=5e-3)
QUICK = Effort(repeats=10, seconds=1e-3)


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def missing(error: AttributeError | ImportError) -> str:
    """Name what a row needs and dispatchkit does not have."""
    name = error.name or str(error)
    if isinstance(error, AttributeError):
        owner = error.obj or dk
        name = f"{owner.__name__ if isinstance(owner, ModuleType) else type(owner).__name__}.{name}"
    return "not available yet: " + name.replace("dispatchkit", "dk", 1)


def attempt(action: Callable[[], list[str]]) -> list[str]:
    """Give an action's cells, or one that says why there are none."""
    try:
        return action()
    except Unavailable as reason:
        return [str(reason)]
    except (AttributeError, ImportError) as error:
        return [missing(error)]


def cells(row: Row, effort: Effort) -> list[str]:
    ours, reference = row.build()
    try:
        same_results(ours, reference)
    except AssertionError as error:
        error.add_note(f"while comparing {row.work} with {row.reference}")
        raise
    mine, theirs = measure(ours, reference, effort)
    held = "held" if mine <= row.hold * theirs else "not held"
    return [duration(mine), duration(theirs), f"{mine / theirs:.2f}", f"{row.hold:.2f}", held]


def lines(rows: Sequence[Row], effort: Effort) -> Iterator[str]:
    """Give the table in Markdown, a line at a time."""
    widths = [
        max(len(text) for text in (HEADER[0], *(row.work for row in rows))),
        max(len(text) for text in (HEADER[1], *(row.reference for row in rows))),
        *(max(len(text), 9) for text in HEADER[2:]),
    ]

    def line(texts: Sequence[str]) -> str:
        return f"| {' | '.join(text.ljust(width) for text, width in zip(texts, widths, strict=False))} |"

    yield line(HEADER)
    yield line(["-" * width for width in widths])
    count = held = 0
    for row in rows:
        figures = attempt(partial(cells, row, effort))
        yield line([row.work, row.reference, *figures])
        count += 1
        held += figures[-1] == "held"
    yield f"\n{held} of {count} rows held"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.programs.benchmarks", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="rows that TEXT is part of")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repeats: rougher figures")
    parser.add_argument("--engine", default="numpy", help="who computes layers: numpy, or numba for compiled loops")
    options = parser.parse_args(arguments)
    dk.nn.set_engine(options.engine)
    effort = QUICK if options.quick else THOROUGH
    wanted = options.only.lower()
    engine = f"; engine {options.engine}" if options.engine != "numpy" else ""
    print(f"{versions()}; minimum of {effort.repeats} interleaved repeats{engine}")
    show(ROWS, wanted, effort)
    for topic, give in (
        (scaling.TOPIC, lambda: scaling.slope_lines(effort)),
        (memory.TOPIC, memory.memory_lines),
        (fast_paths.TOPIC, lambda: fast_paths.fast_path_lines(effort)),
        (kernels.TOPIC, lambda: kernels.kernel_lines(effort)),
        (operations.TOPIC, lambda: operations.operation_lines(effort)),
    ):
        if wanted in topic:
            print()
            for line in attempt(lambda give=give: list(give())):  # type: ignore[misc]
                print(line)
    show(libraries.ROWS, wanted, effort)


def show(rows: Sequence[Row], wanted: str, effort: Effort) -> None:
    """Print a table of the rows that a text is part of."""
    found = [row for row in rows if wanted in f"{row.topic} {row.work} {row.reference}".lower()]
    if found:
        print()
        for line in lines(found, effort):
            print(line, flush=True)


main(sys.argv[1:])
