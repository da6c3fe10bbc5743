"""The public functions of operations on several arrays, on a sequence of them, and on none: as in `functions`.

A call on plain tensors outside the graph is computed at once; every other goes by the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchkit.graph.arrays import SCALARS, UNTRACKED, foreign, raw_array
from dispatchkit.ops.mistakes import MISTAKES, NUMBERS, check_numbers, reraise
from dispatchkit.ops.results import is_held, note_sharing, several_results
from dispatchkit.ops.wrapping import wrapped
from dispatchkit.protocol.callers import ask_the_rest, decide
from dispatchkit.protocol.modes import ask_modes, live
from dispatchkit.protocol.parameters import Form

if TYPE_CHECKING:
    from dispatchkit.ops.declared import DeclaredOperation

__all__ = ["gathering_function", "making_function", "untracked_function"]

Function = Callable[..., Any]
new: Callable[[Any], Any] = object.__new__
ndarray = np.ndarray
asarray = np.asarray
# What may stand in the place of an array, and how many arguments of a parameter that takes any number are looked at.
PYTHON_SCALARS = frozenset({int, float, complex, bool})
NOTHING: frozenset[type] = frozenset()
MOST = 8


def making_function(operation: DeclaredOperation, general: Function) -> Function:
    """Return the public function of an operation that makes an array of no other.

    Parameters
    ----------
    operation : to compute
    general : answers every call that is not one with plain arguments, or whose result is a leaf
    """
    base: Any = None
    compute: Any = None

    def call(*args: Any, **kwargs: Any) -> Any:
        if live or foreign or "requires_grad" in kwargs:
            return general(*args, **kwargs)
        for x in args:
            if type(x) not in UNTRACKED:
                return general(*args, **kwargs)
        for x in kwargs.values():
            if type(x) not in UNTRACKED:
                return general(*args, **kwargs)
        try:
            r = compute(*args, **kwargs)
            if type(r) is not ndarray:
                return general(*args, **kwargs)
            if r.dtype.kind not in NUMBERS:
                check_numbers(operation, r, kwargs.get("dtype"))
        except MISTAKES as error:
            reraise(operation, error, args, kwargs)
        y = new(base)
        y.array = r
        y._node = y._memory = None
        return y

    def settle() -> None:
        nonlocal base, compute
        base, compute = operation.protocol.base, operation.on_numpy

    operation.settlers.append(settle)
    return call


def untracked_function(  # noqa: C901  # a call on a few numbers costs no more than what is written out here
    operation: DeclaredOperation, general: Function
) -> Function:
    """Return the public function of an operation of several arrays, with parameters.

    Parameters
    ----------
    operation : to compute
    general : answers every call that is not one on plain tensors outside the graph
    """
    takes_dtype = "dtype" in operation.parameters.signature.parameters
    places, names = _passed(operation)
    most = len(places)
    base: Any = None
    compute: Any = None

    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: C901  # see above
        if live or foreign or len(args) > most:
            return general(*args, **kwargs)
        opened: list[Any] = []
        for x, passed in zip(args, places):  # noqa: B905  # no fewer places than arguments
            t = type(x)
            if t is base and x._node is None:
                opened.append(x.array)
            elif t in passed and (t is not list or PYTHON_SCALARS.issuperset(map(type, x))):
                opened.append(x)
            else:
                return general(*args, **kwargs)
        for name, x in kwargs.items():
            if type(x) not in names.get(name, NOTHING):
                return general(*args, **kwargs)
        try:
            r = compute(*opened, **kwargs)
            if takes_dtype and kwargs and (type(r) is not ndarray or r.dtype.kind not in NUMBERS):
                check_numbers(operation, r, kwargs.get("dtype"))
        except MISTAKES as error:
            reraise(operation, error, args, kwargs)
        if type(r) is not ndarray:
            return _of_no_array(operation, base, r, args, kwargs)
        y = new(base)
        y.array = r
        y._node = y._memory = None
        if r.base is not None:
            note_sharing(y, args)
        else:
            for x in opened:
                if x is r:
                    note_sharing(y, args)
        return y

    def settle() -> None:
        nonlocal base, compute
        base, compute = operation.protocol.base, operation.on_numpy

    operation.settlers.append(settle)
    return call


def _of_no_array(operation: DeclaredOperation, base: Any, r: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the results of a call that gave several arrays, or a scalar, or another library's array."""
    if type(r) in SCALARS:
        return wrapped(base, asarray(r))
    if isinstance(r, (tuple, list)):
        return several_results(operation, base, r, args, args, kwargs, tracked=False)
    y = wrapped(base, raw_array(r))
    note_sharing(y, args)
    return y


def _passed(operation: DeclaredOperation) -> tuple[list[frozenset[type]], dict[str, frozenset[type]]]:
    """Return the types that each parameter may have in place of a plain tensor, by its place and by its name.

    Sequences and indices may hold arrays, and are looked into elsewhere; so are leaves made.
    """
    places, names = [], {}
    arrays = {p.name: p for p in operation.parameters.arrays}
    for name, p in operation.parameters.signature.parameters.items():
        passed = frozenset(UNTRACKED)
        if name in arrays:
            passed = PYTHON_SCALARS | {ndarray, list} if arrays[name].form is Form.LOOSE else PYTHON_SCALARS
            passed |= {type(None)} if p.default is None else NOTHING
        if p.kind is p.VAR_POSITIONAL:
            places += [passed] * MOST
        elif p.kind is not p.KEYWORD_ONLY:
            places.append(passed)
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and name != "requires_grad":
            names[name] = passed
    return places, names


def gathering_function(operation: DeclaredOperation) -> Function:
    """Return the public function of an operation of a sequence of arrays, given first, with parameters."""
    table = operation.table
    base: Any = None
    compute: Any = None

    def call(arrays: Any, /, *args: Any, **kwargs: Any) -> Any:
        if live and (answer := ask_modes(operation, (arrays, *args), kwargs)) is not NotImplemented:
            return answer
        if not foreign and (raw := _arrays_of(arrays, base)):
            return at_once(raw, arrays, args, kwargs)
        types: Any = set(map(type, arrays)) if type(arrays) is list or type(arrays) is tuple else ()
        key: Any = types.pop() if len(types) == 1 else None
        try:
            first = table[key]
        except KeyError:
            # Members of several types, or none at all, are decided each time: the order of the types counts.
            first = decide(operation, (arrays, *args), kwargs, *(() if key is None else (key,)))
        result = first(arrays, *args, **kwargs) if args or kwargs else first(arrays)
        if result is NotImplemented:
            return ask_the_rest(operation, first, (arrays, *args), kwargs)
        return result

    def at_once(raw: list[Any], arrays: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute on the arrays of plain tensors outside the graph."""
        try:
            r = compute(raw, *args, **kwargs)
        except MISTAKES as error:
            reraise(operation, error, (arrays, *args), kwargs)
        y = wrapped(base, r if type(r) is ndarray else raw_array(r))
        if y.array.base is not None or is_held(r, raw):
            note_sharing(y, arrays)
        return y

    def settle() -> None:
        nonlocal base, compute
        base, compute = operation.protocol.base, operation.on_numpy

    operation.settlers.append(settle)
    return call


def _arrays_of(tensors: Any, base: Any) -> list[Any] | None:
    """Return the arrays of a list or tuple of plain tensors outside the graph; None of anything else."""
    if type(tensors) is not list and type(tensors) is not tuple:
        return None
    raw = []
    for x in tensors:
        if type(x) is not base or x._node is not None:
            return None
        raw.append(x.array)
    return raw
