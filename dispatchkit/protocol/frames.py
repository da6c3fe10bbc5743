"""Where in the program of its users the library was called from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

__all__ = ["caller", "stack"]

PACKAGE = f"{Path(__file__).parent.parent}{os.sep}"


def _is_own(frame: FrameType) -> bool:
    """Return whether a frame runs code of the library."""
    return frame.f_code.co_filename.startswith(PACKAGE)


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
