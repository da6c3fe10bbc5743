"""Which transformation draws the random numbers of the function that it transforms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from dispatchkit.protocol.blocks import state_variable
from dispatchkit.protocol.overridable import Overridable

# Is given the operation, what draws, and the call's arguments.
Drawer = Callable[[Overridable, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
drawer: ContextVar[Drawer | None] = state_variable("drawer", None)


@contextmanager
def drawing_by(answer: Drawer | None) -> Iterator[None]:
    """Let a drawer answer random operations inside a `with` block."""
    outer = drawer.get()
    try:
        drawer.set(answer)
        yield
    finally:
        drawer.set(outer)


def overseen(operation: Overridable, handler: Callable[..., Any]) -> Callable[..., Any]:
    """Return an implementation of a random operation that asks the drawer first, where there is one."""

    def draw(*args: Any, **kwargs: Any) -> Any:
        ask = drawer.get()
        if ask is None:
            return handler(*args, **kwargs)
        return ask(operation, draw, args, kwargs)

    return draw
