"""The parameters of an operation spelled out in the text of its public function.

A function of ``*args, **kwargs`` packs the arguments of a call, looks at them in a loop and unpacks them for the body,
which takes longer than computing a few numbers. An argument that a call leaves out is `MISSING`; one that may come by
its place or by its name is looked for in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import Parameter
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import UNTRACKED
from dispatchkit.declare.compiled.template import tuple_of
from dispatchkit.declare.declared import AROUND
from dispatchkit.protocol.parameters import Form, Parameters

__all__ = ["MISSING", "SpelledOut", "given"]

DTYPE = "dtype"
ONLY, BOTH = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
STAR, NAMED, OPEN = Parameter.VAR_POSITIONAL, Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD
# The functions and classes of Python that compiled texts use by their names.
USED = frozenset({"Exception", "KeyError", "NotImplemented", "isinstance", "list", "map", "type"})
# What may stand in the place of an array.
PYTHON_SCALARS = frozenset({int, float, complex, bool})
LOOSE = PYTHON_SCALARS | {np.ndarray, list}


class Missing:
    """Stands for an argument that a call leaves out."""

    def __repr__(self) -> str:
        return "<left out>"


MISSING = Missing()


def given(
    positional: Sequence[Any], star: Sequence[Any], named: Mapping[str, Any], unknown: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments of a call without those that it left out."""
    args = [x for x in positional if x is not MISSING]
    return (*args, *star), {**{name: x for name, x in named.items() if x is not MISSING}, **unknown}


def can_be_spelled(parameters: Parameters) -> bool:
    """Return whether a text can take the parameters: they are listed, their names are free, and none is an index."""
    own = parameters.signature.parameters.values()
    free = not any(p.kind is OPEN or p.name.startswith("_") or p.name in USED for p in own)
    return free and not any(p.form is Form.INDEX for p in parameters.arrays)


