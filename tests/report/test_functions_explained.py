"""`explain` of a Python function: what it called, what became dense and why, with the program's lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.report import FunctionExplanation
from tests.report.test_page import parsed


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Held:
    def __init__(self, data: Any) -> None:
        self.data = dk.asarray(data)
        self.shape, self.dtype = self.data.shape, self.data.dtype

    def to_dense(self) -> Any:
        return self.data


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with dk.local_registrations():

        @dk.implements(dk.sum)
        def sum_held(x: Held, /, *, axis: Any = None, keepdims: bool = False) -> Any:
            return dk.decline("only whole") if axis is not None else dk.sum(x.data)

        @dk.implements(dk.exp)
        def exp_held(x: Held, /) -> Any:
            return dk.exp(x.to_dense())

        yield


X = Held([[1.0, 2.0], [3.0, 4.0]])


def loss(x: Any) -> Any:
    for _ in range(3):
        y = dk.max(x)
    return y + dk.sum(x, axis=0) + dk.std(x) + dk.exp(x)


def lines_of(found: FunctionExplanation) -> dict[str, int]:
    start = loss.__code__.co_firstlineno
    return {cause.function: int(next(iter(cause.lines)).rpartition(":")[2]) - start for cause in found.causes}


def test_equal_causes_are_one_with_code_reason_fix_bytes_and_line() -> None:
    found = dk.explain(loss, X)
    assert [(cause.code, cause.function, cause.count, cause.nbytes) for cause in found.causes] == [
        ("no rule", "max", 3, 96),
        ("declined", "sum", 1, 32),
        ("body", "std", 1, 32),
        ("inside", "exp", 1, 32),
    ]
    assert lines_of(found) == {"max": 2, "sum": 3, "std": 3, "exp": 3}
    reasons = {cause.function: cause.reason for cause in found.causes}
    assert reasons["max"].startswith("no rule for max")
    assert "declined: only whole" in reasons["sum"]
    assert "the body of std declined: it needs dispatchkit.var" in reasons["std"]
    assert reasons["exp"].startswith("inside the rule at ")
    fixes = {cause.function: cause.fix for cause in found.causes}
    assert fixes["max"] == "write a rule"
    assert found.causes[0].stub.startswith("@dk.implements(dk.max)\ndef max_held(x: Held, /, *, axis=None")
    assert "  fix: write a rule:\n    @dk.implements(dk.max)\n    def max_held(" in str(found)
    assert [cause.stub for cause in found.causes[1:]] == ["", "", ""]
    assert fixes["std"] == "write a rule for var, which its body calls, or for std"


def test_the_fix_names_an_operation_once_if_its_body_calls_itself() -> None:
    with dk.densify(on="allow"):
        found = dk.explain(lambda x: dk.linalg.solve(x, dk.ones(2)), Held([[2.0, 0.0], [0.0, 4.0]]))
    assert found.causes[0].fix == "write a rule for linalg.solve"


def test_counts_come_first_then_causes_then_the_tree() -> None:
    found = dk.explain(loss, X)
    text = str(found).splitlines()
    count = len(found.recorded.calls)
    assert text[0] == f"loss: {count} calls, 6 became dense (192 B), for 4 reasons"
    assert text[1].startswith("1. [no rule] max made Held dense ×3, 96 B: no rule for max")
    tree = text[text.index("") + 1 :]
    assert tree[0].startswith("max(Held)")
    assert tree[1].startswith("  max(Tensor)")
    assert tree[0].endswith(f"test_functions_explained.py:{loss.__code__.co_firstlineno + 2}")


def test_a_page_has_the_causes_and_folds_the_tree() -> None:
    page = dk.explain(loss, X)._repr_html_()
    assert "<details><summary>all calls</summary>" in page
    assert "[no rule] max made Held dense" in page
    assert page.count("<li ") == 4


def test_a_page_follows_the_dark_scheme_as_that_of_a_call_does() -> None:
    for page in (dk.explain(loss, X)._repr_html_(), dk.explain(dk.exp, X)._repr_html_()):
        style = page.partition("<style>")[2].partition("</style>")[0]
        assert "@media (prefers-color-scheme: dark)" in style
        assert "#0d1117" in style
        assert "light-dark(" not in style  # which needs a colour scheme that a notebook may not set


def test_a_lambda_is_named_by_its_place() -> None:
    explained = dk.explain(lambda x: dk.max(x), X)
    assert re.fullmatch(r"lambda at \S*test_functions_explained\.py:\d+", explained.function)
    assert "&lt;lambda&gt;" not in explained.to_html()


def test_the_result_and_what_is_raised_are_kept() -> None:
    assert dk.explain(loss, X).result.shape == (2, 2)

    def fails(x: Any) -> Any:
        raise ZeroDivisionError("at once")

    found = dk.explain(fails, X)
    assert isinstance(found.exception, ZeroDivisionError)
    assert str(found).startswith("test_the_result_and_what_is_raised_are_kept.fails: 0 calls, none became dense")
    assert "it raised ZeroDivisionError: at once" in str(found)


def test_a_bound_on_densifying_is_kept() -> None:
    with dk.densify(on="error"):
        found = dk.explain(loss, X)
    assert isinstance(found.exception, dk.DensifyError)


def test_printing_a_record_shows_the_tree() -> None:
    with dk.densify(on="allow"), dk.record_calls() as recorded:
        dk.max(X)
    first, second = str(recorded).splitlines()[:2]
    assert first.startswith("max(Held)")
    assert "32 B became dense (no rule for max" in first
    assert second.startswith("  max(Tensor)  plain")
    assert repr(recorded) == "<Trace: 2 calls>"


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="explain takes a function, not 3"):
        dk.explain(3)  # type: ignore[call-overload]


def test_a_notebook_shows_a_record_with_its_causes_functions_and_calls() -> None:
    with dk.densify(on="allow"), dk.record_calls() as record:
        loss(X)
    page = record._repr_html_()
    elements = parsed(page)
    count = len(record.calls)
    assert f"<header>{count} calls, {dk.explain(loss, X).densified} became dense (" in page
    assert [text for text in ("by function", "all calls") if f"<summary>{text}</summary>" not in page] == []
    assert page.count('<li class="b-dense">') == len(dk.explain(loss, X).causes)
    assert "<td><code>max</code></td>" in page
    assert sum(tag == "details" for tag, _ in elements) == 2
    assert "@media (prefers-color-scheme: dark)" in page
    with dk.record_calls() as nothing:
        pass
    assert "<header>0 calls, none became dense</header>" in nothing._repr_html_()
