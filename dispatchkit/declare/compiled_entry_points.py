"""Public functions with the parameters of their operation spelled out: of one array, of several, or of none.

A function of ``*args, **kwargs`` packs the arguments of a call, looks at them in a loop and unpacks them for the body,
which takes longer than computing a few numbers. Those made here are compiled from the signature: plain tensors are
computed at once, every other call goes by the table, with its arguments as they were given.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import Parameter
from itertools import count
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchkit.backends.arrays import UNTRACKED, foreign, raw_array
from dispatchkit.declare.call_errors import MISTAKES, NUMBERS, check_numbers, reraise
from dispatchkit.declare.entry_point_source import OWN, Spelled, leading_source, several_source
from dispatchkit.declare.entry_points import record_nothing, recorder_of_leading
from dispatchkit.declare.outputs import is_held, note_sharing, note_view, several_results
from dispatchkit.declare.random_state import drawer
from dispatchkit.declare.wrapping import wrapped
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.protocol.callers import continue_chain, decide
from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.modes import live
from dispatchkit.protocol.parameters import Form

if TYPE_CHECKING:
    from dispatchkit.declare.operation import DeclaredOperation

__all__ = ["leading_function", "several_function"]

Function = Callable[..., Any]


class Missing:
    """Stands for an argument that a call leaves out."""

    def __repr__(self) -> str:
        return "<left out>"


MISSING = Missing()
# What may stand in the place of an array.
PYTHON_SCALARS = frozenset({int, float, complex, bool})
LOOSE = PYTHON_SCALARS | {np.ndarray, list}
NAMES = {
    "__ndarray": np.ndarray,
    "__drawer": drawer.get,
    "__foreign": foreign,
    "__hide_frames": hide_frames,
    "__is_held": is_held,
    "__live": live,
    "__MISSING": MISSING,
    "__MISTAKES": MISTAKES,
    "__new": object.__new__,
    "__note_sharing": note_sharing,
    "__note_view": note_view,
    "__NUMBERS": NUMBERS,
    "__check_numbers": check_numbers,
    "__are_numbers": PYTHON_SCALARS.issuperset,
}
_count = count(1)


def several_function(
    operation: DeclaredOperation, general: Function, source: Callable[[Sequence[Spelled]], str] = several_source
) -> Function:
    """Return the public function of an operation of several arrays, or of none.

    Parameters
    ----------
    operation : to compute
    general : answers every call that is not one on plain tensors outside the graph
    source : makes the source that it is compiled from
    """

    def of_no_array(base: Any, r: Any, sources: Sequence[Any]) -> Any:
        """Return the results of a call that gave several arrays, or a scalar, or another library's array."""
        if isinstance(r, (tuple, list)):
            return several_results(operation, base, r, sources, (), {}, tracked=False)
        y = wrapped(base, raw_array(r))
        note_sharing(y, sources)
        return y

    return _made(operation, general, source, {"__of_no_array": of_no_array})


