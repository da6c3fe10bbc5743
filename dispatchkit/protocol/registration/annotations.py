"""Annotations of handlers and bodies: how they are resolved, and the classes that they name."""

from __future__ import annotations

import inspect
import itertools
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, MutableSequence, Sequence
from functools import cache
from typing import Any

from typing_extensions import TypeAliasType

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.handlers import ANY, function_name, written
from dispatchkit.protocol.parameters import ArrayParameter, Form, Parameters

__all__ = ["alternatives", "annotated_signatures", "classes_of", "is_sequence", "resolved_hints"]

SEQUENCES = (list, tuple, set, frozenset, Sequence, MutableSequence, Collection, Iterable)
INSTEAD = "pass the types instead: implements(operation, Type, ...)"


def annotated_signatures(handler: Callable[..., Any], parameters: Parameters, skip: int = 0) -> list[tuple[type, ...]]:
    """Return the signatures that a handler's annotations declare, unions expanded.

    Parameters
    ----------
    handler : the function to read
    parameters : of the operation; for a kind every positional parameter counts
    skip : number of leading parameters that are no arrays, such as the operation of a kind rule

    Raises
    ------
    RegistrationError : where an annotation cannot be resolved, names no class, or names sequences of one array
    """
    name = function_name(handler)
    hints = resolved_hints(handler)
    own = list(inspect.signature(handler).parameters.values())[skip:]
    found = [_hint_of(array, own, hints) for array in parameters.arrays]
    choices: list[list[type]] = []
    for hint, array in zip(found, parameters.arrays, strict=True):
        classes = classes_of(hint, array.form, name)
        if array.form is Form.ONE:
            _refuse_sequences(hint, classes, array.name, name)
        choices.append(classes)
    # A type variable with constraints is the same class in all its places.
    same = {v: [i for i, hint in enumerate(found) if hint is v] for v in found if isinstance(v, typing.TypeVar)}
    return [
        signature
        for signature in itertools.product(*choices)
        if all(len({signature[i] for i in places}) == 1 for places in same.values())
    ]


def _hint_of(array: ArrayParameter, own: Sequence[inspect.Parameter], hints: Mapping[str, Any]) -> Any:
    position = array.position
    if position is not None and position < len(own) and own[position].kind is not own[position].KEYWORD_ONLY:
        return hints.get(own[position].name, ANY)
    return hints.get(array.name, ANY) if any(p.name == array.name for p in own) else ANY


def _refuse_sequences(hint: Any, classes: Iterable[type], parameter: str, handler: str) -> None:
    found = next((cls for cls in classes if is_sequence(cls)), None)
    if found is not None:
        shown = found.__name__ if hint is found else hint
        raise RegistrationError(
            f"the annotation {shown} in {handler} can never match: '{parameter}' takes one array, and a "
            f"{found.__name__} is none; write the type of the array"
        )


def resolved_hints(
    handler: Callable[..., Any], skip: Collection[str] = ("return",), instead: str = INSTEAD
) -> dict[str, Any]:
    """Return annotations as objects; names of enclosing functions are found in the callers' frames.

    Parameters
    ----------
    handler : the function to read, or what calls one
    skip : parameters to leave out
    instead : the advice of the error

    Raises
    ------
    RegistrationError : if an annotation cannot be resolved
    """
    function = written(handler)
    module: dict[str, Any] = getattr(function, "__globals__", {})
    scope: dict[str, Any] | None = None
    resolved: dict[str, Any] = {}
    for name, hint in getattr(function, "__annotations__", {}).items():
        if name in skip:
            continue
        if not _is_text(hint):
            resolved[name] = hint
            continue
        if scope is None:
            scope = _enclosing_names(function)
        try:
            resolved[name] = _resolved(hint, module, scope)
        except Exception as error:
            raise RegistrationError(
                f"the annotation {hint!r} of parameter '{name}' of {function.__qualname__} cannot be resolved "
                f"({error}); {instead}"
            ) from error
    return resolved


