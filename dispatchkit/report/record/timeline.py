"""Traced calls over time: a picture, and a file for Perfetto, which zooms and searches."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from heapq import nlargest
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from dispatchkit.report.documents import css_class, format_time, resource, save_as, short_location, style
from dispatchkit.report.record.call import HOWS, TracedCall
from dispatchkit.wording import format_bytes

# Thread, its name, and the task in it.
Lane: TypeAlias = tuple[int, str, str]


def lane_text(lane: Lane) -> str:
    """Name the thread, and the task in it."""
    _, thread, task = lane
    return f"{thread}, task {task}" if task else thread


def chrome_trace(calls: Sequence[TracedCall], dropped: int) -> str:
    """Return calls as a JSON object; each thread, and each task in it, is a track of its own."""
    process = os.getpid()
    tracks: dict[Lane, int] = {}
    events = [_event(call, process, tracks.setdefault(call.lane, len(tracks) + 1)) for call in calls]
    names = [_metadata("process_name", process, 0, name="dispatchkit")]
    for lane, track in tracks.items():
        names.append(_metadata("thread_name", process, track, name=lane_text(lane)))
        names.append(_metadata("thread_sort_index", process, track, sort_index=track))
    data = {"traceEvents": [*names, *events], "displayTimeUnit": "ns", "otherData": {"calls not kept": str(dropped)}}
    return json.dumps(data)


def _metadata(event: str, process: int, track: int, **args: Any) -> dict[str, Any]:
    return {"name": event, "ph": "M", "ts": 0, "pid": process, "tid": track, "args": args}


def _event(call: TracedCall, process: int, track: int) -> dict[str, Any]:
    facts = {
        "arrays": call.arrays(),
        "how": call.how,
        "who": call.who,
        "what": call.what,
        "handler": call.location,
        "result": call.result,
        "error": call.error,
        "line": call.place,
        "self time (us)": call.self_time / 1000,
        "bytes densified": call.densified,
        "why dense": call.reason,
    }
    return {
        "name": call.name,
        "cat": call.how or "under way",
        "ph": "X",
        "ts": call.start / 1000,
        "dur": call.duration / 1000,
        "pid": process,
        "tid": track,
        "args": {name: value for name, value in facts.items() if value},
    }


# Calls that are drawn, the longest.
MOST = 300


class Timeline:
    """Calls over time: a row for each, with a bar where it stands in the time of all; a notebook shows it.

    Parameters
    ----------
    calls : to draw
    most : how many are drawn, the longest, in the order in which they began
    dropped : how many calls the trace did not keep

    Raises
    ------
    ValueError : if `most` is below 1
    """

    def __init__(self, calls: Sequence[TracedCall], most: int = MOST, dropped: int = 0) -> None:
        if most < 1:
            raise ValueError(f"timeline: most must be at least 1, found {most}")
        self._calls = list(calls)
        self._dropped = dropped
        longest = {id(call) for call in nlargest(most, self._calls, key=lambda call: call.duration)}
        self._shown = [call for call in self._calls if id(call) in longest]
        self._from = min((call.start for call in calls), default=0)
        self._span = max(max((call.start + call.duration for call in calls), default=0) - self._from, 1)

    def to_html(self) -> str:
        """Return it as a piece of HTML with a style of its own, light or dark as the reader's."""
        hows = dict.fromkeys(call.how or "plain" for call in self._shown)
        legend = "".join(f'<span class="{css_class(how)}">{escape(f"{how}: {HOWS[how]}")}</span>' for how in hows)
        bodies = []
        for lane in dict.fromkeys(call.lane for call in self._shown):
            rows = "".join(self._row(call) for call in self._shown if call.lane == lane)
            bodies.append(f'<tbody><tr><th colspan="3">{escape(lane_text(lane))}</th></tr>{rows}</tbody>')
        rules = style(".dk-trace", resource("timeline.css"), hows)
        return (
            f'<div class="dk-trace"><style>{rules}</style><p>{escape("; ".join(self._heads()))}</p>'
            f"<p>{legend}</p><table>{''.join(bodies)}</table></div>"
        )

    _repr_html_ = to_html

    def save(self, path: str | Path) -> None:
        """Write the picture to a file.

        Raises
        ------
        ValueError : if its name does not end in ``.html``
        """
        page = f'<!doctype html><meta charset="utf-8"><title>Calls over time</title>{self.to_html()}\n'
        save_as("timeline", path, {".html": lambda: page})

    def __repr__(self) -> str:
        return f"<Timeline: {len(self._calls)} calls, {format_time(self._span)}>"

    def _heads(self) -> Iterator[str]:
        count = len(self._calls)
        yield f"{count:,} call{'' if count == 1 else 's'} in {format_time(self._span)}" if count else "no calls"
        if count > len(self._shown):
            yield f"{count - len(self._shown):,} shorter calls are not drawn"
        if self._dropped:
            yield f"{self._dropped:,} later calls were not kept"

    def _row(self, call: TracedCall) -> str:
        """Return the row of a call: its name, further to the right inside of others, its time, and its bar."""
        left, width = (100 * time / self._span for time in (call.start - self._from, call.duration))
        raised = ' class="raised"' if call.error else ""
        details = escape(_details(call)).replace("\n", "&#10;")
        return (
            f'<tr title="{details}"{raised}><td style="padding-left:{call.depth}em">{escape(call.name)}'
            f'</td><td class="n">{format_time(call.duration)}</td><td class="w"><i class="{css_class(call.how)}" '
            f'style="margin-left:{left:.3f}%;width:{width:.3f}%"></i></td></tr>'
        )


def _details(call: TracedCall) -> str:
    """Return what is shown of a call where the pointer rests on it."""
    answered = ": ".join(text for text in (call.how, call.what) if text)
    times = f"{format_time(call.duration)}, {format_time(call.self_time)} without the calls inside"
    lines = [f"{call.name}({', '.join(call.arrays())})", answered]
    if call.location:
        lines.append(short_location(call.location))
    lines.append(times)
    if call.densified:
        lines.append(f"{format_bytes(call.densified)} densified" + (f": {call.reason}" if call.reason else ""))
    if call.error:
        lines.append(f"raised {call.error}")
    return "\n".join([*lines, f"called from {short_location(call.place)}"])
