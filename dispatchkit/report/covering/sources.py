"""The source of rules, line by line, and which of its lines and branches the calls with samples came to."""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from textwrap import dedent
from types import CodeType, FrameType
from typing import Any, TypeAlias

from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.naming import written
from dispatchkit.protocol.rules import Rule
from dispatchkit.report.covering.branches import END, Way, branches_in

# Its number, its text, its state, and what is said of it.
SourceLine: TypeAlias = "tuple[int, str, str, str]"
RUN, PARTLY, MISSED, OTHER = "run", "partly", "missed", ""
NEVER = "no sample call came to this line"


class RunLines:
    """Notes which lines of rules are run, one after another.

    Attributes
    ----------
    ways : from line to line, by the code that they belong to
    """

    def __init__(self) -> None:
        self.ways: dict[CodeType, set[Way]] = {}

    def noted(self, chain: Chain) -> AbstractContextManager[None]:
        """Note the lines of the rules of a chain while a block runs."""
        return self.noted_in({code for step in chain.declared if step.rule is not None for code in codes_of(step.rule)})

    @contextmanager
    def noted_in(self, codes: Collection[CodeType]) -> Iterator[None]:
        """Note the lines of some codes; nothing where a debugger or another tool traces already."""
        if not codes or sys.gettrace() is not None:
            yield
            return
        for code in codes:
            self.ways.setdefault(code, set())

        def on_call(frame: FrameType, event: str, argument: Any) -> Any:
            if frame.f_code in codes:
                return _Followed(self.ways[frame.f_code]).on_event
            return None

        sys.settrace(on_call)
        try:
            yield
        finally:
            sys.settrace(None)


class _Followed:
    """One call of a rule, which is followed from line to line.

    Parameters
    ----------
    ways : to which each step is added
    """

    def __init__(self, ways: set[Way]) -> None:
        self.ways = ways
        self.before = END

    def on_event(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Note a line, or the end, and what was run before; an exception in a condition takes neither way."""
        if event == "line":
            self.ways.add((self.before, frame.f_lineno))
            self.before = frame.f_lineno
        elif event == "exception":
            self.before = END
        elif event == "return" and self.before != END:
            self.ways.add((self.before, END))
        return self.on_event


def codes_of(rule: Rule) -> list[CodeType]:
    """Return the code of the handler of a rule, and of the functions in it; none where it has no Python code."""
    found = [getattr(written(rule.handler), "__code__", None)]
    codes = [code for code in found if isinstance(code, CodeType)]
    for code in codes:  # which grows
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    return codes


def sources_of(rules: Iterable[Rule], locations: Collection[str], lines: RunLines) -> dict[str, list[SourceLine]]:
    """Return the source of rules by their locations, line by line, with the lines and the branches that were missed.

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
        sources[rule.location] = _lines_of(codes, lines)
    return sources


def _lines_of(codes: Sequence[CodeType], lines: RunLines) -> list[SourceLine]:
    """Return the lines of a function, the first of some codes, with what is said of each."""
    first = codes[0].co_firstlineno
    text = dedent("".join(_block(linecache.getlines(codes[0].co_filename)[first - 1 :])))
    # What is run when the function is made, and not when it is called, is left out.
    can_run = {line for code in codes for _, _, line in code.co_lines() if line is not None}
    can_run -= {code.co_firstlineno for code in codes}
    ways = set[Way]().union(*(lines.ways.get(code, ()) for code in codes))
    was_run = {line for way in ways for line in way}
    halves = {branch.first: branch.words(ways) for branch in branches_in(text, first)}
    listed: list[SourceLine] = []
    for number, line in enumerate(text.splitlines(), first):
        state, words = OTHER, ""
        if lines.ways and number in can_run:
            if number not in was_run:
                state, words = MISSED, NEVER
            elif halves.get(number):
                state, words = PARTLY, f"in the sample calls {halves[number]}"
            else:
                state = RUN
        listed.append((number, line.rstrip(), state, words))
    return listed


def _block(lines: list[str]) -> list[str]:
    """Return the lines of the function that begins with the first of some lines."""
    try:
        return inspect.getblock(lines)
    except (SyntaxError, IndentationError):  # the file is no longer as it was
        return lines[:1]
