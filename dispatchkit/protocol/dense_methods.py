"""Counting what functions make dense themselves, by calling the method that a type has declared for it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import FrameType, FunctionType
from typing import Any

from dispatchkit.errors import AnswerError
from dispatchkit.protocol.densify import (
    counted,
    entered,
    is_making_dense,
    maker_text,
    making_dense,
    type_text,
)
from dispatchkit.protocol.frames import caller_frame, operation_frames
from dispatchkit.protocol.handlers import written
from dispatchkit.protocol.observers import UNSEEN, here
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.protocol.types.array_types import DENSE, ArrayTypes

__all__ = ["take_in"]

# The attribute of a method that counts.
COUNTS = "__counts_dense__"


def take_in(protocol: Dispatcher, cls: type) -> None:
    """Count what makes a type dense; also of a subclass that has a method of its own and declares nothing."""
    undo = _count_dense(protocol.types, cls)
    if undo is not None:
        protocol.journal.on_undo(undo)


def _count_dense(types: ArrayTypes, cls: type) -> Callable[[], None] | None:
    """Have the method that makes a type dense count its calls; return what undoes it, None where nothing was done.

    A method that the class inherits is counted by one of its own, so that the superclass stays as it is. What is
    no method written in Python is left alone.
    """
    name = types.declared(cls, "dense") or DENSE
    method = getattr(cls, name, None) if isinstance(name, str) else None
    if not isinstance(method, FunctionType) or hasattr(method, COUNTS):
        return None
    own, counting = cls.__dict__.get(name), _counting(method)
    try:
        setattr(cls, name, counting)
    except (AttributeError, TypeError):
        return None

    def undo() -> None:
        if cls.__dict__.get(name) is not counting:
            return
        if own is None:
            delattr(cls, name)
        else:
            setattr(cls, name, own)

    return undo


def _counting(method: FunctionType) -> Callable[..., Any]:
    @functools.wraps(method)
    def to_dense(self: Any, *args: Any, **kwargs: Any) -> Any:
        # All else is in a function that a pickle of the class finds by its name.
        return _call(method, self, args, kwargs)

    setattr(to_dense, COUNTS, True)
    return to_dense


def _call(method: FunctionType, value: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    mark = id(value), method
    under_way = is_making_dense()
    if mark in under_way:
        name = type_text(type(value))
        raise AnswerError(f"{name}.{method.__name__}", maker_text(method, name), "calls itself")

    def make() -> Any:
        with making_dense(value, mark):
            return method(value, *args, **kwargs)

    # A part of another dense form, or that of a superclass, counts with the whole; one for a record not at all.
    return make() if under_way or here.call is UNSEEN else _made(value, method, make)


def _made(value: Any, method: FunctionType, make: Callable[[], Any]) -> Any:
    """Return a dense form that somebody asked for by calling the method, and count it."""
    found = operation_frames()
    cls = type(value)
    if found is not None:
        operation, called, frame = found
        inside = _inside(operation, called)
        return counted(operation.qualified_name, cls, value, method, make, frame, inside=inside, warned="")
    return entered(f"{type_text(cls)}.{method.__name__}", cls, make, caller_frame())


def _inside(operation: Overridable, called: FrameType) -> str:
    """Return in words which function an operation called."""
    code = called.f_code
    rules = operation.rules_for_calls()
    is_rule = any(getattr(written(rule.handler), "__code__", None) is code for rule in rules)
    what = "the rule" if is_rule else code.co_qualname.replace("<locals>.", "")
    return f"inside {what} at {code.co_filename}:{code.co_firstlineno}"
