"""The source of rules, line by line, and which of its lines the calls with samples came to."""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from textwrap import dedent
from types import CodeType, FrameType
from typing import Any, TypeAlias

from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.naming import written
from dispatchkit.protocol.rules import Rule

# Its number, its text, and whether it was run, missed, or neither.
SourceLine: TypeAlias = "tuple[int, str, str]"
RUN, MISSED, OTHER = "run", "missed", ""


class RunLines:
    """Notes which lines of rules are run.

    Attributes
    ----------
    entered : the lines by the code that they belong to
    """

    def __init__(self) -> None:
        self.entered: dict[CodeType, set[int]] = {}

    @contextmanager
    def noted(self, chain: Chain) -> Iterator[None]:
        """Note the lines of the rules of a chain; nothing where a debugger or another tool traces already."""
        codes = {code for step in chain.declared if step.rule is not None for code in codes_of(step.rule)}
        if not codes or sys.gettrace() is not None:
            yield
            return
        for code in codes:
            self.entered.setdefault(code, set())

        def on_line(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                self.entered[frame.f_code].add(frame.f_lineno)
            return on_line

        def on_call(frame: FrameType, event: str, argument: Any) -> Any:
            if frame.f_code in codes:
                return on_line
            return None

        sys.settrace(on_call)
        try:
            yield
        finally:
            sys.settrace(None)


def codes_of(rule: Rule) -> list[CodeType]:
    """Return the code of the handler of a rule, and of the functions in it; none where it has no Python code."""
    found = [getattr(written(rule.handler), "__code__", None)]
    codes = [code for code in found if isinstance(code, CodeType)]
    for code in codes:  # which grows
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    return codes


def sources_of(rules: Iterable[Rule], locations: Collection[str], lines: RunLines) -> dict[str, list[SourceLine]]:
    """Return the source of rules by their locations: of each line its number, its text, and whether it was run.

    Parameters
    ----------
    rules : of a protocol
    locations : file and line of those that are asked for
    lines : that calls came to; where no call was traced, of no line it is said whether it was run
    """
    sources: dict[str, list[SourceLine]] = {}
    for rule in rules:
        if rule.location not in locations or rule.location in sources:
            continue
        codes = codes_of(rule)
        if not codes:
            continue
        first = codes[0].co_firstlineno
        text = linecache.getlines(codes[0].co_filename)[first - 1 :]
        can_run = {line for code in codes for _, _, line in code.co_lines() if line is not None}
        was_run = set().union(*(lines.entered.get(code, ()) for code in codes))
        # What is run when the function is made, and not when it is called.
        outside = {code.co_firstlineno for code in codes}
        listed = []
        for number, line in enumerate(dedent("".join(_block(text))).splitlines(), first):
            state = OTHER
            if lines.entered and number in can_run - outside:
                state = RUN if number in was_run else MISSED
            listed.append((number, line.rstrip(), state))
        sources[rule.location] = listed
    return sources


def _block(lines: list[str]) -> list[str]:
    """Return the lines of the function that begins with the first of some lines."""
    try:
        return inspect.getblock(lines)
    except (SyntaxError, IndentationError):  # the file is no longer as it was
        return lines[:1]
