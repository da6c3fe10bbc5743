"""An audit: its tables, its picture of types by types, and its HTML page."""

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
    resource,
    save_as,
    short_location,
    style,
    svg_document,
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

    def to_svg(self) -> str:
        """Return a picture of the pairs: a cell for each, coloured by how its calls are answered."""
        return Matrix(self).text()

    def to_html(self) -> str:
        """Return one HTML page that needs nothing else: pairs that open to their calls, filters, and the findings."""
        return audit_page(self)

    def save(self, path: str | Path) -> None:
        """Write the picture or the page to a file.

        Raises
        ------
        ValueError : if its name ends neither in ``.svg`` nor in ``.html``
        """
        save_as("audit", path, {".svg": self.to_svg, ".html": self.to_html})

    _repr_svg_ = to_svg


def _is(asked: str | type, name: str) -> bool:
    if isinstance(asked, type):
        return name in (type_name(asked), f"{asked.__module__}.{type_name(asked)}")
    return asked == name


def _matrix(audit: Audit) -> Iterator[Part]:
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


# Width of a character of a monospaced font in units of its size, with some room.
ASPECT = 0.61
NAME, SMALL = 12, 10
MARGIN, GAP, ROW = 20.0, 4.0, 46.0
NARROW, WIDE = 84.0, 150.0  # bounds of the width of a cell
ROUND = 6.0
LEAST = 0.05  # of a cell, that a few calls still be seen


class Matrix:
    """Writes the picture, a document that needs nothing else, for light and dark pages."""

    def __init__(self, audit: Audit) -> None:
        self.audit = audit
        longest = max(map(len, audit.types))
        self.cell = min(max(ASPECT * NAME * longest + 22, NARROW), WIDE)
        self.head = min(ASPECT * NAME * longest + 14, WIDE + 40)
        self.top = MARGIN + 42.0
        self.used = [share for share in SHARES if any(share in pair.shares for pair in audit.pairs)]
        # An order decides between these.
        self.uneven = {types for finding in audit.findings if finding.kind == "asymmetry" for types in finding.types}

    def text(self) -> str:
        """Return the whole document."""
        count = len(self.audit.types)
        bottom, legend = self.top + count * ROW + 30, self._legend()
        needed = max([ASPECT * SMALL * len(text) + 46 for _, text in legend], default=0.0)
        width = max(2 * MARGIN + self.head + count * self.cell, 2 * MARGIN + needed, 330.0)
        height = bottom + 18 * len(legend) + MARGIN - 8
        title = f"who answers pairs of {', '.join(self.audit.types)}"
        pairs = (self._pair(number, pair) for number, pair in enumerate(self.audit.pairs))
        entries = (
            f'<g class="entry" transform="translate({MARGIN + 4:.1f} {bottom + 18 * place:.1f})">{sign}'
            f'<text class="small left" x="22">{escape(text)}</text></g>'
            for place, (sign, text) in enumerate(legend)
        )
        rules = style(".dk-audit", resource("matrix.css"), self.used)
        return svg_document("dk-audit", width, height, title, rules, [*self._heads(), *pairs, *entries])

    def _heads(self) -> Iterator[str]:
        left = MARGIN + self.head
        middle = left + len(self.audit.types) * self.cell / 2
        yield f'<text class="small" x="{middle:.1f}" y="{MARGIN + 6:.1f}">second argument</text>'
        yield f'<text class="small right" x="{left - 10:.1f}" y="{self.top - 10:.1f}">first</text>'
        for place, name in enumerate(self.audit.types):
            x, y = left + (place + 0.5) * self.cell, self.top + (place + 0.5) * ROW
            yield _text("winner", x, self.top - 10, name, self.cell - 8)
            yield _text("winner right", left - 10, y + 4, name, self.head - 10)

    def _pair(self, number: int, pair: Pair) -> str:
        row, column = divmod(number, len(self.audit.types))
        x, y = MARGIN + self.head + column * self.cell + GAP / 2, self.top + row * ROW + GAP / 2
        width, height = self.cell - GAP, ROW - GAP
        parts = [f'<g class="cell"><title>{escape(_words(pair))}</title>']
        start, total = x, len(pair.rows)
        weights = {share: max(count / total, LEAST) for share, count in pair.shares.items()}
        for share, weight in weights.items():
            part = width * weight / sum(weights.values())
            first, last = start == x, share == [*weights][-1]
            parts.append(f'<path class="{css_class(share)}" d="{_strip(start, y, part, height, first, last)}"/>')
            start += part
        frame = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{ROUND:g}"'
        parts.append(f'<rect class="frame" {frame}/>')
        winner, count = next(iter(pair.winners.items()), ("nobody", total))
        parts.append(_text("winner", x + width / 2, y + 19, winner, width - 8))
        parts.append(_text("small", x + width / 2, y + 33, f"{count} of {total}", width - 8))
        if (pair.left, pair.right) in self.uneven:
            parts.append(f'<text class="mark" x="{x + width - 5:.1f}" y="{y + height - 6:.1f}">≠</text>')
        return "".join([*parts, "</g>"])

    def _legend(self) -> list[tuple[str, str]]:
        """Return signs, each drawn to the left of its text, with what they mean."""
        rect = 'key" y="-9" width="14" height="11" rx="3"/>'
        entries = [(f'<rect class="{css_class(share)} {rect}', f"{share}: {SHARES[share]}") for share in self.used]
        uneven = '<text class="left" x="3">≠</text>', "the order of the two decides who answers"
        return [*entries, *([uneven] if self.uneven else [])]


def _strip(x: float, y: float, width: float, height: float, first: bool, last: bool) -> str:
    """Return the outline of a part of a cell, round at the cell's ends."""
    left, right = (min(ROUND, width) if end else 0.0 for end in (first, last))
    return (
        f"M{x + left:.2f} {y:.1f}H{x + width - right:.2f}q{right:.2f} 0 {right:.2f} {right:.2f}"
        f"V{y + height - right:.2f}q0 {right:.2f} {-right:.2f} {right:.2f}"
        f"H{x + left:.2f}q{-left:.2f} 0 {-left:.2f} {-left:.2f}V{y + left:.2f}q0 {-left:.2f} {left:.2f} {-left:.2f}z"
    )


def _words(pair: Pair) -> str:
    """Return what a reader sees who stays on a cell."""
    winners = ", ".join(f"{name} wins {count}" for name, count in pair.winners.items()) or "nobody answers"
    shares = ", ".join(f"{count} {share}" for share, count in pair.shares.items())
    return f"({pair.left}, {pair.right}): {winners}; {shares}"


def _text(css: str, x: float, y: float, text: str, room: float) -> str:
    """Return a line of text, cut where it does not fit."""
    fits = int(room / (ASPECT * (SMALL if "small" in css else NAME)))
    shown = text if len(text) <= fits else f"{text[: fits - 1]}…"
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}">{escape(shown)}</text>'


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
