"""The differences from PyTorch that are meant, each with its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .comparing import Difference

__all__ = ["Entry", "read"]


@dataclass(frozen=True)
class Entry:
    """An entry of the list.

    Attributes
    ----------
    sorts : in what calls differ
    paths : patterns of the functions
    reason : why, as a reader of the documentation sees it
    texts : patterns of what is said of the difference
    forms : how the function is spelled; any where it is empty
    """

    sorts: tuple[str, ...]
    paths: tuple[str, ...]
    reason: str
    texts: tuple[str, ...] = ("*",)
    forms: tuple[str, ...] = ()

    def covers(self, found: Difference) -> bool:
        """Return whether the entry is about a difference."""
        if found.sort not in self.sorts or (self.forms and found.call.form not in self.forms):
            return False
        if not any(fnmatchcase(found.call.path, pattern) for pattern in self.paths):
            return False
        return any(fnmatchcase(found.text, pattern) for pattern in self.texts)


def read() -> list[Entry]:
    """Return the entries, of which the first that is about a difference counts."""
    text = (Path(__file__).parent / "listed.toml").read_text()
    return [_entry(**entry) for entry in tomllib.loads(text).get("difference", [])]


def _entry(
    *, sorts: Sequence[str], paths: Sequence[str], reason: str, texts: Sequence[str] = ("*",), forms: Sequence[str] = ()
) -> Entry:
    return Entry(tuple(sorts), tuple(paths), reason, tuple(texts), tuple(forms))
