"""Batches of a data set whose items take Python time, made without workers, by threads and by processes.

`python -m tests.benchmarks.loading`: an item counts the numbers of a line of text in a loop of Python, about half a
millisecond. The time is how long the busiest process had a processor during an epoch, its start included: an epoch
takes about that long where no other program runs, since the threads of a process run Python by turns.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

import dispatchkit as dk

ITEMS, NUMBERS, REPEATS = 10000, 4000, 2
SIDES: dict[str, dict[str, Any]] = {
    "no workers": {},
    "2 threads": {"num_workers": 2},
    "2 processes": {"num_workers": 2, "multiprocessing_context": "spawn"},
}


class Lines(dk.data.Dataset[Any]):
    """Lines of text that are read when they are asked for; an item says what process read it, and the time of that."""

    def __init__(self) -> None:
        self.line = " ".join(map(str, range(NUMBERS)))

    def __len__(self) -> int:
        return ITEMS

    def __getitem__(self, index: int) -> Any:
        counts = np.bincount([(int(word) + index) % 64 for word in self.line.split()], minlength=64)
        return np.asarray([os.getpid(), time.process_time(), *counts])


def epoch(options: dict[str, Any]) -> float:
    """Return for how many seconds the busiest process computed."""
    start, spent = time.process_time(), {}
    for batch in dk.data.DataLoader(Lines(), batch_size=50, **options):
        pid, seconds = batch[:, :2].numpy().max(axis=0)
        spent[int(pid)] = seconds
    spent[os.getpid()] = time.process_time() - start
    return float(max(spent.values()))


def main() -> None:
    """Print the time of each side, and its ratio to that without workers."""
    best = dict.fromkeys(SIDES, float("inf"))
    for _ in range(REPEATS):
        for name, options in SIDES.items():
            best[name] = min(best[name], epoch(options))
    for name, seconds in best.items():
        print(f"{name:12} {seconds:6.2f} s {seconds / best['no workers']:5.2f}")


if __name__ == "__main__":
    main()
