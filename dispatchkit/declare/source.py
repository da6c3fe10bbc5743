"""Code from texts that this library writes, which tracebacks show line by line; and names for functions without one."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import cache
from itertools import count
from types import CodeType, FunctionType
from typing import Any

__all__ = ["code_of", "with_name"]

_count = count(1)


@cache
def code_of(text: str, purpose: str) -> CodeType:
    """Return the code of a text; tracebacks show it, in a file of this library for who asks where it was called.

    Parameters
    ----------
    text : of a module
    purpose : what it is for, in the name of the file
    """
    file = f"{__file__}, {purpose} {next(_count)}"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return compile(text, file, "exec")


def with_name(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function, a lambda under a name: tracebacks and messages show it."""
    if not isinstance(function, FunctionType) or function.__name__ != "<lambda>":
        return function
    place, _, _ = function.__qualname__.rpartition("<lambda>")
    code = function.__code__.replace(co_name=name, co_qualname=place + name)
    named = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    named.__kwdefaults__, named.__annotations__ = function.__kwdefaults__, function.__annotations__
    named.__qualname__, named.__module__, named.__doc__ = place + name, function.__module__, function.__doc__
    named.__dict__.update(function.__dict__)  # such as the function that it wraps
    return named
