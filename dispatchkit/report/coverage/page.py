"""Coverage as one HTML page: a heat map of types by functions, with search and filters, that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

from dispatchkit.report.coverage.columns import page_lines
from dispatchkit.report.coverage.rows import OUTCOME_OF, STRUCTURED, MeasuredRow, Report, Row, short_name
from dispatchkit.report.coverage.tables import all_buckets, headline, side_by_side
from dispatchkit.report.page import filled_page
from dispatchkit.report.palette import css_class
from dispatchkit.report.table import short_location

__all__ = ["page"]


def page(reports: Sequence[Report]) -> str:
    """Return the page of several reports, a column for each; what comes from names or messages is escaped."""
    table = list(side_by_side(reports))
    names = [report.type for report in reports]
    title = f"Coverage of {', '.join(names) if len(names) < 7 else f'{len(names)} types'}"
    cells: list[dict[str, Any]] = []
    parts = {
        "title": escape(title),
        "cards": "\n".join(map(_card, reports)),
        "kinds": "".join(f"<option>{escape(kind)}</option>" for kind in sorted({_first(rows).kind for rows in table})),
        "chips": "\n".join(_chips(reports)),
        # So many columns fit on a screen that the table need not scroll in itself.
        "few": " few" if len(reports) <= 6 else "",
        "count": str(len(table)),
        "heads": "".join(f'<th scope="col">{escape(report.type)}</th>' for report in reports),
        "groups": "\n".join(_groups(reports, table, cells)),
    }
    return filled_page("dispatchkit.report.coverage", parts, cells, OUTCOME_OF)


def _first(rows: Iterable[Row | None]) -> Row:
    return next(row for row in rows if row is not None)


def _card(report: Report) -> str:
    """Return what stands above the table of one type: shares, and a bar of the buckets."""
    counted = {bucket: count for bucket, count in report.outcomes.items() if count}
    words = ", ".join(f"{count} calls {bucket}" for bucket, count in counted.items())
    spans = "".join(
        f'<span class="{css_class(bucket)}" style="flex:{count}"></span>' for bucket, count in counted.items()
    )
    samples = ", ".join(report.data().get("samples", ()))
    note = f'<p class="soft">Measured on {escape(samples)}</p>' if samples else '<p class="soft">Nothing was called</p>'
    return (
        f'<div class="card"><h2 class="name">{escape(report.type)}</h2><p>{escape(headline(report))}</p>'
        f'<div class="bar" role="img" aria-label="{escape(words)}">{spans}</div>{note}</div>'
    )


def _chips(reports: Sequence[Report]) -> Iterator[str]:
    """Yield a switch for each bucket that holds a function; it also explains the bucket."""
    for bucket, meaning in all_buckets(reports).items():
        count = sum(report.totals.get(bucket, 0) for report in reports)
        if count:
            letter = (
                f'<i class="{css_class(bucket)}" aria-hidden="true">{escape(OUTCOME_OF[bucket].letter.strip())}</i>'
            )
            yield (
                f'<li><button class="chip" type="button" aria-pressed="true" data-bucket="{bucket}" '
                f'title="{escape(meaning)}">{letter}{bucket} {count}</button></li>'
            )


def _groups(reports: Sequence[Report], table: list[list[Row | None]], cells: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the rows of each kind under a heading; what a cell shows when it is chosen is put on the list."""
    for kind in dict.fromkeys(_first(rows).kind for rows in table):
        lines = [f'<tbody><tr class="group"><th colspan="{len(reports) + 1}" scope="rowgroup">{escape(kind)}</th></tr>']
        for rows in table:
            first = _first(rows)
            if first.kind != kind:
                continue
            name = escape(short_name(first))
            columns = "".join(_cell(report, row, cells) for report, row in zip(reports, rows, strict=True))
            lines.append(
                f'<tr data-name="{escape(first.qualified_name.lower())}" data-kind="{escape(kind)}">'
                f'<th scope="row" class="name">{name}</th>{columns}</tr>'
            )
        yield "".join(lines) + "</tbody>"


def _cell(report: Report, row: Row | None, cells: list[dict[str, Any]]) -> str:
    if row is None:
        return "<td></td>"
    cells.append({"title": f"{row.qualified_name} of {report.type}", "lines": list(_lines(report, row))})
    letter = escape(OUTCOME_OF[row.bucket].letter.strip()) or "&nbsp;"
    kept = sum(row.outcomes.get(bucket, 0) for bucket in STRUCTURED)
    # A bar below the name says how many calls keep the structure where not all end alike.
    part = f' style="--k:{100 * kept / row.calls:.0f}%"' if 0 < kept < row.calls else ""
    return (
        f'<td><button type="button" tabindex="-1" class="cell {css_class(row.bucket)}" data-bucket="{row.bucket}" '
        f'data-cell="{len(cells) - 1}"{part}><b aria-hidden="true">{letter}</b><span>{row.bucket}</span></button></td>'
    )


def _lines(report: Report, row: Row) -> Iterator[tuple[str, str]]:
    """Yield what is said of a function and a type, with headings."""
    yield "bucket", row.bucket
    yield "meaning", report.buckets[row.bucket]
    if row.note:
        yield "note", row.note
    for rule in row.rules:
        entered = f", {rule.entered} calls come to it" if row.calls else ""
        yield "rule", f"({rule.types}) {short_location(rule.location)}{entered}"
    yield from page_lines(row).items()
    if isinstance(row, MeasuredRow) and row.problem:
        yield "problem", row.problem
