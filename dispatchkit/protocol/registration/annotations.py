"""What a handler says: the classes its annotations name, its target, and how it can fail to fit the operation."""

from __future__ import annotations

import inspect
import itertools
import re
import sys
import types
import typing
from abc import ABC, ABCMeta
from collections.abc import Callable, Collection, Iterable, Mapping, MutableSequence, Sequence
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple, Protocol

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.naming import ANY, function_name, type_name, written
from dispatchkit.protocol.operations import Operations
from dispatchkit.protocol.overridable import Dispatcher, Overridable, held_by_name, of
from dispatchkit.protocol.parameters import ELSEWHERE, ArrayParameter, Form, Parameters
from dispatchkit.protocol.rules import star_place
from dispatchkit.protocol.stubs import public_path
from dispatchkit.protocol.surface import Surface
from dispatchkit.signatures import annotation_texts, annotations_of, read_signature
from dispatchkit.wording import nearest

SEQUENCES = (list, tuple, set, frozenset, Sequence, MutableSequence, Collection, Iterable)
INSTEAD = "pass the types instead: implements(operation, Type, ...)"


class Annotated(NamedTuple):
    """What the annotations of a handler say of the arrays that it takes.

    Attributes
    ----------
    signatures : the types that it serves, unions expanded
    choices : the classes that each array parameter names
    every, spread : as `Rule` has them
    """

    signatures: list[tuple[type, ...]]
    choices: list[list[type]]
    every: tuple[tuple[type, ...], ...]
    spread: tuple[tuple[slice, str, tuple[type, ...]], ...]


def annotated_signatures(handler: Callable[..., Any], parameters: Parameters, skip: int = 0) -> Annotated:
    """Return what a handler's annotations declare.

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
    takes = list(read_signature(handler).parameters.values())[skip:]
    receivers = [_receivers(array, takes) for array in parameters.arrays]
    hints = resolved_hints(handler, only=[p.name for received in receivers for p in received])
    named: list[Any] = []
    choices: list[list[type]] = []
    every: list[tuple[type, ...]] = []
    spread: list[tuple[slice, str, tuple[type, ...]]] = []
    for array, received in zip(parameters.arrays, receivers, strict=True):
        if len(received) > 1:
            named.append(ANY)
            every.append(())
            shared = _shared_by(received, takes, hints, name)
            spread += shared
            choices.append(list(dict.fromkeys(cls for _, _, classes in shared for cls in classes)) or [ANY])
            continue
        receiver = next(iter(received), None)
        hint = ANY
        if receiver is not None:
            hint = hints.get(receiver.name, ANY)
        classes = classes_of(hint, array.form, name)
        if array.form is Form.ONE:
            _refuse_sequences(hint, classes, array.name, name)
        named.append(hint)
        choices.append(classes)
        variadic = receiver is not None and receiver.kind is receiver.VAR_POSITIONAL
        several = variadic or is_sequence(typing.get_origin(hint))
        every.append(tuple(classes) if several and ANY not in classes else ())
    # A type variable with constraints is the same class in all its places.
    same = {v: [i for i, hint in enumerate(named) if hint is v] for v in named if isinstance(v, typing.TypeVar)}
    signatures = [
        signature
        for signature in itertools.product(*choices)
        if all(len({signature[i] for i in places}) == 1 for places in same.values())
    ]
    return Annotated(signatures, choices, tuple(every), tuple(spread))


def _receivers(array: ArrayParameter, takes: Sequence[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return the parameters of a handler that are given an array; those that share any number of arrays."""
    position = array.position
    if position is not None:
        by_position = [p for p in takes if p.kind <= p.VAR_POSITIONAL]
        if position < len(by_position):
            if array.form is Form.STAR:
                return by_position[position:]
            return by_position[position : position + 1]
        variadic = [p for p in by_position if p.kind is p.VAR_POSITIONAL]
        if variadic:
            return variadic
    return [p for p in takes if p.name == array.name]


def _shared_by(
    received: Iterable[inspect.Parameter], takes: Sequence[inspect.Parameter], hints: Mapping[str, Any], handler: str
) -> list[tuple[slice, str, tuple[type, ...]]]:
    """Return what those parameters demand that share the arrays that an operation takes any number of."""
    shared: list[tuple[slice, str, tuple[type, ...]]] = []
    for p in received:
        classes = classes_of(hints.get(p.name, ANY), Form.ONE, handler)
        start = takes.index(p)
        stop = None
        if p.kind is not p.VAR_POSITIONAL:
            stop = start + 1
        if ANY not in classes:
            shared.append((slice(start, stop), p.name, tuple(classes)))
    return shared


