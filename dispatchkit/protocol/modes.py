"""Modes: what is asked before the types, kept in a context variable.

Their stack is an immutable linked list held by a context variable, so threads and tasks do not see each other's. While
`live`, which refers to its cells, is empty, a call need not even read the variable.
"""

from __future__ import annotations

from contextvars import ContextVar
from types import TracebackType
from typing import Any

from dispatchkit.errors import ModeError
from dispatchkit.protocol.blocks import reset_states, state_variable
from dispatchkit.protocol.observers import UNSEEN, CallEvent, here, is_observed, live, note_asked, note_live, observe
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.steps import (
    ModeDecline,
    mode_declines,
    pop_decline_reason,
    pop_mode_declines,
    record_mode_decline,
)


class Cell:
    """One entry of a stack of modes.

    Attributes
    ----------
    protocol : whose calls the mode sees
    off : the protocols for which modes of users are switched off here
    """

    __slots__ = ("__weakref__", "below", "mode", "off", "protocol")

    def __init__(self, mode: Mode, below: Cell | None) -> None:
        self.mode = mode
        self.below = below
        # Read from the class of a user's mode, whose attributes may have any name.
        if type(mode).of_users:
            self.protocol = type(mode).protocol
        else:
            self.protocol = mode.protocol
        self.off: tuple[Any, ...]
        if below is not None:
            self.off = below.off
        else:
            self.off = ()
        if below is not None and type(below.mode).switches_off:
            self.off += (below.protocol,)
        note_live(self)

    def asks(self, operation: Overridable) -> bool:
        """Return whether calls of an operation ask the mode."""
        off = type(self.mode).of_users and self.protocol in self.off
        return self.protocol is operation.protocol and not off


_stack: ContextVar[Cell | None] = state_variable("modes", None)
current = _stack.get


def without_modes() -> None:
    """Switch every mode of this context off, which is a copy that somebody made for it."""
    _stack.set(None)


class Mode:
    """Base of the library's modes and of the public ones.

    Attributes
    ----------
    protocol : whose calls it sees
    of_users : whether users enter it: messages and records name it, and `switches_off` of another mode applies to it
    switches_off : whether modes of users that are entered inside are not asked
    """

    protocol: Any = None
    of_users = False
    switches_off = False

    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call, or NotImplemented to decline it."""
        raise AssertionError("a mode answers")

    def stays_on(self) -> bool:
        """Return whether calls made by `answer` still see the mode."""
        return False

    def __enter__(self) -> Any:
        below = _stack.get()
        try:
            _stack.set(Cell(self, below))
            return self
        except BaseException:  # an interrupt, after which the block is not entered
            _stack.set(below)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        cell = _stack.get()
        if cell is not None and cell.mode is self:
            _stack.set(cell.below)
            pop_mode_declines()
        else:
            _leave_out_of_order(self, cell, value)


def _leave_out_of_order(mode: Mode, innermost: Cell | None, error: BaseException | None) -> None:
    """Take a mode away from below others, and say so: with the error that leaves its block, or by an error."""
    name, where, inner = type(mode).__name__, "no mode is active here", []
    cell = innermost
    while cell is not None and cell.mode is not mode:
        inner.append(cell.mode)
        cell = cell.below
    if innermost is not None:
        where = f"{type(innermost.mode).__name__} is innermost"
    if cell is not None:
        rest = cell.below
        for other in reversed(inner):
            rest = Cell(other, rest)
        _stack.set(rest)
        pop_mode_declines()
    text = f"{name} was left out of order: {where}; leave modes innermost first"
    if error is None or isinstance(error, GeneratorExit):
        raise ModeError(text)
    error.add_note(text)


def reset_modes() -> list[str]:
    """Put everything that `with` blocks set in this thread or asyncio task back to its default.

    These are modes, `disable_dispatch`, `record_calls`, `no_grad` and `set_grad_enabled`, `densify`, `arrays_of`,
    `detect_anomaly`, `set_progress`, hooks of saved tensors, generators of `drawing_from`, and the registrations of
    `local_registrations`.

    Returns
    -------
    list of str
        The names of what was not at its default.

    Notes
    -----
    Call it outside of all blocks, when an interrupt has left something on: Python may raise `KeyboardInterrupt` after
    the body of a `with` statement has ended, and before what it set is taken back. A mode that was taken away so cannot
    be left any more, which raises `ModeError`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.disable_dispatch().__enter__()  # doctest: +ELLIPSIS
    <dispatchkit.disable_dispatch object at ...>
    >>> "modes" in dk.reset_modes()
    True
    >>> dk.reset_modes()
    []
    """
    here.call = None
    return reset_states()


def ask_modes(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ask the active modes for the result of a call; NotImplemented when none answers.

    Where there are observers, the public function makes the call under observation, and comes here a second time.
    """
    if is_observed() is not None:
        call = here.call
        if call is not None and call.waits and call.operation is operation:
            call.waits = False
            if _stack.get() is None:
                return NotImplemented
        elif call is not UNSEEN and not (operation.parameters.binary and _has_foreign(operation, args)):
            return observe(CallEvent(operation, args, kwargs), operation.function, args, kwargs)
    elif _stack.get() is None:
        return NotImplemented  # as a mode's own call finds it, which is made once for each that it sees
    return answer_by_modes(operation, args, kwargs)


