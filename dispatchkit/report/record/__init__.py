"""Records of the calls that a program makes."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    # What records the calls of a function loads when a program first asks for those, rather than for an operation.
    if name == "explained":
        return import_module(f"{__name__}.explained")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
