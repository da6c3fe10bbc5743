"""Errors as PyTorch's programs expect them: of the classes that these catch, too."""

from __future__ import annotations

from dispatchkit.declare.call_errors import can_be_restated

__all__ = ["as_raised_by_pytorch"]


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
