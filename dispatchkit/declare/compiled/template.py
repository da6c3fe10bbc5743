"""The text that public functions and default implementations are compiled from, each of its parts once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from inspect import Parameter
from threading import RLock
from types import FunctionType
from typing import Any

import numpy as np

from dispatchkit.accelerator import core
from dispatchkit.backends.arrays import UNTRACKED, foreign, is_inexact, raw_array
from dispatchkit.backends.numpy_sums import DOUBLE
from dispatchkit.declare.call_errors import BACKEND_ERRORS, raise_with_context
from dispatchkit.declare.derivative import VjpPlan
from dispatchkit.declare.operation import AROUND, DeclaredOperation
from dispatchkit.declare.outputs import note_sharing, note_view, several_results
from dispatchkit.declare.source import code_of
from dispatchkit.declare.wrapping import spec_of
from dispatchkit.graph.node import CallNode, Node, snapshot_versions
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.parameters import MISSING, Form, Missing, Parameters

Function = Callable[..., Any]
# Returns a text that defines `call`, and the names in it that belong to one function, of those that are known already.
Build = Callable[[Mapping[str, Any]], tuple[str, Mapping[str, Any]]]

COMPUTED = """
try:
    <compute>
    <check>
except _BACKEND_ERRORS as _error:
    _raise_with_context(_operation, _error, <arguments>)
if type(_r) is not _ndarray and type(_r) not in _foreign:
    <unpack>
    _r = _raw_array(_r)
