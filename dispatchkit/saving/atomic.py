"""Writing a file atomically: readers see the old contents or the new ones, never a part."""

from __future__ import annotations

import os
import platform
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["write_whole"]

# Folders that this process writes in at the moment.
_in_use: set[Path] = set()


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Have a file written under another name in the same folder, and rename it once it is on disk.

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
        with _folder_next_to(target) as folder:
            made = folder / target.name
            made.touch()
            mode = (target if target.exists() else made).stat().st_mode
            write(made)
            _flush(made)
            # What writes may make a file of its own, which others cannot read.
            made.chmod(stat.S_IMODE(mode))
            made.replace(target)
        if os.name == "posix":
            # The folder's entry is to outlast a loss of power, too.
            _flush(target.parent)
    except OSError as error:
        if error.errno is None:
            raise
        # Not the place where it was written meanwhile.
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def _folder_next_to(target: Path) -> Iterator[Path]:
    """Make a hidden folder, and at the end remove it together with those that killed processes left.

    Its name says which process of which machine it belongs to.
    """
    host = f"{zlib.crc32(platform.node().encode()):08x}"
    folder = Path(tempfile.mkdtemp(prefix=f".dispatchkit-{host}-{os.getpid()}-", dir=target.parent))
    _in_use.add(folder)
    try:
        _remove_dead(target, host)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _in_use.discard(folder)


def _remove_dead(target: Path, host: str) -> None:
    """Remove the folders that processes of this machine left next to a file when they were killed."""
    if os.name != "posix":
        # Where one cannot ask for a process without ending it.
        return
    pattern = re.compile(rf"\.dispatchkit-{host}-([0-9]+)-\w+")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            found = pattern.fullmatch(entry.name)
            # In a container a process may have the number of the one before it.
            if found is not None and Path(entry) not in _in_use and not _is_other(int(found[1])):
                # It holds one file at most; whatever else it is stays.
                with suppress(OSError):
                    for part in Path(entry).iterdir():
                        part.unlink()
                    Path(entry).rmdir()


def _is_other(process: int) -> bool:
    """Return whether another process with this number runs."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
