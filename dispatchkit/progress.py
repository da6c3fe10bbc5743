"""A progress bar for work that takes longer than a second, on a terminal."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import Self

DELAY = 1.0
INTERVAL = 0.1
WIDTH = 30


class Progress:
    """Shows how much of some work is done, on stderr, used with `with`.

    A line of text, taken away at the end.

    Parameters
    ----------
    label : what the work is
    total : number of steps
    shown : whether to show anything at all; off a terminal nothing is
    """

    def __init__(self, label: str, total: int, *, shown: bool = True) -> None:
        self.label = label
        self.total = max(total, 1)
        self.done = 0
        self._stream = sys.stderr
        self._shown = shown and self._stream is not None and self._stream.isatty()
        self._due = monotonic() + DELAY
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._drawn:
            self._write("")

    def advance(self, label: str | None = None) -> None:
        """Count a step, and say what it is where that differs from step to step."""
        self.done += 1
        self.label = label or self.label
        if self._shown and (now := monotonic()) >= self._due:
            self._due = now + INTERVAL
            self._drawn = True
            share = min(self.done / self.total, 1.0)
            full = round(WIDTH * share)
            self._write(f"[{'#' * full}{'.' * (WIDTH - full)}] {share:4.0%} {self.label}"[:79])

    def _write(self, line: str) -> None:
        """Put a line in the place of the one before."""
        self._stream.write(f"\r\x1b[K{line}")
        self._stream.flush()
