"""The public functions of operations on a sequence of arrays: plain tensors at once, else by table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchkit.backends.arrays import foreign, raw_array
from dispatchkit.declare.call_errors import MISTAKES, reraise
from dispatchkit.declare.outputs import is_held, note_sharing
from dispatchkit.declare.wrapping import wrapped
from dispatchkit.protocol.callers import continue_chain, decide
from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.modes import ask_modes, live

if TYPE_CHECKING:
    from dispatchkit.declare.operation import DeclaredOperation

__all__ = ["gathering_function"]

Function = Callable[..., Any]
ndarray = np.ndarray


def gathering_function(operation: DeclaredOperation) -> Function:
    """Return the public function of an operation of a sequence of arrays, given first, with parameters."""
    table, allows = operation.table, operation.parameters.allows
    needs_more = operation.parameters.least > 1
    base: Any = None
    compute: Any = None

    def call(arrays: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            if live and (answer := ask_modes(operation, (arrays, *args), kwargs)) is not NotImplemented:
                return answer
            if not foreign and (raw := _arrays_of(arrays, base)):
                return at_once(raw, arrays, args, kwargs)
            if (args or kwargs or needs_more) and not allows((arrays, *args), kwargs):
                operation.check_call((arrays, *args), kwargs)
            types: Any = set(map(type, arrays)) if type(arrays) is list or type(arrays) is tuple else ()
            key: Any = types.pop() if len(types) == 1 else None
            try:
                first = table[key]
            except KeyError:
                # Members of several types, or none at all, are decided each time: the order of the types counts.
                first = decide(operation, (arrays, *args), kwargs, *(() if key is None else (key,)))
            result = first(arrays, *args, **kwargs) if args or kwargs else first(arrays)
            if result is NotImplemented or result is None:
                return continue_chain(operation, first, (arrays, *args), kwargs, result)
            return result
        except Exception as error:
            hide_frames(error)
            raise

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
        base, compute = operation.protocol.types.base, operation.on_numpy

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
