"""What public functions are compiled from: their source, with the parameters of an operation spelled out.

Names inside begin with two underscores, so that no parameter's name stands in their way. An argument that a call leaves
out is `Missing`; one that may come by its place or by its name is looked for in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from inspect import Parameter
from typing import Any, NamedTuple

__all__ = ["LEAF", "OWN", "Spelled", "converting_source", "leading_source", "random_source", "several_source"]

LEAF = "requires_grad"
DTYPE = "dtype"
# Names inside of compiled functions begin so, and those of parameters do not.
OWN = "__"
ONLY, BOTH = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
STAR, NAMED = Parameter.VAR_POSITIONAL, Parameter.KEYWORD_ONLY

# In both: `<given>` are the arguments by place, those beyond, those by name, and those of unknown names.
SEVERAL = """
def call(<taken>):
    <at_once>
    try:
        if <apart>:
            return __rest(<given>)
        <looking>
        try:
            __r = __compute(<arguments>)
            <checking>
        except __MISTAKES as __error:
            __fail(__error, <given>)
        <computed>
        if type(__r) is not __ndarray:
            return __of_no_array(__base, __r, (<sources>))
        __y = __new(__base)
        __y.array = __r
        __y._node = __y._memory = None
        <sharing>
        return __y
    except Exception as __error:
        __hide_frames(__error)
        raise

def settle():
    global __base, __compute
    __base, __compute = __operation.protocol.types.base, __operation.on_numpy
"""
LEADING = """
def call(<taken>):
    try:
        if __live:
            return __rest(<given>)
        <either>
        __type = type(__value0)
        if __type is __base and <whole_call> and (__records or (<untracked>)):
            __array0 = __value0.array
            try:
                <computing>
                <checking>
            except __MISTAKES as __error:
                __fail(__error, <given>)
            if type(__r) is not __ndarray:
                <collecting>
                return __of_no_array(__record, __r, __value0, __args, __unknown)
            __y = __new(__base)
            __y.array = __r
            __y._node = __y._memory = None
            if __value0._node is not None:
                <collecting>
                __y._node = __record(__r, __value0, __args, __unknown)
            if __r.base is not None or __r is __array0:
                __note_view(__y, __value0)
            return __y
        try:
            __first = __table[__type]
        except KeyError:
            if __value0 is __MISSING:
                return __rest(<given>)
            __first = __decide(<given>)
        if <wrong>:
            return __rest(<given>)
        <collecting>
        __result = __first(__value0, *__args, **__unknown) if __args or __unknown else __first(__value0)
        if __result is NotImplemented or __result is None:
            return __ask_the_rest(__operation, __first, (__value0, *__args), __unknown, __result)
        return __result
    except Exception as __error:
        __hide_frames(__error)
        raise

def settle():
    global __base, __compute, __whole, __record, __records
    __base, __compute = __operation.protocol.types.base, __operation.on_numpy
    __whole = __operation.whole or __compute
    __record = __recorder(__operation)
    # Gradients flow through the body, and then the longer way, where no rule says how.
    __records = not __operation.composite
