"""What a failed call says: the operation, the reason, each argument, and what the documentation asks of it.

Bodies compute on raw arrays by functions of array libraries, whose errors name neither the operation nor its
arguments. Whoever calls a body passes what it raises through `reraise`, which costs nothing where nothing is raised.
What handlers, modes and bodies of users raise stays as it is.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import getdoc
from itertools import groupby
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dispatchkit.backends.arrays import SCALARS, advice_for_subclass
from dispatchkit.errors import AutogradError, DispatchError, ForeignArgumentError
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.parameters import Form, Key, flatten

if TYPE_CHECKING:
    from dispatchkit.declare.operation import DeclaredOperation

__all__ = [
    "MISTAKES",
    "NUMBERS",
    "add_context",
    "can_be_restated",
    "check_numbers",
    "numbers_only",
    "reraise",
    "restated",
    "shown",
]

# What array libraries raise for arguments they do not take; all else, such as lack of memory, is no mistake of a call.
MISTAKES = (TypeError, ValueError, IndexError, OverflowError, RuntimeError)
REASON = "__dispatchkit_reason__"
RAISED = "raised in "
NUMBERS = frozenset("biufc")


def reraise(
    operation: DeclaredOperation, error: Exception, args: Sequence[Any], kwargs: Mapping[str, Any], inner: bool = False
) -> NoReturn:
    """Raise the error of a body again, with the operation and its arguments in the text.

    Parameters
    ----------
    operation : that was called
    error : what its body raised
    args, kwargs : of the call
    inner : whether the body called other operations, whose errors alone are put in this one's terms

    Raises
    ------
    TypeError : if the arguments do not fit the signature
    Exception : of the type of `error`; `error` itself if it names the operation or is the library's own, and with a
        note if another library defines its type
    """
    if isinstance(error, TypeError):
        operation.check_call(tuple(args), kwargs)
    reason = getattr(error, REASON, None)
    if (inner and reason is None) or not _is_to_be_explained(operation, error):
        raise error
    if reason is None:
        reason = str(error).strip().removeprefix(f"{operation.qualified_name}: ").removeprefix(f"{operation.name}: ")
    described = _described(operation, args, kwargs)
    if not can_be_restated(error):
        add_context(error, operation.qualified_name, *described)
        raise error
    made = restated(error, "\n".join([f"{operation.qualified_name}: {reason}", *described]))
    setattr(made, REASON, reason)
    raise made from error


def _is_to_be_explained(operation: DeclaredOperation, error: Exception) -> bool:
    if operation.namespace.partition(".")[0] != "dispatchkit" or isinstance(error, (AutogradError, DispatchError)):
        return False
    # A body that does nothing but call a library's function states nothing itself, whatever the text begins with.
    return operation.passthrough or not str(error).startswith((f"{operation.name}: ", f"{operation.qualified_name}: "))


def can_be_restated(error: Exception) -> bool:
    """Return whether Python or NumPy define the type of an error; another library's is made of we do not know what."""
    return type(error).__module__.partition(".")[0] in ("builtins", "numpy")


def add_context(error: Exception, function: str, *lines: str) -> None:
    """Note on an error in which call it was raised, where none inside has done so."""
    if not any(note.startswith(RAISED) for note in getattr(error, "__notes__", ())):
        error.add_note("\n".join([f"{RAISED}{function}", *lines]))


def restated(error: Exception, text: str) -> Exception:
    """Return an exception of the same type with another text; of the nearest base that is made of a text alone.

    Parameters
    ----------
    error : of a type that Python or NumPy define
    text : of the new one
    """
    for cls in type(error).__mro__:
        if cls.__module__.startswith("numpy._core"):
            continue  # private, and made of a universal function
        try:
            made: Exception = cls(text)
        except TypeError:
            continue  # such as UnicodeDecodeError, which is made of five values
        if str(made) == text:
            return made
    raise AssertionError("Exception itself is made of a text")


