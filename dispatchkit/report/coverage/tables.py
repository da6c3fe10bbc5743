"""Coverage as tables: plain text, rich, Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dispatchkit.report.coverage.columns import measurements
from dispatchkit.report.coverage.rows import OUTCOME_OF, MeasuredRow, Row, short_name

if TYPE_CHECKING:
    from dispatchkit.report.coverage.coverage import Coverage

__all__ = [
    "all_buckets",
    "markdown_matrix",
    "markdown_table",
    "short_location",
    "side_by_side",
    "text_matrix",
    "text_table",
    "wrapped_names",
]


def text_table(report: Coverage) -> str:
    """Return totals, shares by namespace and kind, and the functions of each bucket."""
    shares = f"{report.percent:.0f} % of the functions answer, {report.structured_percent:.0f} % keep the structure"
    lines = [
        f"coverage of {report.type}: {shares}",
        "",
        *_totals(report),
        "",
        *_groups(report),
        "",
        *_functions(report),
    ]
    return "\n".join(lines)


def _totals(report: Coverage) -> Iterator[str]:
    for bucket, count in report.totals.items():
        if count:
            yield f"  {bucket:<18}{count:>5}{100 * count / len(report.rows):>6.0f} %   {report.buckets[bucket]}"
    yield f"  {'all functions':<18}{len(report.rows):>5}"


def _groups(report: Coverage) -> Iterator[str]:
    """Yield per cent answered by namespace and kind."""
    for name in ("namespace", "kind"):
        yield f"  by {name:<25}{'answer':>8}{'structured':>12}{'functions':>11}"
        for group in dict.fromkeys(getattr(row, name) for row in report.rows):
            part = report.part(row for row in report.rows if getattr(row, name) == group)
            yield f"    {group:<26}{part.percent:>6.0f} %{part.structured_percent:>10.0f} %{len(part.rows):>11}"


def _functions(report: Coverage) -> Iterator[str]:
    for bucket in report.buckets:
        rows = [row for row in report.rows if row.bucket == bucket]
        if not rows or bucket == "no array argument":
            continue
        yield f"  {bucket}:"
        if OUTCOME_OF[bucket].listed:
            width = _name_width(rows)
            for row in rows:
                yield f"    {short_name(row):<{width}}{_details(row)}".rstrip()
        else:
            yield from wrapped_names([short_name(row) for row in rows])


def _name_width(rows: Iterable[Row]) -> int:
    """Return how wide a column of names is to be."""
    return max([26, *(len(short_name(row)) + 2 for row in rows)])


def _details(row: Row) -> str:
    """Return what a line says of a function beside its name."""
    parts = [row.location, row.note]
    if isinstance(row, MeasuredRow):
        parts += [*measurements(row), row.problem]
    return "  ".join(part for part in parts if part)


def wrapped_names(names: Iterable[str], width: int = 88) -> Iterator[str]:
    """Yield lines of names."""
    line = "   "
    for name in names:
        if len(line) + len(name) + 1 > width:
            yield line
            line = "   "
        line += f" {name}"
    yield line


def short_location(location: str) -> str:
    """Return file and line of a handler, below the current directory where it is there."""
    file, _, line = location.rpartition(":")
    path = Path(file)
    return f"{path.relative_to(Path.cwd())}:{line}" if file and path.is_relative_to(Path.cwd()) else location


def text_matrix(reports: Sequence[Coverage]) -> str:
    """Return totals and buckets of several types, a column for each."""
    width = max([12, *(len(report.type) + 2 for report in reports)])
    buckets = all_buckets(reports)
    listed = [rows for rows in side_by_side(reports) if _first(rows).bucket != "no array argument"]
    names = _name_width(map(_first, listed))
    lines = [f"{'coverage':<{names + 2}}" + "".join(f"{report.type:>{width}}" for report in reports)]
    lines.append(f"  {'answer':<{names}}" + "".join(f"{report.percent:>{width - 2}.0f} %" for report in reports))
    lines.append(
        f"  {'structured':<{names}}" + "".join(f"{report.structured_percent:>{width - 2}.0f} %" for report in reports)
    )
    for bucket in buckets:
        counts = [report.totals.get(bucket, 0) for report in reports]
        if any(counts):
            lines.append(
                f"  {OUTCOME_OF[bucket].letter} {bucket:<{names - 2}}"
                + "".join(f"{count:>{width}}" for count in counts)
            )
    lines.append("")
    for rows in listed:
        cells = "".join(f"{'' if row is None else OUTCOME_OF[row.bucket].letter:>{width}}" for row in rows)
        lines.append(f"  {short_name(_first(rows)):<{names}}{cells}")
    return "\n".join(line.rstrip() for line in lines)


def _first(rows: Sequence[Row | None]) -> Row:
    """Return the first row that there is, of a function's in several reports."""
    return next(row for row in rows if row is not None)


