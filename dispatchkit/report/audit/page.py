"""An audit: its tables, and its HTML page, a picture of types by types."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from itertools import groupby
from pathlib import Path

from dispatchkit.protocol.handlers import type_name
from dispatchkit.report.audit.findings import KINDS, Finding
from dispatchkit.report.audit.pairs import SHARES, Pair, PairRow
from dispatchkit.report.documents import (
    Document,
    Names,
    Part,
    Reported,
    Table,
    Title,
    css_class,
    filled_page,
    numbered_table,
    save_as,
    short_location,
)
from dispatchkit.report.outcomes import OUTCOMES

LISTED = 8  # operations or combinations of types that a finding lists
WIDEST = 100  # columns of a table of pairs; above, winners are shares by their letters
LETTERS = {one.share: one.letter for one in OUTCOMES if one.share and one.letter.strip()}


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
        note = f"{count} {'call' if count == 1 else 'calls'} of two arrays for each ordered pair"
        heading, names = ("audit of", self.types) if len(self.types) < 9 else (several, ())
        parts: list[Part] = [Title(heading, 1, names, note), *_matrix(self)]
        total = Counter(row.share for pair in self.pairs for row in pair.rows)
        rows = [(share, str(total[share]), meaning) for share, meaning in SHARES.items() if total[share]]
        parts.append(Table(("answered by", "calls", "what it means"), rows, right=(1,), code=()))
        counts = ", ".join(f"{count} {kind}" for kind, count in self.totals.items() if count)
        parts.append(f"  findings: {counts or 'none'}")
        for kind, meaning in KINDS.items():
            texts = ["\n".join(finding_lines(finding)) for finding in self.of_kind(kind)]
            parts += [Title(f"{kind}: {meaning}"), numbered_table(texts)] if texts else []
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
                "calls": [{name: getattr(row, name) for name in PairRow.__slots__} for row in pair.rows],
            }
            for pair in self.pairs
        ]
        findings = list(map(asdict, self.findings))
        return json.dumps({"types": self.types, "totals": self.totals, "findings": findings, "pairs": pairs})

    def _repr_html_(self) -> str:
        """Return the document with how most calls of each pair end, in colours, in front."""
        title, *parts = self.document().parts
        shares = [[pair.share for pair in row] for row in _by_first(self)]
        lines = [(name, *row) for name, row in zip(self.types, shares, strict=True)]
        return Document([title, Table(("first \\ second", *self.types), lines), *parts]).html()

    def to_html(self) -> str:
        """Return one HTML page that needs nothing else: pairs that open to their calls, filters, and the findings."""
        return audit_page(self)

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


def _matrix(audit: Audit) -> Iterator[Part]:
    """Yield a table with a row for each first argument: who wins most calls with each second one."""
    count, rows = len(audit.types), _by_first(audit)
    cells = [list(map(_cell, row)) for row in rows]
    if sum(max(map(len, column)) + 2 for column in zip(audit.types, *cells, strict=True)) > WIDEST:
        heads = [str(number) for number in range(1, count + 1)]
        used = {pair.share for pair in audit.pairs}
        yield Names([f"{number}={name}" for number, name in zip(heads, audit.types, strict=True)])
        yield Names([f"{LETTERS[share]}={share}" for share in SHARES if share in used], "How most calls are answered:")
        cells = [[LETTERS[pair.share] for pair in row] for row in rows]
    else:
        heads = list(audit.types)
    lines = [(name, *row) for name, row in zip(audit.types, cells, strict=True)]
    yield Table(("first \\ second", *heads), lines, code_heads=range(1, count + 1))


def _by_first(audit: Audit) -> list[tuple[Pair, ...]]:
    """Return the pairs in rows, one for each first argument."""
    count = len(audit.types)
    return [audit.pairs[place * count : (place + 1) * count] for place in range(count)]


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
    more = f" and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return ", ".join(texts[:LISTED]) + more


def audit_page(audit: Audit) -> str:
    """Return the page of an audit; what comes from names or messages is escaped."""
    count = len(audit.types)
    answers: dict[tuple[str, str, str], int] = {}
    pairs = [
        [answers.setdefault((row.share, row.winner, row.answer), len(answers)) for row in pair.rows]
        for pair in audit.pairs
    ]
    first = audit.pairs[0]
    used = [share for share in SHARES if any(share in pair.shares for pair in audit.pairs)]
    operations = [row.operation.removeprefix("dispatchkit.") for row in first.rows]
    data = {
        "types": list(audit.types),
        # Two parameters of one operation may both take the two arrays, so a call says more than its operation.
        "calls": [row.call.replace(first.left, "…") for row in first.rows],
        "operations": operations,
        "shares": used,
        "classes": [css_class(share) for share in used],
        "letters": [LETTERS[share] for share in used],
        "answers": [[used.index(share), winner, answer] for share, winner, answer in answers],
        "pairs": [_run_lengths(numbers) for numbers in pairs],
        "groups": alike(audit.types, audit.pairs),
    }
    title = f"Audit of {', '.join(audit.types) if count < 7 else f'{count} types'}"
    findings = "".join(
        f'<li data-kind="{finding.kind}"><b>{finding.kind}</b> {"<br>".join(map(escape, finding_lines(finding)))}</li>'
        for finding in audit.findings
    )
    chips = "".join(
        f'<li><button class="chip" type="button" aria-pressed="true" data-share="{place}" '
        f'title="{escape(SHARES[share])}">'
        f'<i class="{css_class(share)}" aria-hidden="true">{LETTERS[share]}</i>{share}</button></li>'
        for place, share in enumerate(used)
    )
    parts = {
        "title": escape(title),
        "chips": chips,
        "operations": "".join(f"<option>{escape(name)}</option>" for name in dict.fromkeys(operations)),
        "findings": findings or "<li>Nothing was found.</li>",
        "totals": ", ".join(f"{n} {kind}" for kind, n in audit.totals.items() if n) or "none",
    }
    return filled_page("dispatchkit.report.audit", parts, data, used)


def _run_lengths(numbers: Sequence[int]) -> list[int]:
    """Return numbers as pairs of a number and how often it follows itself."""
    return [entry for number, run in groupby(numbers) for entry in (number, len(list(run)))]


def alike(types: Sequence[str], pairs: Sequence[Pair]) -> list[list[int]]:
    """Return the places of types in groups: those of one group share their calls out in the same ways.

    Two types are alike if they are alone, and as first and as second argument are with as many other types, answered
    in the same way. Groups that are answered by the same ways most stand together.
    """
    count = len(types)
    shares = [tuple(pair.shares.items()) for pair in pairs]
    groups: dict[object, list[int]] = {}
    for place in range(count):
        row = Counter(shares[place * count + other] for other in range(count) if other != place)
        column = Counter(shares[other * count + place] for other in range(count) if other != place)
        key = (shares[place * count + place], frozenset(row.items()), frozenset(column.items()))
        groups.setdefault(key, []).append(place)
    return sorted(groups.values(), key=lambda group: [-n for _, n in sorted(shares[group[0] * count + group[0]])])
