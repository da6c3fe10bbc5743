"""Pages that need nothing else: a template, its style and its data in one file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from dispatchkit.report.palette import style

__all__ = ["filled_page"]

# What every page begins with; the rest of its style follows.
HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{title}}</title>
<style>
{{css}}
"""


def filled_page(package: str, parts: Mapping[str, str], data: Any, outcomes: Iterable[str]) -> str:
    """Return the page of a package: the head of all, then ``page.html``, with a text for each name in double braces.

    Parameters
    ----------
    package : that holds the template
    parts : texts by name, escaped where they have to be; ``css`` and ``data`` are added
    data : what the page's script reads
    outcomes : names of those whose colours it has
    """
    css = files("dispatchkit.report").joinpath("page.css").read_text(encoding="utf-8")
    colours = style("html", "", outcomes)
    # Inside a script element only the start of a tag could end it.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    given = {**parts, "css": css + colours, "data": text}
    body = files(package).joinpath("page.html").read_text(encoding="utf-8")
    before, *pieces = f"{HEAD}{body}".split("{{")
    filled = [before]
    for piece in pieces:
        name, _, rest = piece.partition("}}")
        filled += [given[name], rest]
    return "".join(filled)