class SpelledOut:
    """Parameters as a text takes them, and how its lines speak of them.

    Attributes
    ----------
    parameters : of the operation, in order
    forms : what its array parameters take, by name
    values : what each argument is called, however it came
    spread : whether there is a parameter for any number of arguments
    taken : the parameter list of the function
    given : all arguments as they came: by place, beyond, by name, of unknown names
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = own = list(parameters.signature.parameters.values())
        self.forms = {p.name: p.form for p in parameters.arrays}
        self.values = [self.value_of(p) for p in own]
        self.positional = [_taken(p) for p in own if p.kind in (ONLY, BOTH)]
        self.named = [p.name for p in own if p.kind in (BOTH, NAMED)]
        self.spread = any(p.kind is STAR for p in own)
        by_name = ", ".join(f"{name!r}: {name}" for name in self.named)
        self.given = f"{tuple_of(self.positional)}, _star, {{{by_name}}}, _unknown"
        taken = [*(f"{x}=_MISSING" for x in self.positional), *(["/"] if self.positional else []), "*_star"]
        self.taken = ", ".join([*taken, *(f"{name}=_MISSING" for name in self.named), "**_unknown"])

    @property
    def names(self) -> dict[str, Any]:
        """What the lines use that belongs to the parameters."""
        found: dict[str, Any] = {"_MISSING": MISSING, "_are_numbers": PYTHON_SCALARS.issuperset}
        for p in self.parameters:
            found[f"_default_{p.name}"], found[f"_passed_{p.name}"] = p.default, self._passed(p)
        return found

    def _passed(self, p: Parameter) -> frozenset[type]:
        """Return the types of what a parameter takes as it is."""
        form = self.forms.get(p.name)
        if form is not None:
            numbers = LOOSE if form is Form.LOOSE else PYTHON_SCALARS
            return numbers | {type(None)} if p.default is None else numbers
        # Where there are further arrays, lists may hold them; otherwise they are axes or shapes.
        passed = UNTRACKED if len(self.forms) < 2 else UNTRACKED - {list}
        return frozenset(passed if p.default is p.empty else passed | {Missing})

    @staticmethod
    def value_of(p: Parameter) -> str:
        """Return what an argument is called, however it came."""
        return "_star" if p.kind is STAR else f"_value_{p.name}" if p.kind is BOTH else p.name

    def passed_on(self, *first: str) -> str:
        """Return what the body is given: these expressions, then the other arguments, defaults for those left out."""
        rest = self.parameters[len(first) :]
        return ", ".join([*first, *(self._argument(p) for p in rest if p.name not in AROUND)])

    def _argument(self, p: Parameter) -> str:
        if p.kind is STAR:
            return f"*_array_{p.name}" if p.name in self.forms else "*_star"
        value = self.value_of(p)
        if p.name in self.forms:
            passed = f"_array_{p.name}"
        else:
            passed = value if p.default is p.empty else f"_default_{p.name} if {value} is _MISSING else {value}"
        return f"{p.name}={passed}" if p.kind is NAMED else passed

    def either(self, p: Parameter, otherwise: str) -> Iterator[str]:
        """Yield the lines that find an argument in its place or by its name."""
        if p.kind is BOTH:
            yield f"_value_{p.name} = {p.name} if _place_{p.name} is _MISSING else _place_{p.name}"
            yield f"if {p.name} is not _MISSING is not _place_{p.name}:"
            yield f"    {otherwise}"

    def looked_at(self, p: Parameter, otherwise: str) -> Iterator[str]:
        """Yield the lines that look at an argument, and take the raw array out of a plain tensor."""
        value, array = self.value_of(p), f"_array_{p.name}"
        if p.name not in self.forms:
            if p.name not in AROUND:
                yield f"if not {self.untracked(p)}:"
                yield f"    {otherwise}"
        elif p.kind is STAR:
            yield f"{array} = []"
            yield "for _one in _star:"
            yield "    if type(_one) is _cls and _one._node is None:"
            yield f"        {array}.append(_one.array)"
            yield f"    elif type(_one) in _passed_{p.name}:"
            yield f"        {array}.append(_one)"
            yield "    else:"
            yield f"        {otherwise}"
        else:
            listed = f" and (_type is not list or _are_numbers(map(type, {value})))"
            yield f"_type = type({value})"
            yield f"if _type is _cls and {value}._node is None:"
            yield f"    {array} = {value}.array"
            yield f"elif _type in _passed_{p.name}{listed if self.forms[p.name] is Form.LOOSE else ''}:"
            yield f"    {array} = {value}"
            if p.default is not p.empty:
                yield f"elif {value} is _MISSING:"
                yield f"    {array} = _default_{p.name}"
            yield "else:"
            yield f"    {otherwise}"

    def untracked(self, p: Parameter) -> str:
        """Return the condition that an argument holds no tensors."""
        name = f"_passed_{p.name}"
        return f"{name}.issuperset(map(type, _star))" if p.kind is STAR else f"(type({self.value_of(p)}) in {name})"

    def check(self) -> list[str]:
        """Return the lines that look at the dtype of what was computed, where a call asks for one."""
        asked = next((value for p, value in zip(self.parameters, self.values, strict=True) if p.name == DTYPE), None)
        if asked is None:
            return []
        numbers = "type(_r) is _ndarray and _r.dtype.kind in _NUMBERS"
        return [f"if {asked} is not _MISSING and not ({numbers}):", f"    _check_numbers(_operation, _r, {asked})"]

    def gathered(self) -> list[str]:
        """Return the lines that gather the arguments after the first as they came, in `_args` and `_unknown`."""
        places = self.positional[1:]
        lines = ["_args = _star"]
        if len(places) == 1:
            lines = [f"_args = _star if {places[0]} is _MISSING else ({places[0]}, *_star)"]
        elif places:
            lines = [f"_args = (*[_one for _one in ({', '.join(places)}) if _one is not _MISSING], *_star)"]
        for name in self.named:
            lines += [f"if {name} is not _MISSING:", f"    _unknown[{name!r}] = {name}"]
        return lines


def _taken(p: Parameter) -> str:
    """Return what a positional argument is called; one that may come by name, too, has another name then."""
    return p.name if p.kind is ONLY else f"_place_{p.name}"