def _refuse_sequences(hint: Any, classes: Iterable[type], parameter: str, handler: str) -> None:
    sequence = next((cls for cls in classes if is_sequence(cls)), None)
    if sequence is not None:
        shown = hint
        if hint is sequence:
            shown = sequence.__name__
        raise RegistrationError(
            f"the annotation {shown} in {handler} can never match: '{parameter}' takes one array, and a "
            f"{sequence.__name__} is none; write the type of the array"
        )


def resolved_hints(handler: Callable[..., Any], only: Collection[str], instead: str = INSTEAD) -> dict[str, Any]:
    """Return annotations as objects; names of enclosing functions are found in the callers' frames.

    Parameters
    ----------
    handler : the function to read, or what calls one
    only : the parameters that are asked for, and ``"return"``; the others may name what a type checker alone knows
    instead : the advice of the error

    Raises
    ------
    RegistrationError : if an annotation that is asked for cannot be resolved
    """
    function = written(handler)
    module: dict[str, Any] = getattr(function, "__globals__", {})
    scope: dict[str, Any] | None = None
    resolved: dict[str, Any] = {}
    for name, hint in annotations_written(function).items():
        if name not in only:
            continue
        if not _is_text(hint):
            resolved[name] = hint
            continue
        if scope is None:
            scope = _enclosing_names(function)
        try:
            resolved[name] = _resolve(hint, module, scope)
        except Exception as error:
            shown = annotation_texts(function)[name]
            raise RegistrationError(
                f"the annotation {shown!r} of parameter '{name}' of {function.__qualname__} cannot be resolved "
                f"({error}); {instead}"
            ) from error
    return resolved


def annotations_written(function: Any) -> dict[str, Any]:
    """Return the annotations of what `written` returns, as they are written; none of what has no code."""
    bare = getattr(function, "__func__", function)
    if isinstance(bare, FunctionType):
        return annotations_of(bare)
    return {}


def known_hint(handler: Callable[..., Any], name: str, otherwise: Any) -> Any:
    """Return an annotation as an object; something else where it cannot be resolved, and Any where there is none."""
    try:
        return resolved_hints(handler, [name]).get(name, Any)
    except RegistrationError:
        return otherwise


def _is_text(hint: Any) -> bool:
    """Return whether an annotation, or a part of it, is text that is not evaluated yet."""
    if isinstance(hint, type) or hint is Any:
        return False
    if isinstance(hint, (str, typing.ForwardRef)):
        return True
    parts = typing.get_args(hint)
    return any(map(_is_text, parts[:1] if typing.get_origin(hint) is typing.Annotated else parts))


def _resolve(hint: Any, module: dict[str, Any], scope: dict[str, Any]) -> Any:
    value = eval(_compile(hint), module, scope) if isinstance(hint, str) else hint  # noqa: S307
    if not _is_text(value):
        return value
    holder = types.SimpleNamespace(__annotations__={"hint": value})
    return typing.get_type_hints(holder, module, scope, include_extras=True)["hint"]


@cache
def _compile(hint: str) -> types.CodeType:
    return compile(hint, "<annotation>", "eval")


