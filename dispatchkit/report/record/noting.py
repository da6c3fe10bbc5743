"""What a record notes of a call while it is made: classes, shapes, code and numbers, and no argument.

Each recorded call comes through here, so what can be found out later is left for later.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from types import CodeType, NoneType
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.densify import known_layout
from dispatchkit.protocol.fallbacks import Undecomposable
from dispatchkit.protocol.frames import frame_outside
from dispatchkit.protocol.modes import Mode
from dispatchkit.protocol.observers import UNSEEN, CallEvent, here, is_observed, observe
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key
from dispatchkit.tensor.tensor import Tensor

__all__ = ["Began", "Came", "Place", "began_of", "came_of"]

# Shape and dtype of an array, None for what it does not tell without becoming dense.
Layout: TypeAlias = "tuple[tuple[int, ...] | None, Any]"
# Code and instruction of the program.
Place: TypeAlias = "tuple[CodeType, int]"
# Before a call: the types that decide who answers, None where all are plain arrays or numbers; the types of the arrays
# and their layouts; the place that led to it, None where it is that of the call around it; name and identifier of the
# thread; name of the asyncio task, "" outside of any.
Began: TypeAlias = "tuple[Key | None, tuple[type, ...], list[Layout], Place | None, str, int, str]"
# After it: the type of the result; who answers such calls, None where nobody else than the default can; class and first
# line of what it raised, or ""; whether nobody answered.
Came: TypeAlias = "tuple[type, Chain | None, str, bool]"

NUMBERS = frozenset({bool, int, float, complex})
# What an index holds besides arrays and slices.
NO_ARRAYS = frozenset({bool, int, NoneType})
NO_LAYOUT: Layout = (None, None)
ndarray = np.ndarray
# From `began_of` to what called the function of the library, where all observers are silent.
FRAMES = 5


class _Thread(threading.local):
    """The thread that reads it, and its identifier."""

    def __init__(self) -> None:
        self.both = threading.current_thread(), threading.get_ident()


_here = _Thread()


def began_of(call: CallEvent) -> Began:
    """Return what is noted of a call before it is made."""
    key: Key | None = None
    types: tuple[type, ...] = ()
    layouts: list[Layout] = []
    operation, outer = call.operation, call.outer
    if operation is not None:
        parameters, base = operation.parameters, operation.protocol.types.base
        values: Sequence[Any] = call.args
        by_place = parameters.positional == len(values)
        if not by_place:
            values = _arrays(operation, call)
        types = (*map(type, values),)
        if NoneType in types:
            by_place, values = False, [value for value in values if value is not None]
            types = (*map(type, values),)
        is_plain = True
        for value in values:
            cls = type(value)
            if cls is Tensor is base and type(array := value.array) is ndarray:
                layouts.append((array.shape, array.dtype))
            elif cls in NUMBERS:
                layouts.append(NO_LAYOUT)
            else:
                is_plain = is_plain and base is not None and (cls is base or cls is ndarray)
                layouts.append(_layout(value, outer))
        if not is_plain:
            key = types if by_place else parameters.key(call.args, call.kwargs)
    # The frames of a call inside of another lead to that one, whose place is known.
    known = outer is not None and outer.began is not None and is_observed() is not None
    frame = frame_outside(FRAMES, observe.__code__ if known else None)
    place = None if frame is None else (frame.f_code, frame.f_lasti)
    thread, ident = _here.both
    asyncio: Any = sys.modules.get("asyncio")
    # Asking for the task where no loop runs raises an error, which takes longer than all else here.
    task = "" if asyncio is None or asyncio._get_running_loop() is None else _name_of(asyncio.current_task())
    return key, types, layouts, place, thread.name, ident, task


def came_of(call: CallEvent, result: Any, error: BaseException | None) -> Came:
    """Return what is noted of a call after it is made."""
    key, asked, operation = call.began[0], call.asked, call.operation
    if key is None and error is None and asked is None:
        return type(result), None, "", False
    text = "" if error is None else _error_text(error)
    if operation is None or isinstance(asked, Mode):
        return type(result), None, text, False
    chain, nobody = None, True
    try:
        nobody = error is not None and _is_unanswered(operation, call, error)
        if key is None:
            key = operation.parameters.key(call.args, call.kwargs)
        chain = operation.chains.get(key) or operation.protocol.chain(operation, key)
    except Exception:  # noqa: BLE001  # what cannot be decided now could not be when the call was made
        nobody = True
    return type(result), chain, text, nobody


def _layout(value: Any, outer: CallEvent | None) -> Layout:
    here.call = UNSEEN  # a property of the type's own may make calls, for the record alone
    try:
        shape, dtype = known_layout(value)
        return None if shape is None else tuple(shape), dtype
    except Exception:  # noqa: BLE001  # a type's own property may raise anything, and is only asked for the record
        return None, None
    finally:
        here.call = outer


def _arrays(operation: Overridable, call: CallEvent) -> Sequence[Any]:
    """Return the arrays of a call without the parts of an index that are no arrays; None for those that are absent."""
    parameters, args, kwargs = operation.parameters, call.args, call.kwargs
    count = parameters.positional
    if count:
        if len(args) >= count:
            return args[:count]
        return (*args, *[kwargs.get(p.name, p.default) for p in parameters.arrays[len(args) :]])
    types = operation.protocol.types
    values: list[Any] = []
    for p in parameters.arrays:
        value = p.find(args, kwargs)
        if p.form is not Form.INDEX:
            values += [value] if p.form is Form.ONE or not p.holds_several(value) else value
            continue
        for member in value if p.holds_several(value) else (value,):
            cls = type(member)
            if cls not in NO_ARRAYS and (types.participates(cls) or types.wrapped_always(cls)):
                values.append(member)
    return values


def _name_of(task: Any) -> str:
    return "" if task is None else str(task.get_name())


def _error_text(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0]
    names = [type(error).__name__] if isinstance(error, Exception) or not text else []
    return ": ".join([*names, *([text] if text else [])])


def _is_unanswered(operation: Overridable, call: CallEvent, error: BaseException) -> bool:
    """Return whether an error says that nobody answered a call."""
    if isinstance(error, TypeError) and not _is_bound(operation, call):
        return True
    return (isinstance(error, NoImplementationError) and error.function == operation.qualified_name) or (
        isinstance(error, Undecomposable) and error.operation is operation
    )


def _is_bound(operation: Overridable, call: CallEvent) -> bool:
    """Return whether the signature of an operation allows a call."""
    try:
        operation.parameters.signature.bind(*call.args, **call.kwargs)
    except TypeError:
        return False
    return True
