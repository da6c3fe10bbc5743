"""What a trace shows of a call: texts and numbers, made when somebody reads them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dispatchkit.protocol.chain import Chain, Step
from dispatchkit.protocol.frames import line_of
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.modes import Mode
from dispatchkit.protocol.observers import CallEvent
from dispatchkit.protocol.outcome import AMBIGUOUS, DEFAULT, FOREIGN, METHOD, OUTCOMES
from dispatchkit.report.record.noting import Began, Came, Place

__all__ = ["HOWS", "TracedCall", "traced"]

# How a call is answered, with what it means.
HOWS = {one.how: one.seen or one.meaning for one in OUTCOMES if one.how}


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

    @property
    def name(self) -> str:
        """The function without the library's own name."""
        return self.function.removeprefix("dispatchkit.")

    @property
    def place(self) -> str:
        """The line that led to it, as text."""
        return f"{self.file}:{self.line}"

    @property
    def lane(self) -> tuple[int, str, str]:
        """Thread and task: calls of one lane follow each other or stand inside each other."""
        return self.thread_id, self.thread, self.task

    def arrays(self) -> list[str]:
        """Return type, shape and dtype of each array as text."""
        parts = zip(self.types, self.shapes, self.dtypes, strict=True)
        return [
            name + ("" if shape is None else f" {shape}") + (f" {dtype}" if dtype else "")
            for name, shape, dtype in parts
        ]


def traced(call: CallEvent, parent: int | None, depth: int, origin: int) -> TracedCall:
    """Return what a trace shows of a call.

    Parameters
    ----------
    call : that was noted
    parent, depth : of the call in the trace
    origin : the time that the trace began
    """
    began: Began = call.began
    _, types, layouts, _, thread, ident, task = began
    (code, instruction), names = _place_of(call), tuple([_name(cls) for cls in types])
    shapes, dtypes = tuple([shape for shape, _ in layouts]), tuple([_dtype(dtype) for _, dtype in layouts])
    file, line = code.co_filename, line_of(code, instruction)
    record = TracedCall(call.name, names, shapes, dtypes, file, line, thread, ident, task, parent, depth)
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
        record.how = "nobody" if nobody else "plain"
        return
    step: Step | None = asked or next(iter(chain.steps), None)
    if step is None or nobody or step.source in (AMBIGUOUS, FOREIGN):
        record.how, record.what = "nobody", "" if step is None or nobody else step.text
        return
    own = [cls for cls in chain.types if cls is not operation.protocol.types.base]
    if step.source is DEFAULT and not own:
        record.how = "plain"
        return
    record.how, record.who, record.what = step.source.how, type_name(step.cls), step.text
    record.asked = step.cls
    if step.rule is not None:
        record.what, record.location = step.rule.title, step.rule.location
    elif step.source is METHOD:
        record.location = _location(operation.protocol.types.own_method(step.cls))


def _place_of(call: CallEvent) -> Place:
    """Return the place that led to a call: its own, or that of the nearest call around it."""
    place: Place | None = call.began[3]
    while place is None:
        assert call.outer is not None  # which was noted, too
        call = call.outer
        place = call.began[3]
    return place


_name: Callable[[Any], str] = lru_cache(maxsize=256)(type_name)
# NumPy takes longer to write a dtype than for many an operation.
_text = lru_cache(maxsize=64)(str)


def _dtype(dtype: Any) -> str:
    try:
        return "" if dtype is None else _text(dtype)
    except Exception:  # noqa: BLE001  # what a type of a user's calls its dtype may be anything
        return ""


def _location(method: Any) -> str:
    code = getattr(inspect.unwrap(getattr(method, "__func__", method)), "__code__", None) if method else None
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"
