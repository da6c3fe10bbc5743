"""Traced calls over time: a picture, a page that zooms, and a file for Perfetto."""

from __future__ import annotations

import html
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from dispatchkit.report.documents import (
    css_class,
    filled_page,
    format_time,
    save_as,
    short_location,
    style,
    svg_document,
)
from dispatchkit.report.record.call import HOWS, TracedCall
from dispatchkit.wording import format_bytes


def lane_text(lane: tuple[int, str, str]) -> str:
    """Name the thread, and the task in it."""
    _, thread, task = lane
    return f"{thread}, task {task}" if task else thread


def timeline_page(calls: Sequence[TracedCall], dropped: int, details: Callable[[TracedCall], str]) -> str:
    """Return the page of some calls.

    Parameters
    ----------
    calls, dropped : that are shown, and how many are not
    details : what is said of a call
    """
    begin = min((call.start for call in calls), default=0)
    names: dict[str, int] = {}
    lanes: dict[tuple[int, str, str], int] = {}
    texts: dict[str, int] = {}
    hows = [how for how in HOWS if any((call.how or "plain") == how for call in calls)]
    rows = [
        [
            names.setdefault(call.name, len(names)),
            call.start - begin,
            call.duration,
            call.depth,
            lanes.setdefault(call.lane, len(lanes)),
            hows.index(call.how or "plain"),
            texts.setdefault(details(call), len(texts)),
            int(bool(call.error)),
            call.self_time,
        ]
        for call in calls
    ]
    data = {
        "names": list(names),
        "lanes": [lane_text(lane) for lane in lanes],
        "hows": [[how, css_class(how)] for how in hows],
        "texts": list(texts),
        "calls": rows,
    }
    chips = "".join(
        f'<li class="chip"><i class="{css_class(how)}" aria-hidden="true"></i>{escape(f"{how}: {HOWS[how]}")}</li>'
        for how in hows
    )
    note = f"{dropped:,} later calls are not shown." if dropped > 0 else "All calls are shown."
    title = f"{len(calls):,} call{'' if len(calls) == 1 else 's'}"
    return filled_page("dispatchkit.report.record", {"title": title, "note": note, "chips": chips}, data, hows)


def chrome_trace(calls: Sequence[TracedCall], dropped: int) -> str:
    """Return calls as a JSON object; each thread, and each task in it, is a track of its own."""
    process = os.getpid()
    tracks: dict[tuple[int, str, str], int] = {}
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
    said = {
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
        "args": {name: value for name, value in said.items() if value},
    }


MARGIN, ROW, GAP = 16.0, 20.0, 2.0
# Width of a character of the font, in pixels.
CHARACTER = 6.75
# Calls that are narrower are drawn in one box with their neighbours, as long as that is not wider than the other.
NARROW, WIDE = 2.0, 90.0
DEEPEST = 40
# Calls that a page holds, the first ones.
ON_PAGE = 20_000
RULES = """
& { font-size: 11px; }
& .paper { fill: var(--paper); }
& g > rect { fill: var(--c); stroke: var(--e); }
& .several g > rect { fill: var(--e); stroke: none; }
& text { fill: var(--ink); }
& .faint { fill: var(--faint); }
& .tick { stroke: var(--line); }
& .several > rect { stroke-dasharray: 2 2; }
& .raised > rect { stroke: var(--bad); stroke-width: 2; }
"""


Lane: TypeAlias = tuple[int, str, str]


@dataclass(slots=True)
class _Block:
    """What is drawn as one box: a call, or neighbours each of which is too narrow for one."""

    start: int
    end: int
    calls: list[TracedCall] = field(default_factory=list)


