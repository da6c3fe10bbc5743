"""Coverage on a terminal: in colour where rich is installed, else as plain text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dispatchkit.report.coverage.columns import measurements
from dispatchkit.report.coverage.rows import OUTCOME_OF, MeasuredRow, short_name
from dispatchkit.report.coverage.tables import short_location

if TYPE_CHECKING:
    from dispatchkit.report.coverage.coverage import Coverage

__all__ = ["rich_view", "show"]


def show(report: Any) -> None:
    """Print a report: by rich on a terminal where it is installed."""
    if sys.stdout.isatty() and hasattr(report, "__rich__"):
        try:
            from rich.console import Console  # noqa: PLC0415  # an optional dependency
        except ImportError:
            pass
        else:
            Console().print(report)
            return
    sys.stdout.write(f"{report}\n")


def rich_view(report: Coverage) -> Any:
    """Return a report as rich prints it.

    Raises
    ------
    ImportError : where rich is not installed
    """
    try:
        from rich.console import Group  # noqa: PLC0415  # an optional dependency
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("coverage in colour needs rich: pip install dispatchkit[rich]") from error

    def coloured(bucket: str) -> Text:
        return Text(bucket, OUTCOME_OF[bucket].colours.dark_edge)

    totals = Table("bucket", "functions", "per cent", "what it means", title=f"coverage of {report.type}")
    for bucket, count in report.totals.items():
        if count:
            share = f"{100 * count / len(report.rows):.0f} %"
            totals.add_row(coloured(bucket), str(count), share, report.buckets[bucket])
    functions = Table("function", "kind", "bucket", "details")
    for row in report.rows:
        parts = [short_location(row.location), row.note]
        if isinstance(row, MeasuredRow):
            parts += [*measurements(row), row.problem]
        details = Text("  ".join(part for part in parts if part))
        functions.add_row(short_name(row), row.kind, coloured(row.bucket), details)
    shares = f"{report.percent:.0f} % of the functions answer, {report.structured_percent:.0f} % keep the structure"
    return Group(totals, functions, Text(shares))
