"""Print the tables."""

import sys
from collections.abc import Callable, Sequence

from . import numbers_of_things, sizes


def chosen(words: Sequence[str]) -> Callable[[str], bool]:
    return lambda name: not words or any(word.lower() in name.lower() for word in words)


def main(words: Sequence[str]) -> None:
    """Print both tables, of the subjects that words name."""
    for part in (numbers_of_things, sizes):
        for line in part.lines(chosen(words)):
            print(line, flush=True)
        print()


main(sys.argv[1:])
