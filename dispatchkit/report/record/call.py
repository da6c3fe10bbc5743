"""What a record notes of a call while it is made, and what a trace shows of it."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, NoneType
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.densify import Derived, known_layout
from dispatchkit.protocol.fallbacks import Undecomposable
from dispatchkit.protocol.frames import frame_outside, line_of
from dispatchkit.protocol.modes import Mode
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.observers import UNSEEN, CallEvent, here, is_observed, observe
from dispatchkit.protocol.outcome import AMBIGUOUS, DEFAULT, FOREIGN, METHOD
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key
from dispatchkit.protocol.prediction.tree import first_line
from dispatchkit.protocol.steps import WRITTEN, Step
from dispatchkit.report.outcomes import OUTCOMES
from dispatchkit.tensor.tensor import Tensor

# Shape and dtype of an array, None for what it does not tell without becoming dense.
Layout: TypeAlias = "tuple[tuple[int, ...] | None, Any]"
# Code and instruction of the program.
Place: TypeAlias = "tuple[CodeType, int]"
# Before a call: the types that decide who answers, None where all are plain arrays or numbers; the types of the arrays
# and their layouts; the place that led to it, None where it is that of the call around it; the thread, and its
# identifier; name of the asyncio task, "" outside of any.
Began: TypeAlias = "tuple[Key | None, tuple[type, ...], list[Layout], Place | None, threading.Thread, int, str]"
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
OBSERVE = observe.__code__


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
        if len(values) == 2:
            first, second = values
            types = type(first), type(second)
        else:
            types = (*map(type, values),)
        if NoneType in types:
            by_place, values = False, [value for value in values if value is not None]
            types = (*map(type, values),)
        is_plain = True
        try:
            for value in values:
                cls = type(value)
                if cls is Tensor and cls is base and type(array := value.array) is ndarray:
                    layouts.append((array.shape, array.dtype))
                elif cls in NUMBERS:
                    layouts.append(NO_LAYOUT)
                else:
                    here.call = UNSEEN  # a property of a type's own may make calls, for the record alone
                    is_plain = is_plain and base is not None and (cls is base or cls is ndarray)
                    layouts.append(layout_read(value, cls))
        finally:
            if here.call is UNSEEN:
                here.call = outer
        if not is_plain:
            key = types if by_place else parameters.key(call.args, call.kwargs)
    # The frames of a call inside of another lead to that one, whose place is known.
    if outer is not None and outer.began is not None and is_observed() is not None:
        frame = frame_outside(FRAMES, OBSERVE)
        # It runs in the same thread and task.
        return key, types, layouts, None if frame is None else (frame.f_code, frame.f_lasti), *outer.began[4:]
    frame = frame_outside(FRAMES)
    assert frame is not None  # which it is only where some code stops it
    thread, ident = _here.both
    asyncio: Any = sys.modules.get("asyncio")
    # Asking for the task where no loop runs raises an error, which takes longer than all else here.
    task = "" if asyncio is None or asyncio._get_running_loop() is None else _name_of(asyncio.current_task())
    return key, types, layouts, (frame.f_code, frame.f_lasti), thread, ident, task


def came_of(call: CallEvent, result: Any, error: BaseException | None) -> Came:
    """Return what is noted of a call after it is made."""
    key, asked, operation = call.began[0], call.asked, call.operation
    if key is None and error is None and asked is None:
        return type(result), None, "", False
    text = ""
    if error is not None:
        text = first_line(error)
    if operation is None or isinstance(asked, Mode):
        return type(result), None, text, False
    chain, nobody = None, True
    try:
        if key is None:
            key = operation.parameters.key(call.args, call.kwargs)
        chain = operation.chains.get(key) or operation.protocol.chain(operation, key)
        nobody = error is not None and _is_unanswered(operation, call, chain, error)
    except Exception:  # noqa: BLE001  # what cannot be decided now could not be when the call was made
        nobody = True
    return type(result), chain, text, nobody


def layout_read(value: Any, cls: type) -> Layout:
    """Return shape and dtype of an array; asked for while `here.call` is `UNSEEN`."""
    try:
        if supplies_layout(cls):
            shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
        else:
            shape, dtype = known_layout(value)
        return None if shape is None else tuple(shape), dtype
    except Exception:  # noqa: BLE001  # a type's own property may raise anything, and is only asked for the record
        return NO_LAYOUT


@lru_cache(maxsize=256)
def supplies_layout(cls: type) -> bool:
    """Return whether a type has shape and dtype of its own, which need no dense form."""
    return not any(isinstance(getattr(cls, name, None), Derived) for name in ("shape", "dtype"))


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
            if p.form is Form.ONE or not p.holds_several(value):
                values += [value]
            else:
                values += value
            continue
        if p.holds_several(value):
            members = value
        else:
            members = (value,)
        for member in members:
            cls = type(member)
            if cls not in NO_ARRAYS and (types.participates(cls) or types.wrapped_always(cls)):
                values.append(member)
    return values


def _name_of(task: Any) -> str:
    if task is None:
        return ""
    return str(task.get_name())


def _is_unanswered(operation: Overridable, call: CallEvent, chain: Chain, error: BaseException) -> bool:
    """Return whether an error says that nobody answered a call, rather than one that its rule made."""
    if isinstance(error, TypeError):
        try:
            operation.parameters.signature.bind(*call.args, **call.kwargs)
        except TypeError:  # the signature does not allow the call
            return True
    if isinstance(error, NoImplementationError):
        step: Step | None = call.asked or next(iter(chain.steps), None)
        # Code of users goes on with what its arrays hold; a call of the same function that then fails is its own.
        written = step is not None and step.source in WRITTEN
        same = not written or list(error.types) == list(map(type_name, chain.types))
        return same and error.function == operation.qualified_name
    return isinstance(error, Undecomposable) and error.operation is operation


# How a call is answered, with what it means.
HOWS = {one.how: one.seen or one.outcome.meaning for one in OUTCOMES if one.how}


@dataclass(slots=True)
class TracedCall:
    """A call, or a step of a backward pass, as a trace saw it. Times are in nanoseconds.

    Attributes
    ----------
    function : qualified name of the operation; of a step of a backward pass that of the node, such as ``AddBackward``
    types : names of the types of its arrays, in order
    shapes, dtypes : of the same arrays, None and "" for what tells neither without becoming dense
    file, line : the nearest line outside the library that led to it
    thread, thread_id : it was made in
    task : name of the asyncio task, "" outside of any
    parent : index in `calls` of the call that it was made inside of, None where there is none
    depth : number of calls around it
    start : since the trace began
    duration : all of it; 0 while it is under way
    self_time : without what calls inside took, and without what the trace itself took
    densified, self_densified : bytes of the dense copies that were made: in all of it, and without calls inside
    reason : why a dense copy was made, "" where none was: who declined, or the function that made it itself
    how : one of `HOWS`
    who : type or mode that answered, "" for plain tensors
    what : the answer, in words
    location : file and line of the handler, "" where there is none
    result : name of the result's type, "" where it raised
    error : class and first line of the exception, "" where it did not raise
    asked : the type that answered by its rule or fallback, None for plain tensors and modes
    asking : where it became dense, the operation and the types that a rule would be asked for; else None
    """

    function: str
    types: tuple[str, ...]
    shapes: tuple[tuple[int, ...] | None, ...]
    dtypes: tuple[str, ...]
    file: str
    line: int
    thread: str
    thread_id: int
    task: str
    parent: int | None
    depth: int
    start: int = 0
    duration: int = 0
    self_time: int = 0
    densified: int = 0
    self_densified: int = 0
    reason: str = ""
    how: str = ""
    who: str = ""
    what: str = ""
    location: str = ""
    result: str = ""
    error: str = ""
    asked: type | None = None
    asking: tuple[Overridable, Key] | None = None

    @property
    def name(self) -> str:
        """The function without the library's own name."""
        return self.function.removeprefix("dispatchkit.")

    @property
    def place(self) -> str:
        """The line that led to it, as text."""
        return f"{self.file}:{self.line}"

    def arrays(self) -> list[str]:
        """Return type, shape and dtype of each array as text."""
        parts = zip(self.types, self.shapes, self.dtypes, strict=True)
        return [
            name + ("" if shape is None else f" {shape}") + (f" {dtype}" if dtype else "")
            for name, shape, dtype in parts
        ]


