"""Coverage as a document of tables, and as one HTML page: a heat map of types by functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import chain
from typing import Any

from dispatchkit.protocol.fallbacks.strategies import Dense
from dispatchkit.report.covering.columns import lines_on_page, words_in_table
from dispatchkit.report.covering.rows import OUTCOME_OF, STRUCTURED, UNCOUNTED, Report, Row, share, structured_range
from dispatchkit.report.documents import (
    Document,
    Names,
    Part,
    Table,
    Title,
    breakable,
    css_class,
    filled_page,
    short_location,
)
from dispatchkit.wording import format_bytes, plural

# Columns with names of types that fit on a line; further types are numbered.
WIDEST = 100
ADVISED = 3  # types for which a page says what to write next
DENSE = Dense.outcome.name


def per_cent(value: float) -> str:
    """Write a share without decimals; less than all is never 100, more than nothing never 0.

    >>> per_cent(99.96), per_cent(0.2), per_cent(50.0)
    ('> 99 %', '< 1 %', '50 %')
    """
    if 99.5 <= value < 100:
        return "> 99 %"
    if 0 < value < 0.5:
        return "< 1 %"
    return f"{value:.0f} %"


def per_cent_range(bounds: tuple[float, float]) -> str:
    """Write the least and the largest that a share can be.

    >>> per_cent_range((7.9, 10.6)), per_cent_range((0.2, 10.6)), per_cent_range((10.0, 10.0))
    ('8 to 11 %', 'up to 11 %', '10 %')
    """
    least, largest = map(per_cent, bounds)
    if least == largest:
        return largest
    if least.startswith("<"):
        return f"up to {largest}"
    return f"{least.removesuffix(' %')} to {largest}"


HEADLINE = "{} of the calls keep the structure{}, {} are answered"


def _headline(report: Report, number: Callable[[str], str]) -> str:
    """Return how many calls keep the structure, the number that a bound is compared with, and how many are answered.

    Parameters
    ----------
    report : of a type
    number : writes a share
    """
    least, most = (round(bound, 2) for bound in report.structured_range)
    bounds = ""
    if not least == most == report.gated_percent:
        bounds = f" ({number(per_cent_range(report.structured_range))}, since rules may decline)"
    return HEADLINE.format(number(f"{report.gated_percent:g} %"), bounds, number(per_cent(report.percent)))


def _in_bold(share: str) -> str:
    return f"<b>{escape(share)}</b>"


def report_document(report: Report) -> Document:
    """Return totals, shares by namespace and kind, and the functions of each bucket."""
    counts = report.outcomes
    whole = max(sum(counts.values()), 1)
    totals = [
        (bucket, str(count), str(counts[bucket] or ""), per_cent(100 * counts[bucket] / whole), report.buckets[bucket])
        for bucket, count in report.totals.items()
        if count or counts[bucket]
    ]
    totals.append(("all functions", str(len(report.rows)), str(sum(counts.values())), "", ""))
    heads = ("bucket", "functions", "calls", "of calls", "what it means")
    parts: list[Part] = [
        Title("coverage of", 1, [report.type], _headline(report, str)),
        *_samples([report]),
    ]
    parts += [
        Table(heads, totals, right=(1, 2, 3), code=()),
        _shares_by(report, "namespace"),
        _shares_by(report, "kind"),
    ]
    return Document([*parts, *_functions(report)])


def _samples(reports: Sequence[Report]) -> list[Part]:
    texts = [text for report in reports for text in report.data().get("samples", ())]
    if texts:
        return [Names(texts, "Measured on")]
    return []


def _shares_by(report: Report, name: str) -> Table:
    """Return per cent of calls answered, by namespace or kind."""
    rows = []
    for group in dict.fromkeys(getattr(row, name) for row in report.rows):
        part = [row for row in report.rows if getattr(row, name) == group]
        answered = [bucket for bucket in report.buckets if OUTCOME_OF[bucket].answered]
        kept = per_cent_range(structured_range(part))
        rows.append((group, kept, per_cent(share(part, answered)), str(len(part))))
    return Table((f"by {name}", "keep structure", "answered", "functions"), rows, right=(1, 2, 3))


def _functions(report: Report) -> Iterator[Part]:
    for bucket in report.buckets:
        rows = [row for row in report.rows if row.bucket == bucket]
        if not rows or bucket == "no array argument":
            continue
        yield Title(bucket)
        telling = [row for row in rows if OUTCOME_OF[bucket].listed or len(row.outcomes) > 1 or row.rules]
        if telling:
            lines = [(row.short_name, row.kind, row.bucket, "  ".join(details(row))) for row in telling]
            yield Table(("function", "kind", "bucket", "details"), lines)
        if len(telling) < len(rows):
            yield Names([row.short_name for row in rows if row not in telling])


def details(row: Row) -> list[str]:
    """Return what is said of a function in addition to its bucket."""
    parts = [row.note, *words_in_table(row)]
    by_place: dict[str, list[str]] = {}
    for rule in row.rules:
        by_place.setdefault(rule.location, []).append(f"({rule.types})")
    parts += [f"{', '.join(types)} {short_location(place)}" for place, types in by_place.items()]
    return [part for part in parts if part]


def all_buckets(reports: Sequence[Report]) -> dict[str, str]:
    """Return the buckets of several reports in order, with what they mean."""
    meanings = {bucket: text for report in reports for bucket, text in report.buckets.items()}
    return {bucket: meanings[bucket] for bucket in OUTCOME_OF if bucket in meanings}


def side_by_side(reports: Sequence[Report]) -> Iterator[list[Row | None]]:
    """Yield for each function its rows in all reports, None where a report does not have it."""
    by_name = [_rows_by_name(report) for report in reports]
    for name in dict.fromkeys(chain(*by_name)):
        yield [rows.get(name) for rows in by_name]


def _rows_by_name(report: Report) -> dict[str, Row]:
    return {row.qualified_name: row for row in report.rows}


def matrix(reports: Sequence[Report], *, letters: bool) -> Document:
    """Return shares, totals and buckets of several types, a column for each; nothing in it changes from run to run.

    Parameters
    ----------
    reports : of the types
    letters : whether buckets are letters, and many types numbers, so that the columns are narrow
    """
    names = [report.type for report in reports]
    if len(names) < 7:
        title = Title("coverage of", 1, names)
    else:
        title = Title(f"coverage of {len(names)} types", 1)
    parts: list[Part] = [title, *_samples(reports)]
    heads = names
    if letters and sum(len(name) + 2 for name in names) > WIDEST:
        heads = [str(number) for number in range(1, len(names) + 1)]
        parts.append(Names([f"{number}={name}" for number, name in zip(heads, names, strict=True)]))
    numbers = tuple(range(1, len(reports) + 1))
    named = numbers
    if letters:
        named = ()
    certain = [per_cent(report.structured_range[0]) for report in reports]
    possible = [per_cent(report.structured_range[1]) for report in reports]
    if certain == possible:
        totals = [("keep the structure", *certain, "of the calls")]
    else:
        totals = [
            ("keep the structure", *certain, "of the calls at least"),
            ("keep the structure", *possible, "of the calls at most"),
        ]
    totals.append(("answered", *(per_cent(report.percent) for report in reports), "of the calls"))
    for bucket, text in all_buckets(reports).items():
        counts = [report.totals.get(bucket, 0) for report in reports]
        if any(counts):
            letter = ""
            if letters:
                letter = f"{OUTCOME_OF[bucket].letter} "
            totals.append((f"{letter}{bucket}", *map(str, counts), text))
    totals.append(("all functions", *(str(len(report.rows)) for report in reports), ""))
    parts.append(Table(("", *heads, "what it means"), totals, right=numbers, code=(), code_heads=named))
    functions = []
    for rows in side_by_side(reports):
        first = next(row for row in rows if row is not None)
        if letters and first.bucket == "no array argument":
            continue
        cells = [_cell_text(row, letters) for row in rows]
        if letters:
            functions.append((first.short_name, *cells))
        else:
            functions.append((first.short_name, first.kind, *cells))
    if letters:
        shown = Table(("function", *heads), functions, right=numbers)
    else:
        shown = Table(("function", "kind", *heads), functions, code_heads=[n + 1 for n in numbers])
    parts.append(shown)
    return Document(parts)


def _cell_text(row: Row | None, letters: bool) -> str:
    """Return what a table says of a function and a type."""
    if row is None:
        return ""
    if letters:
        return OUTCOME_OF[row.bucket].letter
    return _share_of(row)


def _size_of_table(count: int) -> str:
    """Return the classes of a table with a column for each of so many reports."""
    if count <= 6:
        return ""
    if count <= 12:
        return "wide"
    return "wide many"


def _share_of(row: Row) -> str:
    """Return the bucket of a function, with how many of its calls keep the structure where not all end alike."""
    kept = sum(row.outcomes.get(bucket, 0) for bucket in STRUCTURED)
    if row.bucket in UNCOUNTED or kept in (0, row.calls):
        return row.bucket
    return f"{row.bucket} ({kept} of {row.calls} keep it)"


def page(reports: Sequence[Report]) -> str:
    """Return the page of several reports, a column for each; what comes from names or messages is escaped."""
    table = list(side_by_side(reports))
    names = [report.type for report in reports]
    if len(names) < 7:
        title = f"Coverage of {', '.join(names)}"
    else:
        title = f"Coverage of {len(names)} types"
    # So many columns fit on a screen that the table need not scroll in itself; and so many only as letters.
    few = ""
    if len(reports) <= 6:
        few = " few"
    kinds = sorted({_first(rows).kind for rows in table})
    cells: list[dict[str, Any]] = []
    sources: dict[str, Any] = {}
    for report in reports:
        sources |= report.sources()
    advised: Sequence[Report] = ()
    if len(reports) <= ADVISED:
        advised = reports
    parts = {
        "title": escape(title),
        "cards": "\n".join(map(_card, reports)),
        "kinds": "".join(f"<option>{escape(kind)}</option>" for kind in kinds),
        "chips": "\n".join(_chips(reports)),
        "few": few,
        "size": _size_of_table(len(reports)),
        "count": str(len(table)),
        "heads": "".join(f'<th scope="col">{breakable(report.type)}</th>' for report in reports),
        "groups": "\n".join(_groups(reports, table, cells)),
        "advice": "\n".join(map(_advice, advised)),
    }
    return filled_page("dispatchkit.report.covering", parts, {"cells": cells, "sources": sources}, OUTCOME_OF)


def _first(rows: Iterable[Row | None]) -> Row:
    return next(row for row in rows if row is not None)


def _card(report: Report) -> str:
    """Return what stands above the table of one type: shares, and a bar of the buckets."""
    counted = {bucket: count for bucket, count in report.outcomes.items() if count}
    label = ", ".join(f"{count} {plural('call', count)} {bucket}" for bucket, count in counted.items())
    words = _headline(report, _in_bold)
    spans = "".join(
        f'<span class="{css_class(bucket)}" style="flex:{count}"></span>' for bucket, count in counted.items()
    )
    samples = ", ".join(report.data().get("samples", ()))
    note = '<p class="soft">Nothing was called</p>'
    if samples:
        note = f'<p class="soft">Measured on {escape(samples)}</p>'
    return (
        f'<div class="card"><h2 class="name">{escape(report.type)}</h2><p>{words}</p>'
        f'<div class="bar" role="img" aria-label="{escape(label)}">{spans}</div>{note}</div>'
    )


def _advice(report: Report) -> str:
    """Return the rules to write next for a type; "" where none is known."""
    text = report.advice_text()
    if not text:
        return ""
    summary = f"<summary>What to write next for {breakable(report.type)}</summary>"
    return f'<details class="card advice" open>{summary}<pre>{escape(text)}</pre></details>'


def _cost(rows: Iterable[Row | None]) -> tuple[int, int]:
    """Return the bytes of all dense copies of a function's calls, 0 where none was made, and how many became dense."""
    listed = [row for row in rows if row is not None]
    return sum(getattr(row, "densified", 0) for row in listed), sum(row.outcomes.get(DENSE, 0) for row in listed)


