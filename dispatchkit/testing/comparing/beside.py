"""Two results side by side: the elements that differ with their places, as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

LINES = 6  # that a message shows of elements
ROWS = 100  # that a page shows


class Beside(NamedTuple):
    """Two arrays of one shape that are to be equal.

    Attributes
    ----------
    found, expected : NumPy arrays
    fields : of the instance that was found, each with its name and its text
    """

    found: Any
    expected: Any
    fields: Sequence[tuple[str, str]] = ()

    def differing(self) -> list[tuple[int, ...]]:
        """Return the places of the elements that differ by more than rounding."""
        found, expected = (np.asarray(array) for array in (self.found, self.expected))
        if found.shape != expected.shape or object in (found.dtype, expected.dtype):
            return []
        with np.errstate(all="ignore"):
            alike = np.isclose(found, expected, rtol=1e-6, atol=1e-12, equal_nan=True)
        if alike.all():
            alike = found == expected
        return [tuple(map(int, place)) for place in np.argwhere(~alike)]

    def lines(self) -> list[str]:
        """Return how many elements differ, and the first of them, each with what it should be."""
        places = self.differing()
        if np.size(self.expected) < 2 or not places:
            return []
        verb = "differ"
        if len(places) == 1:
            verb = "differs"
        text = [f"{len(places)} of {np.size(self.expected)} elements {verb}"]
        rows = [(_index(place), str(self.found[place]), str(self.expected[place])) for place in places[:LINES]]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for index, found, expected in rows:
            text.append(f"at {index:<{widths[0]}}  {found:>{widths[1]}} instead of {expected:>{widths[2]}}")
        if len(places) > LINES:
            text.append(f"and {len(places) - LINES} more")
        return text

    def html(self) -> str:
        """Return a table of the elements that differ, and one of the fields."""
        places = self.differing()
        rows = [(_index(place), str(self.found[place]), str(self.expected[place])) for place in places[:ROWS]]
        tables = []
        if rows:
            tables.append(_table(("place", "found", "expected"), rows))
        if len(places) > ROWS:
            tables.append(f"<p>and {len(places) - ROWS} more</p>")
        if self.fields:
            tables.append(_table(("field", "of the result"), self.fields))
        return "".join(tables)


def _index(place: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, place))}]"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(map(_table_row, rows))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _table_row(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def failure_html(title: str, lines: Iterable[tuple[str, str]], beside: Beside | None, program: str) -> str:
    """Return a failure as HTML.

    Parameters
    ----------
    title : what was called
    lines : further lines, each with what it is about
    beside : what was found and expected, None where these are no arrays
    program : that shows it, "" for none
    """
    parts = [f"<p><b>{escape(title)}</b></p>", _table(("", ""), lines)]
    if beside is not None:
        parts.append(beside.html())
    if program:
        parts.append(f"<details><summary>program</summary><pre>{escape(program)}</pre></details>")
    return f"<div>{''.join(parts)}</div>"
