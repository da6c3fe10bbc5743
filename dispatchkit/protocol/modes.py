"""Modes: handlers that see every call made inside a `with` block.

The stack of modes is an immutable linked list held by a context variable, so threads and tasks do not see each
other's. `live` counts the cells that exist anywhere in the process: while it is empty, no context can hold a mode,
and a call need not even read the context variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dispatchkit.errors import ModeError
from dispatchkit.protocol.decline import note_mode, take_mode_notes, take_reason

if TYPE_CHECKING:
    from dispatchkit.protocol.overridable import Overridable

__all__ = ["Cell", "Mode", "ask_modes", "current", "live"]

live: list[None] = []


class Cell:
    """One entry of a stack of modes."""

    __slots__ = ("__weakref__", "below", "mode")

    def __init__(self, mode: Mode, below: Cell | None) -> None:
        self.mode = mode
        self.below = below
        live.append(None)

    def __del__(self) -> None:
        live.pop()


_stack: ContextVar[Cell | None] = ContextVar("dispatchkit.modes", default=None)
current = _stack.get


class Mode:
    """What enters and leaves the stack; the protocol's own modes and the public ones derive from it."""

    protocol: Any = None

    def answer(
        self,
        operation: Overridable,
        types: tuple[type, ...],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Any:
        """Return the result of a call, or NotImplemented to pass it on."""
        raise AssertionError("a mode answers")

    def stays_on(self) -> bool:
        """Return whether calls made by `answer` still see the mode."""
        return False

    def __enter__(self) -> Any:
        _stack.set(Cell(self, _stack.get()))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        cell = _stack.get()
        if cell is None or cell.mode is not self:
            inner = "no mode is active here" if cell is None else f"{type(cell.mode).__name__} is innermost"
            raise ModeError(f"{type(self).__name__} was left out of order: {inner}; leave modes innermost first")
        _stack.set(cell.below)


def ask_modes(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ask the active modes for the result of a call, innermost first; NotImplemented when none answers."""
    cell = _stack.get()
    if cell is None:
        return NotImplemented
    take_mode_notes()
    types = operation.participating(args, kwargs)
    while cell is not None:
        mode = cell.mode
        if mode.protocol is operation.protocol:
            token = None if mode.stays_on() else _stack.set(cell.below)
            try:
                result = mode.answer(operation, types, args, kwargs)
            finally:
                if token is not None:
                    _stack.reset(token)
            if result is not NotImplemented:
                return result
            reason = take_reason()
            note_mode(f"{type(mode).__name__}: declined" + (f": {reason}" if reason else ""))
        cell = cell.below
    return NotImplemented
