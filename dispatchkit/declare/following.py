"""What follows from declarations: computed when it is first read, and forgotten when a declaration changes."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
Instance = TypeVar("Instance")

# Held while values are kept or forgotten, never while anything waits. Reentrant: what is collected may declare, too.
_keeping = RLock()
_CHANGE = "_change"


class following(Generic[Instance, T]):  # noqa: N801  # a decorator, like `functools.cached_property`
    """An attribute that is computed when it is first read, and kept until it is forgotten.

    What one thread computes while another changes what it follows from is not kept, since it may be out of date.

    Parameters
    ----------
    compute : returns the value, of the instance
    """

    def __init__(self, compute: Callable[[Instance], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> following[Instance, T]: ...
    @overload
    def __get__(self, instance: Instance, owner: type) -> T: ...
    def __get__(self, instance: Instance | None, owner: type) -> following[Instance, T] | T:
        if instance is None:
            return self
        held = vars(instance)
        change = held.get(_CHANGE)
        value = self.compute(instance)
        with _keeping:
            if held.get(_CHANGE) is change:
                held[self.name] = value
        return value


def forget(instance: Any, *names: str) -> None:
    """Have attributes computed anew when they are next read; call it after what they follow from has changed."""
    held = vars(instance)
    with _keeping:
        held[_CHANGE] = object()
        for name in names:
            held.pop(name, None)