"""


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


class Signature:
    """Parameters of a compiled function, and how its lines speak of them.

    Attributes
    ----------
    numbered : the parameters with their numbers
    values : what each argument is called, however it came
    positional, named : what those are called that may come by place, and by name
    spread : whether there is a parameter for any number of arguments
    taken : the parameter list of the function
    given : all arguments as they came
    """

    def __init__(self, parameters: Sequence[Spelled]) -> None:
        self.numbered = list(enumerate(parameters))
        self.values = [_value(i, p) for i, p in self.numbered]
        self.positional = [_taken(i, p) for i, p in self.numbered if p.kind in (ONLY, BOTH)]
        self.named = [p.name for p in parameters if p.kind in (BOTH, NAMED)]
        self.spread = any(p.kind is STAR for p in parameters)
        by_name = ", ".join(f"{name!r}: {name}" for name in self.named)
        self.given = f"({''.join(f'{x}, ' for x in self.positional)}), __star, {{{by_name}}}, __unknown"
        taken = [*(f"{x}=__MISSING" for x in self.positional), *(["/"] if self.positional else []), "*__star"]
        self.taken = ", ".join([*taken, *(f"{name}=__MISSING" for name in self.named), "**__unknown"])

    def arguments(self, *first: str) -> str:
        """Return what is passed on, defaults for what is left out."""
        rest = self.numbered[len(first) :]
        return ", ".join([*first, *(_argument(i, p) for i, p in rest if p.name != LEAF)])

    def checking(self) -> list[str]:
        """Return the lines that look at the dtype of what was computed, where a call asks for one."""
        lines: list[str] = []
        for asked in [self.values[i] for i, p in self.numbered if p.name == DTYPE]:
            numbers = "type(__r) is __ndarray and __r.dtype.kind in __NUMBERS"
            lines = [
                f"if {asked} is not __MISSING and not ({numbers}):",
                f"    __check_numbers(__operation, __r, {asked})",
            ]
        return lines

    def collecting(self) -> list[str]:
        """Return the lines that gather the arguments after the first as they came."""
        places = self.positional[1:]
        lines = ["__args = __star"]
        if len(places) == 1:
            lines = [f"__args = __star if {places[0]} is __MISSING else ({places[0]}, *__star)"]
        elif places:
            lines = [f"__args = (*[__one for __one in ({', '.join(places)}) if __one is not __MISSING], *__star)"]
        for name in self.named:
            lines += [f"if {name} is not __MISSING:", f"    __unknown[{name!r}] = {name}"]
        return lines


def _taken(i: int, p: Spelled) -> str:
    """Return what a positional argument is called; one that may come by name, too, has another name then."""
    return f"__value{i}" if p.kind is ONLY else f"__place{i}"


def _value(i: int, p: Spelled) -> str:
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


def random_source(parameters: Sequence[Spelled]) -> str:
    """Return the source of a random function, which leaves its calls to the table where somebody else is to draw."""
    return several_source(parameters, "__drawer() is not None")


def converting_source(parameters: Sequence[Spelled]) -> str:
    """Return the source of a function of one array that gives a tensor back itself where it is as asked."""
    its = Signature(parameters)
    value, left_out = its.values[0], " is ".join([*its.named, "__MISSING"])
    return several_source(
        parameters,
        at_once=[
            f"if type({value}) is __base and {left_out} and not (__live or __star or __unknown):",
            f"    return {value}",
        ],
        computed=[f"if __r is __array0 is not {value}:", f"    return {value}"],
    )


def several_source(
    parameters: Sequence[Spelled], *further: str, at_once: Sequence[str] = (), computed: Sequence[str] = ()
) -> str:
    """Return the source of what makes a function of several arrays, or of none, and what settles it.

    Parameters
    ----------
    parameters : of the function
    further : conditions under which a call is left to the table
    at_once, computed : lines that answer calls before anything is looked at, and once the array is computed
    """
    its = Signature(parameters)
    arrays = [(i, p) for i, p in its.numbered if p.array]
    apart = ["__live", "__foreign", "__unknown", *([] if its.spread else ["__star"]), *further]
    apart += [f"{LEAF} is not __MISSING" for p in parameters if p.name == LEAF]
    rest = f"return __rest({its.given})"
    sources = "".join(f"*{its.values[i]}, " if p.kind is STAR else f"{its.values[i]}, " for i, p in arrays)
    same = [f"__is_held(__r, __array{i})" if p.kind is STAR else f"__r is __array{i}" for i, p in arrays]
    sharing = [f"if __r.base is not None or {' or '.join(same)}:", f"    __note_sharing(__y, ({sources}))"]
    numbers = [
        "if type(__r) is __ndarray and __r.dtype.kind not in __NUMBERS:",
        "    __check_numbers(__operation, __r, None)",
    ]
    return _filled(
        SEVERAL,
        at_once=list(at_once),
        computed=list(computed),
        taken=its.taken,
        given=its.given,
        apart=" or ".join(apart),
        looking=[line for i, p in its.numbered for line in (*_either(i, p, rest), *_looking(i, p, rest))],
        arguments=its.arguments(),
        checking=its.checking() if arrays else numbers,
        sources=sources,
        sharing=sharing if arrays else [],
    )


def leading_source(parameters: Sequence[Spelled]) -> str:
    """Return the source of what makes a function of one array, given first, and what settles it."""
    its = Signature(parameters)
    others = its.numbered[1:]
    needed = [f"{its.values[i]} is not __MISSING" for i, p in others if not p.optional and p.kind is not STAR]
    computing = [f"__r = __compute({its.arguments('__array0')})"]
    if not needed:
        left_out = [f"{its.values[i]} is __MISSING" for i, p in others if p.kind is not STAR]
        left_out += ["not __star"] if its.spread else []
        whole = "__r = __whole(__array0)"
        computing = (
            [f"if {' and '.join(left_out)}:", f"    {whole}", "else:", f"    {computing[0]}"] if left_out else [whole]
        )
    untracked = ["__value0._node is None", *(_untracked(i, p) for i, p in others)]
    rest = f"return __rest({its.given})"
    wrong = ["__unknown", *([] if its.spread else ["__star"]), *(one.replace(" not ", " ") for one in needed)]
    return _filled(
        LEADING,
        taken=its.taken,
        given=its.given,
        either=[line for i, p in others for line in _either(i, p, rest)],
        whole_call=" and ".join(["not __foreign and not __unknown", *([] if its.spread else ["not __star"]), *needed]),
        untracked=" and ".join(untracked),
        computing=computing,
        wrong=" or ".join(wrong),
        checking=its.checking(),
        collecting=its.collecting(),
    )


def _filled(template: str, **parts: str | list[str]) -> str:
    """Return a template with text for what stands in angles, and lines where that stands alone."""
    lines = []
    for line in template.splitlines():
        part = parts.get(line.strip("< >")) if line.endswith(">") else None
        if isinstance(part, list):
            lines += [line[: line.index("<")] + one for one in part]
        else:
            lines.append(re.sub(r"<(\w+)>", lambda found: str(parts[found[1]]), line))
    return "\n".join(lines) + "\n"


def _either(i: int, p: Spelled, rest: str) -> Iterator[str]:
    """Yield the lines that find an argument in its place or by its name."""
    if p.kind is BOTH:
        yield f"__value{i} = {p.name} if __place{i} is __MISSING else __place{i}"
        yield f"if {p.name} is not __MISSING is not __place{i}:"
        yield f"    {rest}"


def _looking(i: int, p: Spelled, rest: str) -> Iterator[str]:
    """Yield the lines that look at the argument of a parameter, and take the raw array out of a plain tensor."""
    value = _value(i, p)
    if p.kind is STAR:
        yield f"__array{i} = []"
        yield "for __one in __star:"
        yield "    if type(__one) is __base and __one._node is None:"
        yield f"        __array{i}.append(__one.array)"
        yield f"    elif type(__one) in __passed{i}:"
        yield f"        __array{i}.append(__one)"
        yield "    else:"
        yield f"        {rest}"
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
        yield f"if not {_untracked(i, p)}:"
        yield f"    {rest}"


def _untracked(i: int, p: Spelled) -> str:
    """Return the condition that an argument holds no tensors."""
    return f"__passed{i}.issuperset(map(type, __star))" if p.kind is STAR else f"(type({_value(i, p)}) in __passed{i})"
