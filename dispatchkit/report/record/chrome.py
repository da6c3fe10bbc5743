"""Calls in the Trace Event Format, which Perfetto and Chrome's tracing page open.

Source: "Trace Event Format", Google, the JSON object format: complete events and metadata events.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from dispatchkit.report.record.call import TracedCall

__all__ = ["chrome_trace"]


def chrome_trace(calls: Sequence[TracedCall], dropped: int) -> str:
    """Return calls as a JSON object; each thread, and each task in it, is a track of its own."""
    process = os.getpid()
    tracks: dict[tuple[int, str, str], int] = {}
    events = [_event(call, process, tracks.setdefault(call.lane, len(tracks) + 1)) for call in calls]
    names = [_named("process_name", process, 0, "dispatchkit")]
    for (_, thread, task), track in tracks.items():
        names.append(_named("thread_name", process, track, f"{thread}, task {task}" if task else thread))
        names.append({**_metadata("thread_sort_index", process, track), "args": {"sort_index": track}})
    data = {"traceEvents": [*names, *events], "displayTimeUnit": "ns", "otherData": {"calls not kept": str(dropped)}}
    return json.dumps(data)


def _metadata(name: str, process: int, track: int) -> dict[str, Any]:
    return {"name": name, "ph": "M", "ts": 0, "pid": process, "tid": track}


def _named(event: str, process: int, track: int, name: str) -> dict[str, Any]:
    return {**_metadata(event, process, track), "args": {"name": name}}


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
