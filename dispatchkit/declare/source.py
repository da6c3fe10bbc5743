"""Code from texts that this library writes, which tracebacks show line by line; names of functions and parameters."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from functools import cache
from itertools import count
from types import CodeType, FunctionType
from typing import Any

__all__ = ["code_of", "with_name", "with_parameters"]

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
    named = _of_code(function, function.__code__.replace(co_name=name, co_qualname=place + name))
    named.__name__, named.__qualname__ = name, place + name
    return named


def with_parameters(function: FunctionType, names: Mapping[str, str]) -> FunctionType:
    """Return a function that has other names for parameters, by which it is called at no cost.

    Parameters
    ----------
    function : written in Python
    names : the new names by the old ones
    """
    code = function.__code__
    taken = set(names.values()).intersection(code.co_varnames + code.co_cellvars + code.co_freevars)
    if taken:
        raise ValueError(f"{function.__name__}: a variable has the name {taken.pop()!r} already")

    def renamed(variables: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in variables)

    code = code.replace(co_varnames=renamed(code.co_varnames), co_cellvars=renamed(code.co_cellvars))
    other = _of_code(function, code)
    other.__annotations__ = {names.get(name, name): value for name, value in function.__annotations__.items()}
    return other


def _of_code(function: FunctionType, code: CodeType) -> FunctionType:
    """Return a function that is like another one but for its code."""
    other = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    other.__kwdefaults__, other.__annotations__ = function.__kwdefaults__, function.__annotations__
    other.__qualname__, other.__module__, other.__doc__ = function.__qualname__, function.__module__, function.__doc__
    other.__dict__.update(function.__dict__)  # such as the function that it wraps
    return other
