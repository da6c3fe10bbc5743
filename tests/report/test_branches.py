"""Branches of rules are said to go both ways, or which way they never go."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import getsource

import pytest

from dispatchkit.report.covering.branches import branches_in
from dispatchkit.report.covering.sources import RunLines


def rule(x: list[int], word: str = "") -> str:
    if x and (
        word  # on a line of its own
    ):
        word += "!"
    elif word:
        word += "?"
    for each in x:
        if each < 0:
            raise ValueError("negative")
        if each > 9:
            break
    while word.startswith("a"):
        word = word[1:]
    match word.rstrip("!?"):
        case "b":
            return "bee"
        case _:
            return word


def words(*calls: Callable[[], object]) -> dict[str, str]:
    """Return what is said of the branches of `rule` after some calls, by the text of their lines."""
    lines, code = RunLines(), rule.__code__
    with lines.noted_in([code]):
        for call in calls:
            call()
    text, first = getsource(rule), code.co_firstlineno
    found = {}
    for branch in branches_in(text, first):
        said = branch.words(lines.ways[code])
        if said:
            found[text.splitlines()[branch.first - first].strip()] = said
    return found


pytestmark = pytest.mark.skipif(sys.gettrace() is not None, reason="another tool traces lines")


def test_of_branches_that_went_one_way_the_other_is_named() -> None:
    assert words(lambda: rule([], "ab")) == {
        "if x and (": "it is never true",
        "elif word:": "it is never false",
        "for each in x:": "its body is never run",
        'case "b":': "it is never false",
    }


def test_of_branches_that_went_both_ways_nothing_is_said() -> None:
    both = [lambda: rule([1, 10], "ab"), lambda: rule([], "c"), lambda: rule([], "")]

    def refused() -> None:
        with pytest.raises(ValueError, match="negative"):
            rule([-1])

    assert words(*both, refused) == {}


def test_a_loop_that_is_always_left_never_comes_to_its_end() -> None:
    assert words(lambda: rule([10], ""))["for each in x:"] == "it never comes to its end"


def test_a_condition_that_raises_goes_neither_way() -> None:
    class Undecided(list[int]):
        def __bool__(self) -> bool:
            raise TypeError("neither")

    def call() -> None:
        with pytest.raises(TypeError, match="neither"):
            rule(Undecided())

    assert words(call) == {}


def test_conditions_that_are_constant_or_share_a_line_with_their_body_are_no_branches() -> None:
    text = "def f(x):\n    while True:\n        if x: return 1\n        x += 1\n"
    assert list(branches_in(text, 1)) == []
    assert list(branches_in("def f(:", 1)) == []