class Timeline:
    """Calls over time, drawn; a notebook shows it.

    Parameters
    ----------
    calls : to draw
    width : of the picture in pixels
    dropped : how many calls the trace did not keep

    Raises
    ------
    ValueError : if `width` is below 200
    """

    def __init__(self, calls: Sequence[TracedCall], width: int = 1000, dropped: int = 0) -> None:
        if width < 200:
            raise ValueError(f"timeline: width must be at least 200 pixels, found {width}")
        self._calls = list(calls)
        self._width = width
        self._dropped = dropped
        self._from = min((call.start for call in calls), default=0)
        self._span = max(max((call.start + call.duration for call in calls), default=0) - self._from, 1)
        self._scale = (width - 2 * MARGIN) / self._span

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        groups = {lane: self._rows(lane) for lane in dict.fromkeys(call.lane for call in self._calls)}
        parts: list[str] = []
        y = MARGIN + 12
        for line in self._heads(groups):
            parts.append(f'<text x="{MARGIN}" y="{y:.0f}">{html.escape(line)}</text>')
            y += 16
        y += 4
        for row in self._legend():
            parts.append(f'<g transform="translate({MARGIN:.1f} {y - 4:.1f})">{row}</g>')
            y += 18
        y += 16
        top = y
        boxes: list[str] = []
        for lane, rows in groups.items():
            boxes.append(f'<text class="faint" x="{MARGIN}" y="{y + 14:.1f}">{html.escape(lane_text(lane))}</text>')
            y += ROW
            for blocks in rows:
                following = [(block.start - self._from) * self._scale + MARGIN for block in blocks[1:]]
                for block, limit in zip(blocks, [*following, float(self._width)], strict=True):
                    boxes.append(self._box(block, y, limit))
                y += ROW + GAP
            y += 8
        parts += [*self._axis(top, y), *boxes]
        used = [*dict.fromkeys(call.how or "plain" for call in self._calls), "several"]
        title, rules = next(self._heads(groups)), style(".dk-trace", RULES, used)
        return svg_document("dk-trace", self._width, y + MARGIN, title, rules, parts)

    def to_html(self) -> str:
        """Return one HTML page that needs nothing else: it zooms, searches, and shows what is known of each call."""
        return timeline_page(self._calls[:ON_PAGE], len(self._calls) - ON_PAGE, _details)

    def save(self, path: str | Path) -> None:
        """Write the picture or the page to a file.

        Raises
        ------
        ValueError : if its name ends neither in ``.svg`` nor in ``.html``
        """
        save_as("timeline", path, {".svg": lambda: self.svg, ".html": self.to_html})

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Timeline: {len(self._calls)} calls, {format_time(self._span)}>"

    def _rows(self, lane: Lane) -> list[list[_Block]]:
        """Return the boxes of a lane by depth, neighbours that are too narrow joined."""
        rows: list[list[_Block]] = []
        for call in sorted((call for call in self._calls if call.lane == lane), key=lambda call: call.start):
            if call.depth >= DEEPEST:
                continue
            while len(rows) <= call.depth:
                rows.append([])
            row, end = rows[call.depth], call.start + call.duration
            if row and call.duration * self._scale < NARROW:
                last = row[-1]
                narrow = len(last.calls) > 1 or (last.end - last.start) * self._scale < NARROW
                near = (call.start - last.end) * self._scale < NARROW and (end - last.start) * self._scale <= WIDE
                if narrow and near:
                    last.calls.append(call)
                    last.end = max(last.end, end)
                    continue
            row.append(_Block(call.start, end, [call]))
        return rows

    def _heads(self, groups: dict[Lane, list[list[_Block]]]) -> Iterator[str]:
        count = len(self._calls)
        yield f"{count:,} call{'' if count == 1 else 's'} in {format_time(self._span)}" if count else "no calls"
        joined = [block for rows in groups.values() for row in rows for block in row if len(block.calls) > 1]
        if joined:
            calls = sum(len(block.calls) for block in joined)
            boxes = "1 dashed box" if len(joined) == 1 else f"{len(joined):,} dashed boxes"
            yield f"{calls:,} calls that are too short to see are drawn together, in {boxes}"
        deep = sum(call.depth >= DEEPEST for call in self._calls)
        if deep:
            yield f"{deep:,} calls inside of more than {DEEPEST} others are not drawn"
        if self._dropped:
            yield f"{self._dropped:,} later calls were not kept"

    def _legend(self) -> Iterator[str]:
        """Yield rows of the colours that are used, with what they mean."""
        used = {call.how for call in self._calls}
        said = {css_class(how): f"{how}: {text}" for how, text in HOWS.items() if how in used}
        if any(call.error for call in self._calls):
            said[f"{css_class('several')} raised"] = "raised an exception"
        x, row = 0.0, ""
        for names, text in said.items():
            length = 18 + CHARACTER * len(text) + 18
            if row and x + length > self._width - 2 * MARGIN:
                yield row
                x, row = 0.0, ""
            row += (
                f'<g class="{names}"><rect x="{x:.1f}" y="-8" width="12" height="12" rx="2"/>'
                f'<text class="faint" x="{x + 18:.1f}" y="2">{html.escape(text)}</text></g>'
            )
            x += length
        if row:
            yield row

    def _axis(self, top: float, bottom: float) -> Iterator[str]:
        """Yield lines at round times."""
        step = _round_step(self._span * 90 / (self._width - 2 * MARGIN))
        for tick in range(int(self._span // step) + 1):
            x = MARGIN + tick * step * self._scale
            text = "0" if tick == 0 else _round_time(tick * step)
            yield f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'
            if x + CHARACTER * len(text) < self._width:
                yield f'<text class="faint" x="{x + 2:.1f}" y="{top - 3:.1f}">{text}</text>'

    def _box(self, block: _Block, y: float, limit: float) -> str:
        """Return the box of a call, or of several; a name that it is too narrow for stands after it, before `limit`."""
        x = MARGIN + (block.start - self._from) * self._scale
        width = max((block.end - block.start) * self._scale, 1.0)
        if len(block.calls) == 1:
            call = block.calls[0]
            names, said = [css_class(call.how)], _details(call)
            label = next(
                (text for text in (f"{call.name} {format_time(call.duration)}", call.name) if _fits(text, width)), ""
            )
            after = not label and _fits(call.name, limit - x - width)
            label = label or (call.name if after else _shortened(call.name, width))
        else:
            names, said = ["several", css_class("several")], _details_of_several(block.calls)
            label = next(
                (text for text in (f"{len(block.calls)} calls", f"×{len(block.calls)}") if _fits(text, width)), ""
            )
        if any(call.error for call in block.calls):
            names.append("raised")
        place = x + width if len(block.calls) == 1 and after else x
        parts = "" if len(block.calls) == 1 else "".join(_shares(block, x, y, width))
        baseline = y + (14 if len(block.calls) == 1 else 12)
        text = f'<text x="{place + 4:.1f}" y="{baseline:.1f}">{html.escape(label)}</text>' if label else ""
        return (
            f'<g class="{" ".join(names)}"><title>{html.escape(said)}</title>'
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{ROW:.0f}" rx="{min(3.0, width / 3):.1f}"/>'
            f"{parts}{text}</g>"
        )


def _fits(text: str, width: float) -> bool:
    return CHARACTER * len(text) + 8 <= width


def _shortened(text: str, width: float) -> str:
    count = int((width - 8) / CHARACTER)
    return f"{text[: count - 1]}…" if count >= 4 else ""


def _shares(block: _Block, x: float, y: float, width: float) -> Iterator[str]:
    """Yield for each way in which the calls of a box were answered a band that is as wide as its share of the time."""
    times: Counter[str] = Counter()
    for call in block.calls:
        times[call.how] += call.duration
    scale = width / max(sum(times.values()), 1)
    for how in sorted(times):
        part = times[how] * scale
        yield f'<g class="{css_class(how)}"><rect x="{x:.1f}" y="{y + 15:.1f}" width="{part:.1f}" height="5"/></g>'
        x += part


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


def _details_of_several(calls: Sequence[TracedCall]) -> str:
    counts = Counter(call.name for call in calls)
    total = format_time(sum(call.duration for call in calls))
    most = [f"{name} ×{count}" for name, count in counts.most_common(8)]
    rest = len(counts) - len(most)
    return "\n".join([f"{len(calls)} calls, {total} together", *most, *([f"{rest} more functions"] if rest else [])])


def _round_step(least: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, ... that is not below a number."""
    power = int(10 ** math.floor(math.log10(max(least, 1.0))))
    return next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= least)


def _round_time(nanoseconds: int) -> str:
    for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:g} {unit}"
    return f"{nanoseconds} ns"
