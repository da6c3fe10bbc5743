"""What a trace keeps of a call: texts and numbers, so that no argument is kept alive."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter_ns
from typing import Any, TypeAlias

from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.densify import known_layout, making_dense
from dispatchkit.protocol.fallbacks import Undecomposable
from dispatchkit.protocol.frames import caller
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.modes import Mode
from dispatchkit.protocol.observers import CallEvent, unobserved
from dispatchkit.protocol.outcome import AMBIGUOUS, DEFAULT, FOREIGN, METHOD, OUTCOMES
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form

__all__ = ["HOWS", "Entry", "TracedCall"]

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


Arrays: TypeAlias = "tuple[tuple[str, ...], tuple[tuple[int, ...] | None, ...], tuple[str, ...]]"


class Entry:
    """What is written of a call while it is made; its texts are made when somebody reads them.

    Attributes
    ----------
    name, operation : of the event
    arrays : shapes and dtypes where all arguments are plain arrays, else names, shapes and dtypes as texts
    plain : whether they are
    place : file and line that led to the call
    thread : name and identifier of the thread that it was made in
    task : of asyncio
    parent : the entry of the call around it
    index, depth : of the call
    started : nanoseconds on the clock, before the call is made
    times : begin, end, time of calls inside, bytes that became dense in the call itself and inside; None under way
    reason, asked : of the event
    chain : who answers calls with these types, where that was looked up
    result : type of the result
    error : what it raised, as text; "" where nothing
    nobody : whether nobody answered
    """

    __slots__ = (
        *("arrays", "asked", "chain", "depth", "error", "index", "made", "name", "nobody", "operation", "parent"),
        *("place", "plain", "reason", "result", "started", "task", "thread", "times"),
    )

    def __init__(self, call: CallEvent, parent: Entry | None, index: int) -> None:
        self.name = call.name
        self.operation = call.operation
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.index = index
        arrays: Any = _plain_arrays(call)
        self.plain = arrays is not None
        self.arrays: Any = arrays or _all_arrays(call)
        self.place = caller()
        self.thread: tuple[str, int] = (threading.current_thread().name, call.thread)
        self.task = _task()
        self.times: tuple[int, int, int, int, int] | None = None
        self.made: TracedCall | None = None
        self.reason = self.error = ""
        self.asked: Any = None
        self.chain: Any = None
        self.result: type | None = None
        self.nobody = False
        self.started = perf_counter_ns()

    def finish(self, call: CallEvent, result: Any, error: BaseException | None) -> None:
        """Note what came of the call."""
        self.times = call.started, call.ended, call.inside, call.dense, call.dense_inside
        self.reason = call.reason
        self.asked = call.asked
        self.result = type(result)
        if self.plain and error is None and call.asked is None:
            return
        if error is not None:
            text = str(error).strip().partition("\n")[0]
            names = [type(error).__name__] if isinstance(error, Exception) or not text else []
            self.error = ": ".join([*names, *([text] if text else [])])
        operation = call.operation
        if operation is None or isinstance(call.asked, Mode):
            return
        try:
            self.nobody = error is not None and _is_unanswered(operation, call, error)
            self.chain = operation.protocol.chain(operation, operation.parameters.key(call.args, call.kwargs))
        except Exception:  # noqa: BLE001  # what cannot be decided now could not be when the call was made
            self.nobody = True

    def traced(self, origin: int) -> TracedCall:
        """Return what a trace shows of the call; `origin` is the time that the trace began."""
        if self.made is not None:
            return self.made
        names, shapes, dtypes = self._texts() if self.plain else self.arrays
        parent = None if self.parent is None else self.parent.index
        (file, line, _), (thread, ident) = self.place, self.thread
        record = TracedCall(self.name, names, shapes, dtypes, file, line, thread, ident, self.task, parent, self.depth)
        record.start = self.started - origin
        if self.times is None:
            return record
        started, ended, inside, dense, dense_inside = self.times
        record.start, record.duration = started - origin, ended - started
        record.self_time = max(record.duration - inside, 0)
        record.densified, record.self_densified, record.reason = dense + dense_inside, dense, self.reason
        record.error = self.error
        if not self.error and self.operation is not None:
            record.result = _name(self.result)
        self._decide(record)
        self.made = record
        return record

    def _texts(self) -> Arrays:
        assert self.operation is not None
        shapes, dtypes = self.arrays
        name = _name(self.operation.types.base)
        return (name,) * len(shapes), tuple(shapes), tuple(map(_dtype_text, dtypes))

    def _decide(self, record: TracedCall) -> None:
        """Write into a record who answered."""
        operation, asked, chain = self.operation, self.asked, self.chain
        if operation is None:
            record.how, record.what = "backward", f"rule of {self.name}"
            return
        if isinstance(asked, Mode):
            method = type(asked).__name__
            record.how, record.who, record.what = "mode", method, f"{method}.{operation.types.method}"
            record.location = _location(getattr(type(asked), operation.types.method, None))
            return
        if chain is None:
            record.how = "nobody" if self.nobody else "plain"
            return
        step: Step | None = asked or next(iter(chain.steps), None)
        if step is None or self.nobody or step.source in (AMBIGUOUS, FOREIGN):
            record.how, record.what = "nobody", "" if step is None or self.nobody else step.text
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


def _plain_arrays(call: CallEvent) -> tuple[list[Any], list[Any]] | None:
    """Return shapes and dtypes of a call with plain arrays alone; None where there is anything else."""
    operation, args = call.operation, call.args
    if operation is None or call.kwargs or operation.parameters.positional != len(args):
        return None
    base = operation.types.base
    for value in args:
        if type(value) is not base:
            return None
    return [value.shape for value in args], [value.dtype for value in args]


def _all_arrays(call: CallEvent) -> Arrays:
    arrays = list(_arrays(call))
    layouts = [_layout(call, value) for value in arrays]
    return (
        tuple([_name(type(value)) for value in arrays]),
        tuple([shape for shape, _ in layouts]),
        tuple([dtype for _, dtype in layouts]),
    )


_name: Callable[[Any], str] = lru_cache(maxsize=256)(type_name)


def _arrays(call: CallEvent) -> Iterator[Any]:
    """Yield the arrays of a call, without arguments that are absent and the parts of an index that are no arrays."""
    operation = call.operation
    if operation is None:
        return
    protocol = operation.protocol
    for p, value in operation.parameters.values(call.args, call.kwargs):
        cls = type(value)
        if p.form is Form.INDEX:
            if protocol.types.participates(cls) or protocol.types.wrapped_always(cls):
                yield value
        elif value is not None:
            yield value


def _layout(call: CallEvent, value: Any) -> tuple[tuple[int, ...] | None, str]:
    try:
        if call.operation is not None and call.operation.types.participates(type(value)):
            with (
                unobserved(),
                making_dense(value),
            ):  # a property of the type's own may do anything, for the record alone
                shape, dtype = known_layout(value)
        else:
            shape, dtype = known_layout(value)
        return None if shape is None else tuple(shape), "" if dtype is None else _dtype_text(dtype)
    except Exception:  # noqa: BLE001  # a type's own property may raise anything, and is only asked for the record
        return None, ""


# NumPy takes longer to write a dtype than for many an operation.
_dtype_text = lru_cache(maxsize=64)(str)


def _task() -> str:
    """Return the name of the asyncio task that runs; where nobody imported asyncio, there is none."""
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None:
        return ""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return ""
    return "" if task is None else str(task.get_name())


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


def _location(method: Any) -> str:
    code = getattr(inspect.unwrap(getattr(method, "__func__", method)), "__code__", None) if method else None
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"
