"""Functions, types and places as messages name them."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dispatchkit.protocol.types.array_types import ArrayTypes

ANY = object


def written(handler: Callable[..., Any]) -> Any:
    """Return the function whose code runs when a handler is called: inside a partial, a wrapper, a class, an object."""
    function: Any = inspect.unwrap(handler)
    while isinstance(function, partial):
        function = inspect.unwrap(function.func)
    if isinstance(function, type):
        return getattr(function, "__init__")  # noqa: B009  # of the class, not of an instance
    if isinstance(function, (types.FunctionType, types.MethodType)):
        return function
    return type(function).__call__


def location_of(function: Callable[..., Any]) -> str:
    """Return file and line of a function, "built in" where it has none."""
    code = getattr(written(function), "__code__", None)
    if code is None:
        return "built in"
    return f"{code.co_filename}:{code.co_firstlineno}"


def function_name(function: Any) -> str:
    """Return the name of a function for messages, what prints of another object."""
    return str(getattr(function, "__qualname__", repr(function)))


def type_name(cls: type) -> str:
    """Name a type as in a message: built-in ones by name, others with their module's last part."""
    if cls is ANY:
        return "any"
    return cls.__qualname__.replace("<locals>.", "")


def misfit(tool: str, value: Any, types: ArrayTypes, others: Sequence[str] = ()) -> TypeError:
    """Return the error of a tool that takes types of a protocol and was given something else.

    Parameters
    ----------
    tool : its name
    value : what it was given
    types : of the protocol
    others : the methods of the protocols in which a type takes part instead
    """
    if isinstance(value, type):
        text = f"{type_name(value)} takes no part in {types.method}"
        if others:
            listed = " and ".join(others)
            return TypeError(f"{tool}: {text}; it takes part in {listed}, so give its protocol as 'protocol'")
        return TypeError(f"{tool}: {text}; decorate it with array_type, or define {types.method}")
    cls = type(value)
    advice = ""
    if types.participates(cls):
        advice = f"; give its type, {type_name(cls)}"
    return TypeError(f"{tool}: takes a type, not an instance of {type_name(cls)}{advice}")
