"""Declining a call with a reason.

A handler declines by returning `NotImplemented`, which a call recognises by one comparison. The reason is kept in a
context variable, where the code that continues the call reads it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar, Token
from types import NotImplementedType
from typing import Any

from dispatchkit.protocol.blocks import state_variable

__all__ = [
    "decline",
    "declined_of",
    "forget_declined",
    "note_declined",
    "pop_decline_reason",
    "pop_mode_declines",
    "record_mode_decline",
]

_reason: ContextVar[str] = state_variable("reason of a decline", "")


def decline(reason: str) -> NotImplementedType:
    """Decline a call from inside a handler: the next candidate is asked.

    Parameters
    ----------
    reason : why, shown by `explain` and by the error when all decline; where a handler gives a reason and then
        answers after all, a later message may show it

    Returns
    -------
    NotImplementedType
        `NotImplemented`, for the handler to return.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Even(dk.Tensor):
    ...     pass
    >>> @dk.implements(dk.sum)
    ... def sum_even(x: Even, /):
    ...     return dk.decline("its size is odd") if x.size % 2 else "an even sum"
    >>> dk.sum(Even([1.0, 2.0])), dk.sum(Even([1.0]))
    ('an even sum', Even(1.))
    """
    _reason.set(reason)
    return NotImplemented  # type: ignore[no-any-return]  # typeshed has no type for it


def pop_decline_reason() -> str:
    """Return the reason of the last decline in this context, and forget it."""
    reason = _reason.get()
    if reason:
        _reason.set("")
    return reason


_declined: ContextVar[tuple[Any, tuple[str, ...]]] = state_variable("declines of a call", (None, ()))


def note_declined(operation: Any, reasons: Iterable[str]) -> Token[Any]:
    """Remember who declined the call that the next answer is asked for, and why, until `forget_declined`."""
    return _declined.set((operation, tuple(reasons)))


def forget_declined(token: Token[Any]) -> None:
    """Remember what was remembered before `note_declined` gave this token."""
    _declined.reset(token)


def declined_of(operation: Any) -> str:
    """Return who declined a call of an operation that is being answered, and why; "" where nobody did."""
    noted, reasons = _declined.get()
    return "; ".join(reasons) if noted is operation else ""


_mode_declines: ContextVar[tuple[str, ...]] = state_variable("declines of modes", ())


def record_mode_decline(text: str) -> None:
    """Remember that a mode declined the current call."""
    _mode_declines.set((*_mode_declines.get(), text))


def pop_mode_declines() -> list[str]:
    """Return which modes declined the current call, and forget it."""
    declines = _mode_declines.get()
    if declines:
        _mode_declines.set(())
    return list(declines)
