"""The export of a trace: what the Trace Event Format asks of an event, on real calls."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.report import Trace


@dk.array_type(fallback=dk.fallback.dense)
class Halved:
    def __init__(self, twice: dk.Tensor) -> None:
        self.twice = twice

    def to_dense(self) -> Any:
        return self.twice / 2


@pytest.fixture
def traced() -> Trace:
    async def work() -> None:
        dk.exp(Halved(dk.ones(3)))

    async def main() -> None:
        await asyncio.gather(
            asyncio.create_task(work(), name="first"),
            asyncio.create_task(work(), name="second"),
            asyncio.to_thread(dk.cos, 1.0),
        )

    with dk.densify(on="allow"), dk.record_calls() as t:
        dk.softmax(dk.ones((2, 2)))
        with pytest.raises(dk.ForeignArgumentError):
            dk.exp('<"&')
        asyncio.run(main())
    return t


def events(t: Trace, phase: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(t.to_chrome())["traceEvents"]
    return [event for event in found if event["ph"] == phase]


def test_the_fields_that_the_format_asks_for(traced: Trace) -> None:
    data = json.loads(traced.to_chrome())
    assert set(data) <= {"traceEvents", "displayTimeUnit", "otherData", "systemTraceEvents", "stackFrames", "samples"}
    assert data["displayTimeUnit"] in ("ms", "ns")
    assert {event["ph"] for event in data["traceEvents"]} == {"X", "M"}
    for event in data["traceEvents"]:
        assert isinstance(event["name"], str)
        assert isinstance(event["ts"], (int, float))
        assert event["pid"] == os.getpid()
        assert isinstance(event["tid"], int)
        if event["ph"] == "X":
            assert isinstance(event["cat"], str)
            assert event["dur"] >= 0
            assert isinstance(event["args"], dict)


def test_times_are_microseconds_and_calls_keep_their_order(traced: Trace) -> None:
    found = events(traced, "X")
    assert [event["name"] for event in found] == [call.name for call in traced.calls]
    for event, call in zip(found, traced.calls, strict=True):
        assert event["ts"] == pytest.approx(call.start / 1000)
        assert event["dur"] == pytest.approx(call.duration / 1000)


def test_calls_inside_of_others_stand_inside_of_them(traced: Trace) -> None:
    found = events(traced, "X")
    inside = [place for place, call in enumerate(traced.calls) if call.parent is not None]
    assert inside
    for place in inside:
        parent = traced.calls[place].parent
        assert parent is not None
        inner, outer = found[place], found[parent]
        assert inner["tid"] == outer["tid"]
        assert outer["ts"] <= inner["ts"]
        assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 1e-6


def test_calls_of_a_track_do_not_overlap(traced: Trace) -> None:
    found = events(traced, "X")
    for track in {event["tid"] for event in found}:
        own = [e for e, call in zip(found, traced.calls, strict=True) if e["tid"] == track and call.depth == 0]
        ends = [event["ts"] + event["dur"] for event in own]
        assert all(end <= event["ts"] + 1e-6 for end, event in zip(ends, own[1:], strict=False))


def test_threads_and_tasks_are_tracks_with_names(traced: Trace) -> None:
    named = {event["tid"]: event["args"]["name"] for event in events(traced, "M") if event["name"] == "thread_name"}
    assert set(named) == {event["tid"] for event in events(traced, "X")}
    assert {"MainThread", "MainThread, task first", "MainThread, task second"} < set(named.values())
    assert len(named) == 4
    process = [event for event in events(traced, "M") if event["name"] == "process_name"]
    assert [event["args"] for event in process] == [{"name": "dispatchkit"}]


def test_arguments_of_an_event(traced: Trace) -> None:
    said = next(event for event in events(traced, "X") if event["cat"] == "dense")["args"]
    assert said["arrays"] == ["Halved"]
    assert said["what"] == "dense: to_dense() of Halved"
    assert said["bytes densified"] == 24
    assert said["line"].startswith(__file__)
    failed = next(event for event in events(traced, "X") if "error" in event["args"])
    assert failed["args"]["error"].startswith("ForeignArgumentError")


def test_it_is_written_to_a_file(traced: Trace, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    assert traced.to_chrome(path) == path.read_text(encoding="utf-8")


def test_calls_that_were_not_kept_are_told_of() -> None:
    with dk.record_calls(max_calls=1) as t:
        dk.exp(dk.ones(2))
    assert json.loads(t.to_chrome())["otherData"] == {"calls not kept": "1"}


def test_a_trace_under_way_can_be_exported() -> None:
    @dk.implements(dk.sin)
    def sin_halved(x: Halved, /) -> str:
        return t.to_chrome()

    with dk.local_registrations(), dk.record_calls() as t:
        (event,) = (e for e in json.loads(dk.sin(Halved(dk.ones(1))))["traceEvents"] if e["name"] == "sin")
    assert (event["cat"], event["dur"]) == ("under way", 0)
    assert events(t, "X")[-1]["cat"] == "rule"
