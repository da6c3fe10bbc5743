"""Modes and observers: who sees every call, by way of a context variable.

Modes answer calls. Their stack is an immutable linked list held by a context variable, so threads and tasks do not see
each other's. Observers see each call once its result is there, the calls that handlers make included, and change
neither. `live` counts the cells and watches that exist anywhere in the process: while it is empty, no context can hold
any, and a call need not even read the context variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from dispatchkit.errors import ModeError
from dispatchkit.protocol.decline import note_mode, take_mode_notes, take_reason

if TYPE_CHECKING:
    from dispatchkit.protocol.overridable import Overridable

__all__ = [
    "Cell",
    "Mode",
    "Observer",
    "active_observer",
    "ask_modes",
    "current",
    "live",
    "observed_by",
    "observers",
    "set_observers",
]

ObserverT = TypeVar("ObserverT", bound="Observer")

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
    """What enters and leaves the stack; the protocol's own modes and the public ones derive from it.

    Attributes
    ----------
    protocol : whose calls it sees
    told : whether messages tell that it declined
    """

    protocol: Any = None
    told = False

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
        take_mode_notes()


class Observer:
    """What sees every call; of each class, the one that was entered last."""

    def saw(self, operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        """Take note of a call that succeeded; calls made here are not observed."""
        raise AssertionError("an observer looks")


class _Watch:
    """The observers of a context, the last to enter last."""

    __slots__ = ("__weakref__", "observers")

    def __init__(self, observers: tuple[Observer, ...]) -> None:
        self.observers = observers
        live.append(None)

    def __del__(self) -> None:
        live.pop()


_watch: ContextVar[_Watch | None] = ContextVar("dispatchkit.observers", default=None)
# Whether the call that comes next is the one that is being observed, on its way to who answers it.
_on_its_way: ContextVar[bool] = ContextVar("dispatchkit.observed", default=False)


def observers() -> tuple[Observer, ...]:
    """Return the observers of this context, the last to enter last."""
    watch = _watch.get()
    return () if watch is None else watch.observers


def set_observers(found: Sequence[Observer]) -> None:
    """Make these the observers of this context."""
    _watch.set(_Watch(tuple(found)) if found else None)


def observed_by(observer: Observer) -> tuple[Observer, ...]:
    """Return the observers of this context with another one in the place of any of its class."""
    return (*(one for one in observers() if type(one) is not type(observer)), observer)


def active_observer(cls: type[ObserverT]) -> ObserverT | None:
    """Return the observer of a class that this context has, None where it has none."""
    return next((one for one in observers() if isinstance(one, cls)), None) if live else None


def ask_modes(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ask the active modes for the result of a call, innermost first; NotImplemented when none answers.

    Where there are observers, the call is made here, and comes back once to be answered.
    """
    watch = _watch.get()
    if watch is not None:
        if _on_its_way.get():
            _on_its_way.set(False)
        elif not (operation.parameters.binary and any(operation.protocol.is_stranger(type(arg)) for arg in args)):
            return _observed(watch, operation, args, kwargs)
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
            if mode.told:
                note_mode(f"{type(mode).__name__}: declined" + (f": {reason}" if reason else ""))
        cell = cell.below
    return NotImplemented


def _observed(watch: _Watch, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    _on_its_way.set(True)
    try:
        result = operation.function(*args, **kwargs)
    finally:
        _on_its_way.set(False)
    _watch.set(None)
    try:
        for observer in reversed(watch.observers):
            observer.saw(operation, args, kwargs, result)
    finally:
        _watch.set(watch)
    return result
