"""Warnings of what goes with the next minor version."""

from __future__ import annotations

import warnings


def warn_deprecated(old: str, instead: str, *, stacklevel: int = 2) -> None:
    """Warn that a spelling goes with the next minor version.

    Parameters
    ----------
    old : what was written
    instead : what to write
    stacklevel : how many calls lie between this one and the caller's line: 2 for the function that calls this
    """
    text = f"{old} is deprecated, and goes with the next minor version; write {instead}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel + 1)
