"""Errors as PyTorch's programs expect them: of the classes that these catch, too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dispatchkit.declare.call_errors import can_be_restated

__all__ = ["as_raised_by_pytorch", "raising_as_it_is", "raising_as_pytorch"]

# Marks an error of a program's function, which leaves what calls it as it is.
OF_THE_PROGRAM = "__dispatchkit_of_the_program__"

_KINDS: dict[type[Exception], type[Exception]] = {}


def _also_runtime_error(cls: type[Exception]) -> type[Exception]:
    if cls not in _KINDS:
        _KINDS[cls] = type(cls.__name__, (cls, RuntimeError), {"__module__": cls.__module__, "__doc__": cls.__doc__})
    return _KINDS[cls]


def as_raised_by_pytorch(error: Exception) -> Exception:
    """Return an error that ``except RuntimeError`` catches, too, as PyTorch raises that for most mistakes.

    It stays of its own class: `ValueError` where a value is at fault, `TypeError` for a dtype, `IndexError` for a
    place. What is a `RuntimeError` already, and errors of other libraries, are returned as they are.

    Parameters
    ----------
    error : that leaves a function, a method or an operator
    """
    if isinstance(error, (RuntimeError, AttributeError)) or not can_be_restated(error):
        return error
    try:
        another = _also_runtime_error(type(error))(*error.args)
    except TypeError:
        return error  # of a class that is made otherwise
    if str(another) != str(error):
        return error
    another.__dict__.update(error.__dict__)
    another.__cause__, another.__suppress_context__ = error.__cause__, True
    return another.with_traceback(error.__traceback__)


def raising_as_pytorch(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose errors ``except RuntimeError`` catches, too, but those of functions it is given.

    Parameters
    ----------
    function : that calls others, each of which `raising_as_it_is` has marked
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            raised = error
            if not hasattr(error, OF_THE_PROGRAM):
                raised = as_raised_by_pytorch(error)
            if raised is error:
                raise
            raise raised from error.__cause__

    return call


def raising_as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a program's function whose errors stay what they are where another calls it."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            setattr(error, OF_THE_PROGRAM, True)
            raise

    return call
