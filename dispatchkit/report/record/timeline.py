"""Traced calls over time: a picture, and a file for Perfetto, which zooms and searches."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from dispatchkit.report.documents import (
    css_class,
    format_time,
    resource,
    save_as,
    short_location,
    style,
    svg_document,
)
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


MARGIN, ROW, GAP = 16.0, 20.0, 2.0
# Width of a character of the font, in pixels.
CHARACTER = 6.75
# Calls that are narrower are drawn in one box with their neighbours, as long as that is not wider than the other.
NARROW, WIDE = 2.0, 90.0
DEEPEST = 40


@dataclass(slots=True)
class _Block:
    """What is drawn as one box: a call, or neighbours each of which is too narrow for one."""

    start: int
    end: int
    calls: list[TracedCall]


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
        heads = list(self._heads(groups))
        parts: list[str] = []
        y = MARGIN - 4
        for line in heads:
            y += 16
            parts.append(f'<text x="{MARGIN}" y="{y:.0f}">{escape(line)}</text>')
        for css, text in self._legend().items():
            y += 18
            sign = f'<rect x="{MARGIN}" y="{y - 8:.0f}" width="12" height="12" rx="2"/>'
            label = f'<text class="faint" x="{MARGIN + 18}" y="{y + 2:.0f}">{escape(text)}</text>'
            parts.append(f'<g class="{css}">{sign}{label}</g>')
        top = y = y + 36
        boxes: list[str] = []
        for lane, rows in groups.items():
            boxes.append(f'<text class="faint" x="{MARGIN}" y="{y + 14:.1f}">{escape(lane_text(lane))}</text>')
            y += ROW
            for blocks in rows:
                limits = [*(self._x(block.start) for block in blocks[1:]), float(self._width)]
                boxes += [self._box(block, y, limit) for block, limit in zip(blocks, limits, strict=True)]
                y += ROW + GAP
            y += 8
        parts += [*self._axis(top, y), *boxes]
        used = [*dict.fromkeys(call.how or "plain" for call in self._calls), "several"]
        rules = style(".dk-trace", resource("timeline.css"), used)
        return svg_document("dk-trace", self._width, y + MARGIN, heads[0], rules, parts)

    def _x(self, time: int) -> float:
        return MARGIN + (time - self._from) * self._scale

    def save(self, path: str | Path) -> None:
        """Write the picture to a file.

        Raises
        ------
        ValueError : if its name does not end in ``.svg``
        """
        save_as("timeline", path, {".svg": lambda: self.svg})

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
            rows += [[] for _ in range(call.depth + 1 - len(rows))]
            row, end = rows[call.depth], call.start + call.duration
            if row and call.duration * self._scale < NARROW and self._joins(row[-1], call.start, end):
                row[-1].calls.append(call)
                row[-1].end = max(row[-1].end, end)
            else:
                row.append(_Block(call.start, end, [call]))
        return rows

    def _joins(self, block: _Block, start: int, end: int) -> bool:
        """Return whether a narrow call is drawn in the box before it."""
        narrow = len(block.calls) > 1 or (block.end - block.start) * self._scale < NARROW
        return narrow and (start - block.end) * self._scale < NARROW and (end - block.start) * self._scale <= WIDE

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

    def _legend(self) -> dict[str, str]:
        """Return by CSS class what the colours mean that are used."""
        used = {call.how for call in self._calls}
        meanings = {css_class(how): f"{how}: {text}" for how, text in HOWS.items() if how in used}
        if any(call.error for call in self._calls):
            meanings[f"{css_class('several')} raised"] = "raised an exception"
        return meanings

    def _axis(self, top: float, bottom: float) -> Iterator[str]:
        """Yield lines at round times."""
        step = _round_step(self._span * 90 / (self._width - 2 * MARGIN))
        for tick in range(int(self._span // step) + 1):
            x = self._x(self._from + tick * step)
            text = "0" if tick == 0 else format_time(tick * step, "g")
            yield f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'
            if x + CHARACTER * len(text) < self._width:
                yield f'<text class="faint" x="{x + 2:.1f}" y="{top - 3:.1f}">{text}</text>'

    def _box(self, block: _Block, y: float, limit: float) -> str:
        """Return the box of a call, or of several; a name that it is too narrow for stands after it, before `limit`."""
        calls, x = block.calls, self._x(block.start)
        width = max((block.end - block.start) * self._scale, 1.0)
        call, place, bands, baseline = calls[0], x, "", y + 14
        if len(calls) == 1:
            css, details = css_class(call.how), _details(call)
            label = _fitting((f"{call.name} {format_time(call.duration)}", call.name), width)
            if not label and _fitting((call.name,), limit - x - width):
                label, place = call.name, x + width
            label = label or _shorten(call.name, width)
        else:
            css, details = f"several {css_class('several')}", _details_of_several(calls)
            label = _fitting((f"{len(calls)} calls", f"×{len(calls)}"), width)
            bands, baseline = "".join(_shares(block, x, y, width)), y + 12
        css += " raised" if any(call.error for call in calls) else ""
        text = f'<text x="{place + 4:.1f}" y="{baseline:.1f}">{escape(label)}</text>' if label else ""
        return (
            f'<g class="{css}"><title>{escape(details)}</title>'
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{ROW:.0f}" rx="{min(3.0, width / 3):.1f}"/>'
            f"{bands}{text}</g>"
        )


def _fitting(texts: Sequence[str], width: float) -> str:
    """Return the first of some texts that fits into a width, "" where none does."""
    return next((text for text in texts if CHARACTER * len(text) + 8 <= width), "")


def _shorten(text: str, width: float) -> str:
    count = int((width - 8) / CHARACTER)
    return f"{text[: count - 1]}…" if count >= 4 else ""


def _shares(block: _Block, x: float, y: float, width: float) -> Iterator[str]:
    """Yield for each way in which the calls of a box were answered a band that is as wide as its share of the time."""
    times: Counter[str] = Counter()
    for call in block.calls:
        times[call.how] += call.duration
    scale = width / max(times.total(), 1)
    for how, time in sorted(times.items()):
        part = time * scale
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
