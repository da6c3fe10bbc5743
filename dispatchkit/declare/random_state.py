"""Who draws random numbers: a transformation decides it for the function that it transforms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from dispatchkit.protocol.overridable import Overridable

__all__ = ["Drawer", "drawer", "drawing_by", "overseen"]

# Is given the operation, what draws, and the call's arguments.
Drawer = Callable[[Overridable, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
drawer: ContextVar[Drawer | None] = ContextVar("dispatchkit.drawer", default=None)


@contextmanager
def drawing_by(answer: Drawer | None) -> Iterator[None]:
    """Have random operations ask a drawer first."""
    token = drawer.set(answer)
    try:
        yield
    finally:
        drawer.reset(token)


def overseen(operation: Overridable, handler: Callable[..., Any]) -> Callable[..., Any]:
    """Return a handler of a random operation that lets the drawer answer where there is one."""

    def draw(*args: Any, **kwargs: Any) -> Any:
        ask = drawer.get()
        return handler(*args, **kwargs) if ask is None else ask(operation, draw, args, kwargs)

    return draw
