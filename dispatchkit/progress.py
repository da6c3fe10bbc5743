"""Bars for work that takes longer than two seconds: `set_progress`, `ProgressBar` and what shows one.

tqdm draws them where it is installed, and a line of text stands for them elsewhere. Threads and worker processes draw
none.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic, time
from typing import IO, Any, ClassVar, Self, TypeVar

from dispatchkit.protocol.blocks import ContextState, Innermost, Setting, innermost_state
from dispatchkit.wording import format_bytes, plural

T = TypeVar("T")

DELAY = 2.0
INTERVAL = 0.1
PART = 2**24  # bytes that are written at once
VARIABLE = "DISPATCHKIT_PROGRESS"
CHOICES = {True: "always", False: "never", None: "terminal"}

_choice: ContextState[Innermost[str]] = innermost_state("progress", CHOICES[None])


class set_progress(Setting):  # noqa: N801  # used like a function, as `set_grad_enabled` is
    """Choose at once whether long work shows its progress; `with` and a decorated function choose it inside alone.

    Work that takes longer than two seconds shows a bar of tqdm where that is installed (``pip install
    "dispatchkit[progress]"``), a line of text elsewhere. It stands on standard error, or in the notebook, and is taken
    away at the end. ``progress=`` of a function goes before; the environment variable ``DISPATCHKIT_PROGRESS``, ``1``
    or ``0``, is asked where neither says anything.

    Parameters
    ----------
    shown : True to show it wherever standard error leads to, False to show none, None to show it on terminals and in
        notebooks, as it is at first

    Raises
    ------
    TypeError : for anything else

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.set_progress(False):
    ...     report = dk.audit([dk.types.ScalarTensor, dk.Tensor], operations=[dk.add])
    """

    def __init__(self, shown: bool | None) -> None:
        _check("set_progress", shown)
        super().__init__(_choice, CHOICES[shown])


def _check(name: str, shown: Any) -> None:
    if shown not in (True, False, None):
        raise TypeError(f"{name}: progress must be True, False or None, found {shown!r}")


class ProgressBar:
    """Shows how far some work is, used with `with`; nothing before it has taken two seconds.

    An exception that leaves the block finds the bar taken away. A bar inside of another sits below it; of lines of
    text, the one that appeared first is shown alone.

    Parameters
    ----------
    label : what the work is
    total : number of steps, None where that is not known
    progress : whether it is shown, as of `set_progress`, which decides for None
    unit : what is counted, ``"B"`` for bytes; "" where nothing is
    initial : steps that were taken before

    Attributes
    ----------
    shown : whether it may appear
    done : number of steps taken
    note : on the step that is taken
    """

    def __init__(
        self,
        label: str,
        total: int | None = None,
        progress: bool | None = None,
        *,
        unit: str = "step",
        initial: int = 0,
    ) -> None:
        self.label, self.total, self.unit, self.initial = label, total, unit, initial
        self.shown = is_shown(progress)
        self.done = initial
        self.note = ""
        self.started = time()
        self._due = monotonic() + DELAY
        self._display: _Line | _Bar | None = None
        self._on_screen = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def advance(self, count: int = 1, note: str = "") -> None:
        """Count steps that were taken, and say what the next one is."""
        self.done += count
        self.note = note
        if self.shown and (now := monotonic()) >= self._due:
            self._due = now + INTERVAL
            self.draw()

    def draw(self) -> None:
        """Show it as it is now."""
        if self._display is None:
            bar = _tqdm()
            if bar is None and _drawn:
                return
            _guard_streams()
            self._display = _Line(self) if bar is None else _Bar(self, bar)
            _drawn.append(self)
        if not _inside_a_line():
            self._on_screen = True
            self._display.draw()

    def clear(self) -> None:
        """Take it off the screen until it is drawn again."""
        if self._display is not None and self._on_screen:
            self._on_screen = False
            self._display.clear()

    def close(self) -> None:
        """Take it away for good."""
        self.shown = False
        if self._display is not None:
            try:
                self._display.close(clears=not _inside_a_line())
            finally:
                self._display = None
                _drawn.remove(self)
                if not _drawn:
                    _release_streams()


# Those on the screen, the first that appeared first.
_drawn: list[ProgressBar] = []


def is_shown(progress: bool | None) -> bool:
    """Return whether work that runs here may show its progress.

    Raises
    ------
    TypeError : if `progress` is neither True nor False nor None
    """
    _check("progress", progress)
    if threading.current_thread() is not threading.main_thread() or multiprocessing.parent_process() is not None:
        return False
    if progress is not None:
        return progress
    chosen = _choice.get().value
    if chosen != CHOICES[None]:
        return chosen == CHOICES[True]
    asked = os.environ.get(VARIABLE, "")
    if asked:
        return asked != "0"
    return _is_terminal(sys.stderr) or _in_notebook()


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and bool(stream.isatty())
    except (AttributeError, ValueError):  # a stand-in of a program; one that is closed
        return False


def _in_notebook() -> bool:
    """Return whether the program runs in the kernel of a notebook, where standard error is no terminal."""
    module = sys.modules.get("IPython")
    shell = getattr(module, "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def follow(steps: Iterable[T], bar: ProgressBar) -> Iterator[T]:
    """Yield what an iterable does, and count it on a bar, which is closed with it.

    Parameters
    ----------
    steps : closed with this iterator where it is one that can be
    bar : one that is not shown costs nothing
    """
    if not bar.shown:
        return iter(steps)
    return _followed(steps, bar)


def _followed(steps: Iterable[T], bar: ProgressBar) -> Iterator[T]:
    try:
        with bar:
            for step in steps:
                yield step
                bar.advance()
    finally:
        close = getattr(steps, "close", None)
        if close is not None:
            close()


@contextmanager
def announced(label: str, progress: bool | None = None) -> Iterator[None]:
    """Show what is done in a block whose steps nobody can count, once it has taken two seconds.

    Parameters
    ----------
    label, progress : as of `ProgressBar`
    """
    with ProgressBar(label, progress=progress, unit="") as bar:
        if not bar.shown:
            yield
            return
        timer = threading.Timer(DELAY, bar.draw)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


class CountedFile:
    """A file whose bytes are counted on a bar as they are read and written.

    Parameters
    ----------
    file : that is read or written
    bar : that shows it
    """

    def __init__(self, file: IO[bytes], bar: ProgressBar) -> None:
        self._file, self._bar = file, bar

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        """Return bytes of the file, `size` at most."""
        part = self._file.read(size)
        self._bar.advance(len(part))
        return part

    def write(self, data: Any) -> int:
        """Write bytes, and return how many."""
        whole = memoryview(data).cast("B")
        for start in range(0, len(whole), PART):
            part = whole[start : start + PART]
            self._file.write(part)
            self._bar.advance(len(part))
        return len(whole)


def counted(file: IO[bytes], bar: ProgressBar) -> Any:
    """Return a file whose bytes are counted on a bar; the file itself where none is shown."""
    if bar.shown:
        return CountedFile(file, bar)
    return file


def _tqdm() -> Any:
    """Return the class of bars for this place, None where tqdm is not installed."""
    if not _bars:
        try:
            with warnings.catch_warnings():
                # In a notebook without widgets it draws characters, and says so.
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm  # noqa: PLC0415  # optional dependency
        except ImportError:
            return None
        # No thread that watches over bars: `ProgressBar` draws in time, and processes fork with one thread alone.
        _bars.append(type("Bar", (tqdm,), {"monitor_interval": 0}))
    return _bars[0]


_bars: list[Any] = []


class _Bar:
    """A bar of tqdm."""

    def __init__(self, of: ProgressBar, bar: Callable[..., Any]) -> None:
        self.of = of
        options: dict[str, Any] = {}
        unit = f" {of.unit}"
        if of.unit == "B":
            options = {"unit_scale": True}
            unit = "B"
        if not of.unit:
            options = {"bar_format": "{desc} ..."}
        self.bar = bar(
            total=of.total,
            initial=of.initial,
            desc=of.label,
            leave=False,
            file=_bare(sys.stderr),
            dynamic_ncols=True,
            unit=unit,
            **options,
        )
        self.bar.start_t = of.started

    def draw(self) -> None:
        self.bar.n = self.of.done
        self.bar.set_postfix_str(self.of.note, refresh=False)
        self.bar.refresh()

    def clear(self) -> None:
        self.bar.clear()

    def close(self, *, clears: bool) -> None:
        if not clears:
            self.bar.last_print_t = self.bar.start_t - 1  # as if it had never been drawn
        self.bar.close()


class _Line:
    """A line of text, written anew in its place on a terminal, and once elsewhere."""

    def __init__(self, of: ProgressBar) -> None:
        self.of = of
        self.stream = _bare(sys.stderr)
        self.width = 0  # of what stands on the screen
        self.is_written = False

    def draw(self) -> None:
        if not _is_terminal(self.stream):
            if not self.is_written:
                self._write(f"{self.text()}\n")
            self.is_written = True
            return
        text = self.text()[: shutil.get_terminal_size().columns - 1]
        self._write(f"\r{text:<{self.width}}")
        self.width = len(text)

    def text(self) -> str:
        of = self.of
        if not of.unit:
            return f"{of.label} ..."
        done, total = str(of.done), str(of.total)
        if of.unit == "B":
            done, total = format_bytes(of.done), format_bytes(of.total or 0)
        if of.total:
            parts = [f"{done} of {total} ({of.done / of.total:.0%})"]
        else:
            parts = [f"{done} {plural(of.unit, of.done)}"]
        parts.append(f"{time() - of.started:.0f} s")
        if of.note:
            parts.append(of.note)
        return f"{of.label}: {', '.join(parts)}"

    def clear(self) -> None:
        if self.width:
            self._write(f"\r{'':<{self.width}}\r")
        self.width = 0

    def close(self, *, clears: bool) -> None:
        if clears:
            self.clear()

    def _write(self, text: str) -> None:
        if self.stream is not None:
            self.stream.write(text)
            self.stream.flush()


class _Beside:
    """A terminal that what else is printed goes to while a bar stands there: the bar makes room.

    Parameters
    ----------
    stream : standard output or standard error
    """

    ends_a_line: ClassVar[bool] = True  # what was written last, to either of the two

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> Any:
        for bar in tuple(_drawn):
            bar.clear()
        if text:
            _Beside.ends_a_line = text.endswith("\n")
        return self.stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)


STREAMS = ("stdout", "stderr")


def _guard_streams() -> None:
    for name in STREAMS:
        stream = getattr(sys, name)
        if _is_terminal(stream) and not isinstance(stream, _Beside):
            setattr(sys, name, _Beside(stream))


def _release_streams() -> None:
    for name in STREAMS:
        stream = getattr(sys, name)
        if isinstance(stream, _Beside):
            setattr(sys, name, stream.stream)
    _Beside.ends_a_line = True


def _inside_a_line() -> bool:
    """Return whether the program has printed the beginning of a line, which a bar would stand on."""
    return not _Beside.ends_a_line


def _bare(stream: Any) -> Any:
    if isinstance(stream, _Beside):
        return stream.stream
    return stream