_y = _new(<cls>)
_y.array = _r
_y._memory = None
_y._node = None
<record>
<share>
<finish>
return _y
"""
NAMES: Mapping[str, Any] = {
    "_BACKEND_ERRORS": BACKEND_ERRORS,
    "_SEVERAL": (tuple, list),
    "_Storage": Storage,
    "_foreign": foreign,
    "_hide_frames": hide_frames,
    "_ndarray": np.ndarray,
    "_new": object.__new__,
    "_note_sharing": note_sharing,
    "_note_view": note_view,
    "_raw_array": raw_array,
    "_raise_with_context": raise_with_context,
    "_several_results": several_results,
}
CONDITION = re.compile(r"<\?(\w+)>")
PLACE = re.compile(r"<(\w+)>")


def compute_lines(
    compute: Sequence[str],
    arguments: str,
    *,
    check: Sequence[str] = (),
    unpack: Sequence[str] = (),
    record: Sequence[str] = (),
    share: str = "",
    same: Sequence[str] | None = None,
    apart: bool = False,
    finish: Sequence[str] = (),
    cls: str = "_cls",
) -> list[str]:
    """Return the lines that compute a call on raw arrays and return the tensor of the result.

    Parameters
    ----------
    compute : lines that make the raw result, ``_r``
    arguments : positional and keyword arguments of the call, two expressions
    check : lines that look at the result
    unpack : lines that return several results; by default there is one
    record : lines that give the tensor, ``_y``, its node
    share : what notes whose memory the result shows; by default it has memory of its own
    same : conditions, besides being a view, under which it may show that of an argument; asked each time by default
    apart : whether results of other libraries show the memory of no other array, and need not be asked
    finish : lines that are done with the tensor last
    cls : expression for its class
    """
    sharing = []
    if share:
        sharing = [share]
    if share and same is not None:
        based = f"type(_r) is {'_ndarray and' if apart else 'not _ndarray or'} _r.base is not None"
        sharing = [f"if {' or '.join([based, *same])}:", f"    {share}"]
    parts = {"arguments": arguments, "check": check, "unpack": unpack, "record": record, "finish": finish}
    return fill_template(COMPUTED, compute=compute, share=sharing, cls=cls, **parts)


def unpack_lines(
    tensors: str, arguments: str, flows: str, gather: Sequence[str] = (), *, cls: str = "_cls"
) -> list[str]:
    """Return the lines that return several results, where a call gave such.

    Parameters
    ----------
    tensors : expression for the tensors whose memory they may show
    arguments : positional and keyword arguments of the call, two expressions
    flows : condition that gradients flow to one of the arguments
    gather : lines that make the arguments
    cls : expression for the class of the tensors
    """
    result = f"return _several_results(_operation, {cls}, _r, {tensors}, {arguments}, {flows})"
    return ["if isinstance(_r, _SEVERAL):", *indent([*gather, result])]


def fill_template(template: str, **parts: object) -> list[str]:
    """Return the lines of a template with text for what stands in angles, and lines where that stands alone.

    A line that begins with ``<?name>`` is there where the part of that name is true.
    """
    lines: list[str] = []
    for conditions, name, before, pieces in _lines_of(template):
        if not all(map(parts.__getitem__, conditions)):
            continue
        part = parts.get(name)
        if isinstance(part, (list, tuple)):
            lines += [before + member for member in part]
        else:
            texts = list(pieces)
            texts[1::2] = [str(parts[place]) for place in pieces[1::2]]
            lines.append("".join(texts))
    return lines


@cache
def _lines_of(template: str) -> list[tuple[list[str], str, str, list[str]]]:
    """Return what `fill_template` reads of each line of a template, which fills many functions.

    That is: the names in its conditions; the name that stands alone in it, and the indentation before that; and its
    text around each place, in turns with the names of the places.
    """
    lines = []
    for conditional in template.strip("\n").splitlines():
        line = CONDITION.sub("", conditional)
        lines.append((CONDITION.findall(conditional), line.strip()[1:-1], line.partition("<")[0], PLACE.split(line)))
    return lines


def tuple_of(names: Sequence[str]) -> str:
    """Return the expression for a tuple."""
    if len(names) == 1:
        return f"({names[0]},)"
    return f"({', '.join(names)})"


def indent(lines: Sequence[str]) -> list[str]:
    """Return lines as the block of a statement before them."""
    return [f"    {line}" for line in lines]


def compiled_later(build: Build, **known: Any) -> FunctionType:
    """Return a function that is compiled from a text when it is first called, since most programs call few of them."""
    names = {"__name__": __name__, "_hide_frames": hide_frames, "_build": build, "_install": _install, **known}
    function = names["_uncompiled"] = FunctionType(_first_call.__code__, names)
    return function


def recompile(function: FunctionType) -> None:
    """Have a function compiled anew at its next call, by what is declared then."""
    with _exchanging:
        # A copy, by which a thread that is compiling the function sees that what it has read may be out of date.
        function.__code__ = _first_call.__code__.replace()


def text_of(function: Any) -> str:
    """Return the text that a function is compiled from, "" for one that is written as it is."""
    names = getattr(function, "__globals__", {})
    if "_build" in names:
        return names["_build"](names)[0]
    return ""


def _first_call(*args: Any, **kwargs: Any) -> Any:
    """Compile the function that is called, and call it; its code takes the place of this."""
    try:
        return _install(_uncompiled)(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821  # of the function's names
    except Exception as _error:
        # The names of a function of an operation have that; those of what computes it by default do not.
        _hide_frames(_error, globals().get("_operation"))  # type: ignore[name-defined]  # noqa: F821
        raise


# Held while code and names of a function are exchanged, which other threads may be calling, and for nothing that waits.
# Reentrant: what is collected meanwhile may call functions, too.
_exchanging = RLock()


def _install(function: FunctionType) -> FunctionType:
    """Give a function the code of its text, unless another thread has, or what the text was written by has changed."""
    before = function.__code__
    if before.co_name != _first_call.__name__:
        return function
    names = function.__globals__
    text, names_of_function = names["_build"](names)
    compiled_names = {**names, **NAMES, **names_of_function}
    if core is not None:
        text = core.asking(text, compiled_names)
    code = code_of(text, "function")
    with _exchanging:
        if function.__code__ is before:
            names.update(compiled_names)
            exec(code, names)  # noqa: S102  # of this library
            call = names["call"]
            # A copy, since what the interpreter notes in it belongs to the names of one function.
            code_of_function = call.__code__.replace()
            if core is not None:
                core.attach(function, code_of_function)
            function.__defaults__, function.__kwdefaults__ = call.__defaults__, call.__kwdefaults__
            function.__code__ = code_of_function
    return function


DTYPE = "dtype"
ONLY, BOTH = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
STAR, NAMED, OPEN = Parameter.VAR_POSITIONAL, Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD
# The functions and classes of Python that compiled texts use by their names.
USED = frozenset({"Exception", "KeyError", "NotImplemented", "isinstance", "list", "map", "type"})
# What may stand in the place of an array.
PYTHON_SCALARS = frozenset({int, float, complex, bool})
LOOSE = PYTHON_SCALARS | {np.ndarray, list}


def passed_arguments(
    positional: Sequence[Any], star: Sequence[Any], named: Mapping[str, Any], unknown: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments of a call without those that it left out."""
    args = [x for x in positional if x is not MISSING]
    kwargs = {name: x for name, x in named.items() if x is not MISSING}
    if unknown:
        kwargs.update(unknown)
    return (*args, *star), kwargs


