"""Recorded calls as one HTML page that zooms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from dispatchkit.report.page import filled_page
from dispatchkit.report.palette import css_class
from dispatchkit.report.record.call import HOWS, TracedCall

__all__ = ["lane_text", "timeline_page"]


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
