"""The differences from PyTorch that are meant, each with its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from .calls import Call, arrays_in

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
    dtypes : of which an argument must have one; any where it is empty
    empty : whether an argument must have no elements
    proved : whether a call must have two faults that both libraries refuse, each alone
    """

    sorts: tuple[str, ...]
    paths: tuple[str, ...]
    reason: str
    texts: tuple[str, ...] = ("*",)
    forms: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    empty: bool = False
    proved: bool = False

    def covers(self, found: Difference) -> bool:
        """Return whether the entry is about a difference."""
        if self.proved and not found.proved:
            return False
        if found.sort not in self.sorts or (self.forms and found.call.form not in self.forms):
            return False
        if self.dtypes and dtypes_of(found.call).isdisjoint(self.dtypes):
            return False
        if self.empty and not any(0 in array.shape for array in arrays_in((found.call.args, found.call.kwargs))):
            return False
        if not any(fnmatchcase(found.call.path, pattern) for pattern in self.paths):
            return False
        return any(fnmatchcase(found.text, pattern) for pattern in self.texts)


def read() -> list[Entry]:
    """Return the entries, of which the first that is about a difference counts."""
    text = (Path(__file__).parent / "listed.toml").read_text()
    return [_entry(**entry) for entry in tomllib.loads(text).get("difference", [])]


def _entry(
    *,
    sorts: Sequence[str],
    paths: Sequence[str],
    reason: str,
    texts: Sequence[str] = ("*",),
    forms: Sequence[str] = (),
    dtypes: Sequence[str] = (),
    empty: bool = False,
    proved: bool = False,
) -> Entry:
    return Entry(tuple(sorts), tuple(paths), reason, tuple(texts), tuple(forms), tuple(dtypes), empty, proved)


def dtypes_of(call: Call) -> set[str]:
    """Return the dtypes of the arrays of a call."""
    return {array.data.dtype.name for array in arrays_in((call.args, call.kwargs))}