class _Caught(BaseException):
    """The call that a method makes, in place of an answer."""


class _Catcher(Mode):
    """Catches the first call of an operation."""

    def __init__(self, operation: Overridable) -> None:
        self.protocol, self.operation = operation.protocol, operation

    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if operation is self.operation:
            raise _Caught(args, kwargs)
        return NotImplemented


def call_of_method(
    operation: Overridable, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with which a bound method calls its operation, which is not answered.

    Raises
    ------
    TypeError : if the method does not take the arguments
    """
    try:
        with _Catcher(operation):
            method(*args, **kwargs)
    except _Caught as caught:
        called: tuple[tuple[Any, ...], dict[str, Any]] = caught.args
        return called
    return (method.__self__, *args), kwargs


def is_any_asked(protocol: Any) -> bool:
    """Return whether calls of functions of a protocol ask a mode of users."""
    cell = _stack.get()
    while cell is not None:
        if type(cell.mode).of_users and cell.protocol is protocol and protocol not in cell.off:
            return True
        cell = cell.below
    return False


def is_switched_off(protocol: Any) -> bool:
    """Return whether overrides of a protocol are switched off."""
    cell = _stack.get()
    while cell is not None:
        if type(cell.mode).switches_off and cell.protocol is protocol:
            return True
        cell = cell.below
    return False


def is_asked(operation: Overridable) -> bool:
    """Return whether a call goes to `ask_modes`: not one that is observed by now, and that no mode sees.

    It is for a time when `live` has entries. Whoever asks the modes after all calls `wait_again` before.
    """
    call = here.call
    if call is None or not call.waits or call.operation is not operation or _stack.get() is not None:
        return True
    call.waits = False
    return False


def wait_again(operation: Overridable) -> None:
    """Take back what `is_asked` noted of a call, if it did."""
    call = here.call
    if live and call is not None and call.operation is operation:
        call.waits = True


def _has_foreign(operation: Overridable, args: tuple[Any, ...]) -> bool:
    """Return whether an operand is one that an operator may leave to Python."""
    types = operation.protocol.types
    if len(args) == 2:
        cls, other = type(args[0]), type(args[1])
        # With a foreign operand no decision is kept.
        if cls is types.base is other or other in operation.table.get(cls, ()):
            return False
    return any(type(arg) is not types.base and types.is_foreign(type(arg)) for arg in args)


def answer_by_modes(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the answer of the innermost mode that does not decline; NotImplemented when all do.

    Parameters
    ----------
    operation, args, kwargs : a call that has been observed already, where there are observers
    """
    cell = _stack.get()
    if cell is None:
        return NotImplemented
    if mode_declines.get():
        pop_mode_declines()
    while cell is not None:
        mode, kind = cell.mode, type(cell.mode)
        if cell.protocol is operation.protocol and (not cell.off or cell.asks(operation)):
            token = None
            if not kind.stays_on(mode):
                token = _stack.set(cell.below)
            try:
                result = kind.answer(mode, operation, args, kwargs)
            except BaseException:
                if kind.of_users:
                    note_asked(operation, mode)
                raise
            finally:
                if token is not None:
                    _stack.reset(token)
            if result is not NotImplemented:
                if kind.of_users:
                    note_asked(operation, mode)
                return result
            reason = pop_decline_reason()
            if kind.of_users:
                record_mode_decline(ModeDecline(kind.__name__, reason))
        cell = cell.below
    return NotImplemented
