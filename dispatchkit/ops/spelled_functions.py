"""Public functions with the parameters of their operation spelled out: of several arrays with parameters, or of none.

A function of ``*args, **kwargs`` packs the arguments of a call, looks at them in a loop and unpacks them for the body,
which takes longer than computing a few numbers. Those made here are compiled from the signature: a call on plain
tensors outside the graph is computed at once, every other goes by the table, with its arguments as they were given.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from inspect import Parameter
from itertools import count
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dispatchkit.graph.arrays import SCALARS, UNTRACKED, foreign, raw_array
from dispatchkit.ops.mistakes import MISTAKES, NUMBERS, check_numbers, reraise
from dispatchkit.ops.results import is_held, note_sharing, several_results
from dispatchkit.ops.wrapping import wrapped
from dispatchkit.protocol.modes import live
from dispatchkit.protocol.parameters import Form

if TYPE_CHECKING:
    from dispatchkit.ops.declared import DeclaredOperation

__all__ = ["spelled_function"]

Function = Callable[..., Any]


class Missing:
    """Stands for an argument that a call leaves out."""

    def __repr__(self) -> str:
        return "<left out>"


MISSING = Missing()
_count = count(1)
# What may stand in the place of an array.
PYTHON_SCALARS = frozenset({int, float, complex, bool})
LOOSE = PYTHON_SCALARS | {np.ndarray, list}
LEAF = "requires_grad"
DTYPE = "dtype"
ONLY, BOTH = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
STAR, NAMED = Parameter.VAR_POSITIONAL, Parameter.KEYWORD_ONLY
# Names inside of compiled functions begin so, and those of parameters do not.
OWN = "__"
NAMES = {
    "__ndarray": np.ndarray,
    "__foreign": foreign,
    "__is_held": is_held,
    "__live": live,
    "__MISSING": MISSING,
    "__MISTAKES": MISTAKES,
    "__new": object.__new__,
    "__note_sharing": note_sharing,
    "__NUMBERS": NUMBERS,
    "__check_numbers": check_numbers,
    "__are_numbers": PYTHON_SCALARS.issuperset,
}


class Spelled(NamedTuple):
    """A parameter as compiled functions take it.

    Attributes
    ----------
    name, kind : of the parameter
    array : whether it takes an array
    lists : whether it takes a list in its place
    optional : whether it has a default
    """

    name: str
    kind: Any
    array: bool
    lists: bool
    optional: bool


def spelled_function(operation: DeclaredOperation, general: Function) -> Function:
    """Return the public function of an operation, compiled from its signature.

    Parameters
    ----------
    operation : to compute, of any signature but for those that have functions of their own
    general : answers every call that is not one on plain tensors outside the graph
    """
    parameters = list(operation.parameters.signature.parameters.values())
    if any(p.kind is p.VAR_KEYWORD or p.name.startswith(OWN) for p in parameters):
        return general
    forms = {p.name: p.form for p in operation.parameters.arrays}
    spelled = [
        Spelled(p.name, p.kind, p.name in forms, forms.get(p.name) is Form.LOOSE, p.default is not p.empty)
        for p in parameters
    ]

    def rest(positional: Sequence[Any], star: Sequence[Any], named: Mapping[str, Any], unknown: Any) -> Any:
        args, kwargs = _given(positional, star, named)
        return general(*args, **kwargs, **unknown)

    def fail(error: Exception, positional: Sequence[Any], star: Sequence[Any], named: Mapping[str, Any], _: Any) -> Any:
        reraise(operation, error, *_given(positional, star, named))

    def of_no_array(base: Any, r: Any, sources: Sequence[Any]) -> Any:
        """Return the results of a call that gave several arrays, or a scalar, or another library's array."""
        if type(r) in SCALARS:
            return wrapped(base, np.asarray(r))
        if isinstance(r, (tuple, list)):
            return several_results(operation, base, r, sources, (), {}, tracked=False)
        y = wrapped(base, raw_array(r))
        note_sharing(y, sources)
        return y

    made: dict[str, Any] = {}
    exec(_compiled(tuple(spelled)), NAMES, made)  # noqa: S102  # what is compiled is written below
    passed = [_passed(p, one, nullary=not forms) for p, one in zip(parameters, spelled, strict=True)]
    defaults = [p.default for p in parameters]
    function: Function
    function, settle = made["make"](operation, passed, defaults, rest, fail, of_no_array)
    operation.settlers.append(settle)
    return function


