"""The branches of a function, and which of their ways were never taken, by the order in which lines were run."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias

# A line and the one that was run before it in the same call; `END` for the end of the call.
Way: TypeAlias = tuple[int, int]
END = 0


@dataclass(frozen=True)
class Branch:
    """A statement after which one of two places is run.

    Attributes
    ----------
    first, last : its lines, without those of its body
    body : the first line of its body
    is_loop : whether it is a `for`
    """

    first: int
    last: int
    body: int
    is_loop: bool

    def words(self, ways: Collection[Way]) -> str:
        """Return which way was never taken; "" where both were, or where the statement was not run.

        Parameters
        ----------
        ways : that calls took
        """
        after = {line for before, line in ways if self.first <= before <= self.last}
        after -= set(range(self.first, self.last + 1))
        entered, passed = self.body in after, bool(after - {self.body})
        if entered == passed:
            return ""
        if self.is_loop and passed:
            return "its body is never run"
        if self.is_loop:
            return "it never comes to its end"
        if passed:
            return "it is never true"
        return "it is never false"


def branches_in(text: str, first: int) -> Iterator[Branch]:
    r"""Yield the branches of a function whose body is on lines of its own; none of what is no Python.

    Parameters
    ----------
    text : of the function, not indented
    first : number of its first line

    Examples
    --------
    >>> [(branch.first, branch.body) for branch in branches_in("def f(x):\n    if x:\n        return 1\n", 10)]
    [(11, 12)]
    """
    try:
        tree = ast.parse(text)
    except SyntaxError:  # the file is no longer as it was
        return
    moved = first - 1
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While):
            condition: ast.expr | ast.pattern = node.test
            constant = isinstance(node.test, ast.Constant)
        elif isinstance(node, ast.For):
            condition, constant = node.iter, False
        elif isinstance(node, ast.match_case):
            condition = node.pattern
            constant = node.guard is None and isinstance(node.pattern, ast.MatchAs) and node.pattern.pattern is None
        else:
            continue
        begins = min(condition.lineno, getattr(node, "lineno", condition.lineno))
        ends = condition.end_lineno or begins
        body = node.body[0].lineno
        if not constant and body > ends:
            yield Branch(begins + moved, ends + moved, body + moved, isinstance(node, ast.For))
