"""Stamps: in which process something was declared, and in which order, so that what arrives again is known."""

from __future__ import annotations

import itertools
import os
from typing import TypeAlias

__all__ = ["Stamp", "is_newer", "stamp"]

Stamp: TypeAlias = tuple[str, int]
_counts = itertools.count()
_processes = [os.urandom(8).hex()]  # this one; a forked process replaces it


def stamp() -> Stamp:
    """Return the stamp of what is declared now."""
    return _processes[0], next(_counts)


def is_newer(mark: Stamp, known: Stamp | None) -> bool:
    """Return whether what arrives replaces what is known: nothing does that was declared in this process.

    Parameters
    ----------
    mark : of what arrives
    known : of what takes its place here, None where nothing does
    """
    if mark[0] == _processes[0]:
        return False
    return known is None or known[0] != mark[0] or known[1] < mark[1]


def _start_anew() -> None:
    """Let a forked process be another one."""
    _processes[0] = os.urandom(8).hex()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
