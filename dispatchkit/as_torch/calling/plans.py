"""How calls of one kind are carried out, so that arguments that were looked at once need not be looked at again."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from dispatchkit.as_torch.attributes.devices import device
from dispatchkit.as_torch.attributes.dtypes import dtype, plain_dtype
from dispatchkit.as_torch.attributes.shapes import Shape
from dispatchkit.as_torch.calling.arguments import arguments_by_name
from dispatchkit.declare.source import code_of
from dispatchkit.graph.storage import Storage

__all__ = ["OtherArgumentsError", "Plan", "key_function", "key_of", "kinds_of", "plan_of", "unchanged_by"]

Look = Callable[[dict[str, Any]], Any]

# What has part in a key by its value; all else that a key knows may vary from call to call.
CONSTANTS = frozenset({bool, int, str, type(None)})
ndarray = np.ndarray
SEQUENCES = frozenset({tuple, list, Shape})
LONGEST = 8  # sequences whose elements have part in a key


def key_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return what decides how a call is carried out: the kinds of arguments; values of integers, texts and dtypes.

    It is None for a call with other arguments than tensors in NumPy's memory, numbers, texts (names of devices among
    them), dtypes, and sequences of these.
    """
    parts: list[Any] = []
    for value in args:
        # At once, as most arguments are; each part begins with a type, which says what follows.
        cls = type(value)
        if cls in CONSTANTS:
            parts += (cls, value)
        elif isinstance(value, Storage) and not value.is_tracer and type(array := value.array) is ndarray:
            parts += (cls, array.ndim, array.dtype.char)
        elif not _put_parts(value, parts):
            return None
    for name, value in kwargs.items():
        parts.append(name)
        if not _put_parts(value, parts):
            return None
    return tuple(parts)


def _put_parts(value: Any, parts: list[Any]) -> bool:
    """Add to a key what an argument has in it, its type first; return whether a key may have it."""
    cls = type(value)
    if cls in CONSTANTS:
        parts += (cls, value)
    elif cls in SEQUENCES:
        if len(value) > LONGEST:
            return False
        if CONSTANTS.issuperset(map(type, value)):
            parts += (cls, tuple(value), *map(type, value))
            return True
        parts += (cls, len(value))
        for each in value:
            if isinstance(each, Storage) and not each.is_tracer and type(array := each.array) is ndarray:
                parts += (type(each), array.ndim, array.dtype.char)
            elif not _put_parts(each, parts):
                return False
    elif isinstance(value, Storage) and not value.is_tracer and type(array := value.array) is ndarray:
        parts += (cls, array.ndim, array.dtype.char)
    elif cls is dtype or isinstance(value, np.dtype):
        parts += (np.dtype, plain_dtype(value))
    elif cls is device:
        parts += (str, str.__str__(value))
    else:
        parts.append(cls)
        return cls is float
    return True


def _varies(value: Any) -> bool:
    """Return whether a call of the same key may have another value in the place of one."""
    if type(value) in SEQUENCES:
        return any(map(_varies, value))
    return type(value) not in CONSTANTS and not isinstance(value, (np.dtype, device))


class _Varying:
    """Stands for an argument that varies: one by position, or by name."""

    def __init__(self, place: int | str) -> None:
        self.place = place


class OtherArgumentsError(Exception):
    """What looks at a call puts another argument in the place of one."""


def unchanged_by(check: Look, given: dict[str, Any]) -> None:
    """Have the arguments of a call looked at by what may put others in their places.

    Raises
    ------
    OtherArgumentsError : where it does
    """
    after = check(given)
    if after is None or after is given:
        return
    if after.keys() != given.keys() or not all(after[name] is value for name, value in given.items()):
        raise OtherArgumentsError


