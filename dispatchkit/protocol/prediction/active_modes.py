"""The modes that a call asks before the types."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchkit.protocol.handlers import location_of
from dispatchkit.protocol.modes import Mode, current
from dispatchkit.protocol.outcome import MODE
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.prediction.declining import promise_of
from dispatchkit.protocol.prediction.tree import AT_RUN_TIME, DECLINES, Asked

__all__ = ["active_modes", "asked_modes"]


def active_modes(operation: Overridable) -> Iterator[Mode]:
    """Yield the modes that a call asks, innermost first."""
    cell = current()
    while cell is not None:
        if cell.asks(operation):
            yield cell.mode
        cell = cell.below


def asked_modes(operation: Overridable, modes: list[Mode]) -> tuple[list[Asked], bool]:
    """Return what is known of the modes that are asked, and whether one of them switches overrides off."""
    asked: list[Asked] = []
    for mode in modes:
        if type(mode).switches_off:
            return asked, True
        if not type(mode).of_users:
            continue
        method = operation.types.method
        found = getattr(type(mode), method)
        what = f"active mode, {type(mode).__name__}.{method}"
        if getattr(found, "__passes__", False):  # the default of the base class
            asked.append(Asked(type(mode), what, DECLINES, "it passes every call on", MODE))
            continue
        location = location_of(found)
        reason = f"the mode {type(mode).__name__} may decline" if promise_of(found).may_decline else ""
        asked.append(Asked(type(mode), what, AT_RUN_TIME, reason, MODE, location))
    return asked, False
