"""The picture of a trace: well-formed, readable and of bounded size, for one call and for thousands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import dispatchkit as dk
from dispatchkit.report import Timeline, Trace, TracedCall
from tests.report.test_trace_summary import call, traced


def parsed(timeline: Timeline) -> ET.Element:
    return ET.fromstring(timeline.to_html())  # noqa: S314  # made here


def rows(timeline: Timeline) -> list[ET.Element]:
    """Return the rows of calls, which have a text to show where the pointer rests."""
    return [row for row in parsed(timeline).iter("tr") if "title" in row.attrib]


def said(row: ET.Element) -> list[str]:
    return row.attrib["title"].split("\n")


def name(row: ET.Element) -> str:
    return row[0].text or ""


def bar(row: ET.Element) -> tuple[float, float]:
    """Return where a bar begins and how long it is, in per cent of the whole."""
    (style,) = [part.attrib["style"] for part in row.iter("i")]
    found = re.fullmatch(r"margin-left:([\d.]+)%;width:([\d.]+)%", style)
    assert found is not None
    return float(found[1]), float(found[2])


def head(timeline: Timeline) -> str:
    text, _ = [p.text or "" for p in parsed(timeline).iter("p")]
    return text


CALLS = (
    call("softmax", 0, 100_000, how="dense", who="D", what="dense: to_dense() of D", types=("D",), densified=2000),
    call("exp", 10_000, 40_000, 0),
    call("add", 100_000, 50_000, how="rule", what="add_d(D)", location="types.py:3", error="ValueError: <no>"),
)


def test_a_row_for_each_call_with_a_bar_at_its_time() -> None:
    drawn = rows(traced(*CALLS).timeline())
    assert list(map(name, drawn)) == ["softmax", "exp", "add"]
    assert [row[1].text for row in drawn] == ["100.0 µs", "40.0 µs", "50.0 µs"]
    assert list(map(bar, drawn)) == [
        pytest.approx((100 * start / 150, 100 * length / 150), abs=0.01)
        for start, length in ((0, 100), (10, 40), (100, 50))
    ]
    # Inner calls stand further to the right.
    assert [row[0].attrib["style"] for row in drawn] == [f"padding-left:{depth}em" for depth in (0, 1, 0)]


def test_colours_and_details() -> None:
    outer, _, last = rows(traced(*CALLS).timeline())
    assert [part.attrib["class"] for row in (outer, last) for part in row.iter("i")] == ["b-dense", "b-rule"]
    assert (outer.attrib.get("class"), last.attrib.get("class")) == (None, "raised")
    assert said(outer) == [
        "softmax(D)",
        "dense: dense: to_dense() of D",
        "100.0 µs, 100.0 µs without the calls inside",
        "2.0 kB densified",
        "called from program.py:1",
    ]
    assert said(last)[2:5] == ["types.py:3", "50.0 µs, 50.0 µs without the calls inside", "raised ValueError: <no>"]


def test_the_colours_that_are_used_are_explained() -> None:
    found = [item.text for item in parsed(traced(*CALLS).timeline()).iter("span")]
    assert {"plain: computed on plain tensors", "dense: by becoming dense"} <= set(found)
    assert not any(text is not None and text.startswith("backward") for text in found)


def test_it_follows_the_reader_s_colours_and_needs_nothing_else() -> None:
    text = traced(*CALLS).timeline().to_html()
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r"https?:|@import|url\(|<script", text)


def test_names_are_escaped() -> None:
    (row,) = rows(traced(call("<b>&", 0, 10, what='<i>"', error="</table>")).timeline())
    assert name(row) == "<b>&"
    assert "raised </table>" in said(row)


def test_threads_and_tasks_have_rows_of_their_own() -> None:
    one, two, three = call("sin", 0, 10), call("cos", 5, 10), call("tan", 20, 10)
    two.thread, two.thread_id, two.task = "worker", 2, "job"
    bodies = list(parsed(traced(one, two, three).timeline()).iter("tbody"))
    texts = [[th.text for th in body.iter("th")] + [name(row) for row in body if len(row) == 3] for body in bodies]
    assert texts == [["MainThread", "sin", "tan"], ["worker, task job", "cos"]]


def test_of_very_many_calls_the_longest_are_drawn_and_the_others_counted() -> None:
    calls = [call("exp", i * 10, 9) for i in range(5000)] + [call("matmul", 50_000, 9000)]
    timeline = traced(*calls).timeline()
    assert len(rows(timeline)) == 300
    assert name(rows(timeline)[-1]) == "matmul"
    assert head(timeline) == "5,001 calls in 59.0 µs; 4,701 shorter calls are not drawn"
    assert len(timeline.to_html()) < 150_000
    assert list(map(name, rows(traced(*CALLS).timeline(most=2)))) == ["softmax", "add"]


def test_nothing_and_one_call() -> None:
    assert head(Trace().timeline()) == "no calls"
    with dk.record_calls() as t:
        dk.exp(1.0)
    assert head(t.timeline()).startswith("1 call in ")
    assert len(rows(t.timeline())) == 1


def test_calls_that_were_not_kept_are_told_of() -> None:
    assert head(traced(*CALLS, dropped=7).timeline()).endswith("; 7 later calls were not kept")


def test_it_is_saved_and_shown(tmp_path: Path) -> None:
    timeline = traced(*CALLS).timeline()
    timeline.save(tmp_path / "calls.html")
    page = (tmp_path / "calls.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert timeline.to_html() in page
    assert timeline._repr_html_() == timeline.to_html()
    assert repr(timeline) == "<Timeline: 3 calls, 150.0 µs>"
    with pytest.raises(ValueError, match=r"cannot save as 'calls.png'; use a name that ends in .html$"):
        timeline.save(tmp_path / "calls.png")
    with pytest.raises(ValueError, match="timeline: most must be at least 1, found 0"):
        traced().timeline(most=0)


def test_a_call_under_way_is_drawn() -> None:
    unfinished: TracedCall = call("exp", 0, 0, how="")
    assert said(rows(traced(unfinished).timeline())[0])[0] == "exp(Tensor)"


def test_real_calls() -> None:
    with dk.record_calls() as t:
        x: Any = dk.ones((3, 3), requires_grad=True)
        dk.softmax(x @ x, axis=0).sum().backward()
    drawn = rows(t.timeline())
    assert len(drawn) == len(t.calls)
    assert all(0 <= left <= left + width <= 100.01 for left, width in map(bar, drawn))
