"""An explanation as a piece of HTML."""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence

from dispatchkit.protocol.explain.lines import Line
from dispatchkit.resources import read_text
from dispatchkit.wording import escape

# How verdicts begin, with the class of their colour.
CLASSES = {
    "answer": "yes",
    "decides at run time": "open",
    "if declined": "next",
    "decline": "no",
    "depends on values": "open",
    "passed over": "no",
    "raise": "bad",
}
PLACE = re.compile(r" at (\S.*:[0-9]+|built in)$")
DECORATORS = 8  # lines at most between the first decorator of a function and its name
STYLE = "\n" + read_text("dispatchkit.protocol.explain", "explain.css")


def html_of_line(line: Line) -> str:
    """Return the item of a list that shows a row."""
    kind = _class(line.verdict)
    verdict = ""
    if line.verdict:
        verdict = f'<span class="verdict">{escape(line.verdict)}</span>'
    calls = "".join(f'<code style="padding-left:{depth - 1}.5em">{escape(text)}</code>' for depth, text in line.calls())
    inner = ""
    if calls:
        inner = f'<div class="inner">{calls}</div>'
    return (
        f'<li class="{kind}"><code class="who">{escape(line.who)}</code>'
        f'<span class="said"><span>{with_place(line.what)}</span>{verdict}</span>{inner}</li>'
    )


def _class(verdict: str) -> str:
    return next((kind for start, kind in CLASSES.items() if verdict.startswith(start)), "")


def outcome_class(outcome: str, lines: Sequence[Line]) -> str:
    """Return the class of what comes of a call."""
    if outcome.startswith("decides at run time"):
        return "open"
    decided = [_class(line.verdict) for line in lines]
    if "bad" not in decided and ("yes" in decided or outcome.startswith("answered")):
        return "yes"
    return "bad"


def with_place(text: str) -> str:
    """Return a text escaped, with file and line set back."""
    place = PLACE.search(text)
    if place is None:
        return f"<code>{escape(text)}</code>"
    what, where = escape(text[: place.start()]), escape(place[0].strip())
    shown = f'<code>{what}</code> <code class="place">{where}</code>'
    source = source_line(place[1])
    if source:
        shown += f'<code class="source">{escape(source)}</code>'
    return shown


def source_line(location: str) -> str:
    """Return the line by which a function at file and line is defined, "" where its source is not there."""
    file, _, line = location.rpartition(":")
    if not file or not line.isdigit():
        return ""
    # Above it are decorators.
    for text in linecache.getlines(file)[int(line) - 1 : int(line) + DECORATORS]:
        if text.lstrip().startswith(("def ", "async def ")):
            return text.strip()
    return ""
