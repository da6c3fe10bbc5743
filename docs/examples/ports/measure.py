"""What the pages of this folder say of themselves in numbers: lines, coverage, and time beside the plain program.

Run it with ``python docs/examples/ports/measure.py complex-pair``, or without a name for all pages. It runs the blocks
of a page; in each, ``structured`` and ``plain`` are the program with the type and without. Times are a ratio within the
run: the median of 21 pairs of calls by turns.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import dispatchkit as dk

FOLDER = Path(__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TURNS = 21


def lines_of(code: str) -> int:
    """Return how many lines are not empty."""
    return sum(bool(line.strip()) for line in code.splitlines())


def seconds(program: Callable[[], Any]) -> float:
    """Return how long a call takes."""
    start = perf_counter()
    program()
    return perf_counter() - start


def ratio(program: Callable[[], Any], plain: Callable[[], Any]) -> float:
    """Return the time of a program by that of another, the two called by turns."""
    program()
    plain()
    return median(seconds(program) / seconds(plain) for _ in range(TURNS))


def measured(page: Path) -> str:
    """Return a line about a page."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": page.stem}
    with dk.local_registrations():
        for block in blocks:
            exec(block, names)  # noqa: S102  # the page is the program
        types = [value for value in names.values() if isinstance(value, type) and value.__module__ == page.stem]
        own = [cls for cls in types if dk.tensor_protocol.types.participates(cls)]
        text = f"{page.stem}: {lines_of(blocks[0])} lines"
        for cls in own:
            note = str(dk.coverage(cls)).splitlines()[0].partition(": ")[2]
            text += f"; coverage {note}"
        return f"{text}; time by the plain program's {ratio(names['structured'], names['plain']):.2f}"


def main(names: list[str]) -> None:
    """Print a line for each page that is named, or for all."""
    for page in sorted(FOLDER.glob("*.md")):
        if page.stem != "index" and (page.stem in names or not names):
            print(measured(page))


if __name__ == "__main__":
    main(sys.argv[1:])
