"""Attributes of modules whose class looks them up itself, by a `__getattr__` of its own.

In PyTorch a parameter, a buffer and a module inside are no attributes of the instance: each use of one goes through
`Module.__getattr__`, which libraries override, to count uses or to make what is used. Here they are attributes, which
are found without it. A class that overrides it is asked all the same.
"""

from __future__ import annotations

from typing import Any

from dispatchkit.as_torch.spelling import Module
from dispatchkit.nn.registered import TABLES, Registered

__all__ = ["ask_own_lookup", "give_lookup"]


def _table_of(module: Any, name: str) -> str | None:
    """Return in which table of a module a name stands."""
    attributes = object.__getattribute__(module, "__dict__")
    return next((table for table in TABLES if name in attributes.get(table, ())), None)


def _registered(self: Any, name: str) -> Any:
    """Return a parameter, buffer or module inside by its name.

    Raises
    ------
    AttributeError : if there is none
    """
    table = _table_of(self, name)
    if table is None:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
    return Registered(self, table)[name]


def _by_own_lookup(self: Any, name: str) -> Any:
    if _table_of(self, name) is not None:
        return type(self).__getattr__(self, name)
    return object.__getattribute__(self, name)


def ask_own_lookup(cls: Any) -> None:
    """Have a class asked for parameters, buffers and modules, where it has a `__getattr__` and no other way."""
    if "__getattr__" in vars(cls) and cls.__getattribute__ is object.__getattribute__:
        cls.__getattribute__ = _by_own_lookup


def give_lookup() -> None:
    """Let classes call `super().__getattr__`, as they do in PyTorch."""
    setattr(Module, "__getattr__", _registered)  # noqa: B010  # mypy knows no such assignment
