"""Calls that a signature does not allow: what they raise, before anybody is asked."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.prediction.tree import first_line

__all__ = ["mistake_in", "native_mistake"]


def mistake_in(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return class and first line of what a call raises that the signature does not allow, "" for one that it does."""
    try:
        operation.check_call(args, kwargs)
    except TypeError as error:
        return native_mistake(operation, args, kwargs) or first_line(error)
    return ""


def native_mistake(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return what Python raises itself, before the public function begins; "" where it begins."""
    function = operation.function
    try:
        _own_signature(function).bind(*args, **kwargs)
    except TypeError:
        try:
            function(*args, **kwargs)  # which Python refuses to begin, in its own words
        except TypeError as error:
            return first_line(error)
    return ""


def _own_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the parameters that the code of a function has, rather than those that it shows."""
    if not isinstance(function, types.FunctionType):
        return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
    bare = types.FunctionType(function.__code__, {}, function.__name__, function.__defaults__, function.__closure__)
    bare.__kwdefaults__ = function.__kwdefaults__
    return inspect.signature(bare)
