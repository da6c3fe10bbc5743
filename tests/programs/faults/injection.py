"""Raises an error at one line of the library while a function runs.

A line begins after what the line before has called, which is where Python raises `KeyboardInterrupt`, and with what it
calls itself, which may raise the other errors. A trace can raise where Python cannot: before a `finally`, an `except`
or the end of a `with` block is reached, and between statements that call nothing. These lines are spared.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import dispatchkit as dk

__all__ = ["ERRORS", "Injection"]

ERRORS: tuple[type[BaseException], ...] = (KeyboardInterrupt, MemoryError, RecursionError)
HOME = Path(dk.__file__).parent
# The code of modes, of the graph, of registrations and of files.
PARTS = (
    *(
        "autograd",
        "graph",
        "func",
        "saving",
        "transforms",
        "protocol/registration",
        "protocol/types",
        "declare/inplace.py",
    ),
    *(
        f"protocol/{name}.py"
        for name in ("blocks", "callers", "chain", "densify", "engine", "instance", "journal", "rules")
    ),
    *(
        f"protocol/{name}.py"
        for name in ("modes", "observers", "operations", "overridable", "ranking", "resolution", "steps", "surface")
    ),
    *("declare/random_state.py", "tensor/gradients.py", "nn/state.py"),
)
CALLING = (ast.Call, ast.BinOp, ast.Compare, ast.JoinedStr, ast.ListComp, ast.Yield, ast.YieldFrom, ast.Await)
MOVING = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr, ast.Raise, ast.Pass, ast.Continue)
CONSTANTS = ("LOAD_CONST", "LOAD_COMMON_CONSTANT")  # the second from Python 3.15 on
SKIPPED = ("SWAP", "NOP", "COPY", "CACHE", "NOT_TAKEN")


@cache
def is_watched(file: str) -> bool:
    """Return whether errors are raised in a file."""
    path = Path(file)
    return any(path.is_relative_to(HOME / part) for part in PARTS)


@cache
def spared_lines(file: str) -> frozenset[int]:
    """Return the lines of a file that begin a `finally` or an `except` before anything is called there."""
    spared: set[int] = set()
    for node in ast.walk(ast.parse(Path(file).read_text())):
        bodies = [handler.body for handler in getattr(node, "handlers", ())] + [getattr(node, "finalbody", [])]
        spared.update(handler.lineno for handler in getattr(node, "handlers", ()))
        if isinstance(node, ast.With) and isinstance(node.body[0], ast.Try):
            spared.add(node.body[0].lineno)  # after `__enter__`, and before what calls `__exit__`
        for body in bodies:
            spared.update(lines_to_a_call(body))
    return frozenset(spared)


def lines_to_a_call(body: list[ast.stmt]) -> Iterator[int]:
    """Yield the lines of statements up to the first that calls something, which may be the first of a `try`."""
    for statement in body:
        yield statement.lineno
        if isinstance(statement, ast.Try):
            yield from lines_to_a_call(statement.body)
        if any(isinstance(part, ast.Call) for part in ast.walk(statement)):
            return


@cache
def quiet_lines(file: str) -> frozenset[int]:
    """Return the lines of a file on which nothing is called: statements that move values alone."""
    quiet: set[int] = set()
    for node in ast.walk(ast.parse(Path(file).read_text())):
        if isinstance(node, MOVING) and not any(isinstance(part, CALLING) for part in ast.walk(node)):
            quiet.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Try):
            quiet.add(node.lineno)
    return frozenset(quiet)


@cache
def ends_of_blocks(code: CodeType) -> frozenset[int]:
    """Return where the end of a `with` block, or a handler of errors, begins in the instructions of some code.

    From Python 3.12 on, a comprehension is part of the code around it. Where it asks for the next element, an error of
    a trace function, unlike one of a signal, passes over the `with` blocks around it: these places are among them.
    """
    ends: set[int] = set()
    instructions = [each for each in dis.get_instructions(code) if each.opname != "CACHE"]
    steps = pairwise(instructions)
    inlined = {loop.offset for made, loop in steps if (made.opname, loop.opname) == ("SWAP", "FOR_ITER")}
    for place, first in enumerate(instructions):
        rest = [each for each in instructions[place : place + 6] if each.opname not in SKIPPED][:3]
        leaves = len(rest) == 3 and all(each.opname in CONSTANTS and each.argval is None for each in rest)
        again = first.offset in inlined or (first.opname == "JUMP_BACKWARD" and first.argval in inlined)
        if leaves or again or first.opname in ("PUSH_EXC_INFO", "WITH_EXCEPT_START"):
            ends.add(first.offset)
    return frozenset(ends)


def without_frames(error: BaseException) -> BaseException:
    """Have an error, and those that it came of, refer to no frames, whose variables would live on."""
    each: BaseException | None = error
    while each is not None:
        outer, each = each, each.__context__
        outer.__traceback__ = outer.__context__ = outer.__cause__ = None
    return error


@dataclass
class Injection:
    """One run of a function, with an error raised at one of the lines of the library that it comes to.

    Attributes
    ----------
    error : what is raised, None to count the lines alone
    at : the number of the line, from 1
    lines : how many it came to
    place : file, line and function where the error was raised; "" where it was not
    leaving : whether a `with` block was being left there
    """

    error: BaseException | None = None
    at: int = 0
    lines: int = 0
    place: str = ""
    leaving: bool = False
    _quiet: set[FrameType] = field(default_factory=set)  # those whose last line called nothing

    def run(self, function: Callable[[], object]) -> BaseException | None:
        """Call the function; return the error that comes out of it, without the frames that it came through."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            function()
        except BaseException as error:  # noqa: BLE001  # what was raised, or became of it
            return without_frames(error)
        finally:
            sys.settrace(before)
            self._quiet.clear()
            if self.error is not None:
                without_frames(self.error)
        return None

    def _trace(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        if not is_watched(code.co_filename) or code.co_name == "__del__":
            return None
        if event != "line":
            self._quiet.discard(frame)
            return self._trace
        is_quiet = frame.f_lineno in quiet_lines(code.co_filename)
        spared = frame.f_lineno in spared_lines(code.co_filename) or frame.f_lasti in ends_of_blocks(code)
        if not spared and not (is_quiet and frame in self._quiet):
            self._arrive(frame)
        if is_quiet:
            self._quiet.add(frame)
        else:
            self._quiet.discard(frame)
        return self._trace

    def _arrive(self, frame: FrameType) -> None:
        self.lines += 1
        if self.lines == self.at and self.error is not None:
            sys.settrace(None)
            code = frame.f_code
            self.place = f"{Path(code.co_filename).relative_to(HOME)}:{frame.f_lineno} in {code.co_qualname}"
            outer: FrameType | None = frame
            while outer is not None:
                self.leaving = self.leaving or outer.f_code.co_name in ("__exit__", "reset_modes")
                outer = outer.f_back
            raise self.error
