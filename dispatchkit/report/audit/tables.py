"""An audit as a document: who wins most calls of each pair, how calls are answered, and the findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from dispatchkit.protocol.outcome import OUTCOMES
from dispatchkit.report.audit.findings import KINDS, Finding
from dispatchkit.report.audit.pairs import SHARES, Pair
from dispatchkit.report.table import Document, Names, Part, Table, Title, short_location

__all__ = ["Audited", "audit_document", "finding_lines", "short_operation"]

LISTED = 8  # operations or combinations of types that a finding lists
WIDEST = 100  # columns of a table of pairs; above, winners are shares by their letters
LETTERS = {one.share: one.letter.strip() or "x" for one in reversed(OUTCOMES) if one.share}


class Audited(Protocol):
    """What showing an audit knows of it."""

    @property
    def types(self) -> Sequence[str]:
        """Names of the types."""

    @property
    def pairs(self) -> Sequence[Pair]:
        """One for each ordered pair, row by row."""

    @property
    def findings(self) -> Sequence[Finding]:
        """What was found, the worst first."""

    @property
    def totals(self) -> Mapping[str, int]:
        """Number of findings of each kind."""


def audit_document(audit: Audited) -> Document:
    """Return pairs, shares and findings."""
    count = len(audit.pairs[0].rows)
    note = f"{count} {'call' if count == 1 else 'calls'} of two arrays for each ordered pair"
    title = (
        Title("audit of", 1, audit.types) if len(audit.types) < 9 else Title(f"audit of {len(audit.types)} types", 1)
    )
    parts: list[Part] = [Title(title.text, 1, title.names, note), *_matrix(audit)]
    total = Counter[str]()
    for pair in audit.pairs:
        total.update(pair.shares)
    rows = [(share, str(total[share]), meaning) for share, meaning in SHARES.items() if total[share]]
    parts.append(Table(("answered by", "calls", "what it means"), rows, right=(1,), code=()))
    counts = ", ".join(f"{count} {kind}" for kind, count in audit.totals.items() if count)
    parts.append(f"  findings: {counts or 'none'}")
    for kind, meaning in KINDS.items():
        found = [finding for finding in audit.findings if finding.kind == kind]
        if found:
            lines = [(f"{number}.", line) for number, finding in enumerate(found, 1) for line in _numbered(finding)]
            shown = [(number if first else "", line) for number, (first, line) in lines]
            parts += [Title(f"{kind}: {meaning}"), Table(("", ""), shown, code=())]
    return Document(parts)


def _numbered(finding: Finding) -> Iterator[tuple[bool, str]]:
    for place, line in enumerate(finding_lines(finding)):
        yield place == 0, line


def _matrix(audit: Audited) -> Iterator[Part]:
    """Yield a table with a row for each first argument: who wins most calls with each second one."""
    count = len(audit.types)
    rows = [audit.pairs[place * count : (place + 1) * count] for place in range(count)]
    cells = [list(map(_cell, row)) for row in rows]
    if sum(max(map(len, column)) + 2 for column in zip(audit.types, *cells, strict=True)) > WIDEST:
        heads = [str(number) for number in range(1, count + 1)]
        used = {share for pair in audit.pairs for share in list(pair.shares)[:1]}
        yield Names([f"{number}={name}" for number, name in zip(heads, audit.types, strict=True)])
        yield Names([f"{LETTERS[share]}={share}" for share in SHARES if share in used], "How most calls are answered:")
        cells = [[LETTERS[max(pair.shares, key=lambda s, p=pair: p.shares[s])] for pair in row] for row in rows]  # type: ignore[misc]
    else:
        heads = list(audit.types)
    lines = [(name, *row) for name, row in zip(audit.types, cells, strict=True)]
    yield Table(("first \\ second", *heads), lines, code_heads=range(1, count + 1))


def _cell(pair: Pair) -> str:
    raising = sum(not row.winner for row in pair.rows)
    parts = [f"{name} {count}" for name, count in list(pair.winners.items())[:1]]
    return ", ".join([*parts, *([f"raises {raising}"] if raising else [])])


def finding_lines(finding: Finding) -> list[str]:
    """Return a finding with its operations and types, and its places where the text does not have them."""
    types = _listed([f"({', '.join(names)})" for names in finding.types])
    lines = finding.text.splitlines()
    if finding.operations:
        lines.append(f"in {_listed([short_operation(name) for name in finding.operations])} with {types}")
    missing = [short_location(place) for place in finding.locations if place not in finding.text]
    return [*lines, *([f"at {_listed(missing)}"] if missing else [])]


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return ", ".join(texts[:LISTED]) + more


def short_operation(name: str) -> str:
    """Return the name of an operation without the library's own.

    >>> short_operation("dispatchkit.linalg.solve"), short_operation("units.scale")
    ('linalg.solve', 'units.scale')
    """
    return name.removeprefix("dispatchkit.")
