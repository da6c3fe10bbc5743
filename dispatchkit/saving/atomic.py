"""Writing a file in one piece: whoever looks sees the old contents or the new ones, never a part."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Have a file written beside its place, and put it there once it is on disk.

    Parameters
    ----------
    path : place of the file; where it is a link, what it leads to is replaced
    write : writes the file at the path it is given, where an empty one is

    Raises
    ------
    OSError : if the file cannot be written; what was there before is still there then, as after any other exception
    """
    target = path.resolve()
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        made = folder / target.name
        made.touch()
        mode = (target if target.exists() else made).stat().st_mode
        write(made)
        _flush(made)
        # What writes may make a file of its own, which others cannot read.
        made.chmod(stat.S_IMODE(mode))
        made.replace(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if os.name == "posix":
        # The folder's entry is to outlast a loss of power, too.
        _flush(target.parent)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
