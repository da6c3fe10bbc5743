"""Which lines of a type's own code calls enter: by `sys.monitoring` where Python has it, else by tracing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from inspect import unwrap
from types import CodeType, FrameType, FunctionType
from typing import Any, TypeAlias

from dispatchkit.protocol.overridable import Overridable

Place: TypeAlias = tuple[str, str]  # a file, and a module
Line: TypeAlias = tuple[str, int]  # a file, and a line in it
GENERATED = "<string>"  # the file of what a dataclass and others write


def own_places(cls: type, operations: Iterable[Overridable]) -> set[Place]:
    """Return where a type's own code is: its methods, and its handlers for some operations."""
    library = __name__.partition(".")[0]
    classes = [c for c in cls.__mro__ if c is cls or c.__module__.partition(".")[0] != library]
    parts = [(c.__module__, value) for c in classes for value in vars(c).values()]
    functions = [value for module, value in parts if getattr(value, "__module__", "") == module]
    rules = (rule for operation in operations for rule in operation.rules_for_calls())
    functions += [rule.handler for rule in rules if not {*rule.types}.isdisjoint(classes)]
    # A method of a declared type may be wrapped by the library's, whose lines hold locks.
    inner = [function for function in map(unwrap, functions) if isinstance(function, FunctionType)]
    return {(function.__code__.co_filename, function.__module__) for function in inner}


def place_of(frame: FrameType) -> Place:
    """Return the file and the module of what runs: many modules have functions in the file ``<string>``."""
    return frame.f_code.co_filename, frame.f_globals.get("__name__", "")


class Lines:
    """Notes the lines of some files that are entered.

    Parameters
    ----------
    files : whose lines are noted
    """

    def __init__(self, files: Iterable[str]) -> None:
        self.files = frozenset(files) - {GENERATED}
        self.known: set[Line] = set()
        self._now: set[Line] = set()
        self._tool: int | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Have Python say which lines are entered, as long as the block runs."""
        monitoring: Any = getattr(sys, "monitoring", None)
        free = []
        if monitoring is not None:
            free = [tool for tool in range(5, -1, -1) if monitoring.get_tool(tool) is None]
        if not free:
            yield
            return
        self._tool = free[0]
        monitoring.use_tool_id(self._tool, "dispatchkit.testing")
        monitoring.register_callback(self._tool, monitoring.events.LINE, self._on_line)
        monitoring.set_events(self._tool, monitoring.events.LINE)
        try:
            yield
        finally:
            monitoring.set_events(self._tool, 0)
            monitoring.free_tool_id(self._tool)
            self._tool = None

    def _on_line(self, code: CodeType, line: int) -> Any:
        if code.co_filename not in self.files:
            return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]  # Python 3.12
        self._now.add((code.co_filename, line))
        return None

    @contextmanager
    def noted(self, lines: set[Line] | None = None) -> Iterator[set[Line]]:
        """Note the lines that are entered inside the block, in the set that it gets."""
        entered, before = set[Line]() if lines is None else lines, self._now
        # A debugger or a measurement of coverage goes first.
        traces = self._tool is None and sys.gettrace() is None and bool(self.files)
        self._now = entered
        if traces:
            sys.settrace(self._on_call)
        try:
            yield entered
        finally:
            if traces:
                sys.settrace(None)
            self._now = before
            self.known |= entered

    def _on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename in self.files:
            return self._on_traced_line
        return None

    def _on_traced_line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self._now.add((frame.f_code.co_filename, frame.f_lineno))
        return self._on_traced_line

    def new_in(self, code: CodeType) -> int:
        """Return how many lines of a function, and of those in it, have not been entered."""
        lines = {line for _, _, line in code.co_lines() if line is not None} - {code.co_firstlineno}
        new = sum((code.co_filename, line) not in self.known for line in lines)
        return new + sum(self.new_in(inner) for inner in code.co_consts if isinstance(inner, CodeType))