def all_buckets(reports: Sequence[Coverage]) -> dict[str, str]:
    """Return the buckets of several reports in order, with what they mean."""
    found = {bucket: text for report in reports for bucket, text in report.buckets.items()}
    return {bucket: found[bucket] for bucket in OUTCOME_OF if bucket in found}


def side_by_side(reports: Sequence[Coverage]) -> Iterator[list[Row | None]]:
    """Yield for each function its rows in all reports, None where a report does not have it."""
    by_name = [{row.qualified_name: row for row in report.rows} for report in reports]
    for name in dict.fromkeys(name for rows in by_name for name in rows):
        yield [rows.get(name) for rows in by_name]


def markdown_table(report: Coverage) -> str:
    """Return a table of totals and one of functions."""
    lines = [
        f"# Coverage of `{report.type}`",
        "",
        f"{report.percent:.0f} % of the functions answer, {report.structured_percent:.0f} % keep the structure.",
        "",
        "| bucket | functions | per cent | what it means |",
        "| --- | ---: | ---: | --- |",
    ]
    for bucket, count in report.totals.items():
        lines.append(f"| {bucket} | {count} | {100 * count / len(report.rows):.0f} | {report.buckets[bucket]} |")
    lines += [f"| all functions | {len(report.rows)} | 100 | |", ""]
    measured = any(isinstance(row, MeasuredRow) for row in report.rows)
    heads = ["function", "kind", "bucket", "handler", *(["measured", "problem"] if measured else [])]
    lines += [f"| {' | '.join(heads)} |", "| " + " | ".join("---" for _ in heads) + " |"]
    for row in report.rows:
        cells = [f"`{row.qualified_name}`", row.kind, row.bucket, row.location]
        if isinstance(row, MeasuredRow):
            cells += [", ".join(measurements(row)), row.problem]
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def markdown_matrix(reports: Sequence[Coverage]) -> str:
    """Return totals and buckets of several types, a column for each; nothing in it changes from run to run."""
    names = " | ".join(f"`{report.type}`" for report in reports)
    right, left = " | ".join("---:" for _ in reports), " | ".join("---" for _ in reports)
    lines = [f"# Coverage of {', '.join(f'`{report.type}`' for report in reports)}", ""]
    samples = [text for report in reports for text in getattr(report, "samples", ())]
    if samples:
        lines += [f"Measured on {', '.join(f'`{text}`' for text in samples)}.", ""]
    lines += [f"| bucket | {names} | what it means |", f"| --- | {right} | --- |"]
    for bucket, text in all_buckets(reports).items():
        counts = [report.totals.get(bucket, 0) for report in reports]
        if any(counts):
            lines.append(f"| {bucket} | {' | '.join(map(str, counts))} | {text} |")
    lines.append(f"| all functions | {' | '.join(str(len(report.rows)) for report in reports)} | |")
    lines.append(f"| answer | {' | '.join(f'{report.percent:.0f} %' for report in reports)} | |")
    lines.append(f"| keep the structure | {' | '.join(f'{r.structured_percent:.0f} %' for r in reports)} | |")
    lines += ["", f"| function | kind | {names} |", f"| --- | --- | {left} |"]
    for rows in side_by_side(reports):
        first = next(row for row in rows if row is not None)
        cells = " | ".join("" if row is None else row.bucket for row in rows)
        lines.append(f"| `{short_name(first)}` | {first.kind} | {cells} |")
    return "\n".join(lines) + "\n"
