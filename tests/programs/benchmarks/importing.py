"""What ``import dispatchkit`` takes beside ``import numpy``: ``python -m tests.programs.benchmarks.importing``.

Both run in interpreters of their own, by turns; the figures are processor times of the whole process, its start and its
end included.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

TURNS = 31
PROGRAMS = ("pass", "import numpy", "import dispatchkit")


def processor_time(program: str) -> float:
    """Return the seconds that a process spends on a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the median of each program, and what the library takes as a multiple of NumPy."""
    for program in PROGRAMS:
        processor_time(program)  # which writes byte code
    turns = [[processor_time(program) for program in PROGRAMS] for _ in range(TURNS)]
    times = [statistics.median(column) for column in zip(*turns, strict=True)]
    for program, time in zip(PROGRAMS, times, strict=True):
        print(f"{program:<20} {time * 1e3:6.1f} ms")
    _, numpy, library = times
    print(f"ratio {library / numpy:.2f}, without what NumPy takes {(library - numpy) / numpy:.2f}")


if __name__ == "__main__":
    main()
