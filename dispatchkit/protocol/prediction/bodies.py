"""Running bodies on stand-ins: each call that one makes is answered by what is predicted of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from dispatchkit.errors import DispatchError
from dispatchkit.protocol.decline import pop_decline_reason
from dispatchkit.protocol.fallbacks.base import Followed
from dispatchkit.protocol.frames import place_of
from dispatchkit.protocol.modes import Mode
from dispatchkit.protocol.outcome import REFUSED
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.prediction.stand_in import NotFollowed, StandIn, make_stand_in
from dispatchkit.protocol.prediction.tree import Prediction, first_line

__all__ = ["follow_body"]


class Caller(Protocol):
    """What predicts the calls of a body."""

    protocol: Any

    def mistake(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Return what the signature does not allow in a call, "" where it allows it."""

    def plain(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call on plain arrays."""

    def call(
        self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], limited: bool = False
    ) -> tuple[Prediction, Any]:
        """Return what is predicted of a call, and its result."""


class _Unanswered(BaseException):
    """An inner call of a body that nobody answers; it never leaves the prediction."""

    def __init__(self, mode: Mode, found: Prediction) -> None:
        super().__init__(found.call)
        self.mode = mode
        self.found = found


class _Raised(BaseException):
    """An inner call of a body that raises; it never leaves the prediction."""

    def __init__(self, found: Prediction) -> None:
        super().__init__(found.error)
        self.found = found


class _Following(Mode):
    """Sees the calls of a body, and answers each by what is predicted of it."""

    def __init__(self, caller: Caller) -> None:
        self.protocol = caller.protocol
        self.caller = caller
        self.inner: list[Prediction] = []
        self.depends: list[str] = []

    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not _has_stand_in((args, kwargs)):
            return self.caller.plain(operation, args, kwargs)
        if self.caller.mistake(operation, args, kwargs):
            return NotImplemented  # which raises in the body
        found, result = self.caller.call(operation, args, kwargs, limited=True)
        self.inner.append(found)
        if found.depends_on_values:
            self.depends.append(found.depends_on_values)
        elif found.outcome is REFUSED and found.by is None:
            raise _Unanswered(self, found)
        elif found.error:
            raise _Raised(found)
        return result


def _has_stand_in(value: Any) -> bool:
    """Return whether there is a stand-in among the members of a value."""
    cls = type(value)
    if cls is dict:
        value = value.values()
    elif cls is not list and not issubclass(cls, tuple):
        return issubclass(cls, StandIn)
    return any(map(_has_stand_in, value))


def follow_body(
    caller: Caller, operation: Overridable, body: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Followed:
    """Run a body on stand-ins, and return what comes of it."""
    mode = _Following(caller)
    result = None
    declines = error = ""
    try:
        with mode:
            result = body(*args, **kwargs)
    except _Unanswered as failure:
        if failure.mode is not mode:
            raise
        declines = f"it needs {failure.found.lacks}"
    except _Raised as failure:
        error = failure.found.error
    except NotFollowed as failure:
        mode.depends.append(f"the body of {operation.name} asks for {failure.wanted}{place_of(failure)}")
    except Exception as failure:  # noqa: BLE001  # what a body raises on stand-ins is looked at
        if type(failure) in (ValueError, IndexError, DispatchError):
            error = first_line(failure)
        else:
            mode.depends.append(f"the body of {operation.name} takes no stand-ins: {first_line(failure)}")
    if result is NotImplemented:
        declines = pop_decline_reason() or "it declines"
    depends = "" if declines or not mode.depends else mode.depends[0]
    if result is None and depends:
        result = make_stand_in(caller.protocol, (), origin=operation.name)
    return Followed(result, declines, error, depends, inner=tuple(mode.inner))
