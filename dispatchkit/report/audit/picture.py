"""The picture of an audit: types by types, each cell coloured by how its calls are answered."""

from __future__ import annotations

import html
from collections.abc import Iterator

from dispatchkit.report.audit.pairs import SHARES, Pair
from dispatchkit.report.audit.tables import Audited
from dispatchkit.report.palette import css_class, style

__all__ = ["matrix_svg"]

# Width of a character of a monospaced font in units of its size, with some room.
ASPECT = 0.61
NAME, SMALL = 12, 10
MARGIN, GAP, ROW = 20.0, 4.0, 46.0
NARROW, WIDE = 84.0, 150.0  # bounds of the width of a cell
ROUND = 6.0
LEAST = 0.05  # of a cell, that a few calls still be seen
RULES = """
& .paper { fill: var(--paper); }
& .frame { fill: none; stroke: var(--line); }
& path, & .key { fill: var(--c); }
& text { fill: var(--ink); font-size: 12px; text-anchor: middle; }
& .small { fill: var(--faint); font-size: 10px; }
& .cell .small { fill: var(--ink); }
& .left { text-anchor: start; }
& .right { text-anchor: end; }
& .winner { font-weight: 600; }
& .mark { fill: var(--ink); font-size: 11px; text-anchor: end; }
"""


def matrix_svg(audit: Audited) -> str:
    """Return the picture as a document that needs nothing else, for light and dark pages."""
    return _Matrix(audit).text()


class _Matrix:
    """Writes the picture."""

    def __init__(self, audit: Audited) -> None:
        self.audit = audit
        longest = max(map(len, audit.types))
        self.cell = min(max(ASPECT * NAME * longest + 22, NARROW), WIDE)
        self.head = min(ASPECT * NAME * longest + 14, WIDE + 40)
        self.top = MARGIN + 42.0
        self.used = [share for share in SHARES if any(share in pair.shares for pair in audit.pairs)]
        # An order decides between these.
        self.uneven = {types for one in audit.findings if one.kind == "asymmetry" for types in one.types}

    def text(self) -> str:
        """Return the whole document."""
        count = len(self.audit.types)
        legend = list(self._legend(self.top + count * ROW + 30))
        needed = max([ASPECT * SMALL * len(text) + 46 for text in self._legend_texts()], default=0.0)
        width = max(2 * MARGIN + self.head + count * self.cell, 2 * MARGIN + needed, 330.0)
        height = self.top + count * ROW + 30 + 18 * len(legend) + MARGIN - 8
        size = f'width="{width:.0f}" height="{height:.0f}"'
        box = f'viewBox="0 0 {width:.0f} {height:.0f}"'
        title = f"who answers pairs of {', '.join(self.audit.types)}"
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="dk-audit" {size} {box} role="img">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{style('.dk-audit', RULES, self.used)}</style>",
            f'<rect class="paper" {size} rx="8"/>',
            *self._heads(),
            *(self._pair(number, pair) for number, pair in enumerate(self.audit.pairs)),
            *legend,
        ]
        return "\n".join([*parts, "</svg>"])

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
        parts = [f'<g class="cell"><title>{html.escape(_words(pair))}</title>']
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

    def _legend_texts(self) -> list[str]:
        texts = [f"{share}: {SHARES[share]}" for share in self.used]
        return [*texts, *(["the order of the two decides who answers"] if self.uneven else [])]

    def _legend(self, y: float) -> Iterator[str]:
        x = MARGIN + 4
        signs = [
            f'<rect class="{css_class(share)} key" x="{x:.1f}" y="{{0:.1f}}" width="14" height="11" rx="3"/>'
            for share in self.used
        ]
        if self.uneven:
            signs.append(f'<text class="left" x="{x + 3:.1f}" y="{{1:.1f}}">≠</text>')
        for place, (sign, text) in enumerate(zip(signs, self._legend_texts(), strict=True)):
            base = y + 18 * place
            label = f'<text class="small left" x="{x + 22:.1f}" y="{base:.1f}">{html.escape(text)}</text>'
            yield f'<g class="entry">{sign.format(base - 9, base)}{label}</g>'


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
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}">{html.escape(shown)}</text>'