def _described(operation: DeclaredOperation, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines for the arguments of a call: names, what was found, and what the documentation asks of them."""
    asked = dict(_documented(getdoc(operation.function) or ""))
    given = operation.parameters.signature.bind_partial(*args, **kwargs).arguments
    for wanted, names in groupby(given, key=asked.get):
        found = ", ".join(f"{name} = {shown(given[name])}" for name in names)
        yield f"  {found}" + (f"; wanted: {wanted}" if wanted else "")


def _documented(doc: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each parameter that a docstring documents, and what it says of it."""
    _, _, section = doc.partition("Parameters\n----------\n")
    lines = section.partition("\n\n")[0]
    for entry in re.split(r"\n(?=\S)", lines):
        names, colon, text = entry.partition(" : ")
        if colon:
            for name in names.split(","):
                yield name.strip(" *"), " ".join(text.split())


def shown(value: Any) -> str:
    """Return a short description of an argument: dtype and shape of an array, anything else as it is."""
    array = value.array if isinstance(value, Storage) else value
    if hasattr(array, "dtype") and hasattr(array, "shape") and not isinstance(array, type):
        device = getattr(array, "device", "cpu")
        place = "" if str(device) == "cpu" else f" on device {device}"
        return f"{array.dtype} array of shape {tuple(array.shape)}{place}"
    if isinstance(value, (list, tuple)):
        members = ", ".join([shown(member) for member in value[:4]] + ["..."] * (len(value) > 4))
        if isinstance(value, list):
            return f"[{members}]"
        return f"({members},)" if len(value) == 1 else f"({members})"
    return reprlib.repr(value)


def check_numbers(operation: DeclaredOperation, result: Any, asked: Any) -> None:
    """Raise if the dtype of a result is none of numbers.

    Parameters
    ----------
    operation : that takes a dtype
    result : what its body gave, without a dtype where it is a Python object
    asked : the dtype of the call where it came by name

    Raises
    ------
    TypeError : naming the operation and the dtype
    """
    dtype = result.dtype if hasattr(result, "dtype") else np.dtype(asked)
    if getattr(dtype, "kind", "f") not in NUMBERS:
        raise TypeError(f"{operation.qualified_name}: dtype must be of numbers or booleans, found {dtype}")


def _may_hold_others(cls: Any) -> bool:
    """Return whether an argument of a type may be of something else than numbers: arrays, and scalars of dates."""
    return issubclass(cls, np.ndarray) or (issubclass(cls, np.generic) and SCALARS.isdisjoint(cls.__mro__))


def numbers_only(operation: DeclaredOperation, handler: Callable[..., Any], key: Key) -> Callable[..., Any]:
    """Return a handler that refuses NumPy arrays of anything but numbers: strings, objects, dates.

    Parameters
    ----------
    operation : that the handler computes
    handler : what computes it
    key : types of the arguments; the handler itself is returned where none is NumPy's
    """
    if not any(map(_may_hold_others, flatten(key))):
        return handler
    parameters, name = operation.parameters, operation.qualified_name

    def of_subclasses(*args: Any, **kwargs: Any) -> Any:
        for p, value in parameters.values(args, kwargs):
            if advice := advice_for_subclass(type(value)):
                raise ForeignArgumentError(name, p.name, type(value).__name__, advice)
        return handler(*args, **kwargs)

    def of_two(x1: Any, x2: Any) -> Any:
        if (first and x1.dtype.kind not in NUMBERS) or (second and x2.dtype.kind not in NUMBERS):
            return of_any(x1, x2)
        return handler(x1, x2)

    def of_any(*args: Any, **kwargs: Any) -> Any:
        for p, value in parameters.values(args, kwargs):
            of_numpy = p.form is not Form.INDEX and isinstance(value, (np.ndarray, np.generic))
            if of_numpy and value.dtype.kind not in NUMBERS:
                kind = "array" if isinstance(value, np.ndarray) else "scalar"
                found = f"NumPy {kind} of dtype {value.dtype}"
                raise ForeignArgumentError(name, p.name, found, wanted="an array of numbers or booleans")
        return handler(*args, **kwargs)

    if any(map(advice_for_subclass, flatten(key))):
        return of_subclasses
    if not parameters.binary:
        return of_any
    first, second = map(_may_hold_others, key)
    return of_two
