"""Whether operations record a graph: `no_grad`, `enable_grad`, `set_grad_enabled`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from types import TracebackType
from typing import Any, TypeVar

__all__ = ["enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]

F = TypeVar("F", bound=Callable[..., Any])
_enabled: ContextVar[bool] = ContextVar("dispatchkit.grad", default=True)

is_grad_enabled = _enabled.get


class set_grad_enabled:  # noqa: N801  # PyTorch's name
    """Switch recording on or off at once; `with` and a decorated function switch it back on leaving.

    Parameters
    ----------
    mode : whether operations record a graph from here on

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([1.0], requires_grad=True)
    >>> with dk.set_grad_enabled(False):
    ...     (x * 2).requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._outer = [_enabled.get()]
        _enabled.set(mode)

    def __call__(self, func: F) -> F:
        """Decorate a function: the mode holds inside it, and no longer outside."""
        _enabled.set(self._outer[0])
        mode = self.mode

        @functools.wraps(func)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with set_grad_enabled(mode):
                return func(*args, **kwargs)

        return inner  # type: ignore[return-value]  # of the same signature

    def __enter__(self) -> None:
        self._outer.append(self._outer[0] if len(self._outer) == 1 else _enabled.get())
        _enabled.set(self.mode)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _enabled.set(self._outer.pop())


class no_grad(ContextDecorator):  # noqa: N801  # PyTorch's name
    """Record no graph inside a `with` block, or inside a decorated function.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([1.0], requires_grad=True)
    >>> with dk.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    mode = False

    def __init__(self) -> None:
        self._outer: list[bool] = []

    def _recreate_cm(self) -> no_grad:
        return type(self)()

    def __enter__(self) -> None:
        self._outer.append(_enabled.get())
        _enabled.set(self.mode)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _enabled.set(self._outer.pop())


class enable_grad(no_grad):  # noqa: N801  # PyTorch's name
    """Record a graph inside a `with` block, even where recording is off outside.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([1.0], requires_grad=True)
    >>> with dk.no_grad(), dk.enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    mode = True