def _enclosing_names(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the local names of the functions that enclose one, inner names hiding outer ones."""
    if "<locals>" not in function.__qualname__:
        return {}
    around = function.__qualname__.split(".<locals>.")
    enclosing = {".<locals>.".join(around[:depth]) for depth in range(1, len(around))}
    frame = inspect.currentframe()
    scopes: list[Mapping[str, Any]] = []
    while frame is not None:
        code = frame.f_code
        if code.co_qualname in enclosing and code.co_filename == function.__code__.co_filename:
            scopes.append(frame.f_locals)
        frame = frame.f_back
    scope: dict[str, Any] = {}
    for names in reversed(scopes):
        scope.update(names)
    return scope


def alternatives(hint: Any) -> list[Any]:
    """Return the alternatives of an annotation: members of unions, targets of aliases and of type variables."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated or hint is Any or isinstance(hint, type):
        return [hint]
    if is_alias(hint) or is_alias(origin):
        parts = [_target_of_alias(hint)]
    elif isinstance(hint, typing.NewType):
        parts = [hint.__supertype__]
    elif isinstance(hint, typing.TypeVar):
        parts = list(hint.__constraints__) or [Any if hint.__bound__ is None else hint.__bound__]
    elif origin in (typing.Union, types.UnionType):
        parts = list(typing.get_args(hint))
    else:
        return [hint]
    return [choice for part in parts for choice in alternatives(part)]


def is_alias(hint: Any) -> bool:
    """Return whether an annotation is an alias that a ``type`` statement made, as NumPy's are from 2.5 on."""
    return type(hint).__name__ == "TypeAliasType"


def _target_of_alias(hint: Any) -> Any:
    """Return what an alias stands for, with the types given for its variables."""
    alias = hint
    if not is_alias(hint):
        alias = typing.get_origin(hint)
    value = alias.__value__
    arguments = dict(zip(alias.__type_params__, typing.get_args(hint), strict=False))
    free = getattr(value, "__parameters__", ())
    if free:
        return value[tuple(arguments.get(variable, Any) for variable in free)]
    return value


def classes_of(hint: Any, form: Form, handler: str) -> list[type]:
    """Return the classes that an annotation names."""
    return [cls for choice in alternatives(hint) for cls in _classes(choice, form, handler)]


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


class Registering(Dispatcher, Protocol):
    """What registrations ask of the protocol that they are for."""

    @property
    def operations(self) -> Operations:
        """The functions that can be overridden."""

    @property
    def surface(self) -> Surface:
        """The operators, methods and properties that array types get."""


def target_of(protocol: Registering, target: Any) -> Overridable | Kind:
    """Return the operation or kind that a rule is registered for.

    Raises
    ------
    RegistrationError : if it is neither, or of another protocol; with advice where that is possible
    """
    operation = target if isinstance(target, Kind) else of(target)
    if operation is None:
        raise RegistrationError(f"implements: {_mistake(protocol, target)}")
    if isinstance(operation, Overridable) and operation.protocol is not protocol:
        raise RegistrationError(
            f"implements: {operation.qualified_name} belongs to {operation.protocol!r}, not to {protocol!r}; write "
            f"implements of that protocol, as in @protocol.implements({operation.name})"
        )
    return operation


def _mistake(protocol: Registering, target: Any) -> str:
    """Return the message for what is no operation, with what to write."""
    if isinstance(target, str):
        namesake = _namesake(protocol, target)
        return f"{target!r} is a name; give the function itself" + (f", {public_path(namesake)}" if namesake else "")
    cls = target
    if not isinstance(target, type):
        cls = type(target)
    if callable(getattr(cls, "forward", None)) and not protocol.types.participates(cls):
        called = _function_of(protocol, cls)
        advice = "give the functions that its forward calls"
        if called:
            advice = f"give the function that it calls, {called}"
        return f"{type_name(cls)} is a module, not a function; {advice}"
    if isinstance(target, type):
        return f"{type_name(target)} is a type; the operation goes first: implements(operation, {type_name(target)})"
    if not callable(target):
        return f"{target!r} is no function; give an operation such as dk.add, or a kind"
    name = str(getattr(target, "__name__", None) or repr(target))
    module = str(getattr(target, "__module__", None) or "")
    namesake = _namesake(protocol, f"{module}.{name}")
    # A function that is not yet bound to its name is the one that a decorator gets.
    if isinstance(target, FunctionType) and held_by_name(target) is not target:
        prefix = "dk."
        if protocol.types.base is None:
            prefix = ""
        operation = "operation"
        if namesake:
            operation = public_path(namesake)
        return f"{target.__qualname__} is the handler; write @{prefix}implements({operation}) above it"
    if namesake is None:
        name = getattr(target, "__qualname__", name)
        return f"{name} is not overridable; make it so with overridable({name})"
    library = module.partition(".")[0]
    shown = name
    if library not in ("", "builtins", "__main__"):
        shown = f"{library}.{name}"
    return f"{shown} is not overridable; use {public_path(namesake)}"


def _function_of(protocol: Registering, module: type) -> str:
    """Return the path of the function that a module class is named after: ``linear`` of `Linear`; "" for none."""
    protocol.journal.load_all()
    # Functions of the same name as one for modules come first, to be replaced.
    known = sorted(protocol.operations.values(), key=lambda operation: operation.namespace.endswith("functional"))
    named = {operation.name.replace("_", ""): operation for operation in known}
    for cls in module.__mro__:
        name = cls.__name__.lower()
        for spelling in (name, re.sub(r"[123]d$", "", name)):
            if spelling in named:
                return public_path(named[spelling])
    return ""


def _namesake(protocol: Registering, path: str) -> Overridable | None:
    """Return the operation with the name of another function, preferably in a namespace of the same name."""
    *_, outer, name = f"..{path}".split(".")
    for prefix in ("linalg", "fft", "special"):
        if name.startswith(f"{prefix}_"):  # as PyTorch names the functions of its modules
            outer, name = prefix, name.removeprefix(f"{prefix}_")
    protocol.journal.load_all()
    named = [operation for operation in protocol.operations.values() if operation.name == name]
    # The table of methods has further names of array libraries.
    member = protocol.surface.members.get(name)
    if (
        path.partition(".")[0] not in sys.stdlib_module_names
        and not named
        and member is not None
        and member.operation is not None
    ):
        return member.operation
    return next((each for each in named if each.namespace.rpartition(".")[2] == outer), named[0] if named else None)


# Names that handlers of kinds give their first parameter.
OPERATION = ("op", "operation", "func", "function")
# What is called without computing anything yet.
LATER: dict[str, Callable[[Any], bool]] = {
    "generator": inspect.isgeneratorfunction,
    "coroutine": inspect.iscoroutinefunction,
    "asynchronous generator": inspect.isasyncgenfunction,
}
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def departures(takes: inspect.Signature, parameters: Parameters) -> tuple[list[str], list[str]]:
    """Compare a handler's signature with its operation's.

    Returns
    -------
    faults : what makes it impossible to call the handler at all
    remarks : where its results would differ from what the operation's signature promises
    """
    theirs = parameters.signature.parameters
    return _faults(takes, list(theirs.values())), _remarks(takes, list(theirs.values()))


def never_called(handler: str, operation: str, parameters: Parameters, faults: Sequence[str]) -> str:
    """Return the message for a handler that can never be called for its operation."""
    return f"{handler} can never be called for {operation}{parameters.signature}: {'; '.join(faults)}"


def classes_of_rest(handler: Callable[..., Any], takes: inspect.Signature) -> tuple[type, ...]:
    """Return the classes that the annotation of ``*args`` names; none where there is no demand."""
    starred = next((p for p in takes.parameters.values() if p.kind is p.VAR_POSITIONAL), None)
    if starred is None or starred.annotation is starred.empty:
        return ()
    classes = classes_of(known_hint(handler, starred.name, Any), Form.ONE, function_name(handler))
    if ANY in classes:
        return ()
    return tuple(classes)


def most_arrays(target: Overridable, handler: str, takes: inspect.Signature, rest: tuple[type, ...]) -> int | None:
    """Return how many arguments may be passed by position, for all that ``*args: T`` takes to be arrays.

    Raises
    ------
    RegistrationError : if one that is no array is passed in every call
    """
    place = star_place(takes) or 0
    others = target.parameters.others_from(place)
    takes_arrays = any(p.position is not None and p.position >= place for p in target.parameters.arrays)
    if not others or not takes_arrays:
        return None
    first = others[0]
    starred = list(takes.parameters.values())[place]
    if first.default is first.empty and first.kind is not first.VAR_POSITIONAL:
        wanted = " | ".join(map(type_name, rest))
        fault = (
            f"'*{starred.name}: {wanted}' takes '{first.name}', too, which is no array; give it a parameter of its own"
        )
        raise RegistrationError(never_called(handler, target.qualified_name, target.parameters, [fault]))
    return list(target.parameters.signature.parameters).index(first.name)


def no_own_type(handler: str, types: Sequence[str]) -> str:
    """Return the message for a handler that names plain types alone."""
    return (
        f"{handler} names no type of its own (found: {', '.join(types) or 'nothing'}); annotate the array parameters, "
        f"as in def handler(x: MyType), or pass the type: implements(operation, MyType)"
    )


def not_at_once(function: Callable[..., Any], original: Any = None) -> str:
    """Say why a function computes nothing when it is called, where the original does so; "" where it does, too."""
    for result, is_one in LATER.items():
        if is_one(written(function)) and not is_one(original):
            return f"would answer with a {result}, since it is a {result} function; return the result instead"
    return ""


def stands_for_nothing(cls: type) -> bool:
    """Return whether no object has a class in its MRO: an abstract class without concrete subclasses."""
    if cls.__module__ == "numbers":
        return True  # Python's numbers are registered, not derived
    bare = type(cls) is ABCMeta and cls.__bases__ in ((object,), (ABC,)) and "__init__" not in cls.__dict__
    abstract = is_structural(cls) or inspect.isabstract(cls) or bare
    return abstract and all(map(stands_for_nothing, cls.__subclasses__()))


def is_structural(cls: type) -> bool:
    """Return whether a class is a `typing.Protocol`, or an abstract one of `numbers`."""
    return bool(getattr(cls, "_is_protocol", False)) or cls.__module__ == "numbers"


def never_found(handler: str, cls: type) -> str:
    """Return the message for a handler that names a class without instances, with what to name instead."""
    kind = "abstract base class"
    if is_structural(cls):
        kind = "protocol"
    instead = "the classes themselves, as in A | B"
    if cls.__module__ == "numbers":
        instead = "int, float or complex"
    declare = ""
    if not is_structural(cls):
        declare = f", or declare {type_name(cls)} an array type first"
    return (
        f"{handler} can never be called for {type_name(cls)}: rules are looked up by the MRO, and no class is derived "
        f"from this {kind}; write {instead}{declare}"
    )


def wrong_count(types: int, target: object, count: int) -> str:
    """Return the message for a number of types that fits no call of an operation."""
    return (
        f"implements: {types} types for {target!r}, which has {count} array parameters; give one type "
        f"for any position, or {count}"
    )


def _faults(takes: inspect.Signature, theirs: Sequence[inspect.Parameter]) -> list[str]:
    ours = list(takes.parameters.values())
    passed = [p for p in theirs if p.kind in POSITIONAL]
    positional = [p for p in ours if p.kind in POSITIONAL]
    faults: list[str] = []
    required = sum(p.default is p.empty and p.kind is p.POSITIONAL_ONLY for p in passed)
    if len(positional) < required and not any(p.kind is p.VAR_POSITIONAL for p in ours):
        faults.append(f"it takes {len(positional)} positional arguments, the operation passes {required}")
    endless = any(p.kind is p.VAR_POSITIONAL for p in theirs)
    names = {p.name for p in theirs}
    any_keyword = any(p.kind is p.VAR_KEYWORD for p in theirs)
    for index, p in enumerate(ours):
        if p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        by_position = p.kind in POSITIONAL and (index < len(passed) or endless)
        if not (by_position or p.name in names or any_keyword):
            meant = next((f"; did you mean '{name}'?" for name in ELSEWHERE.get(p.name, ()) if name in names), "")
            faults.append(f"it requires '{p.name}', which the operation never passes{meant}")
    return faults


def _remarks(takes: inspect.Signature, theirs: Sequence[inspect.Parameter]) -> list[str]:
    names = {their.name for their in theirs}
    spare = [p.name for p in takes.parameters.values() if p.default is not p.empty and p.name not in names]
    remarks: list[str] = []
    first = next(iter(takes.parameters.values()), None)
    if first is not None and first.name in OPERATION and first.name not in names:
        remarks.append(f"'{first.name}' receives the first argument; only handlers of kinds receive the operation")
    for their in theirs:
        elsewhere = [name for name in spare if their.name in ELSEWHERE.get(name, ())]
        if their.default is their.empty and not elsewhere:
            continue
        mine = takes.parameters.get(their.name)
        if mine is None:
            near = elsewhere or nearest(their.name, spare)
            remarks += [f"'{name}' is never passed; did you mean '{their.name}'?" for name in near]
        elif mine.default not in (mine.empty, ...) and not _same(mine.default, their.default):
            remarks.append(f"'{mine.name}' is {mine.default!r} by default here, {their.default!r} in the operation")
    return remarks


def _same(left: Any, right: Any) -> bool:
    return left is right or (type(left) is type(right) and bool(left == right))
