"""The parts of the pictures of the site: boxes, bars and lines of text as SVG, readable on light and dark pages."""

from __future__ import annotations

import html

WIDTH, ROW, GAP = 760, 40, 14
STYLE = "font-family: system-ui, sans-serif; font-size: 15px"
FILL, EDGE, TEXT = "#e8eef7", "#5b7fb5", "#1d2b40"


def svg(height: int, parts: list[str], title: str) -> str:
    """Return a picture of a width that all share."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img"'
    return f'{head} style="{STYLE}">\n<title>{html.escape(title)}</title>\n' + "\n".join(parts) + "\n</svg>\n"


def box(x: float, y: float, width: float, text: str) -> str:
    """Return a rounded box with a line of text in its middle."""
    frame = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{ROW}" rx="6" fill="{FILL}" stroke="{EDGE}"/>'
    middle = f'x="{x + width / 2:g}" y="{y + ROW / 2 + 5:g}" text-anchor="middle" fill="{TEXT}"'
    return f"{frame}<text {middle}>{html.escape(text)}</text>"


def label(x: float, y: float, text: str, anchor: str = "start") -> str:
    """Return a line of text that light and dark pages show."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{EDGE}">{html.escape(text)}</text>'


def bar(x: float, y: float, width: float, fill: str, edge: str) -> str:
    """Return a bar."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="24" fill="{fill}" stroke="{edge}"/>'
