"""A progress bar for what takes longer than a second, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import Any, Self

__all__ = ["Progress"]

PATIENCE = 1.0
WIDTH = 30


class Progress:
    """Shows on standard error how far a loop is; by rich where it is installed, else in plain text.

    Parameters
    ----------
    total : number of steps
    shown : whether to show anything at all; off a terminal nothing is
    clock : gives seconds
    """

    def __init__(self, total: int, *, shown: bool = True, clock: Callable[[], float] = monotonic) -> None:
        self.total = total
        self.done = 0
        self.clock = clock
        self.shown = shown and sys.stderr.isatty()
        self.start = self.last = 0.0
        self._rich: Any = None
        self._written = 0

    def __enter__(self) -> Self:
        self.start = self.clock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._rich is not None:
            self._rich.stop()
        elif self._written:
            sys.stderr.write("\r" + " " * self._written + "\r")
            sys.stderr.flush()

    def step(self, text: str) -> None:
        """Count a step that begins, and say what it is."""
        self.done += 1
        now = self.clock()
        if not self.shown or now - self.start < PATIENCE or now - self.last < 0.1:
            return
        if not self.last:
            self._rich = _rich_bar(self.total)
        self.last = now
        if self._rich is not None:
            self._rich.update(self._rich.task_ids[0], completed=self.done, description=text)
        else:
            filled = WIDTH * self.done // self.total
            line = f"[{'#' * filled}{'.' * (WIDTH - filled)}] {self.done}/{self.total} {text}"[:79]
            sys.stderr.write("\r" + line.ljust(self._written))
            sys.stderr.flush()
            self._written = len(line)


def _rich_bar(total: int) -> Any:
    """Return a started bar of rich's, None where it is not installed."""
    try:
        from rich.console import Console  # noqa: PLC0415  # an optional dependency
        from rich.progress import Progress as Bar  # noqa: PLC0415
    except ImportError:
        return None
    bar = Bar(console=Console(stderr=True), transient=True)
    bar.add_task("", total=total)
    bar.start()
    return bar