def _cost_text(nbytes: int, calls: int) -> str:
    dense = f"{calls} {plural('call', calls)} dense"
    if nbytes:
        return f"{format_bytes(nbytes)}, {dense}"
    return dense


def _chips(reports: Sequence[Report]) -> Iterator[str]:
    """Yield a switch for each bucket that holds a function; it also explains the bucket."""
    for bucket, meaning in all_buckets(reports).items():
        count = sum(report.totals.get(bucket, 0) for report in reports)
        if count:
            letter = escape(OUTCOME_OF[bucket].letter.strip())
            yield (
                f'<li><button class="chip" type="button" aria-pressed="true" data-bucket="{bucket}" '
                f'title="{escape(meaning)}"><i class="{css_class(bucket)}" aria-hidden="true">{letter}</i>'
                f"{bucket} {count}</button></li>"
            )


def _groups(reports: Sequence[Report], table: list[list[Row | None]], cells: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the rows of each kind under a heading; what a cell shows when it is chosen is put on the list."""
    costly = sorted((rows for rows in table if any(_cost(rows))), key=_cost, reverse=True)
    how = "estimated from the sample calls, of which none was made"
    if any(_cost(rows)[0] for rows in costly):
        how = "measured in the sample calls"
    groups = {f"became dense, what costs most first ({how})": costly}
    for rows in table:
        if not any(_cost(rows)):
            groups.setdefault(_first(rows).kind, []).append(rows)
    for heading, listed in groups.items():
        lines = [
            f'<tbody><tr class="group"><th colspan="{len(reports) + 1}" scope="rowgroup">{escape(heading)}</th></tr>'
        ]
        for rows in listed:
            first = _first(rows)
            kind, name = first.kind, escape(first.short_name)
            if any(_cost(rows)):
                name += f'<small class="cost">{escape(_cost_text(*_cost(rows)))}</small>'
            columns = "".join(_cell(report, row, cells) for report, row in zip(reports, rows, strict=True))
            lines.append(
                f'<tr data-name="{escape(first.qualified_name.lower())}" data-kind="{escape(kind)}">'
                f'<th scope="row" class="name">{name}</th>{columns}</tr>'
            )
        if listed:
            yield "".join(lines) + "</tbody>"


def _cell(report: Report, row: Row | None, cells: list[dict[str, Any]]) -> str:
    if row is None:
        return "<td></td>"
    rules = list(dict.fromkeys(rule.location for rule in row.rules))
    title = f"{row.qualified_name} of {report.type}"
    cells.append({"title": title, "lines": list(_lines(report, row)), "rules": rules})
    letter = escape(OUTCOME_OF[row.bucket].letter.strip()) or "&nbsp;"
    kept = sum(row.outcomes.get(bucket, 0) for bucket in STRUCTURED)
    # A bar below the name says how many calls keep the structure where not all end alike.
    part = ""
    if 0 < kept < row.calls:
        part = f' style="--k:{100 * kept / row.calls:.0f}%"'
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
        entered = ""
        if row.calls:
            come = "come"
            if rule.entered == 1:
                come = "comes"
            entered = f", {rule.entered} {plural('call', rule.entered)} {come} to it"
        yield "rule", f"({rule.types}) {short_location(rule.location)}{entered}"
    yield from lines_on_page(row)