def can_be_spelled(parameters: Parameters) -> bool:
    """Return whether a text can take the parameters: they are listed, their names are free, and none is an index."""
    listed = parameters.signature.parameters.values()
    free = not any(p.kind is OPEN or p.name.startswith("_") or p.name in USED for p in listed)
    return free and not any(p.form is Form.INDEX for p in parameters.arrays)


class SpelledOut:
    """Parameters as a text takes them, and how its lines speak of them.

    Attributes
    ----------
    parameters : of the operation, in order
    asked : the array parameters of which a number becomes an array, see `DeclaredOperation.asks_arrays`
    forms : what its array parameters take, by name
    values : what each argument is called, however it came
    spread : whether there is a parameter for any number of arguments
    taken : the parameter list of the function
    given : all arguments as they came: by place, beyond, by name, of unknown names
    """

    def __init__(self, operation: DeclaredOperation) -> None:
        parameters = operation.parameters
        self.parameters = listed = list(parameters.signature.parameters.values())
        self.asked = operation.asks_arrays
        self.forms = {p.name: p.form for p in parameters.arrays}
        self.values = [self.value_of(p) for p in listed]
        # One that may come by name, too, has another name where it comes by place.
        self.positional = [p.name if p.kind is ONLY else f"_place_{p.name}" for p in listed if p.kind in (ONLY, BOTH)]
        self.named = [p.name for p in listed if p.kind in (BOTH, NAMED)]
        self.spread = any(p.kind is STAR for p in listed)
        by_name = ", ".join(f"{name!r}: {name}" for name in self.named)
        self.given = f"{tuple_of(self.positional)}, _star, {{{by_name}}}, _unknown"
        taken = [*(f"{x}=_MISSING" for x in self.positional), *(["/"] if self.positional else []), "*_star"]
        self.taken = ", ".join([*taken, *(f"{name}=_MISSING" for name in self.named), "**_unknown"])

    @property
    def names(self) -> dict[str, Any]:
        """What the lines use that belongs to the parameters."""
        names: dict[str, Any] = {"_MISSING": MISSING, "_are_numbers": PYTHON_SCALARS.issuperset}
        for p in self.parameters:
            names[f"_default_{p.name}"], names[f"_passed_{p.name}"] = p.default, self._passing_types(p)
        return names

    def _passing_types(self, p: Parameter) -> frozenset[type]:
        """Return the types of what a parameter takes as it is."""
        form = self.forms.get(p.name)
        if form is not None:
            numbers = PYTHON_SCALARS
            if p.name in self.asked:
                numbers = frozenset()
            elif form is Form.LOOSE:
                numbers = LOOSE
            if p.default is None:
                return numbers | {type(None)}
            return numbers
        # Where there are further arrays, lists may hold them; otherwise they are axes or shapes.
        passed = UNTRACKED
        if not (len(self.forms) < 2):
            passed = UNTRACKED - {list}
        return frozenset(passed if p.default is p.empty else passed | {Missing})

    @staticmethod
    def value_of(p: Parameter) -> str:
        """Return what an argument is called, however it came."""
        if p.kind is STAR:
            return "_star"
        if p.kind is BOTH:
            return f"_value_{p.name}"
        return p.name

    def passed_on(self, *first: str) -> str:
        """Return what the body is given: these expressions, then the other arguments, defaults for those left out."""
        rest = self.parameters[len(first) :]
        return ", ".join([*first, *(self._argument(p) for p in rest if p.name not in AROUND)])

    def _argument(self, p: Parameter) -> str:
        if p.kind is STAR:
            if p.name in self.forms:
                return f"*_array_{p.name}"
            return "*_star"
        if p.name in self.forms:
            passed = f"_array_{p.name}"
        else:
            passed = self.leaf(p)
        if p.kind is NAMED:
            return f"{p.name}={passed}"
        return passed

    def either(self, p: Parameter, otherwise: str) -> Iterator[str]:
        """Yield the lines that find an argument in its place or by its name."""
        if p.kind is BOTH:
            yield f"_value_{p.name} = {p.name} if _place_{p.name} is _MISSING else _place_{p.name}"
            yield f"if {p.name} is not _MISSING is not _place_{p.name}:"
            yield f"    {otherwise}"

    def leaf(self, p: Parameter) -> str:
        """Return the expression for an argument as it came, its default where it is left out."""
        value = self.value_of(p)
        if p.default is p.empty:
            return value
        return f"_default_{p.name} if {value} is _MISSING else {value}"

    def looked_at(self, p: Parameter, otherwise: str, *, noted: bool = False) -> Iterator[str]:
        """Yield the lines that look at an argument, and take the raw array out of a plain tensor.

        Parameters
        ----------
        p : its parameter
        otherwise : what is done where an argument that is no array may hold some, or one for an array is neither a
            plain tensor outside the graph nor a number
        noted : whether the lines note this of an array and go on: ``_others`` and ``_tracked``
        """
        value, array = self.value_of(p), f"_array_{p.name}"
        if p.name not in self.forms:
            if p.name not in AROUND:
                yield f"if not {self.untracked_condition(p)}:"
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
            tracked = [f"if {value}._node is not None:", "    _tracked = True"]
            yield f"if (_type := type({value})) is _cls{'' if noted else f' and {value}._node is None'}:"
            yield f"    {array} = {value}.array"
            if noted:
                yield from indent(tracked)
            yield f"elif _type in _passed_{p.name}{listed if self.forms[p.name] is Form.LOOSE else ''}:"
            yield f"    {array} = {value}"
            if p.default is not p.empty:
                yield f"elif {value} is _MISSING:"
                yield f"    {array} = _default_{p.name}"
            if noted:
                yield f"elif isinstance({value}, _Storage):"
                yield "    _others |= 1"
                yield from indent(tracked)
            yield "else:"
            yield f"    {'_others |= 2' if noted else otherwise}"

    def taken_as_plain(self, p: Parameter) -> list[str]:
        """Return the lines that take the raw array of a tensor of any class, where an argument is one."""
        value = self.value_of(p)
        return [f"if isinstance({value}, _Storage):", f"    _array_{p.name} = {value}.array"]

    def untracked_condition(self, p: Parameter) -> str:
        """Return the condition that an argument holds no tensors."""
        name = f"_passed_{p.name}"
        if p.kind is STAR:
            return f"{name}.issuperset(map(type, _star))"
        return f"(type({self.value_of(p)}) in {name})"

    def check(self) -> list[str]:
        """Return the lines that look at the dtype of what was computed, where a call asks for one."""
        asked = next((value for p, value in zip(self.parameters, self.values, strict=True) if p.name == DTYPE), None)
        if asked is None:
            return []
        numbers = "type(_r) is _ndarray and _r.dtype.kind in _NUMBERS"
        return [f"if {asked} is not _MISSING and not ({numbers}):", f"    _check_numbers(_operation, _r, {asked})"]

    def gather_lines(self) -> list[str]:
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


