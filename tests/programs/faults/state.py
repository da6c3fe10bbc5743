"""What of the library's state an error must not leave half changed."""

from __future__ import annotations

import gc
import threading
from typing import Any

import dispatchkit as dk
from dispatchkit.graph import sweep
from dispatchkit.protocol import blocks, chain, densify
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.modes import Cell
from dispatchkit.protocol.observers import here, live
from dispatchkit.protocol.types import declaration
from dispatchkit.random import current_generator

__all__ = ["context_state", "state"]

LOCKS: dict[str, Any] = {
    "accumulating": sweep.accumulating,
    "chains": chain._making._lock,
    "journal": tensor_protocol.journal.lock._lock,
    "ledger": densify._ledger_lock._lock,
    "records": declaration._making._lock,
}


def modes_of(cell: Cell | None) -> list[Any]:
    return [] if cell is None else [*modes_of(cell.below), cell.mode]


def context_state() -> dict[Any, Any]:
    """Return everything that blocks set in this context."""
    entered = {id(one): [block for block, _ in one.entered_blocks()] for one in list(blocks._states)}
    held: dict[Any, Any] = {key: entries for key, entries in entered.items() if entries}
    for variable, _ in blocks._variables:
        if variable.name in ("reason of a decline", "declines of modes"):  # of the last call, for the text of an error
            continue
        held[variable.name] = modes_of(variable.get()) if variable.name == "modes" else variable.get()
    return {**held, "call": here.call}


def state() -> dict[str, Any]:
    """Return the state of the process and of this context, as values to compare."""
    gc.collect(0)
    return {
        **{f"context: {name}": value for name, value in context_state().items()},
        "locks held": held_locks(),
        "entries that modes are read for": len(live),
        "random numbers": repr(current_generator().get_state()),
        "operations": len(tensor_protocol.operations),
        "default of gradients": dk.is_grad_enabled(),
    }


def held_locks() -> list[str]:
    """Return the locks that this thread holds."""
    names: list[str] = []

    def look() -> None:
        for name, lock in LOCKS.items():
            if lock.acquire(blocking=False):
                lock.release()
            else:
                names.append(name)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return names
