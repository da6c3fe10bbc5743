"""Registers dispatchkit with libraries that keep a list of array libraries, when a program imports them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from typing_extensions import override

__all__ = ["REGISTRATIONS", "register_on_import"]

# The module here that registers with another one.
REGISTRATIONS = {"einops._backends": "dispatchkit.interop.einops"}


class _Finder(MetaPathFinder):
    """Finds what others find, and lets a module here be imported after it."""

    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in REGISTRATIONS or fullname in _under_way:
            return None
        _under_way.add(fullname)
        try:
            spec = find_spec(fullname)
        finally:
            _under_way.discard(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def then_register(module: ModuleType) -> None:
                execute(module)
                import_module(REGISTRATIONS[fullname])

            loader.exec_module = then_register
        return spec


_under_way: set[str] = set()


def register_on_import() -> None:
    """Register with the libraries that are imported, and with others once they are."""
    for theirs, ours in REGISTRATIONS.items():
        if theirs in sys.modules:
            import_module(ours)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
