"""How the modules of a suite get other functions than those that they import.

A suite imports its library, and has it in the names of its modules, in classes and in the parameters of its tests. The
plugins of the suites replace what they find there; the library itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import ModuleType
from typing import Any

import pytest

__all__ = ["Replacing"]


class Replacing:
    """A plugin of pytest that replaces the values of the names in the modules of a suite.

    Parameters
    ----------
    replaced : given a value, what stands for it; the value itself where nothing does
    """

    def __init__(self, replaced: Callable[[Any], Any]) -> None:
        self.replaced = replaced

    def nested(self, value: Any) -> Any:
        """Return a value, lists and tuples anew with what stands for their members."""
        if type(value) in (list, tuple):
            members = [self.nested(member) for member in value]
            return type(value)(members) if any(a is not b for a, b in zip(members, value, strict=True)) else value
        if type(value) is dict:
            return {key: self.nested(member) for key, member in value.items()}
        return self.replaced(value)

    def module(self, module: ModuleType) -> None:
        """Replace the values of a module's names, those of its classes included."""
        for name, value in list(vars(module).items()):
            if name.startswith("__"):
                continue
            if isinstance(value, type) and value.__module__ == module.__name__:
                for member, inner in list(vars(value).items()):
                    if not member.startswith("__") and self.nested(inner) is not inner:
                        setattr(value, member, self.nested(inner))
            else:
                setattr(module, name, self.nested(value))

    def pytest_pycollect_makemodule(self, module_path: Any, parent: Any) -> pytest.Module:
        """Collect a module whose names are replaced once it is imported."""
        plugin = self

        class Replaced(pytest.Module):
            def _getobj(self) -> Any:
                module = super()._getobj()  # type: ignore[no-untyped-call]
                plugin.module(module)
                return module

        return Replaced.from_parent(parent, path=module_path)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        """Replace the parameters of a test, too."""
        for name, value in pyfuncitem.funcargs.items():
            pyfuncitem.funcargs[name] = self.nested(value)
        return (yield)
