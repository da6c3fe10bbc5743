"""An audit: its tables, and its HTML page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

from dispatchkit.marks import override
from dispatchkit.protocol.naming import type_name
from dispatchkit.report.auditing.findings import KINDS, Finding
from dispatchkit.report.auditing.pairs import SHARES, Pair, PairRow
from dispatchkit.report.documents import (
    Document,
    Names,
    Part,
    Reported,
    Table,
    Title,
    breakable,
    css_class,
    filled_page,
    numbered_table,
    save_as,
    short_location,
)
from dispatchkit.report.outcomes import OUTCOMES
from dispatchkit.wording import plural

LISTED = 8  # operations or combinations of types that a finding lists
WIDEST = 100  # columns of a table of pairs; above, winners are shares by their letters
MOST = 12  # types of which a page has a matrix with the numbers of calls
LETTERS = {one.share: one.letter for one in OUTCOMES if one.share and one.letter.strip()}


@dataclass(frozen=True, slots=True)
class SharesTable(Table):
    """How the calls of each pair are answered: each way with its number of calls, and all of them as a bar."""

    rows: Sequence[Sequence[Pair]]  # type: ignore[assignment]  # in the place of their texts

    @override
    def texts(self) -> Iterator[str]:
        for pairs in self.rows:
            for pair in pairs:
                yield from pair.shares

    @override
    def html(self) -> str:
        heads = "".join(f'<th scope="col">{breakable(name)}</th>' for name in self.heads)
        body = "".join(
            f'<tr><th scope="row">{breakable(pairs[0].left)}</th>{"".join(map(_shares_cell, pairs))}</tr>'
            for pairs in self.rows
        )
        used = dict.fromkeys(self.texts())
        legend = "".join(
            f'<li><i class="o {css_class(share)}">{LETTERS.get(share, "-")}</i> {escape(share)}</li>'
            for share in SHARES
            if share in used
        )
        return (
            f'<div class="scroll"><table class="shares"><thead><tr>{heads}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
            f'<ul class="legend">{legend}</ul>'
        )


def _shares_cell(pair: Pair) -> str:
    """Return a cell with a bar of how the calls of a pair are answered, rules first, and their numbers."""
    if not pair.rows:
        return "<td></td>"
    shares = {share: pair.shares[share] for share in SHARES if pair.shares.get(share)}
    bar = "".join(f'<span class="{css_class(share)}" style="flex:{count}"></span>' for share, count in shares.items())
    numbers = " ".join(
        f'<span title="{escape(share)}"><i class="o {css_class(share)}">{LETTERS.get(share, "-")}</i>{count}</span>'
        for share, count in shares.items()
    )
    return f'<td><div class="bar" aria-hidden="true">{bar}</div><div class="numbers">{numbers}</div></td>'


@dataclass(frozen=True, repr=False)
class Audit(Reported):
    """Who answers which pair of types, and what was found; prints as a table.

    Attributes
    ----------
    types : names of the types
    pairs : one for each ordered pair, row by row
    findings : what was found, the worst first
    """

    types: tuple[str, ...]
    pairs: tuple[Pair, ...]
    findings: tuple[Finding, ...]

    @property
    def totals(self) -> dict[str, int]:
        """Number of findings of each kind, in the order of `KINDS`."""
        counted = Counter(finding.kind for finding in self.findings)
        return {kind: counted[kind] for kind in KINDS}

    def __getitem__(self, types: tuple[str | type, str | type]) -> Pair:
        """Return an ordered pair, by its types or their names.

        Raises
        ------
        KeyError : if it was not audited
        """
        left, right = types
        for pair in self.pairs:
            if _is(left, pair.left) and _is(right, pair.right):
                return pair
        raise KeyError(f"the audit is of {', '.join(self.types)}, not of {types!r}")

    def of_kind(self, kind: str) -> tuple[Finding, ...]:
        """Return the findings of a kind.

        Raises
        ------
        KeyError : if there is no such kind
        """
        if kind not in KINDS:
            raise KeyError(f"no finding is of kind {kind!r}; kinds are {', '.join(KINDS)}")
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def document(self) -> Document:
        """Return pairs, shares and findings."""
        count, several = len(self.pairs[0].rows), f"audit of {len(self.types)} types"
        note = f"{count} {plural('call', count)} of two arrays for each ordered pair"
        if len(self.types) < 9:
            heading, names = "audit of", self.types
        else:
            heading, names = several, ()
        parts: list[Part] = [Title(heading, 1, names, note), *_matrix(self)]
        total = Counter(row.share for pair in self.pairs for row in pair.rows)
        rows = [(share, str(total[share]), meaning) for share, meaning in SHARES.items() if total[share]]
        parts.append(Table(("answered by", "calls", "what it means"), rows, right=(1,), code=()))
        counts = ", ".join(f"{count} {kind}" for kind, count in self.totals.items() if count)
        parts.append(f"  findings: {counts or 'none'}")
        for kind, meaning in KINDS.items():
            texts = ["\n".join(finding_lines(finding)) for finding in self.of_kind(kind)]
            if texts:
                parts += [Title(f"{kind}: {meaning}", is_open=True), numbered_table(texts)]
        return Document(parts)

    def to_json(self) -> str:
        """Return the audit as JSON text.

        Returns
        -------
        an object with ``types`` (names), ``totals`` (an object: kind to number of findings), ``findings`` (a list of
        objects with ``kind``, ``operations``, ``types``, ``text`` and ``locations``) and ``pairs`` (a list of objects
        with ``left``, ``right``, ``winners`` and ``shares`` (objects: type or share to number of calls) and
        ``calls``: a list of objects with the attributes of `PairRow`)
        """
        pairs = [
            {
                "left": pair.left,
                "right": pair.right,
                "winners": pair.winners,
                "shares": pair.shares,
                "calls": list(map(_row_data, pair.rows)),
            }
            for pair in self.pairs
        ]
        findings = list(map(asdict, self.findings))
        return json.dumps({"types": self.types, "totals": self.totals, "findings": findings, "pairs": pairs})

    def _coloured_parts(self) -> list[Part]:
        """Return the parts of the document; how most calls of each pair end is in front, in colours."""
        title, *parts = self.document().parts
        if len(self.types) > MOST:
            return [title, *parts]
        of_winners = len(list(_matrix(self)))
        return [title, SharesTable(("first \\ second", *self.types), _by_first(self)), *parts[of_winners:]]

    def _repr_html_(self) -> str:
        return Document(self._coloured_parts()).html()

    def to_html(self) -> str:
        """Return one HTML page that needs nothing else: the document, and the calls of pairs, which open on request."""
        if len(self.types) < 7:
            types = ", ".join(self.types)
        else:
            types = f"{len(self.types)} types"
        title = f"Audit of {types}"
        document = Document([*self._coloured_parts(), *_calls_of_pairs(self.pairs)])
        return filled_page("dispatchkit.report", {"title": escape(title), "document": document.html()}, None, ())

    def save(self, path: str | Path) -> None:
        """Write the page to a file.

        Raises
        ------
        ValueError : if its name does not end in ``.html``
        """
        save_as("audit", path, {".html": self.to_html})


def _is(asked: str | type, name: str) -> bool:
    if isinstance(asked, type):
        return name in (type_name(asked), f"{asked.__module__}.{type_name(asked)}")
    return asked == name


def _is_wide(audit: Audit) -> bool:
    """Return whether a table of who wins is too wide to be read."""
    cells = [list(map(_cell, row)) for row in _by_first(audit)]
    return sum(max(map(len, column)) + 2 for column in zip(audit.types, *cells, strict=True)) > WIDEST


def _matrix(audit: Audit) -> Iterator[Part]:
    """Yield a table with a row for each first argument: who wins most calls with each second one; of many types how."""
    rows, corner = _by_first(audit), "first \\ second"
    code_heads = range(1, len(audit.types) + 1)
    if not _is_wide(audit):
        yield Table((corner, *audit.types), [(row[0].left, *map(_cell, row)) for row in rows], code_heads=code_heads)
        return
    heads = [str(number) for number in code_heads]
    lines = []
    for row in rows:
        marks = [LETTERS[pair.share] for pair in row]
        lines.append((row[0].left, *marks))
    shares = {pair.share for pair in audit.pairs}
    letters = {LETTERS[share]: share for share in SHARES if share in shares}
    yield Table((corner, *heads), lines, code_heads=code_heads, outcomes=letters)
    yield Names([f"{letter}={share}" for letter, share in letters.items()], "How most calls are answered:")
    yield Names([f"{number}={name}" for number, name in zip(heads, audit.types, strict=True)])


def _row_data(row: PairRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in PairRow.__slots__}


def _by_first(audit: Audit) -> list[tuple[Pair, ...]]:
    """Return the pairs in rows, one for each first argument."""
    count = len(audit.types)
    return [audit.pairs[place * count : (place + 1) * count] for place in range(count)]


def _calls_of_pairs(pairs: Iterable[Pair]) -> Iterator[Part]:
    """Yield for the pairs whose calls end alike a table with a line for each way in which they end."""
    groups: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for pair in pairs:
        calls: dict[tuple[str, str, str], dict[str, None]] = {}
        for row in pair.rows:
            if row.winner == pair.left:
                winner = "the first"
            elif row.winner == pair.right:
                winner = "the second"
            else:
                winner = row.winner
            calls.setdefault((row.share, winner, row.answer), {})[row.operation.removeprefix("dispatchkit.")] = None
        lines = tuple([(*way, ", ".join(names)) for way, names in calls.items()])
        groups.setdefault(lines, []).append(f"({pair.left}, {pair.right})")
    for rows, alike in groups.items():
        yield Title(f"calls of {_list_some(alike)}")
        yield Table(("answered by", "winner", "answer", "functions"), rows, code=())


def _cell(pair: Pair) -> str:
    raising = sum(not row.winner for row in pair.rows)
    parts = [f"{name} {count}" for name, count in list(pair.winners.items())[:1]]
    return ", ".join([*parts, *([f"raises {raising}"] if raising else [])])


def finding_lines(finding: Finding) -> list[str]:
    """Return a finding with its operations and types, and its places where the text does not have them."""
    types = _list_some([f"({', '.join(names)})" for names in finding.types])
    lines = finding.text.splitlines()
    if finding.operations:
        operations = [name.removeprefix("dispatchkit.") for name in finding.operations]
        lines.append(f"in {_list_some(operations)} with {types}")
    missing = [short_location(place) for place in finding.locations if place not in finding.text]
    return [*lines, *([f"at {_list_some(missing)}"] if missing else [])]


def _list_some(texts: Sequence[str]) -> str:
    more = ""
    if len(texts) > LISTED:
        more = f" and {len(texts) - LISTED} more"
    return ", ".join(texts[:LISTED]) + more
