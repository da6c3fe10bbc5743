"""Versions of what is declared, by which copies of it are known in other processes."""

from __future__ import annotations

import itertools
import os
from typing import TypeAlias

# The process that made a declaration, and the number of the declaration in it.
Version: TypeAlias = tuple[str, int]


class _Process:
    """The mark of this process; a forked one gets a mark of its own."""

    def __init__(self) -> None:
        self.mark = ""
        self.start()

    def start(self) -> None:
        """Take a new mark."""
        self.mark = os.urandom(8).hex()


_counts = itertools.count()
_process = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.start)


def new_version() -> Version:
    """Return the version of what is declared now."""
    return _process.mark, next(_counts)


def is_newer(version: Version, known: Version | None) -> bool:
    """Return whether what is unpickled takes the place of what is known here.

    Parameters
    ----------
    version : of what is unpickled
    known : of what it would replace, None where there is nothing
    """
    here = _process.mark
    if version[0] == here:
        return False  # it comes back: what is known now is as new, or was taken away
    if known is None:
        return True
    if known[0] == version[0]:
        return version[1] > known[1]
    return known[0] != here
