"""The text that public functions and default implementations are compiled from, each at its first call.

What computes an operation on tensors is one sentence: compute, say what failed, wrap the array, record the call, note
whose memory the result shows. It stands here once, in `COMPUTED`; each form of function puts its own expressions in,
and a beginning that finds the arrays. Tracebacks show the lines of a compiled function, and `text_of` its text.

Names that a text gives begin with an underscore, so that no parameter's name stands in their way.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import count
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import foreign, raw_array
from dispatchkit.declare.call_errors import BACKEND_ERRORS, raise_with_context
from dispatchkit.declare.outputs import note_sharing, note_view, several_results
from dispatchkit.protocol.frames import hide_frames

__all__ = [
    "Function",
    "compiled_later",
    "computed",
    "filled",
    "indented",
    "recompile",
    "text_of",
    "tuple_of",
    "unpacked",
]

Function = Callable[..., Any]
# Returns a text that defines `call`, and the names in it that belong to one function.
Build = Callable[[], tuple[str, Mapping[str, Any]]]

COMPUTED = """
try:
    <compute>
    <check>
except _BACKEND_ERRORS as _error:
    _raise_with_context(_operation, _error, <arguments>)
if type(_r) is not _ndarray and type(_r) not in _foreign:
    <unpack>
    _r = _raw_array(_r)
_y = _new(_cls)
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
_count = count(1)


def computed(
    compute: str | Sequence[str],
    arguments: str,
    *,
    check: Sequence[str] = (),
    unpack: Sequence[str] = (),
    record: Sequence[str] = (),
    share: str = "",
    same: Sequence[str] | None = None,
    apart: bool = False,
    finish: Sequence[str] = (),
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
    """
    if share and same is not None:
        based = (
            "type(_r) is _ndarray and _r.base is not None"
            if apart
            else "type(_r) is not _ndarray or _r.base is not None"
        )
        sharing = [f"if {' or '.join([based, *same])}:", f"    {share}"]
    else:
        sharing = [share] if share else []
    return filled(
        COMPUTED,
        compute=[compute] if isinstance(compute, str) else compute,
        arguments=arguments,
        check=check,
        unpack=unpack,
        record=record,
        share=sharing,
        finish=finish,
    )


def unpacked(tensors: str, arguments: str, flows: str, gather: Sequence[str] = ()) -> list[str]:
    """Return the lines that return several results, where a call gave such.

    Parameters
    ----------
    tensors : expression for the tensors whose memory they may show
    arguments : positional and keyword arguments of the call, two expressions
    flows : condition that gradients flow to one of the arguments
    gather : lines that make the arguments
    """
    result = f"return _several_results(_operation, _cls, _r, {tensors}, {arguments}, {flows})"
    return ["if isinstance(_r, _SEVERAL):", *indented([*gather, result])]


def filled(template: str, **parts: str | Sequence[str]) -> list[str]:
    """Return the lines of a template with text for what stands in angles, and lines where that stands alone."""
    lines: list[str] = []
    for line in template.strip("\n").splitlines():
        name = line.strip()[1:-1]
        part = parts.get(name) if line.strip() == f"<{name}>" else None
        if part is None or isinstance(part, str):
            lines.append(re.sub(r"<(\w+)>", lambda found: str(parts[found[1]]), line))
        else:
            lines += [line[: line.index("<")] + one for one in part]
    return lines


def tuple_of(names: Sequence[str]) -> str:
    """Return the expression for a tuple."""
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


def indented(lines: Sequence[str]) -> list[str]:
    """Return lines as the block of a statement before them."""
    return [f"    {line}" for line in lines]


def compiled_later(build: Build) -> FunctionType:
    """Return a function that is compiled from a text when it is first called, since most programs call few of them."""
    names: dict[str, Any] = {"__name__": __name__, "_hide_frames": hide_frames, "_build": build}
    function = FunctionType(_first_call.__code__, names)
    names["_compile"] = partial(_install, function)
    return function


def recompile(function: FunctionType) -> None:
    """Have a function compiled anew at its next call, by what is declared then."""
    function.__code__ = _first_call.__code__


def text_of(function: Any) -> str:
    """Return the text that a function is compiled from, "" for one that is written as it is."""
    build: Build | None = getattr(function, "__globals__", {}).get("_build")
    return "" if build is None else build()[0]


def _first_call(*args: Any, **kwargs: Any) -> Any:
    """Compile the function that is called, and call it; its code takes the place of this."""
    try:
        return _compile()(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821  # of the function's names
    except Exception as _error:
        _hide_frames(_error)  # type: ignore[name-defined]  # noqa: F821
        raise


def _install(function: FunctionType) -> FunctionType:
    names = function.__globals__
    text, own = names["_build"]()
    names.update(NAMES)
    names.update(own)
    exec(_compiled(text), names)  # noqa: S102  # of this library
    made = names["call"]
    function.__defaults__, function.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
    # A copy, since what the interpreter notes in it belongs to the names of one function.
    function.__code__ = made.__code__.replace()
    return function


@cache
def _compiled(text: str) -> CodeType:
    """Return the code of a text; tracebacks show it, in a file of this library for who asks where it was called."""
    file = f"{__file__}, function {next(_count)}"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return compile(text, file, "exec")
