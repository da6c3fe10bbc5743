"""The bridges to libraries that a program may import: each loads when it is first needed, never before its library."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["REGISTRATIONS", "bridge_to", "register_on_import"]

# The module that answers the functions of a library; it loads with the first of their calls.
BRIDGES = {"numpy": "dispatchkit.tensor.numpy_calls", "torch": "dispatchkit.interop.torch.calls"}
# The module that enters itself in a list of array libraries; it loads with the module that has the list.
REGISTRATIONS = {"einops._backends": "dispatchkit.interop.einops"}


@cache
def bridge_to(library: str) -> Any:
    """Return the module that answers the functions of a library, which the program has imported."""
    return import_module(BRIDGES[library])


class _Finder:
    """Finds what others find, and lets a module here be imported after it."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
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
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
