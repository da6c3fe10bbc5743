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

SVG = "{http://www.w3.org/2000/svg}"


def parsed(timeline: Timeline) -> ET.Element:
    return ET.fromstring(timeline.svg)  # noqa: S314  # made here


def boxes(timeline: Timeline) -> list[ET.Element]:
    """Return what is drawn for calls: what has a text to show where the pointer rests."""
    return [g for g in parsed(timeline).iter(f"{SVG}g") if g.find(f"{SVG}title") is not None]


def texts(timeline: Timeline) -> list[str]:
    return [text.text or "" for text in parsed(timeline).iter(f"{SVG}text")]


def said(box: ET.Element) -> list[str]:
    title = box.find(f"{SVG}title")
    assert title is not None
    return (title.text or "").split("\n")


def rect(box: ET.Element) -> tuple[float, float, float]:
    found = box.find(f"{SVG}rect")
    assert found is not None
    return float(found.attrib["x"]), float(found.attrib["y"]), float(found.attrib["width"])


CALLS = (
    call("softmax", 0, 100_000, how="dense", who="D", what="dense: to_dense() of D", types=("D",), densified=2000),
    call("exp", 10_000, 40_000, 0),
    call("add", 100_000, 50_000, how="rule", what="add_d(D)", location="types.py:3", error="ValueError: <no>"),
)


def test_a_box_for_each_call_at_its_time_and_depth() -> None:
    (x0, y0, w0), (x2, y2, w2), (x1, y1, w1) = map(rect, boxes(traced(*CALLS).timeline(width=1032)))
    scale = 1000 / 150_000
    assert (x0, w0) == pytest.approx((16, 100_000 * scale), abs=0.1)
    assert (x1, w1) == pytest.approx((16 + 10_000 * scale, 40_000 * scale), abs=0.1)
    assert (x2, w2) == pytest.approx((16 + 100_000 * scale, 50_000 * scale), abs=0.1)
    assert y0 == y2 < y1


def test_labels_colours_and_details() -> None:
    timeline = traced(*CALLS).timeline()
    assert {"softmax 100.0 µs", "exp 40.0 µs", "add 50.0 µs"} <= set(texts(timeline))
    outer, last, _ = boxes(timeline)
    assert (outer.attrib["class"], last.attrib["class"]) == ("b-dense", "b-rule raised")
    assert said(outer) == [
        "softmax(D)",
        "dense: dense: to_dense() of D",
        "100.0 µs, 100.0 µs without the calls inside",
        "2.0 kB densified",
        "called from program.py:1",
    ]
    assert said(last)[2:5] == ["types.py:3", "50.0 µs, 50.0 µs without the calls inside", "raised ValueError: <no>"]


def test_the_colours_that_are_used_are_explained() -> None:
    found = texts(traced(*CALLS).timeline())
    assert {"plain: computed on plain tensors", "dense: by becoming dense", "raised an exception"} <= set(found)
    assert not any(text.startswith("backward") for text in found)


def test_it_follows_the_reader_s_colours_and_needs_nothing_else() -> None:
    svg = traced(*CALLS).timeline().svg
    assert "prefers-color-scheme: dark" in svg
    assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in svg


def test_names_are_escaped() -> None:
    parsed(traced(call("<b>&", 0, 10, what="<i>", error="</svg>")).timeline())


def test_threads_and_tasks_have_rows_of_their_own() -> None:
    one, two = call("sin", 0, 10), call("cos", 5, 10)
    two.thread, two.thread_id, two.task = "worker", 2, "job"
    timeline = traced(one, two).timeline()
    assert {"MainThread", "worker, task job"} <= set(texts(timeline))
    assert rect(boxes(timeline)[0])[1] < rect(boxes(timeline)[1])[1]


