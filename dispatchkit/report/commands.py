"""What the command line runs: a command, and how it finds what its words name."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from dispatchkit.report.loading import import_named

__all__ = ["Command", "load", "load_type"]


@dataclass(frozen=True)
class Command:
    """A word after ``python -m dispatchkit``.

    Attributes
    ----------
    name, help : the word, and what it does
    configure : adds its options to a parser
    run : does it, and returns the exit status
    example : a command line, for the help
    """

    name: str
    help: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    example: str = ""


def load(path: str, what: str = "object") -> Any:
    """Return what stands at ``package.module:name``; modules are also looked for in the current directory.

    Parameters
    ----------
    path : as above
    what : the kind of thing it is to be, for the message

    Raises
    ------
    ValueError : if the path names a module alone
    ImportError, AttributeError : if there is nothing
    """
    module_name, _, name = path.partition(":")
    if not name:
        raise ValueError(f"{path!r} names no {what}; write it as package.module:{what.capitalize()}")
    found: object = import_named(module_name)
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            close = get_close_matches(part, dir(found), n=1)
            raise AttributeError(f"{error}; did you mean {close[0]}?" if close else str(error)) from None
    return found


def load_type(path: str) -> type:
    """Return the type at ``package.module:Type``.

    Raises
    ------
    TypeError : if something else stands there
    """
    found = load(path, "type")
    if not isinstance(found, type):
        raise TypeError(f"{path!r} is no type but {found!r}")
    return found
