"""What can be known of a user's function without calling it: whether it may decline, and the classes of its results."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.handlers import ANY
from dispatchkit.protocol.parameters import Form
from dispatchkit.protocol.registration.annotations import classes_of, resolved_hints

__all__ = ["may_decline", "promised_classes"]

# Names that a function which declines has to use; the last asks others, who may decline.
DECLINING = frozenset({"decline", "NotImplemented", "__tensor_function__"})
_known: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def may_decline(function: Callable[..., Any]) -> bool:
    """Return whether a function, or one of its own package that it refers to, names what declines a call.

    A function that names neither `NotImplemented` nor `decline` answers whenever it is asked, or raises. Of what is
    called by a method of an array, and of code outside of the package, nothing is assumed: operations give no
    `NotImplemented`.
    """
    try:
        found = _known.get(function)
    except TypeError:
        return _reaches_decline(function)
    if found is None:
        found = _known[function] = _reaches_decline(function)
    return found


def _reaches_decline(function: Any) -> bool:
    package = _package(function)
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        one = waiting.pop()
        if one is NotImplemented or one is decline:
            return True
        if id(one) in seen or getattr(one, "__overridable__", None) is not None:
            continue
        seen.add(id(one))
        for code in _codes(one):
            if not DECLINING.isdisjoint(code.co_names):
                return True
        waiting += [other for other in _references(one) if _package(other) == package or other is decline]
    return False


def _package(function: Any) -> str:
    inner = function.func if isinstance(function, partial) else function
    return str(getattr(inner, "__module__", None) or "").partition(".")[0]


def _codes(function: Any) -> Iterator[types.CodeType]:
    """Yield the code of a function, and of those that it defines."""
    waiting = [getattr(_plain(function), "__code__", None)]
    while waiting:
        code = waiting.pop()
        if isinstance(code, types.CodeType):
            yield code
            waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def _plain(function: Any) -> Any:
    """Return the function behind a method, a partial, or an object that is called."""
    while True:
        if isinstance(function, partial):
            function = function.func
        elif isinstance(function, (types.MethodType, classmethod, staticmethod)):
            function = function.__func__
        elif isinstance(function, (types.FunctionType, type)) or not callable(function):
            return function
        else:
            return type(function).__call__


def _references(function: Any) -> Iterator[Any]:
    """Yield the functions that a function refers to: global names, attributes of modules, closures and defaults."""
    if isinstance(function, partial):
        yield from (value for value in (*function.args, *function.keywords.values()) if callable(value))
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None:
        yield wrapped
    plain = _plain(function)
    if not isinstance(plain, types.FunctionType):
        return
    held = [cell.cell_contents for cell in plain.__closure__ or () if _is_filled(cell)]
    held += [*(plain.__defaults__ or ()), *(plain.__kwdefaults__ or {}).values()]
    names = {name for code in _codes(plain) for name in code.co_names}
    found = [plain.__globals__[name] for name in names if name in plain.__globals__]
    modules = [one for one in found if isinstance(one, types.ModuleType)]
    found += [vars(module)[name] for module in modules for name in names if name in vars(module)]
    for value in (*held, *found):
        if isinstance(value, (types.FunctionType, types.MethodType, partial)):
            yield value


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def promised_classes(function: Callable[..., Any]) -> tuple[type, ...]:
    """Return the classes of results that the annotation of a function names; empty where it names none."""
    if isinstance(function, type):
        return (function,)
    try:
        hint = resolved_hints(function, skip=()).get("return", inspect.Parameter.empty)
        classes = classes_of(hint, Form.ONE, str(function))
    except (RegistrationError, AttributeError):
        return ()
    named = tuple(dict.fromkeys(cls for cls in classes if cls is not types.NotImplementedType))
    return () if ANY in named else named