def leading_function(operation: DeclaredOperation, general: Function) -> Function:
    """Return the public function of an operation of one array, given first, with parameters.

    Parameters
    ----------
    operation : to compute
    general : answers the calls that modes see, and raises for those without an argument
    """

    def of_no_array(record: Any, r: Any, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the results of a call that gave several arrays, or a scalar, or another library's array."""
        if isinstance(r, (tuple, list)):
            tracked = x._node is not None and operation.differentiable and is_grad_enabled()
            return several_results(operation, type(x), r, [x], (x, *args), kwargs, tracked)
        y = wrapped(type(x), raw_array(r))
        if x._node is not None:
            y._node = record(y.array, x, args, kwargs)
        note_view(y, x)
        return y

    def first_of(positional: Sequence[Any], star: Sequence[Any], named: Mapping[str, Any], unknown: Any) -> Any:
        """Return who answers calls with such a first argument; the table knows from now on."""
        args, kwargs = _given(positional, star, named)
        return decide(operation, args, {**kwargs, **unknown}, type(args[0]))

    parts = {
        "__of_no_array": of_no_array,
        "__table": operation.table,
        "__decide": first_of,
        "__ask_the_rest": continue_chain,
        "__recorder": _recorder,
    }
    return _made(operation, general, leading_source, parts)


def _recorder(operation: DeclaredOperation) -> Function:
    return recorder_of_leading(operation) if operation.differentiable else record_nothing


def _made(
    operation: DeclaredOperation,
    general: Function,
    source: Callable[[Sequence[Spelled]], str],
    parts: Mapping[str, Any],
) -> Function:
    """Return the function compiled from a source, or `general` where the signature is open or has our own names.

    It is compiled when it is first called, since most programs call few of the functions.
    """
    parameters = list(operation.parameters.signature.parameters.values())
    if any(p.kind is p.VAR_KEYWORD or p.name.startswith(OWN) for p in parameters):
        return general

    def rest(positional: Sequence[Any], star: Sequence[Any], named: Mapping[str, Any], unknown: Any) -> Any:
        args, kwargs = _given(positional, star, named)
        return general(*args, **kwargs, **unknown)

    def fail(error: Exception, positional: Sequence[Any], star: Sequence[Any], named: Mapping[str, Any], _: Any) -> Any:
        reraise(operation, error, *_given(positional, star, named))

    forms = {p.name: p.form for p in operation.parameters.arrays}
    spelled = [
        Spelled(p.name, p.kind, p.name in forms, forms.get(p.name) is Form.LOOSE, p.default is not p.empty)
        for p in parameters
    ]
    names = {**NAMES, **parts, "__operation": operation, "__rest": rest, "__fail": fail}
    for i, (p, one) in enumerate(zip(parameters, spelled, strict=True)):
        names[f"__passed{i}"], names[f"__default{i}"] = _passed(p, one, lists=len(forms) < 2), p.default

    def install() -> None:
        exec(_compiled(source, tuple(spelled)), names)  # noqa: S102  # of this library
        names["settle"]()
        compiled = names["call"]
        function.__defaults__, function.__kwdefaults__ = compiled.__defaults__, compiled.__kwdefaults__
        # A copy, since what the interpreter notes in it belongs to the names of one function.
        function.__code__ = compiled.__code__.replace()

    function = FunctionType(_first_call.__code__, names)
    names |= {"__install": install, "__call": function}
    operation.settlers.append(lambda: names["settle"]() if "settle" in names else None)
    return function


def _first_call(*args: Any, **kwargs: Any) -> Any:
    """Compile the function that is called, and call it; its code takes the place of this."""
    try:
        __install()  # type: ignore[name-defined]  # noqa: F821  # among the names of the function
        return __call(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821
    except Exception as __error:
        __hide_frames(__error)  # type: ignore[name-defined]  # noqa: F821
        raise


def _given(
    positional: Sequence[Any], star: Sequence[Any], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments of a call without those that it left out."""
    args = [x for x in positional if x is not MISSING]
    return (*args, *star), {name: x for name, x in named.items() if x is not MISSING}


def _passed(p: Parameter, spelled: Spelled, *, lists: bool) -> frozenset[type]:
    """Return the types of what a parameter takes as it is.

    Parameters
    ----------
    p, spelled : the parameter
    lists : whether lists are axes or shapes, where there are no further arrays that they may hold
    """
    if not spelled.array:
        passed = UNTRACKED if lists else UNTRACKED - {list}
        return frozenset(passed | {Missing}) if spelled.optional else frozenset(passed)
    numbers = LOOSE if spelled.lists else PYTHON_SCALARS
    return numbers | {type(None)} if p.default is None else numbers


@cache
def _compiled(source: Callable[[Sequence[Spelled]], str], parameters: tuple[Spelled, ...]) -> CodeType:
    """Return the code that makes functions of such parameters; tracebacks show it."""
    text = source(parameters)
    # A file of this library, for who asks where the program called it.
    file = f"{__file__}, function {next(_count)} of ({', '.join(p.name for p in parameters)})"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return compile(text, file, "exec")