class Plan:
    """How a call is carried out.

    Parameters
    ----------
    first, arguments : what is passed by position and by name; sources stand for what varies
    given : the arguments by PyTorch's names, likewise
    looks : what looks at the shapes and numbers of each call
    """

    def __init__(
        self, first: Sequence[Any], arguments: Mapping[str, Any], given: Mapping[str, Any], looks: Sequence[Look]
    ) -> None:
        self.given = [(name, x.place if isinstance(x, _Varying) else None, x) for name, x in given.items()]
        self.looks = looks
        self.first = list(first)
        self.arguments = dict(arguments)
        self.places = [(place, x.place) for place, x in enumerate(first) if isinstance(x, _Varying)]
        self.names = [(name, x.place) for name, x in arguments.items() if isinstance(x, _Varying)]
        # Of most calls the first argument alone varies.
        self.first_alone = self.places == [(0, 0)] and not (self.names or looks)
        self.rest = tuple(self.first[1:])
        # What makes a function of the first argument, where all others have part in the key of calls by their values.
        self.of_first: Callable[..., Callable[[Any], Any]] | None = None
        others = [x for x in (*first, *arguments.values()) if not (isinstance(x, _Varying) and x.place == 0)]
        if not looks and len(others) + 1 == len(first) + len(arguments) and CONSTANTS.issuperset(map(type, others)):
            self.of_first = partial(_calling, self.first, self.arguments)

    def carried_out(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return the result of a call of the key that the plan is for.

        Raises
        ------
        OtherArgumentsError : where an argument is to be another one, which the plan does not know
        """
        if self.first_alone:
            value = args[0]
            return function(tuple(value) if type(value) is list else value, *self.rest, **self.arguments)
        if self.looks:
            self.look(args, kwargs)
        first, arguments = self.first, self.arguments
        if self.places:
            first = first.copy()
            for place, source in self.places:
                value = args[source] if isinstance(source, int) else kwargs[source]
                first[place] = tuple(value) if type(value) is list else value
        if self.names:
            arguments = arguments.copy()
            for name, source in self.names:
                arguments[name] = _taken(source, args, kwargs)
        return function(*first, **arguments)

    def compiled(self, function: Any, count: int, names: Sequence[str]) -> Callable[..., Any]:
        """Return what carries out the calls of another function, with the arguments by name behind those by position.

        Parameters
        ----------
        function : the other
        count : of arguments by position
        names : of those by name, in their order
        """
        place_of: dict[int | str, int] = dict(enumerate(range(count)))
        place_of |= {name: place for place, name in enumerate(names, start=count)}
        constants: list[Any] = []

        def passed(value: Any) -> str:
            if isinstance(value, _Varying):
                return f"a{place_of[value.place]}"
            constants.append(value)
            return f"c{len(constants) - 1}"

        by_place, by_name = _by_place(function, self.first, self.arguments)
        first = [passed(x) for x in by_place]
        arguments = [f"{name}={passed(x)}" for name, x in by_name.items()]
        lines = []
        if self.looks:
            given = {name: passed(value) for name, _, value in self.given}
            held = [f"given[{name!r}] is {value}" for name, value in given.items()]
            lines = [
                f"        given = {{{', '.join(f'{name!r}: {value}' for name, value in given.items())}}}",
                *[f"        l{i}(given)" for i in range(len(self.looks))],
                f"        if not (len(given) == {len(given)} and {' and '.join(held)}):",
                "            raise OtherArgumentsError",
            ]
        outer = ["function", *[f"l{i}" for i in range(len(self.looks))], *[f"c{i}" for i in range(len(constants))]]
        text = [
            f"def carrying({', '.join(outer)}):",
            f"    def carried({', '.join(f'a{i}' for i in range(len(place_of)))}):",
            *lines,
            f"        return function({', '.join([*first, *arguments])})",
            "    return carried",
        ]
        namespace: dict[str, Any] = {"OtherArgumentsError": OtherArgumentsError}
        exec(code_of("\n".join(text), "call"), namespace)  # noqa: S102  # of names of parameters
        return namespace["carrying"](function, *self.looks, *constants)  # type: ignore[no-any-return]  # the function

    def look(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Have the shapes and numbers of a call looked at."""
        given = {}
        for name, source, value in self.given:
            if source is not None:
                value = _taken(source, args, kwargs)
            given[name] = value
        before = list(given.values())
        for look in self.looks:
            look(given)
        if len(given) != len(before) or not all(map(operator.is_, given.values(), before)):
            raise OtherArgumentsError


def _by_place(function: Any, first: Sequence[Any], arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call by position and by name, by position as far as a function takes them so.

    An operation records what it is given by position in fewer steps.
    """
    by_place, by_name = list(first), dict(arguments)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return by_place, by_name
    for parameter in parameters[len(by_place) :]:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.name not in by_name:
            break
        by_place.append(by_name.pop(parameter.name))
    return by_place, by_name


def _taken(source: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    if type(source) is int:
        value = args[source]
    else:
        value = kwargs[source]
    if type(value) is list:
        return tuple(value)
    return value


def _calling(
    first: Sequence[Any], arguments: Mapping[str, Any], function: Any, *, as_tuple: bool = False
) -> Callable[[Any], Any]:
    """Return a function of what alone varies in calls of another one, which has nothing to unpack.

    Parameters
    ----------
    first, arguments : what the other is called with, and what stands for the varying one
    function : the other
    as_tuple : whether a list is to be passed on as a tuple
    """
    values = [*first, *arguments.values()]
    names = [*["{}"] * len(first), *[f"{name}={{}}" for name in arguments]]
    varying = "tuple(x)" if as_tuple else "x"
    passed = [
        name.format(varying if isinstance(value, _Varying) else f"c{i}")
        for i, (name, value) in enumerate(zip(names, values, strict=True))
    ]
    constants = ", ".join(f"c{i}" for i in range(len(values)))
    text = f"def calling(function, {constants}):\n    return lambda x: function({', '.join(passed)})\n"
    namespace: dict[str, Any] = {}
    exec(code_of(text, "call"), namespace)  # noqa: S102  # of names of parameters
    return namespace["calling"](function, *values)  # type: ignore[no-any-return]  # the function


def kinds_of(args: Sequence[Any], classes: frozenset[type]) -> str | None:
    """Return a letter for each argument that says what a key has of it, None where there is one of another kind.

    Parameters
    ----------
    args : of a call, by position and by name
    classes : of tensors and parameters
    """
    letters = ""
    for value in args:
        cls = type(value)
        if cls in classes:
            letters += "t"
        elif cls in CONSTANTS or cls is device:
            letters += "c"
        elif cls is float:
            letters += "f"
        elif cls is dtype:
            letters += "d"
        elif cls in SEQUENCES and len(value) <= LONGEST and CONSTANTS.issuperset(map(type, value)):
            letters += "s"
        else:
            return None
    return letters


@cache
def key_function(letters: str) -> Callable[..., Any]:
    """Return the function that makes a key of the arguments of calls of one kind, in a third of the time of `key_of`.

    It is None for a tensor in another memory than NumPy's, and for a sequence of others than constants.
    """
    names = [f"a{i}" for i in range(len(letters))]
    lines, refused, parts = [], [], []
    for letter, name in zip(letters, names, strict=True):
        if letter == "t":
            lines.append(f"    {name} = {name}.array")
            refused.append(f"type({name}) is not ndarray")
            parts += [f"{name}.ndim", f"{name}.dtype.num"]
        elif letter == "c":
            parts.append(name)
        elif letter == "d":
            parts.append(f"{name}.dtype")
        elif letter == "s":
            refused.append(f"not CONSTANTS.issuperset(map(type, {name}))")
            parts += [f"tuple({name})", f"tuple(map(type, {name}))"]
    if refused:
        lines += [f"    if {' or '.join(refused)}:", "        return None"]
    key = "".join([f"{part}, " for part in parts])
    text = "\n".join([f"def key({', '.join(names)}):", *lines, f"    return ({key})"])
    namespace: dict[str, Any] = {"ndarray": ndarray, "CONSTANTS": CONSTANTS}
    exec(code_of(text, "key"), namespace)  # noqa: S102  # of numbered names
    return namespace["key"]  # type: ignore[no-any-return]  # the function


def plan_of(
    path: str,
    names: Sequence[str],
    targets: Mapping[str, str],
    by_place: Sequence[str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    looks: Sequence[Look],
) -> Plan:
    """Return the plan of a call, whose arguments are passed on as they are.

    Parameters
    ----------
    path, names, targets, by_place : as of a `FunctionCaller`
    args, kwargs : of the call
    looks : what looks at the shapes and numbers of each call
    """
    marked = tuple([_Varying(place) if _varies(value) else value for place, value in enumerate(args)])
    named = {name: _Varying(name) if _varies(value) else value for name, value in kwargs.items()}
    given = arguments_by_name(path, names, targets, marked, named)
    # The name of a device alone, which operations take at once.
    named = {name: str.__str__(value) if type(value) is device else value for name, value in given.items()}
    arguments = {targets.get(name, name): value for name, value in named.items()}
    first = [arguments.pop(parameter) for parameter in by_place if parameter in arguments]
    return Plan(first, arguments, given, looks)
