"""The public functions of operations on several arrays, on a sequence of them, and on none: as in `functions`.

A call on plain tensors outside the graph is computed at once; every other goes by the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchkit.graph.arrays import UNTRACKED, foreign, raw_array
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
# What may stand in the place of an array, and how many arguments of a parameter that takes any number are looked at.
PYTHON_SCALARS = frozenset({int, float, complex, bool})
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


def untracked_function(operation: DeclaredOperation, general: Function) -> Function:
    """Return the public function of an operation of several arrays, with parameters.

    Parameters
    ----------
    operation : to compute
    general : answers every call that is not one on plain tensors outside the graph
    """
    signature = operation.parameters.signature.parameters
    takes_dtype, makes_leaves = "dtype" in signature, "requires_grad" in signature
    places, names = _passed(operation)
    base: Any = None
    compute: Any = None

    def call(*args: Any, **kwargs: Any) -> Any:
        opened = _opened(args, kwargs, base, places, names)
        if opened is None or (makes_leaves and "requires_grad" in kwargs):
            return general(*args, **kwargs)
        try:
            r = compute(*opened, **kwargs)
            if takes_dtype and "dtype" in kwargs:
                check_numbers(operation, r, kwargs["dtype"])
        except MISTAKES as error:
            reraise(operation, error, args, kwargs)
        if type(r) is not ndarray:
            if isinstance(r, (tuple, list)):
                return several_results(operation, base, r, args, args, kwargs, tracked=False)
            r = raw_array(r)
        y = new(base)
        y.array = r
        y._node = y._memory = None
        if r.base is not None or is_held(r, opened):
            note_sharing(y, args)
        return y

    def settle() -> None:
        nonlocal base, compute
        base, compute = operation.protocol.base, operation.on_numpy

    operation.settlers.append(settle)
    return call


def _passed(operation: DeclaredOperation) -> tuple[list[frozenset[type]], dict[str, frozenset[type]]]:
    """Return the types that each parameter may have in place of a plain tensor, by its place and by its name.

    Sequences and indices may hold arrays, and are looked into elsewhere.
    """
    places, names = [], {}
    arrays = {p.name: p for p in operation.parameters.arrays}
    for name, p in operation.parameters.signature.parameters.items():
        passed = UNTRACKED
        if name in arrays:
            passed = PYTHON_SCALARS | {ndarray, list} if arrays[name].form is Form.LOOSE else PYTHON_SCALARS
            passed |= {type(None)} if p.default is None else frozenset()
        if p.kind is p.VAR_POSITIONAL:
            places += [passed] * MOST
        elif p.kind is not p.KEYWORD_ONLY:
            places.append(passed)
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD):
            names[name] = passed
    return places, names


def _opened(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    base: Any,
    places: list[frozenset[type]],
    names: dict[str, frozenset[type]],
) -> list[Any] | None:
    """Return the arguments with raw arrays for tensors; None unless the call is one on plain tensors outside the graph.

    Parameters
    ----------
    args, kwargs : of the call
    base : the class of plain tensors
    places, names : types that a parameter may have instead, by its place and by its name
    """
    if live or foreign or len(args) > len(places):
        return None
    opened: list[Any] = []
    for x in args:
        if type(x) is base and x._node is None:
            opened.append(x.array)
        elif type(x) in places[len(opened)] and (type(x) is not list or PYTHON_SCALARS.issuperset(map(type, x))):
            opened.append(x)
        else:
            return None
    for name, x in kwargs.items():
        if name not in names or type(x) not in names[name]:
            return None
    return opened


def gathering_function(operation: DeclaredOperation) -> Function:
    """Return the public function of an operation of a sequence of arrays, given first, with parameters."""
    table = operation.table
    base: Any = NotImplemented  # the type of no member, nor None
    compute: Any = None

    def call(arrays: Any, /, *args: Any, **kwargs: Any) -> Any:
        if live and (answer := ask_modes(operation, (arrays, *args), kwargs)) is not NotImplemented:
            return answer
        types: Any = set(map(type, arrays)) if type(arrays) is list or type(arrays) is tuple else None
        key: Any = types.pop() if types is not None and len(types) == 1 else None
        if key is base and not foreign and (y := at_once(arrays, args, kwargs)) is not None:
            return y
        try:
            first = table[key]
        except KeyError:
            # Members of several types, or none at all, are decided each time: the order of the types counts.
            first = decide(operation, (arrays, *args), kwargs, *(() if key is None else (key,)))
        result = first(arrays, *args, **kwargs) if args or kwargs else first(arrays)
        if result is NotImplemented:
            return ask_the_rest(operation, first, (arrays, *args), kwargs)
        return result

    def at_once(arrays: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute on plain tensors; None where one of them is in the graph."""
        raw = []
        for x in arrays:
            if x._node is not None:
                return None
            raw.append(x.array)
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
        base, compute = operation.protocol.base or NotImplemented, operation.on_numpy

    operation.settlers.append(settle)
    return call
