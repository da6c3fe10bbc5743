"""Who answers a call: resolution, registry, fallbacks, modes. Knows nothing of NumPy or of what it dispatches."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    # What explains calls, and the predictions behind it, load when a program first asks for an explanation.
    if name == "explain":
        return import_module(f"{__name__}.explain")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
