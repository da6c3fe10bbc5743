"""Print the tables."""

import sys
from collections.abc import Callable, Sequence
from time import process_time

from . import numbers_of_things, sizes
from .clock import keep_memory

# Seconds of the processor for either part: on two cores that do other work, too, the whole takes a quarter of an hour.
OF_NUMBERS, OF_SIZES = 90, 420


def chosen(words: Sequence[str]) -> Callable[[str], bool]:
    return lambda name: not words or any(word.lower() in name.lower() for word in words)


def main(words: Sequence[str]) -> None:
    """Print both tables, of the subjects that words name."""
    keep_memory()
    for part, seconds in ((numbers_of_things, OF_NUMBERS), (sizes, OF_SIZES)):
        for line in part.lines(chosen(words), seconds):
            print(line, flush=True)
        print()
    print(f"The processor took {process_time():.0f} seconds.")


main(sys.argv[1:])
