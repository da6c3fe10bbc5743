"""The differences from PyTorch that are meant, each with its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .calls import Call, are_finite_arguments, arrays_in

if TYPE_CHECKING:
    from .comparing import Difference

__all__ = ["Entry", "entry_for", "read"]


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
    not_finite : whether an argument must be infinite or NaN
    proved : whether a call must have two faults that both libraries refuse, each alone
    filled : whether a call must be refused by both libraries where its arrays without elements have some
    tamed : whether numbers must agree where finite ones stand for infinities and NaN
    stepped : whether an array must be a view that is not in one piece
    options : patterns of an argument, by its name or place, and its value, such as "dtype=torch.float*" or "2=*", of
        which a call must have one
    parts : names of parts of the result, of which one must be the first that differs
    derivatives : patterns of transformations, such as "grad of *jvp*", of which the call's must be one
    repeated : whether an array of integers must have an element several times
    """

    sorts: tuple[str, ...]
    paths: tuple[str, ...]
    reason: str
    texts: tuple[str, ...] = ("*",)
    forms: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    empty: bool = False
    not_finite: bool = False
    proved: bool = False
    filled: bool = False
    tamed: bool = False
    stepped: bool = False
    options: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    derivatives: tuple[str, ...] = ()
    repeated: bool = False

    def covers(self, found: Difference) -> bool:
        """Return whether the entry is about a difference."""
        shown = {"proved": found.proved, "filled": found.filled, "tamed": found.tamed}
        if any(getattr(self, name) and not is_so for name, is_so in shown.items()):
            return False
        if found.sort not in self.sorts or (self.parts and found.part not in self.parts):
            return False
        if not any(fnmatchcase(found.text, pattern) for pattern in self.texts):
            return False
        return any(fnmatchcase(found.call.path, pattern) for pattern in self.paths) and self.is_about(found.call)

    def is_about(self, call: Call) -> bool:
        """Return whether a call of one of the functions has the form, the arrays and the options of the entry."""
        arrays = arrays_in((call.args, call.kwargs))
        if self.forms and call.form not in self.forms:
            return False
        if self.dtypes and dtypes_of(call).isdisjoint(self.dtypes):
            return False
        if self.not_finite and are_finite_arguments(call):
            return False
        if self.empty and not any(0 in array.shape for array in arrays):
            return False
        if self.stepped and not any(array.layout in ("stepped", "expanded") for array in arrays):
            return False
        taken = " of ".join(call.transformations[::-1])
        if self.derivatives and not any(fnmatchcase(taken, pattern) for pattern in self.derivatives):
            return False
        return self.has_option(call) and (not self.repeated or has_repeated_integers(call))

    def has_option(self, call: Call) -> bool:
        """Return whether a call has one of the options, or none is asked for."""
        if not self.options:
            return True
        options = [f"{name}={value!r}" for name, value in (*enumerate(call.args), *call.kwargs.items())]
        return any(fnmatchcase(option, pattern) for option in options for pattern in self.options)


def read() -> list[Entry]:
    """Return the entries, of which the first that is about a difference counts."""
    text = (Path(__file__).parent / "listed.toml").read_text()
    return [_entry(**entry) for entry in tomllib.loads(text).get("difference", [])]


def entry_for(found: Difference) -> Entry | None:
    """Return the entry that is about a difference, None where it is not listed."""
    return next((entry for entry in known() if entry.covers(found)), None)


@cache
def known() -> tuple[Entry, ...]:
    """Return the entries, which are read once."""
    return tuple(read())


def _entry(
    *,
    sorts: Sequence[str],
    paths: Sequence[str],
    reason: str,
    texts: Sequence[str] = ("*",),
    forms: Sequence[str] = (),
    dtypes: Sequence[str] = (),
    options: Sequence[str] = (),
    parts: Sequence[str] = (),
    derivatives: Sequence[str] = (),
    **conditions: Any,
) -> Entry:
    patterns = {"texts": texts, "forms": forms, "dtypes": dtypes, "options": options, "parts": parts}
    several: dict[str, Any] = {name: tuple(each) for name, each in (patterns | {"derivatives": derivatives}).items()}
    return Entry(tuple(sorts), tuple(paths), reason, **conditions, **several)


def dtypes_of(call: Call) -> set[str]:
    """Return the dtypes of the arrays of a call."""
    return {array.data.dtype.name for array in arrays_in((call.args, call.kwargs))}


def has_repeated_integers(call: Call) -> bool:
    """Return whether an array of integers has an element several times."""
    arrays = [array.data for array in arrays_in((call.args, call.kwargs)) if array.data.dtype.kind in "iu"]
    return any(len(np.unique(data)) < data.size for data in arrays)
