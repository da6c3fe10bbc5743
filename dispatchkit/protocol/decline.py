"""Declining a call with a reason.

A handler declines by returning `NotImplemented`, which a call can recognise at the price of one comparison. The
reason travels beside it in a context variable, and is read by whoever goes on with the call.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from types import NotImplementedType
from typing import Any

__all__ = ["decline", "declined_of", "note_declined", "note_mode", "take_mode_notes", "take_reason"]

_reason: ContextVar[str] = ContextVar("dispatchkit.decline", default="")


def decline(reason: str) -> NotImplementedType:
    """Decline a call from inside a handler: ``return decline("shapes differ")``.

    Parameters
    ----------
    reason : why, shown by `explain` and by the error when everybody declines; a handler that gives a reason and
        then answers after all may find it in a later message

    Returns
    -------
    `NotImplemented`, which is what the handler returns

    >>> decline("needs a square matrix")
    NotImplemented
    """
    _reason.set(reason)
    return NotImplemented  # type: ignore[no-any-return]  # typeshed has no type for it


def take_reason() -> str:
    """Return the reason given with the last decline of this context, and forget it."""
    reason = _reason.get()
    if reason:
        _reason.set("")
    return reason


_declined: ContextVar[tuple[Any, tuple[str, ...]]] = ContextVar("dispatchkit.declined", default=(None, ()))


def note_declined(operation: Any, reasons: Iterable[str]) -> None:
    """Remember who declined the call that the next answer is asked for, and why."""
    _declined.set((operation, tuple(reasons)))


def declined_of(operation: Any) -> str:
    """Return who declined a call of an operation that is being answered, and why; "" where nobody did."""
    noted, reasons = _declined.get()
    return "; ".join(reasons) if noted is operation else ""


_mode_notes: ContextVar[tuple[str, ...]] = ContextVar("dispatchkit.mode_notes", default=())


def note_mode(text: str) -> None:
    """Remember that a mode declined the call that is being answered."""
    _mode_notes.set((*_mode_notes.get(), text))


def take_mode_notes() -> list[str]:
    """Return which modes declined, and forget it."""
    notes = _mode_notes.get()
    if notes:
        _mode_notes.set(())
    return list(notes)
