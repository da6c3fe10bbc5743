"""An audit as plain text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dispatchkit.report.audit.findings import KINDS, Finding
from dispatchkit.report.audit.pairs import SHARES, Pair
from dispatchkit.report.table import short_location

if TYPE_CHECKING:
    from dispatchkit.report.audit.audit import Audit

__all__ = ["markdown_audit", "short_operation", "text_audit"]

LISTED = 8  # operations or combinations of types that a finding lists


def text_audit(audit: Audit) -> str:
    """Return the pairs with who wins most calls, how calls are answered, and the findings."""
    lines = [f"audit of {', '.join(audit.types)}: {_calls(audit)} for each ordered pair", ""]
    lines += _matrix(audit)
    lines += ["", *_shares(audit), ""]
    lines.append(f"  {_counted(audit)}")
    for kind, meaning in KINDS.items():
        found = audit.of_kind(kind)
        if found:
            lines += ["", f"  {kind}: {meaning}"]
        for number, finding in enumerate(found, 1):
            lines += _finding(finding, number)
    return "\n".join(line.rstrip() for line in lines)


def _calls(audit: Audit) -> str:
    count = len(audit.pairs[0].rows)
    return f"{count} {'call' if count == 1 else 'calls'} of two arrays"


def _counted(audit: Audit) -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in audit.totals.items() if count)
    return f"findings: {counts or 'none'}"


def _matrix(audit: Audit) -> Iterator[str]:
    """Yield a line for each first argument, with who wins most calls beside each second one."""
    corner = "first \\ second"
    grid = [[corner, *audit.types]]
    count = len(audit.types)
    for place, name in enumerate(audit.types):
        grid.append([name, *map(_cell, audit.pairs[place * count : (place + 1) * count])])
    widths = [max(len(row[column]) for row in grid) for column in range(count + 1)]
    for row in grid:
        yield "  " + "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True))


def _cell(pair: Pair) -> str:
    winners = pair.winners
    raising = sum(not row.winner for row in pair.rows)
    parts = [f"{name} {count}" for name, count in list(winners.items())[:1]]
    if raising:
        parts.append(f"raises {raising}")
    return ", ".join(parts)


def _shares(audit: Audit) -> Iterator[str]:
    for share, meaning in SHARES.items():
        count = sum(pair.shares.get(share, 0) for pair in audit.pairs)
        if count:
            yield f"  {share:<12}{count:>6}  {meaning}"


def _finding(finding: Finding, number: int) -> Iterator[str]:
    first, *more = finding.text.splitlines()
    yield f"  {number:>3}. {first}"
    for line in [*more, *_where(finding)]:
        yield f"       {line}"


def _where(finding: Finding) -> Iterator[str]:
    """Yield the operations and types of a finding, and its places where the text does not say them."""
    types = _listed([f"({', '.join(names)})" for names in finding.types])
    if finding.operations:
        yield f"in {_listed([short_operation(name) for name in finding.operations])} with {types}"
    missing = [short_location(place) for place in finding.locations if place not in finding.text]
    if missing:
        yield f"at {_listed(missing)}"


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return ", ".join(texts[:LISTED]) + more


def short_operation(name: str) -> str:
    """Return the name of an operation without the library's own.

    >>> short_operation("dispatchkit.linalg.solve"), short_operation("units.scale")
    ('linalg.solve', 'units.scale')
    """
    return name.removeprefix("dispatchkit.")


def markdown_audit(audit: Audit) -> str:
    """Return a table of pairs with who wins most calls, one of the ways to answer, and the findings."""
    names = " | ".join(f"`{name}`" for name in audit.types)
    lines = [
        f"# Audit of {', '.join(f'`{name}`' for name in audit.types)}",
        "",
        f"{_calls(audit)} for each ordered pair; a row for each type of the first, with who wins most calls.",
        "",
        f"| | {names} |",
        "| --- |" + " --- |" * len(audit.types),
    ]
    count = len(audit.types)
    for place, name in enumerate(audit.types):
        cells = " | ".join(map(_cell, audit.pairs[place * count : (place + 1) * count]))
        lines.append(f"| `{name}` | {cells} |")
    lines += ["", "| answered by | calls | what it means |", "| --- | ---: | --- |"]
    for share, meaning in SHARES.items():
        total = sum(pair.shares.get(share, 0) for pair in audit.pairs)
        if total:
            lines.append(f"| {share} | {total} | {meaning} |")
    lines += ["", f"{_counted(audit).capitalize()}."]
    for kind, meaning in KINDS.items():
        found = audit.of_kind(kind)
        if found:
            lines += ["", f"## {kind.capitalize()}", "", f"{meaning.capitalize()}.", ""]
        for finding in found:
            text = " ".join([*finding.text.splitlines(), *_where(finding)])
            lines.append(f"- {_escaped(text)}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    for sign in "\\`*_<":
        text = text.replace(sign, f"\\{sign}")
    return text
