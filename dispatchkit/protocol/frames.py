"""Stack frames: where a program calls the library, and tracebacks without the library's frames."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, cast

__all__ = ["caller", "hide_frames", "stack"]

PACKAGE = f"{Path(__file__).parent.parent}{os.sep}"
# Whether tracebacks show the library's frames, too.
FULL = os.environ.get("DISPATCHKIT_TRACEBACK") == "full"
# Errors that the library never raises on purpose: a traceback of one keeps the library's frames.
UNINTENDED = (AssertionError, AttributeError, KeyError, NameError)


def _is_own(frame: FrameType) -> bool:
    """Return whether a frame runs code of the library."""
    return frame.f_code.co_filename.startswith(PACKAGE)


def hide_frames(error: BaseException) -> None:
    """Remove the library's frames from the traceback of an error that leaves one of its functions.

    The function must raise the error again by a bare ``raise``, which does not add its frame. Frames of users, of
    their handlers and bodies, stay.
    """
    if FULL or (isinstance(error, UNINTENDED) and _is_own(_innermost(error))):
        return
    error.__traceback__ = _outside(error.__traceback__)
    for earlier in (error.__cause__, error.__context__):
        if earlier is not None:
            earlier.__traceback__ = _outside(earlier.__traceback__)
    if error.__context__ is not None and error.__context__.__traceback__ is None:
        error.__suppress_context__ = True


def _innermost(error: BaseException) -> FrameType:
    trace: Any = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return cast("FrameType", trace.tb_frame)


def _outside(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the library's frames; None where there are no others."""
    kept = []
    while trace is not None:
        if not _is_own(trace.tb_frame):
            kept.append(trace)
        trace = trace.tb_next
    for one, following in zip(kept, [*kept[1:], None], strict=False):
        one.tb_next = following
    return kept[0] if kept else None


def _outward(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def caller() -> tuple[str, int, int]:
    """Return file and line of the nearest frame outside the library, and its depth from the calling function."""
    frame = sys._getframe(1)
    depth = 1
    while frame.f_back is not None and _is_own(frame):
        frame = frame.f_back
        depth += 1
    return frame.f_code.co_filename, frame.f_lineno, depth


def stack() -> list[tuple[CodeType, int]]:
    """Return code and line of each frame outside the library, the outermost first."""
    return [(frame.f_code, frame.f_lineno) for frame in _outward(sys._getframe(1)) if not _is_own(frame)][::-1]
