"""The columns of a coverage report: what text, Markdown and the page say of a row besides its bucket.

To add a column, add an entry to `COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dispatchkit.report.covering.rows import MeasuredRow, Row, counts_text
from dispatchkit.wording import format_bytes

__all__ = ["COLUMNS", "Column", "lines_on_page", "words_in_table"]

# Gives the words for a row, "" for nothing worth a word.
Text = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Column:
    """One fact of a row.

    Attributes
    ----------
    name : of the attribute of `Row` or `MeasuredRow`
    heading : above it on the page
    in_table : its words in tables of text, which have little room
    on_page : its words on the page
    """

    name: str
    heading: str
    in_table: Text
    on_page: Text

    def belongs_to(self, row: Row) -> bool:
        """Return whether a row has the fact: some are there only once the calls are made."""
        return isinstance(row, MeasuredRow) or self.name in Row.__dataclass_fields__


def _calls(row: Row) -> str:
    return counts_text(row.outcomes)


def _calls_of_several_outcomes(row: Row) -> str:
    if len(row.outcomes) < 2:
        return ""
    return f"of {row.calls} calls {counts_text(row.outcomes)}"


def _results(row: MeasuredRow) -> str:
    return counts_text(row.results)


def _nothing(row: Row) -> str:
    return ""


def _keywords(row: MeasuredRow) -> str:
    if row.takes_keywords is None:
        return ""
    if row.takes_keywords:
        return "all taken"
    return "not all taken"


def _missing_keywords(row: MeasuredRow) -> str:
    if row.takes_keywords is False:
        return "not every keyword"
    return ""


def _densified(row: MeasuredRow) -> str:
    if not row.densified:
        return ""
    return f"{format_bytes(row.densified)} densified"


def _problem(row: MeasuredRow) -> str:
    return row.problem


COLUMNS = (
    Column("outcomes", "calls", _calls_of_several_outcomes, _calls),
    Column("results", "results", _nothing, _results),
    Column("takes_keywords", "keywords", _missing_keywords, _keywords),
    Column("densified", "cost", _densified, _densified),
    Column("problem", "problem", _problem, _problem),
)


def words_in_table(row: Row) -> Iterator[str]:
    """Yield what tables of text say of a row, column by column."""
    for column in COLUMNS:
        if column.belongs_to(row) and column.in_table(row):
            yield column.in_table(row)


def lines_on_page(row: Row) -> Iterator[tuple[str, str]]:
    """Yield what the page says of a row, column by column, each with its heading."""
    for column in COLUMNS:
        if column.belongs_to(row) and column.on_page(row):
            yield column.heading, column.on_page(row)
