"""The calls of a record in the Trace Event Format, which Perfetto and ``chrome://tracing`` open.

Source: Trace Event Format, https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from dispatchkit.report.record.call import TracedCall


def chrome_trace(calls: Sequence[TracedCall], dropped: int) -> str:
    """Return calls as a JSON object; each thread, and each task in it, is a track of its own.

    Parameters
    ----------
    calls : of the record
    dropped : how many were not kept
    """
    process = os.getpid()
    tracks: dict[tuple[int, str, str], int] = {}
    events = []
    for call in calls:
        # Calls of one track follow each other, or stand inside each other.
        track = tracks.setdefault((call.thread_id, call.thread, call.task), len(tracks) + 1)
        events.append(_event(call, process, track))
    names = [_metadata("process_name", process, 0, name="dispatchkit")]
    for (_, thread, task), track in tracks.items():
        name = thread
        if task:
            name = f"{thread}, task {task}"
        names.append(_metadata("thread_name", process, track, name=name))
        names.append(_metadata("thread_sort_index", process, track, sort_index=track))
    data = {"traceEvents": [*names, *events], "displayTimeUnit": "ns", "otherData": {"calls not kept": str(dropped)}}
    return json.dumps(data)


def _metadata(event: str, process: int, track: int, **args: Any) -> dict[str, Any]:
    return {"name": event, "ph": "M", "ts": 0, "pid": process, "tid": track, "args": args}


def _event(call: TracedCall, process: int, track: int) -> dict[str, Any]:
    """Return a complete event, times in microseconds."""
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
