"""Importing what the command line names."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["import_named"]


def import_named(name: str) -> ModuleType:
    """Return a module by its name; modules of the current directory are found, too.

    Raises
    ------
    ImportError : if there is none
    """
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module(name)
