"""Stack frames: where a program calls the library, and tracebacks without the library's frames."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar, cast

from dispatchkit.accelerator import core
from dispatchkit.protocol.naming import written

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = __file__.rpartition(f"protocol{os.sep}")[0]
# What the files of the library begin with: compiled modules have names that begin at the root of the sources.
OWN = (PACKAGE,) if core is None else (PACKAGE, f"dispatchkit{os.sep}")
# Where calls are passed on, rather than computed.
ENGINE = tuple(f"{root}{folder}{os.sep}" for root in OWN for folder in ("protocol", "declare"))
# Whether tracebacks show the library's frames, too.
FULL = os.environ.get("DISPATCHKIT_TRACEBACK") == "full"
# Frames between a function and where recursion went too deep; calls of one rule inside of each other that have no end.
FAR, SEVERAL = 60, 20
# Marks an error that says already what the rule that raised it should do.
NOTED = "__dispatchkit_advised__"
# Errors that the library never raises on purpose, but for classes of its own: a traceback of one keeps its frames.
UNINTENDED = (AssertionError, AttributeError, KeyError, NameError)
# Whether a file is the library's, and whether calls are passed on there, of those that were asked about.
_OWN: dict[str, bool] = {}
_ENGINE: dict[str, bool] = {}
# By the ids of code the code itself and the lines of instructions, of those that were asked about last.
_LINES: dict[int, tuple[CodeType, dict[int, int]]] = {}
MOST_LINES = 1024


def _is_own(frame: FrameType) -> bool:
    """Return whether a frame runs code of the library."""
    return frame.f_code.co_filename.startswith(OWN)


def hide_frames(error: BaseException, operation: Any = None) -> None:
    """Remove the library's frames from the traceback of an error that leaves one of its functions.

    The function must raise the error again by a bare ``raise``, which does not add its frame. Frames of users, of
    their handlers and bodies, stay.

    Parameters
    ----------
    error : that leaves
    operation : whose call it leaves; None where it leaves no single one
    """
    if type(error) is RecursionError:
        trace, depth = error.__traceback__, 0
        while trace is not None:
            trace, depth = trace.tb_next, depth + 1
        if depth < FAR:
            return  # near the limit there is no room for calls; a function further out does it
    if operation is not None and isinstance(error, (RecursionError, NotImplementedError, TypeError)):
        _advise(error, operation)
    if FULL or (type(error) in UNINTENDED and _is_own(_innermost(error))):
        return
    error.__traceback__ = _outside(error.__traceback__)
    for earlier in (error.__cause__, error.__context__):
        if earlier is not None:
            earlier.__traceback__ = _outside(earlier.__traceback__)
    if error.__context__ is not None and error.__context__.__traceback__ is None:
        error.__suppress_context__ = True


def hides_frames(function: F) -> F:
    """Return a function whose errors leave it without frames of the library."""

    @wraps(function)
    def outermost(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    return cast("F", outermost)


def _advise(error: BaseException, operation: Any) -> None:
    """Note on what a rule of an operation raised how rules decline, and on a recursion which rule calls itself."""
    endless = isinstance(error, RecursionError)
    if isinstance(error, TypeError) and str(error) != "exceptions must derive from BaseException":
        return
    codes: list[CodeType] = []  # of the rule, and of what it called
    trace = error.__traceback__
    while trace is not None:
        if codes or not _is_own(trace.tb_frame):
            codes.append(trace.tb_frame.f_code)
        trace = trace.tb_next
    if not codes or hasattr(error, NOTED):
        return
    if codes.count(codes[0]) < SEVERAL if endless else len(codes) > 1:
        return
    code = codes[0]
    rules = (rule for rule in operation.rules_for_calls() if getattr(written(rule.handler), "__code__", None) is code)
    rule = next(rules, None)
    if rule is None and code.co_name != operation.types.method:
        return
    who = str(rule or f"{code.co_qualname} at {code.co_filename}:{code.co_firstlineno}")
    if endless:
        advice = (
            f"calls {operation.qualified_name} on its own type again, without end; call it on the fields, or pass the "
            f"call on with redispatch(func, args, kwargs, without=Type)"
        )
    else:
        advice = 'declines by return NotImplemented, or return decline("reason"); it raises neither'
    setattr(error, NOTED, True)
    error.add_note(f"{who} {advice}")


def _innermost(error: BaseException) -> FrameType:
    trace: Any = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return cast("FrameType", trace.tb_frame)


def _outside(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the library's frames; None where there are no others."""
    kept = []
    while trace is not None:
        if not _is_own(trace.tb_frame):
            kept.append(trace)
        trace = trace.tb_next
    for entry, following in zip(kept, [*kept[1:], None], strict=False):
        entry.tb_next = following
    if kept:
        return kept[0]
    return None


