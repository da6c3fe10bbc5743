"""What is declared for a class of a notebook or script, on its way to another process.

The class itself is made there by cloudpickle. Its rules and conversions belong to its records, which say here what
travels, and here declare it. What was declared there before, be it in this state or in a later one, stays.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from dispatchkit.protocol.handlers import Rule
from dispatchkit.protocol.registration.targets import Registering
from dispatchkit.protocol.types.conversions import Conversion
from dispatchkit.protocol.types.stamps import is_newer

__all__ = ["packed", "place_of", "protocol_at", "unpack"]


def packed(protocol: Registering, cls: type) -> dict[str, Any]:
    """Return what is declared for a class: its declaration, its rules and conversions, and what it keeps its own of."""
    record = protocol.types.records.find(cls)
    assert record is not None
    kept = protocol.surface.kept(cls)
    return {"declaration": record.declaration, "stamp": record.stamp, "owned": list(record.owned), "kept": kept}


def unpack(protocol: Registering, cls: type, found: dict[str, Any]) -> None:
    """Declare for a class what another process has declared for it.

    Parameters
    ----------
    protocol : to declare it to
    cls : the class, which may still lack its attributes
    found : what `packed` gave
    """
    with protocol.journal.lock:
        changed = protocol.types.records.arrive(cls, found["declaration"], found["stamp"])
        if changed and found["kept"] is not None:
            protocol.surface.install(cls, found["kept"])
        for one in found["owned"]:
            changed = _take(protocol, one) or changed
        if changed:
            protocol.journal.changed()


def _take(protocol: Registering, one: Any) -> bool:
    """Store a rule or a conversion in place of an earlier one; return whether it was not known."""
    if isinstance(one, Rule):
        if not all(is_newer(one.registration, old.registration) for _, old in protocol.handlers.replaced_by(one)):
            return False
        if not is_newer(one.registration, None):
            return False
        protocol.handlers.add(one)
        return True
    if not isinstance(one, Conversion) or not is_newer(one.stamp, protocol.conversions.stamp_of(one)):
        return False
    protocol.conversions.add(one)
    return True


def place_of(protocol: Any) -> tuple[str, str]:
    """Return the module that holds a protocol, and its name there.

    Raises
    ------
    TypeError : if none does that another process could import
    """
    for module, held in list(sys.modules.items()):
        if module != "__main__":
            for name, value in list(getattr(held, "__dict__", {}).items()):
                if value is protocol:
                    return module, name
    raise TypeError(f"{protocol!r} cannot be pickled: no module holds it that another process could import; write one")


def protocol_at(module: str, name: str) -> Any:
    """Return the protocol that a module holds."""
    return getattr(import_module(module), name)
