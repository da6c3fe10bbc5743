from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.programs.oracles.comparing import Case, Verdict, compare, draw_case, pasteable
from tests.programs.oracles.listed import Difference, read
from tests.programs.oracles.pair import Operand, Pair, Parts
from tests.programs.oracles.pairs import PLACES, load
from tests.programs.oracles.running import run


class Doubtful(Pair):
    """NumPy's arrays, and what a careless copy of them would answer."""

    name: ClassVar[str] = "doubtful"
    ours: ClassVar[str] = "Doubtful"
    specialist: ClassVar[str] = "numpy"

    def lines(self) -> Sequence[str]:
        return ("np.sum(x)", "np.exp(x)", "x[{slice}]", "x += 1; result = x")

    def make_ours(self, operand: Operand) -> Any:
        return operand.data.copy()

    def make_theirs(self, operand: Operand) -> Any:
        return operand.data.copy()

    def parts_of_ours(self, result: Any) -> Parts:
        return {"value": np.asarray(result)}

    def parts_of_theirs(self, result: Any) -> Parts:
        return {"value": np.asarray(result)}


class Spelled(Doubtful):
    """The same, where ours and theirs are spelled otherwise."""

    def __init__(self, theirs: str) -> None:
        self.theirs = theirs

    def line_of_theirs(self, line: str) -> str:
        return self.theirs


class Wrong(Spelled):
    """The same, where ours is one more and in half precision."""

    def make_ours(self, operand: Operand) -> Any:
        return (operand.data + 1).astype(np.float16)


X = {"x": Operand(np.asarray([1.0, 2.0, 4.0]))}


@pytest.mark.parametrize(
    ("ours", "theirs", "sort", "words"),
    [
        ("np.sum(x)", "np.sum(x)", "agree", ""),
        ("np.sum(x)", "np.prod(x)", "value", "value: found 7.0 expected 8.0"),
        ("x", "x[:2]", "shape", "value: found shape (3,) expected (2,)"),
        ("x", "x.astype(np.float32)", "dtype", "found float64 expected float32"),
        ("np.linalg.inv(x)", "x", "refused by ours alone", "LinAlgError: 1-dimensional array given."),
        ("x", "np.linalg.inv(x)", "refused by theirs alone", "LinAlgError: 1-dimensional array given."),
        ("np.linalg.inv(x)", "x[7]", "refused by both", ""),
        ("unknown", "x", "crash", "NameError: name 'unknown' is not defined"),
        ("[x, x]", "[x]", "shape", "length: found 2 expected 1"),
        ("r = x + 1; result = r", "x += 1; result = x", "operand", "xvalue: found [1.0, 2.0, 4.0] expected"),
        ("x * np.nan", "x * np.nan", "agree", ""),
    ],
)
def test_what_differs_is_sorted(ours: str, theirs: str, sort: str, words: str) -> None:
    verdict = compare(Spelled(theirs), Case(ours, ours, X, 0))
    assert verdict.sort == sort
    assert words in verdict.text


def test_a_case_is_drawn_alike_from_the_same_seed() -> None:
    pair = Doubtful()
    first, again = (draw_case(pair, tuple(pair.lines()), 5) for _ in range(2))
    assert first is not None
    assert again is not None
    assert pasteable(pair, first, Verdict("value")) == pasteable(pair, again, Verdict("value"))


def test_a_run_counts_each_call_and_lists_what_is_not_listed() -> None:
    report = run(Doubtful(), range(50))
    assert report.counts["agree"] + report.counts["refused by both"] == 50
    assert report.summary().startswith("doubtful: 50 calls, ")
    other = run(Spelled("x[:0]"), range(20))
    assert other.unlisted
    assert "# doubtful, seed" in pasteable(other.pair, other.unlisted[0].case, other.unlisted[0].verdict)


@pytest.mark.parametrize(
    ("entry", "covered"),
    [
        ({"calls": ("x[{slice}]",)}, True),
        ({"calls": ("x*",)}, True),
        ({"calls": ("np.*",)}, False),
        ({"texts": ("*expected 3.0",)}, True),
        ({"texts": ("*expected 4.0",)}, False),
        ({"dtypes": ("float64",)}, True),
        ({"dtypes": ("uint8",)}, False),
    ],
)
def test_an_entry_covers_what_it_says(entry: Mapping[str, Any], covered: bool) -> None:
    difference = Difference(("value",), "on purpose", **entry)
    case = Case("x[{slice}]", "x[0]", X, 0)
    assert difference.covers(Doubtful(), case, Verdict("value", "value: found 2.0 expected 3.0")) is covered
    assert not difference.covers(Doubtful(), case, Verdict("shape", "value: found 2.0 expected 3.0"))


@pytest.mark.parametrize("name", PLACES)
def test_each_list_gives_sorts_that_there_are_and_reasons(name: str) -> None:
    for difference in read(name):
        assert len(difference.reason) > 20
        assert difference.calls


@pytest.mark.parametrize("name", PLACES)
def test_random_calls_differ_from_those_of_the_specialist_only_as_listed(name: str) -> None:
    pair = load(name)
    for package in pair.needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    report = run(pair, range(400))
    assert [pasteable(pair, each.case, each.verdict) for each in report.unlisted] == []
    assert report.counts["agree"] > 100


HALVES = {"x": Operand(np.asarray([1.0, 0.0, -4.0], np.float32)), "y": Operand(np.asarray([0.5, 0.0, 2.0], np.float32))}


@pytest.mark.parametrize(
    ("when", "ours", "theirs", "covered"),
    [
        ("the dtype is NumPy's", "x * 2", "(x * 2).astype(np.float64)", True),
        ("the dtype is NumPy's", "np.isnan(x)", "np.isnan(x).astype(int)", True),
        ("the value is NumPy's", "x * 2", "unknown(x)", True),
        ("NumPy refuses it", "np.linalg.inv(x)", "x", True),
        ("the result is not finite", "x / y", "np.where(y == 0, 7, x / y)", True),
        ("the result is not finite", "x / y", "np.where(x == 1, 7, x / y)", False),
        ("the result is not finite", "x", "x[:2]", False),
    ],
)
def test_an_entry_covers_what_its_condition_holds_for(when: str, ours: str, theirs: str, covered: bool) -> None:
    pair, case = Spelled(theirs), Case(ours, ours, HALVES, 0)
    verdict = compare(pair, case)
    entry = Difference((verdict.sort,), "on purpose", when=when)
    assert entry.covers(pair, case, verdict) is covered


@pytest.mark.parametrize("when", ["the dtype is NumPy's", "the value is NumPy's"])
def test_what_is_not_that_of_numpy_is_not_covered(when: str) -> None:
    pair, case = Wrong("x"), Case("x", "x", HALVES, 0)
    verdict = compare(pair, case)
    assert not Difference((verdict.sort,), "on purpose", when=when).covers(pair, case, verdict)