RECORD = """
def call(_r, <taken>):
    if not _is_grad_enabled()<inexact>:
        return None
    _n = <node>()
    _n.operation = _operation
    <vertices>
    _n.edges = <edges>
    _n.saved = <saved>
    _n.output = <output>
    _n.shape = _r.shape
    _n.dtype = _r.dtype
    _n.extras = None
    <?parameters>_n.keywords = _keywords
    <?parameters>_n.outputs = None
    <?kept>if <kept>:
    <?kept>    _snapshot_versions(_n)
    return _n
"""
RECORDER_NAMES = {
    "_CallNode": CallNode,
    "_DOUBLE": DOUBLE,
    "_Node": Node,
    "_is_grad_enabled": is_grad_enabled,
    "_is_inexact": is_inexact,
    "_snapshot_versions": snapshot_versions,
    "_spec_of": spec_of,
}


def recorder(operation: DeclaredOperation, tensors: Sequence[bool]) -> FunctionType:
    """Return what makes the node of a call on tracked tensors; it gives None where recording is off.

    Parameters
    ----------
    operation : that is called
    tensors : for each array given by place, whether it is a tensor rather than a raw array or a scalar

    Returns
    -------
    function of the raw result and the arrays; where the operation has parameters, also of the other arguments, by place
    and by name
    """
    edges = operation.parameters.positional
    names = {**RECORDER_NAMES, "_operation": operation.derivative, "_tensors": tensors, "_edges": edges}

    def build(_: object) -> tuple[str, Mapping[str, Any]]:
        plan = operation.derivative.plan
        return _source(operation, tensors, plan), {**names, "_plan_of_rules": plan}

    return compiled_later(build)


