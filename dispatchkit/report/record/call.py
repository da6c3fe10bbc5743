"""What a trace keeps of a call: texts and numbers, so that no argument is kept alive."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
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

__all__ = ["HOWS", "TracedCall", "begun", "finish"]

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


def begun(call: CallEvent, parent: int | None, depth: int) -> tuple[TracedCall, bool]:
    """Return the record of a call that is about to be made, and whether its arrays are plain and all its arguments."""
    plain = _plain_arrays(call)
    names, shapes, dtypes = plain or _all_arrays(call)
    file, line, _ = caller()
    thread = threading.current_thread().name
    record = TracedCall(call.name, names, shapes, dtypes, file, line, thread, call.thread, _task(), parent, depth)
    return record, plain is not None


Arrays: TypeAlias = "tuple[tuple[str, ...], tuple[tuple[int, ...] | None, ...], tuple[str, ...]]"


def _plain_arrays(call: CallEvent) -> Arrays | None:
    """Return types, shapes and dtypes of a call with plain arrays alone; None where there is anything else."""
    operation, args = call.operation, call.args
    if operation is None or call.kwargs or operation.parameters.positional != len(args):
        return None
    base = operation.types.base
    for value in args:
        if type(value) is not base:
            return None
    name = _name(base)
    return (
        tuple([name] * len(args)),
        tuple([value.shape for value in args]),
        tuple([_dtype_text(value.dtype) for value in args]),
    )


def _all_arrays(call: CallEvent) -> Arrays:
    with unobserved():
        arrays = list(_arrays(call))
        layouts = [_layout(value) for value in arrays]
    return (
        tuple([_name(type(value)) for value in arrays]),
        tuple([shape for shape, _ in layouts]),
        tuple([dtype for _, dtype in layouts]),
    )


_name: Callable[[Any], str] = lru_cache(maxsize=256)(type_name)


def finish(
    record: TracedCall, plain: bool, call: CallEvent, origin: int, result: Any, error: BaseException | None
) -> None:
    """Write into a record what came of its call, `plain` as of `begun`; `origin` is the time that the trace began."""
    record.start = call.started - origin
    record.duration = call.ended - call.started
    record.self_time = max(record.duration - call.inside, 0)
    record.densified = call.dense + call.dense_inside
    record.self_densified = call.dense
    record.reason = call.reason
    if plain and error is None and call.asked is None:
        record.how, record.result = "plain", _name(type(result))
        return
    try:
        with unobserved():
            _decide(record, call, error)
    except Exception:  # noqa: BLE001  # what cannot be decided now could not be when the call was made
        record.how = "nobody"
    if error is None:
        record.result = type_name(type(result)) if call.operation is not None else ""
    else:
        text = str(error).strip().partition("\n")[0]
        names = [type(error).__name__] if isinstance(error, Exception) or not text else []
        record.error = ": ".join([*names, *([text] if text else [])])


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


def _layout(value: Any) -> tuple[tuple[int, ...] | None, str]:
    try:
        with making_dense(value):  # which a property of the type's own may do, for the record alone
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


def _decide(record: TracedCall, call: CallEvent, error: BaseException | None) -> None:
    """Write into a record who answered."""
    operation = call.operation
    if operation is None:
        record.how, record.what = "backward", f"rule of {call.name}"
        return
    asked = call.asked
    if isinstance(asked, Mode):
        method = type(asked).__name__
        record.how, record.who, record.what = "mode", method, f"{method}.{operation.types.method}"
        record.location = _location(getattr(type(asked), operation.types.method, None))
        return
    if isinstance(error, TypeError) and not _is_bound(operation, call):
        record.how = "nobody"
        return
    chain = operation.protocol.chain(operation, operation.parameters.key(call.args, call.kwargs))
    step: Step | None = asked or next(iter(chain.steps), None)
    gave_up = (isinstance(error, NoImplementationError) and error.function == operation.qualified_name) or (
        isinstance(error, Undecomposable) and error.operation is operation
    )
    if step is None or gave_up or step.source in (AMBIGUOUS, FOREIGN):
        record.how, record.what = "nobody", "" if step is None or gave_up else step.text
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