def caller_frame(depth: int = 0) -> FrameType:
    """Return the nearest frame outside the library, of those from a depth on, counted from the calling function."""
    frame = frame_outside(depth + 1)
    assert frame is not None
    return frame


def frame_outside(depth: int, stop: CodeType | None = None) -> FrameType | None:
    """Return the nearest frame outside the library; None where some code runs nearer.

    Parameters
    ----------
    depth : of the first frame that is looked at, from the calling function
    stop : the code
    """
    try:
        frame = sys._getframe(depth + 1)
    except ValueError:  # the library was called by no code of Python
        frame = sys._getframe(1)
    while True:
        code = frame.f_code
        if code is stop:
            return None
        # Each file is compared once: records ask for the line of every call.
        file = code.co_filename
        is_own = _OWN.get(file)
        if is_own is None:
            is_own = _OWN[file] = file.startswith(PACKAGE)
        outer = None
        if is_own:
            outer = frame.f_back
        if outer is None:
            return frame
        frame = outer


def line_of(code: CodeType, instruction: int) -> int:
    """Return the line that an instruction of some code is of."""
    # By the place of the code, which is kept with its lines: to hash it takes longer than all else here.
    kept = _LINES.get(id(code))
    if kept is None:
        if len(_LINES) >= MOST_LINES:
            _LINES.clear()
        kept = _LINES[id(code)] = code, {}
    line = kept[1].get(instruction)
    if line is None:
        lines = (line for start, end, line in code.co_lines() if start <= instruction < end and line is not None)
        line = kept[1][instruction] = next(lines, code.co_firstlineno)
    return line


def warn_at(frame: FrameType, text: str, category: type[Warning]) -> None:
    """Warn at the line that a frame is at."""
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    place = frame.f_code.co_filename, frame.f_lineno
    warnings.warn_explicit(text, category, *place, module=names.get("__name__"), registry=registry)


def operation_frames() -> tuple[Any, FrameType, FrameType] | None:
    """Return the innermost operation under way, the frame that it called, and the nearest one of its caller's program.

    None stands for a program that is not inside of any operation.
    """
    called = frame = sys._getframe(2)
    # Calls that the compiled core passes on have no frame of their own.
    without_frame = [] if core is None else core.passed_on()
    while True:
        # A call in a long program has many frames around it, nearly all of which pass nothing on.
        if _ENGINE.get(frame.f_code.co_filename, True):
            operation = _operation_of(frame)
            if operation is not None and called is not frame:
                break
            if operation is None and not _passes_on(frame):
                called = frame
        else:
            called = frame
        outer = frame.f_back
        if without_frame and frame.f_code is without_frame[-1][1] and (outer is None or _operation_of(outer) is None):
            operation, frame = without_frame[-1][0], outer or frame
            break
        if outer is None:
            return None
        frame = outer
    while frame.f_back is not None and _is_own(frame):
        frame = frame.f_back
    return operation, called, frame


def _passes_on(frame: FrameType) -> bool:
    """Return whether a frame runs code that passes calls on."""
    file = frame.f_code.co_filename
    passes_on = _ENGINE.get(file)
    if passes_on is None:
        passes_on = _ENGINE[file] = file.startswith(ENGINE)
    return passes_on


def _operation_of(frame: FrameType) -> Any:
    """Return the operation whose call a frame passes on, None of any other frame."""
    if not _passes_on(frame):
        return None
    # What public functions close over, and what chains and fallbacks are about.
    operation = frame.f_locals.get("operation") or frame.f_globals.get("_operation")
    return operation if hasattr(operation, "qualified_name") else None


def stack() -> list[tuple[CodeType, int]]:
    """Return code and line of each frame outside the library, the outermost first."""
    frames: list[tuple[CodeType, int]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _is_own(frame):
            frames.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return frames[::-1]


def place_of(error: BaseException) -> str:
    """Return " at file:line" of the innermost code that raised an error and does not pass calls on; "" for none."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith((*ENGINE, "<frozen ")):
            place = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