def trace_call(call: CallEvent, parent: int | None, depth: int, origin: int) -> TracedCall:
    """Return what a trace shows of a call.

    Parameters
    ----------
    call : that was noted
    parent, depth : of the call in the trace
    origin : the time that the trace began
    """
    began: Began = call.began
    key, types, layouts, _, thread, ident, task = began
    (code, instruction), names = _place_of(call), tuple([_name(cls) for cls in types])
    shapes, dtypes = tuple([shape for shape, _ in layouts]), tuple([_dtype(dtype) for _, dtype in layouts])
    file, line = code.co_filename, line_of(code, instruction)
    record = TracedCall(call.name, names, shapes, dtypes, file, line, thread.name, ident, task, parent, depth)
    record.start = (call.started or call.entered) - origin
    came: Came | None = call.came
    if came is None or not call.ended:
        return record
    result, chain, error, nobody = came
    record.duration = call.ended - call.started
    record.self_time = max(record.duration - call.inside, 0)
    record.densified, record.self_densified, record.reason = call.dense + call.dense_inside, call.dense, call.reason
    record.error = error
    if not error and call.operation is not None:
        record.result = _name(result)
    if record.self_densified and call.operation is not None and key is not None:
        record.asking = call.operation, key
    _decide(record, call, chain, nobody)
    return record