def _is_text(hint: Any) -> bool:
    """Return whether an annotation, or a part of it, is text that is not evaluated yet."""
    if isinstance(hint, type) or hint is Any:
        return False
    if isinstance(hint, (str, typing.ForwardRef)):
        return True
    parts = typing.get_args(hint)
    return any(map(_is_text, parts[:1] if typing.get_origin(hint) is typing.Annotated else parts))


def _resolved(hint: Any, module: dict[str, Any], scope: dict[str, Any]) -> Any:
    value = eval(_compiled(hint), module, scope) if isinstance(hint, str) else hint  # noqa: S307
    if not _is_text(value):
        return value
    holder = types.SimpleNamespace(__annotations__={"hint": value})
    return typing.get_type_hints(holder, module, scope, include_extras=True)["hint"]


@cache
def _compiled(hint: str) -> types.CodeType:
    return compile(hint, "<annotation>", "eval")


def _enclosing_names(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the local names of the functions that enclose one, inner names hiding outer ones."""
    if "<locals>" not in function.__qualname__:
        return {}
    around = function.__qualname__.split(".<locals>.")
    enclosing = {".<locals>.".join(around[:depth]) for depth in range(1, len(around))}
    frame = inspect.currentframe()
    found: list[Mapping[str, Any]] = []
    while frame is not None:
        code = frame.f_code
        if code.co_qualname in enclosing and code.co_filename == function.__code__.co_filename:
            found.append(frame.f_locals)
        frame = frame.f_back
    scope: dict[str, Any] = {}
    for names in reversed(found):
        scope.update(names)
    return scope


def alternatives(hint: Any) -> list[Any]:
    """Return the alternatives of an annotation: members of unions, targets of aliases and of type variables."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated or hint is Any or isinstance(hint, type):
        return [hint]
    if is_alias(hint) or is_alias(origin):
        parts = [_aliased(hint)]
    elif isinstance(hint, typing.NewType):
        parts = [hint.__supertype__]
    elif isinstance(hint, typing.TypeVar):
        parts = list(hint.__constraints__) or [Any if hint.__bound__ is None else hint.__bound__]
    elif origin in (typing.Union, types.UnionType):
        parts = list(typing.get_args(hint))
    else:
        return [hint]
    return [one for part in parts for one in alternatives(part)]


def is_alias(hint: Any) -> bool:
    """Return whether an annotation is an alias that a ``type`` statement made, as NumPy's are from 2.5 on."""
    return isinstance(hint, TypeAliasType) or type(hint).__name__ == "TypeAliasType"


def _aliased(hint: Any) -> Any:
    """Return what an alias stands for, with the types given for its variables."""
    alias = hint if is_alias(hint) else typing.get_origin(hint)
    value = alias.__value__
    given = dict(zip(alias.__type_params__, typing.get_args(hint), strict=False))
    free = getattr(value, "__parameters__", ())
    return value[tuple(given.get(one, Any) for one in free)] if free else value


def classes_of(hint: Any, form: Form, handler: str) -> list[type]:
    """Return the classes that an annotation names."""
    return [cls for one in alternatives(hint) for cls in _classes(one, form, handler)]


def _classes(hint: Any, form: Form, handler: str) -> list[type]:
    if hint is Any or hint is inspect.Parameter.empty:
        return [ANY]
    if hint is None:
        return [type(None)]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return classes_of(inner[0], form, handler)
    if origin is not None and form is not Form.ONE and is_sequence(origin):
        parts = [part for part in inner if part is not Ellipsis]
        return [cls for part in parts for cls in classes_of(part, form, handler)] or [ANY]
    if origin is not None:
        return classes_of(origin, form, handler)
    if not isinstance(hint, type):
        raise RegistrationError(f"the annotation {hint!r} in {handler} names no class; {INSTEAD}")
    if form is not Form.ONE and hint in (list, tuple):
        return [ANY]
    return [hint]


def is_sequence(origin: Any) -> bool:
    """Return whether a class is a sequence type whose members an annotation names."""
    return origin in SEQUENCES
