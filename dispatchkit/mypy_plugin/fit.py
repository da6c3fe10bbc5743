"""Whether a handler fits its operation, in the words that `implements` uses when it runs."""

from __future__ import annotations

from collections.abc import Container, Sequence

from mypy.nodes import FuncDef, TypeInfo

from dispatchkit.mypy_plugin.annotations import shown
from dispatchkit.mypy_plugin.names import TENSOR
from dispatchkit.mypy_plugin.operations import Target, signature_of
from dispatchkit.protocol.registration.annotations import departures, never_called, no_own_type, wrong_count

# What mixes with arrays without taking part: scalars and raw arrays, with their subclasses.
COMPANIONS = frozenset({"builtins.int", "builtins.float", "builtins.complex", "numpy.ndarray", "numpy.generic"})


def is_companion(info: TypeInfo) -> bool:
    """Return whether the instances of a class are scalars or raw arrays."""
    return any(base.fullname in COMPANIONS for base in info.mro)


def takes_part(info: TypeInfo, declared: Container[str], method: str) -> bool:
    """Return whether the instances of a class are asked.

    Parameters
    ----------
    info : the class
    declared : full names of the classes that have become array types
    method : by which classes take part
    """
    return any(base.fullname in declared or method in base.names for base in info.mro)


def own_types(types: Sequence[TypeInfo | None], declared: Container[str], method: str) -> list[TypeInfo]:
    """Return the classes that may be asked themselves, also for the first time: see `takes_part`."""
    known = [info for info in types if info is not None and info.fullname != TENSOR]
    return [info for info in known if takes_part(info, declared, method) or not is_companion(info)]


def complaints(function: FuncDef, target: Target) -> tuple[list[str], bool]:
    """Return how a handler's signature departs from its operation's, and whether it can never be called."""
    faults, remarks = departures(signature_of(function), target.parameters)
    if faults:
        return [never_called(function.name, target.shown, target.parameters, faults)], True
    return [f"{function.name} for {target.shown}: {remark}" for remark in remarks], False


def complaints_of_types(
    handler: str,
    target: Target,
    signatures: Sequence[Sequence[TypeInfo | None]],
    explicit: bool,
    declared: Container[str],
) -> list[str]:
    """Return what is wrong with the types that a handler is registered for.

    Parameters
    ----------
    handler : its name
    target : the operation
    signatures : the types, one signature for each choice of union members
    explicit : whether they are passed to `implements`
    declared : full names of the classes that have become array types
    """
    count = len(target.parameters.arrays)
    for types in signatures[:1]:
        if not own_types(types, declared, target.method):
            return [no_own_type(handler, list(map(shown, types)))]
        if explicit and len(types) != 1 and count != 1 and len(types) != count:
            return [wrong_count(len(types), target, count)]
    return []
