"""Operations as people name them: functions, names, and kinds for all that are of the kind."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.overridable import Overridable


def import_named(name: str) -> ModuleType:
    """Return a module by its name; modules of the current directory are found, too.

    Raises
    ------
    ImportError : if there is none
    """
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module(name)


# A function, its name, or a kind; or several of them.
Named: TypeAlias = "str | Kind | Callable[..., Any] | Iterable[str | Kind | Callable[..., Any]]"


def operations_of(protocol: DispatchProtocol, named: Named, use: str) -> list[Overridable]:
    """Return the operations that functions, names and kinds stand for, none twice.

    Parameters
    ----------
    protocol : whose operations they are
    named : one, or several
    use : what they are given to, for messages

    Raises
    ------
    KeyError : for a name that no function has
    TypeError : for what is not overridable in the protocol
    """
    listed = list(protocol.operations.values())
    operations: dict[Overridable, None] = {}
    if isinstance(named, (str, Kind)) or callable(named):
        named = [named]
    for name in named:
        if isinstance(name, Kind):
            operations.update(dict.fromkeys(operation for operation in listed if name in operation.kind.lineage()))
        elif isinstance(name, str):
            fits = [op for op in listed if name in (op.qualified_name, op.qualified_name.partition(".")[2], op.name)]
            if not fits:
                raise KeyError(f"{use}: no overridable function is called {name!r}")
            operations[fits[0]] = None
        else:
            operations[protocol.operation(name)] = None
    return list(operations)


def declared_operations(protocol: DispatchProtocol, cls: type, name: str, more: Named = ()) -> set[Overridable]:
    """Return the operations that a type or a superclass declares as ``closed`` or ``impossible``, and more."""
    operations = set(operations_of(protocol, more, name))
    for record in filter(None, map(protocol.types.records.find, cls.__mro__)):
        if record.declaration is not None:
            operations.update(operations_of(protocol, getattr(record.declaration, name), name))
    return operations