def test_calls_too_short_to_see_are_drawn_together_and_counted() -> None:
    calls = [call("exp" if i % 2 else "sin", i * 10, 9, how="plain" if i % 2 else "rule") for i in range(5000)]
    timeline = traced(*calls).timeline()
    drawn = boxes(timeline)
    assert 2 <= len(drawn) <= 20
    assert len(timeline.svg) < 20_000
    assert f"5,000 calls that are too short to see are drawn together, in {len(drawn)} dashed boxes" in texts(timeline)
    assert sum(int(said(box)[0].split()[0]) for box in drawn) == 5000
    assert {line.split()[0] for line in said(drawn[0])[1:]} == {"exp", "sin"}
    # Bands show the share of each way of answering.
    assert [band.attrib["class"] for band in drawn[0].iter(f"{SVG}g")][1:] == ["b-plain", "b-rule"]
    assert all(x >= 16 and x + width <= 984.5 for x, _, width in map(rect, drawn))


def test_a_long_call_among_short_ones_keeps_its_box() -> None:
    calls = [call("sin", i * 10, 9) for i in range(100)]
    calls += [call("matmul", 1000, 9000), *(call("sin", 10_000 + i * 10, 9) for i in range(100))]
    drawn = boxes(traced(*calls).timeline())
    assert [said(box)[0] for box in drawn if box.attrib["class"] == "b-plain"] == ["matmul(Tensor)"]


def test_an_inner_call_that_is_too_narrow_has_its_name_after_it() -> None:
    timeline = traced(call("softmax", 0, 100_000), call("exp", 10_000, 1000, 0), call("log", 50_000, 900, 0)).timeline()
    assert {"exp", "log"} <= set(texts(timeline))
    crowded = [call("softmax", 0, 100_000), *(call("exp", 10_000 + i * 1200, 1100, 0) for i in range(3))]
    assert texts(traced(*crowded).timeline()).count("exp") == 1  # after the last of them alone there is room


def test_calls_inside_of_very_many_others() -> None:
    calls = []
    for depth in range(60):
        one = call("exp", depth, 1000 - 2 * depth, depth - 1 if depth else None)
        one.depth = depth
        calls.append(one)
    timeline = traced(*calls).timeline()
    assert "20 calls inside of more than 40 others are not drawn" in texts(timeline)
    assert len(boxes(timeline)) == 40


def test_nothing_and_one_call() -> None:
    assert "no calls" in texts(Trace().timeline())
    with dk.record_calls() as t:
        dk.exp(1.0)
    assert texts(t.timeline())[0].startswith("1 call in ")
    assert len(boxes(t.timeline())) == 1


def test_texts_do_not_leave_the_picture() -> None:
    long = call("a_function_with_a_rather_long_name", 0, 1000)
    timeline = traced(long, call("exp", 1000, 100_000)).timeline(width=300)
    for element in parsed(timeline).iter(f"{SVG}text"):
        if element.attrib.get("class") != "faint":
            assert float(element.attrib["x"]) + 6.6 * len(element.text or "") <= 300


def test_calls_that_were_not_kept_are_told_of() -> None:
    assert "7 later calls were not kept" in texts(traced(*CALLS, dropped=7).timeline())


def test_it_is_saved_and_shown(tmp_path: Path) -> None:
    timeline = traced(*CALLS).timeline()
    timeline.save(tmp_path / "calls.svg")
    assert (tmp_path / "calls.svg").read_text(encoding="utf-8") == timeline.svg == timeline._repr_svg_()
    assert repr(timeline) == "<Timeline: 3 calls, 150.0 µs>"
    with pytest.raises(ValueError, match=r"cannot save as 'calls.png'; use a name that ends in .svg$"):
        timeline.save(tmp_path / "calls.png")
    with pytest.raises(ValueError, match="width must be at least 200 pixels, found 10"):
        traced().timeline(width=10)


def test_a_call_under_way_is_drawn() -> None:
    unfinished: TracedCall = call("exp", 0, 0, how="")
    assert said(boxes(traced(unfinished).timeline())[0])[0] == "exp(Tensor)"


def test_real_calls() -> None:
    with dk.record_calls() as t:
        x: Any = dk.ones((3, 3), requires_grad=True)
        dk.softmax(x @ x, axis=0).sum().backward()
    assert sum(len(said(box)) > 0 for box in boxes(t.timeline(width=100_000))) == len(t.calls)