def _given(
    positional: Sequence[Any], star: Sequence[Any], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments of a call without those that it left out."""
    args = [x for x in positional if x is not MISSING]
    return (*args, *star), {name: x for name, x in named.items() if x is not MISSING}


def _passed(p: Parameter, spelled: Spelled, *, nullary: bool) -> frozenset[type]:
    """Return the types of what a parameter takes as it is; other sequences and indices may hold arrays."""
    if not spelled.array:
        passed = UNTRACKED if nullary else UNTRACKED - {list}
        return frozenset(passed | {Missing}) if spelled.optional else frozenset(passed)
    numbers = LOOSE if spelled.lists else PYTHON_SCALARS
    return numbers | {type(None)} if p.default is None else numbers


@cache
def _compiled(parameters: tuple[Spelled, ...]) -> CodeType:
    """Return the code that makes functions of such parameters; tracebacks show it."""
    source = "\n".join(_source(parameters)) + "\n"
    # A file of this library, for who asks where the program called it.
    file = f"{__file__}, function {next(_count)} of ({', '.join(p.name for p in parameters)})"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    return compile(source, file, "exec")


def _source(parameters: Sequence[Spelled]) -> Iterator[str]:
    """Yield the lines of a function that makes one of such parameters, and what settles it."""
    numbered = list(enumerate(parameters))
    arrays = [(i, p) for i, p in numbered if p.array]
    positional = [_taken(i, p) for i, p in numbered if p.kind in (ONLY, BOTH)]
    named = [p.name for p in parameters if p.kind in (BOTH, NAMED)]
    by_name = ", ".join(f"{name!r}: {name}" for name in named)
    given = f"({''.join(f'{x}, ' for x in positional)}), __star, {{{by_name}}}, __unknown"
    rest = f"return __rest({given})"
    taken = [*(f"{x}=__MISSING" for x in positional), *(["/"] if positional else []), "*__star"]
    taken += [*(f"{name}=__MISSING" for name in named), "**__unknown"]
    yield "def make(__operation, __passed, __defaults, __rest, __fail, __of_no_array):"
    for i, _ in numbered:
        yield f"    __passed{i}, __default{i} = __passed[{i}], __defaults[{i}]"
    yield "    __base = __compute = None"
    yield f"    def call({', '.join(taken)}):"
    yield f"        if {' or '.join(_apart(parameters))}:"
    yield f"            {rest}"
    for i, p in numbered:
        for line in _looking(i, p, rest):
            yield f"        {line}"
    yield "        try:"
    yield f"            __r = __compute({', '.join(_argument(i, p) for i, p in numbered if p.name != LEAF)})"
    for line in _checking(parameters):
        yield f"            {line}"
    yield "        except __MISTAKES as __error:"
    yield f"            __fail(__error, {given})"
    sources = "".join(f"*{_value(i, p)}, " if p.kind is STAR else f"{_value(i, p)}, " for i, p in arrays)
    yield "        if type(__r) is not __ndarray:"
    yield f"            return __of_no_array(__base, __r, ({sources}))"
    yield "        __y = __new(__base)"
    yield "        __y.array = __r"
    yield "        __y._node = __y._memory = None"
    if arrays:
        same = [f"__is_held(__r, __array{i})" if p.kind is STAR else f"__r is __array{i}" for i, p in arrays]
        yield f"        if __r.base is not None or {' or '.join(same)}:"
        yield f"            __note_sharing(__y, ({sources}))"
    yield "        return __y"
    yield "    def settle():"
    yield "        nonlocal __base, __compute"
    yield "        __base, __compute = __operation.protocol.base, __operation.on_numpy"
    yield "    return call, settle"


def _taken(i: int, p: Spelled) -> str:
    """Return what a positional argument is called; one that may come by name, too, has another name then."""
    return f"__value{i}" if p.kind is ONLY else f"__place{i}"


def _value(i: int, p: Spelled) -> str:
    """Return what the argument of a parameter is called, however it came."""
    return "__star" if p.kind is STAR else p.name if p.kind is NAMED else f"__value{i}"


def _argument(i: int, p: Spelled) -> str:
    """Return what is passed on for a parameter."""
    if p.kind is STAR:
        return f"*__array{i}" if p.array else "*__star"
    value = _value(i, p)
    if p.array:
        passed = f"__array{i}"
    else:
        passed = f"__default{i} if {value} is __MISSING else {value}" if p.optional else value
    return f"{p.name}={passed}" if p.kind is NAMED else passed


def _apart(parameters: Sequence[Spelled]) -> Iterator[str]:
    """Yield what leaves a call to the table before any argument is looked at."""
    yield from ("__live", "__foreign", "__unknown")
    if all(p.kind is not STAR for p in parameters):
        yield "__star"
    if any(p.name == LEAF for p in parameters):
        yield f"{LEAF} is not __MISSING"


def _looking(i: int, p: Spelled, rest: str) -> Iterator[str]:
    """Yield the lines that look at the argument of a parameter, and take the raw array out of a plain tensor."""
    value = _value(i, p)
    if p.kind is BOTH:
        yield f"__value{i} = {p.name} if __place{i} is __MISSING else __place{i}"
        yield f"if {p.name} is not __MISSING is not __place{i}:"
        yield f"    {rest}"
    if p.kind is STAR:
        if p.array:
            yield f"__array{i} = []"
        yield "for __one in __star:"
        for line in _one_of_several(i, p, rest):
            yield f"    {line}"
    elif p.array:
        numbers = f" and (__type is not list or __are_numbers(map(type, {value})))" if p.lists else ""
        yield f"__type = type({value})"
        yield f"if __type is __base and {value}._node is None:"
        yield f"    __array{i} = {value}.array"
        yield f"elif __type in __passed{i}{numbers}:"
        yield f"    __array{i} = {value}"
        if p.optional:
            yield f"elif {value} is __MISSING:"
            yield f"    __array{i} = __default{i}"
        yield "else:"
        yield f"    {rest}"
    elif p.name != LEAF:
        yield f"if type({value}) not in __passed{i}:"
        yield f"    {rest}"


def _one_of_several(i: int, p: Spelled, rest: str) -> Iterator[str]:
    """Yield the lines that look at one argument of a parameter that takes any number of them."""
    if p.array:
        yield "if type(__one) is __base and __one._node is None:"
        yield f"    __array{i}.append(__one.array)"
        yield f"elif type(__one) in __passed{i}:"
        yield f"    __array{i}.append(__one)"
        yield "else:"
    else:
        yield f"if type(__one) not in __passed{i}:"
    yield f"    {rest}"


def _checking(parameters: Sequence[Spelled]) -> Iterator[str]:
    """Yield the lines that look at the dtype of what was computed, where a call may ask for one."""
    if not any(p.array for p in parameters):
        yield "if type(__r) is __ndarray and __r.dtype.kind not in __NUMBERS:"
        yield "    __check_numbers(__operation, __r, None)"
    elif any(p.name == DTYPE for p in parameters):
        yield f"if {DTYPE} is not __MISSING and (type(__r) is not __ndarray or __r.dtype.kind not in __NUMBERS):"
        yield f"    __check_numbers(__operation, __r, {DTYPE})"
