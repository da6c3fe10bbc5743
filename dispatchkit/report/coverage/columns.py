"""What was found of the calls of a function, column by column: heading and words for tables and for the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dispatchkit.report.coverage.rows import MeasuredRow, Row
from dispatchkit.wording import format_bytes

__all__ = ["COLUMNS", "Column", "measurements", "page_lines"]

Text = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Column:
    """One fact of a row.

    Attributes
    ----------
    name : of the attribute of `Row` or `MeasuredRow`
    heading : above it on the page; columns of one heading share a line
    in_table : gives its words in tables of text, "" for nothing worth a word
    on_page : the same on the page, which has room for more
    """

    name: str
    heading: str
    in_table: Text
    on_page: Text


def _column(name: str, heading: str, in_table: Text, on_page: Text | None = None) -> Column:
    return Column(name, heading, in_table, on_page or in_table)


def _calls_of_several(row: Row) -> str:
    return f"of {row.calls} calls {_counted(row)}" if len(row.outcomes) > 1 else ""


def _counted(row: Row) -> str:
    return ", ".join(f"{count} {bucket}" for bucket, count in row.outcomes.items())


COLUMNS = (
    _column("outcomes", "calls", _calls_of_several, _counted),
    _column(
        "results", "results", lambda row: "", lambda row: ", ".join(f"{n} {name}" for name, n in row.results.items())
    ),
    _column(
        "takes_keywords",
        "keywords",
        lambda row: "not every keyword" if row.takes_keywords is False else "",
        lambda row: {None: "", True: "all taken", False: "not all taken"}[row.takes_keywords],
    ),
    _column("time_ratio", "cost", lambda row: "" if row.time_ratio is None else f"{row.time_ratio:.2g}x dense time"),
    _column("densified", "cost", lambda row: f"{format_bytes(row.densified)} densified" if row.densified else ""),
)


def _found(row: Row) -> list[Column]:
    """Return the columns that a row has."""
    return [column for column in COLUMNS if isinstance(row, MeasuredRow) or column.name in Row.__annotations__]


def measurements(row: Row) -> list[str]:
    """Return in words what was found of a function, as tables have it after its bucket."""
    return [text for column in _found(row) if (text := column.in_table(row))]


def page_lines(row: Row) -> dict[str, str]:
    """Return what the page says that was found of a function, by heading."""
    found: dict[str, list[str]] = {}
    for column in _found(row):
        if text := column.on_page(row):
            found.setdefault(column.heading, []).append(text)
    return {heading: ", ".join(texts) for heading, texts in found.items()}
