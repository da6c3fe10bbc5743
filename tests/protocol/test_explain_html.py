"""Explanations as HTML: all that the text says, marked by verdict, whatever the names hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.protocol.explain.explanation import Explanation
from dispatchkit.protocol.explain.lines import Line

VOID = {"br", "hr", "img", "input", "meta", "link"}


class Page(HTMLParser):
    """Reads a page: its visible text, the classes of its elements, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.classes: list[tuple[str, str]] = []
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.classes.append((tag, dict(attrs).get("class") or ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def marked(self, tag: str) -> list[str]:
        return [name for found, name in self.classes if found == tag]


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Scaled:
    def __init__(self, n: int, value: float) -> None:
        self.n, self.value = n, value

    def to_dense(self) -> Any:
        return self.value * dk.eye(self.n)


@dk.array_type()
class Strict:
    pass


class Own:
    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return NotImplemented


class Passing(dk.TensorFunctionMode):
    pass


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    with dk.local_registrations(), dk.densify(on="allow"):

        @dk.implements(dk.mean)
        def mean_scaled(x: Scaled, /) -> Any:
            return x.value / x.n

        yield


S = Scaled(3, 2.0)


@pytest.mark.parametrize(
    ("call", "marks", "outcome"),
    [
        (lambda: dk.explain(dk.mean, S), ["yes", "", "next"], "yes"),
        (lambda: dk.explain(dk.mean, S, axis=0), ["no", "", "yes"], "yes"),
        (lambda: dk.explain(dk.mean, S, axis=0, run=True), ["no", "", "yes"], "yes"),
        (lambda: dk.explain(dk.add, Own(), S), ["open", "", "", "", "yes"], "open"),
        (lambda: dk.explain(dk.sum, Strict()), ["", ""], "bad"),
        (lambda: dk.explain(dk.sum, Strict(), run=True), ["", ""], "bad"),
        (lambda: dk.explain(dk.exp, "x"), ["bad"], "bad"),
        (lambda: dk.explain(dk.exp, dk.ones(1)), ["yes"], "yes"),
    ],
    ids=["rule", "keyword", "run", "method", "refused", "refused at run", "foreign", "plain"],
)
def test_each_line_is_marked_by_its_verdict(call: Any, marks: list[str], outcome: str) -> None:
    found: Explanation = call()
    page = Page(found.to_html())
    assert page.marked("li") == marks
    assert page.marked("footer") == [outcome]


def test_modes() -> None:
    with Passing():
        found = dk.explain(dk.mean, S)
        assert Page(found.to_html()).marked("li") == ["no", "yes", "", "next"]
        assert Page(found.to_html()).marked("footer") == ["yes"]


def test_it_says_all_that_the_text_says() -> None:
    for found in (dk.explain(dk.mean, S, axis=0), dk.explain(dk.add, Own(), S)):
        text = Page(found.to_html()).text
        for said in (found.call, found.outcome, *found.order):
            assert said in text
        for line in found.lines:
            assert line.who in text
            assert line.what in text
            assert line.verdict in text
    assert "decides at run time, else Scaled" in Page(found.to_html()).text


def test_file_and_line_are_set_back() -> None:
    html = dk.explain(dk.mean, S).to_html()
    assert re.search(r'<code class="place">at [^<]*test_explain_html\.py:[0-9]+</code>', html)


def test_names_and_messages_are_escaped() -> None:
    bad = '<script>alert("x")</script>&amp;'
    found = Explanation(bad, [bad], [Line(bad, bad, f"declined: {bad}"), Line(bad, f"{bad} at {bad}:3", bad)], bad)
    page = Page(found.to_html())
    assert "script" not in page.tags
    assert page.text.count(bad) == 10
    assert page.marked("li") == ["no", ""]


def test_it_needs_nothing_else_and_follows_the_reader_s_colours() -> None:
    html = dk.explain(dk.mean, S).to_html()
    assert "http" not in html
    assert "src=" not in html
    assert "prefers-color-scheme: dark" in html
    # Rules of the style concern nothing but the explanation.
    style = html[html.index("<style>") + 7 : html.index("</style>")].replace(
        "@media (prefers-color-scheme: dark) {", ""
    )
    assert all(
        part.strip().startswith(".dk-explain")
        for rule in style.split("}")
        if "{" in rule
        for part in rule.partition("{")[0].split(",")
    )


def test_notebooks_show_it() -> None:
    found = dk.explain(dk.mean, S)
    assert found._repr_html_() == found.to_html()
    assert str(found) == repr(found)