def _vertex_lines(v: str, x: str) -> list[str]:
    """Return the lines that find the vertex of a tensor: as `vertex_of`, without a call where it is up to date."""
    behind = f"{x}._memory is not None and {v} is not None and {v}.behind"
    return [f"{v} = {x}._node", f"if {behind}:", f"    {v} = {v}.current({x})"]


def _source(operation: DeclaredOperation, tensors: Sequence[bool], plan: VjpPlan) -> str:
    parameters = not operation.implementation.arrays_only
    places = [i for i, tensor in enumerate(tensors) if tensor]
    arrays = [f"_x{i}" for i in range(len(tensors))]
    edges = [f"_v{i}" if i in places else "None" for i in range(operation.parameters.positional)]
    saved, kept = [], []
    for i, x in enumerate(arrays):
        readers = [j for j in places if plan.reads[j][i]]
        nothing = "None"
        if parameters or plan.saves_specs:
            nothing = f"_spec_of({x})"
        if readers == places:
            saved.append(x)
        elif readers:
            saved.append(f"{x} if {' or '.join(f'_v{j} is not None' for j in readers)} else {nothing}")
        else:
            saved.append(nothing)
        if readers and i in places:
            kept.append(f"{x}._memory is not None")
    lines = fill_template(
        RECORD,
        parameters=parameters,
        node="_CallNode" if parameters else "_Node",
        taken=", ".join([*arrays, *(["_rest", "_keywords"] if parameters else [])]),
        inexact=" or (_r.dtype is not _DOUBLE and not _is_inexact(_r.dtype))" if parameters else "",
        vertices=[line for i in places for line in _vertex_lines(f"_v{i}", f"_x{i}")],
        edges=tuple_of(edges),
        saved=tuple_of([*saved, *(["*_rest"] if parameters else [])]),
        output="_r" if plan.keeps_output else "None",
        kept=" or ".join(kept),
    )
    return "\n".join(lines)
