"""Writing a file atomically: readers see the old contents or the new ones, never a part."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Have a file written in a hidden folder next to its place, and move it there once it is on disk.

    Parameters
    ----------
    path : place of the file; where it is a link, what it leads to is replaced
    write : writes the file at the path it is given, where an empty one is

    Raises
    ------
    OSError : if the file cannot be written, naming its place; what was there before is still there then, as after any
        other exception
    """
    try:
        target = path.resolve()
        with tempfile.TemporaryDirectory(
            prefix=".dispatchkit-", dir=target.parent, ignore_cleanup_errors=True
        ) as folder:
            written = Path(folder) / target.name
            written.touch()
            mode = (target if target.exists() else written).stat().st_mode
            write(written)
            _flush(written)
            # What writes may make a file of its own, which others cannot read.
            written.chmod(stat.S_IMODE(mode))
            written.replace(target)
        if os.name == "posix":
            # The folder's entry is to outlast a loss of power, too.
            _flush(target.parent)
    except OSError as error:
        if error.errno is None:
            raise
        # Not the place where it was written meanwhile.
        raise OSError(error.errno, error.strerror, str(path)) from error


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
