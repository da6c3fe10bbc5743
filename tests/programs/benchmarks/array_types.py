"""Costs of the shipped types, in one run.

``python -m tests.programs.benchmarks.array_types`` prints docs/cost-of-types.md.

First exponents of the size in the times of operations, then times by those of other libraries. What follows the command
is part of the titles of sections to print.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from . import (
    exponents,
    exponents_wrappers,
    indexing,
    lines_of_code,
    structured,
    structured_calls,
    structured_peers,
    type_peers,
)

__all__: list[str] = []


def fitted() -> Iterator[str]:
    """Yield the tables of the types that are no structured matrices."""
    for table in exponents_wrappers.TABLES:
        yield from exponents.lines(table)
        yield ""


SECTIONS: dict[str, Callable[[], Iterator[str]]] = {
    "Exponents: structured matrices": structured.lines,
    "Exponents: other types": fitted,
    "Other libraries: structured matrices": structured_peers.lines,
    "Single calls: structured matrices": structured_calls.lines,
    "Other libraries: other types": type_peers.lines,
    "Other libraries: indexing and shape": indexing.lines,
    "Lines of code": lines_of_code.lines,
}


def main(wanted: Sequence[str]) -> None:
    """Print the sections."""
    for title, lines in SECTIONS.items():
        if all(word.lower() in title.lower() for word in wanted):
            print(f"\n## {title}\n")
            for line in lines():
                print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