def _decide(record: TracedCall, call: CallEvent, chain: Chain | None, nobody: bool) -> None:
    """Write into a record who answered."""
    operation, asked = call.operation, call.asked
    if operation is None:
        record.how, record.what = "backward", f"rule of {call.name}"
        return
    if isinstance(asked, Mode):
        method = type(asked).__name__
        record.how, record.who, record.what = "mode", method, f"{method}.{operation.types.method}"
        record.location = _location(getattr(type(asked), operation.types.method, None))
        return
    if chain is None:
        if nobody:
            record.how = "nobody"
        else:
            record.how = "plain"
        return
    step: Step | None = asked or next(iter(chain.steps), None)
    if step is None or nobody or step.source in (AMBIGUOUS, FOREIGN):
        record.how, record.what = "nobody", "" if step is None or nobody else step.text
        return
    structured = [cls for cls in chain.types if cls is not operation.protocol.types.base]
    if step.source is DEFAULT and not structured:
        record.how = "plain"
        return
    record.how, record.who, record.what = step.source.name, type_name(step.cls), step.text
    record.asked = step.cls
    if step.rule is not None:
        record.what, record.location = step.rule.title, step.rule.location
    elif step.source is METHOD:
        record.location = _location(operation.protocol.types.own_method(step.cls))


def _place_of(call: CallEvent) -> Place:
    """Return the place that led to a call: its own, or that of the nearest call around it."""
    while call.began[3] is None:
        assert call.outer is not None  # which was noted, too
        call = call.outer
    place: Place = call.began[3]
    return place


_name: Callable[[Any], str] = lru_cache(maxsize=256)(type_name)
# NumPy takes longer to write a dtype than for many an operation.
_text = lru_cache(maxsize=64)(str)


def _dtype(dtype: Any) -> str:
    try:
        if dtype is None:
            return ""
        return _text(dtype)
    except Exception:  # noqa: BLE001  # what a type of a user's calls its dtype may be anything
        return ""


def _location(method: Any) -> str:
    code = None
    if method:
        code = getattr(inspect.unwrap(getattr(method, "__func__", method)), "__code__", None)
    if code is None:
        return ""
    return f"{code.co_filename}:{code.co_firstlineno}"
