"""The targets of rules: operations and kinds; and the errors for anything else."""

from __future__ import annotations

import re
import sys
from types import FunctionType
from typing import Any, Protocol

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.chain import public_path
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.members import Surface
from dispatchkit.protocol.operations import Operations
from dispatchkit.protocol.overridable import Dispatcher, Overridable, of

__all__ = ["Registering", "target_of"]


class Registering(Dispatcher, Protocol):
    """What registrations ask of the protocol that they are for."""

    @property
    def operations(self) -> Operations:
        """The functions that can be overridden."""

    @property
    def surface(self) -> Surface:
        """The operators, methods and properties that array types get."""


def target_of(protocol: Registering, given: Any) -> Overridable | Kind:
    """Return the operation or kind that a rule is registered for.

    Raises
    ------
    RegistrationError : if it is neither, or of another protocol; with advice where that is possible
    """
    found = given if isinstance(given, Kind) else of(given)
    if found is None:
        raise RegistrationError(f"implements: {_mistake(protocol, given)}")
    if isinstance(found, Overridable) and found.protocol is not protocol:
        raise RegistrationError(
            f"implements: {found.qualified_name} belongs to {found.protocol!r}, not to {protocol!r}"
        )
    return found


def _mistake(protocol: Registering, given: Any) -> str:
    """Return the message for what is no operation, with what to write."""
    if isinstance(given, str):
        namesake = _namesake(protocol, given)
        return f"{given!r} is a name; give the function itself" + (f", {public_path(namesake)}" if namesake else "")
    cls = given if isinstance(given, type) else type(given)
    if callable(getattr(cls, "forward", None)) and not protocol.types.participates(cls):
        called = _function_of(protocol, cls)
        advice = f"give the function that it calls, {called}" if called else "give the functions that its forward calls"
        return f"{type_name(cls)} is a module, not a function; {advice}"
    if isinstance(given, type):
        return f"{type_name(given)} is a type; the operation goes first: implements(operation, {type_name(given)})"
    if not callable(given):
        return f"{given!r} is no function; give an operation such as dk.add, or a kind"
    name = str(getattr(given, "__name__", None) or repr(given))
    module = str(getattr(given, "__module__", None) or "")
    namesake = _namesake(protocol, f"{module}.{name}")
    if isinstance(given, FunctionType) and _is_being_defined(given):
        prefix = "" if protocol.types.base is None else "dk."
        operation = public_path(namesake) if namesake else "operation"
        return f"{given.__qualname__} is the handler; write @{prefix}implements({operation}) above it"
    if namesake is None:
        name = getattr(given, "__qualname__", name)
        return f"{name} is not overridable; make it so with overridable({name})"
    library = module.partition(".")[0]
    shown = name if library in ("", "builtins", "__main__") else f"{library}.{name}"
    return f"{shown} is not overridable; use {public_path(namesake)}"


def _function_of(protocol: Registering, module: type) -> str:
    """Return the path of the function that a module class is named after: ``linear`` of `Linear`; "" for none."""
    protocol.journal.load_all()
    # Functions of the same name as one for modules come first, to be replaced.
    known = sorted(protocol.operations.values(), key=lambda one: one.namespace.endswith("functional"))
    named = {one.name.replace("_", ""): one for one in known}
    for cls in module.__mro__:
        name = cls.__name__.lower()
        for spelling in (name, re.sub(r"[123]d$", "", name)):
            if spelling in named:
                return public_path(named[spelling])
    return ""


def _is_being_defined(function: FunctionType) -> bool:
    """Return whether a function is not yet bound to its name, as while a decorator gets it."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is not function


def _namesake(protocol: Registering, path: str) -> Overridable | None:
    """Return the operation with the name of another function, preferably in a namespace of the same name."""
    *_, outer, name = f"..{path}".split(".")
    for prefix in ("linalg", "fft", "special"):
        if name.startswith(f"{prefix}_"):  # as PyTorch names the functions of its modules
            outer, name = prefix, name.removeprefix(f"{prefix}_")
    protocol.journal.load_all()
    named = [operation for operation in protocol.operations.values() if operation.name == name]
    # The table of methods has further names of array libraries.
    member = protocol.surface.members.get(name)
    if (
        path.partition(".")[0] not in sys.stdlib_module_names
        and not named
        and member is not None
        and member.operation is not None
    ):
        return member.operation
    return next((one for one in named if one.namespace.rpartition(".")[2] == outer), named[0] if named else None)
