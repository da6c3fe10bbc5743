"""A progress bar for work that takes longer than a second, on a terminal."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import Any, Self, TextIO

DELAY = 1.0
INTERVAL = 0.1
WIDTH = 30


class Progress:
    """Shows how much of some work is done, on stderr, used with `with`.

    Drawn by rich where it is installed (``pip install dispatchkit[rich]``), as plain text otherwise, and taken
    away at the end.

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
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, label: str | None = None) -> None:
        """Count a step, and say what it is where that differs from step to step."""
        self.done += 1
        self.label = label or self.label
        if self._shown and (now := monotonic()) >= self._due:
            self._due = now + INTERVAL
            if self._bar is None:
                self._bar = _bar(self._stream)
            self._bar.draw(min(self.done / self.total, 1.0), self.label)


class _PlainBar:
    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def draw(self, share: float, label: str) -> None:
        full = round(WIDTH * share)
        line = f"[{'#' * full}{'.' * (WIDTH - full)}] {share:4.0%} {label}"
        self.stream.write(f"\r\x1b[K{line[:79]}")
        self.stream.flush()

    def close(self) -> None:
        self.stream.write("\r\x1b[K")
        self.stream.flush()


class _RichBar:
    def __init__(self, stream: TextIO, progress: Any, console: Any) -> None:
        self.progress = progress.Progress(console=console(file=stream), transient=True, auto_refresh=False)
        self.task = self.progress.add_task("", total=1.0)
        self.progress.start()

    def draw(self, share: float, label: str) -> None:
        self.progress.update(self.task, completed=share, description=label, refresh=True)

    def close(self) -> None:
        self.progress.stop()


def _bar(stream: TextIO) -> _PlainBar | _RichBar:
    try:
        from rich import progress  # noqa: PLC0415  # optional dependency
        from rich.console import Console  # noqa: PLC0415
    except ImportError:
        return _PlainBar(stream)
    return _RichBar(stream, progress, Console)
