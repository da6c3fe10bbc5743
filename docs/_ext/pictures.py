"""The pictures of the site, made from the code before each build: layers, and the way of a call."""

from __future__ import annotations

import html
import tomllib
from pathlib import Path
from typing import Any

import dispatchkit as dk

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


def layers(root: Path) -> str:
    """Return the layers that the contract on imports states, the highest above."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    rows = [[name.strip(" ()") for name in row.split("|")] for row in contracts[0]["layers"]]
    parts = []
    for i, row in enumerate(rows):
        width = (WIDTH - GAP * (len(row) - 1)) / len(row) - 2
        parts += [box(1 + j * (width + GAP), 1 + i * (ROW + GAP), width, name) for j, name in enumerate(row)]
    return svg(len(rows) * (ROW + GAP), parts, "the layers of dispatchkit; imports go down only")


def asked() -> str:
    """Return who is asked about a call with two types of which one derives from the other, as `explain` has it."""
    with dk.local_registrations():

        @dk.array_type(fallback=dk.fallback.dense)
        class Matrix:
            shape, dtype = (2, 2), dk.float64

            def to_dense(self) -> dk.Tensor:
                return dk.eye(2)

        @dk.array_type(fallback=dk.fallback.dense)
        class Diagonal(Matrix):
            pass

        said = str(dk.explain(dk.add, Matrix(), Diagonal()))
    steps = [line.strip() for line in said.splitlines() if line.strip()[0].isdigit()]
    parts = [
        f'<text x="2" y="18" fill="{EDGE}">dk.add(Matrix(), Diagonal()), where Diagonal derives from Matrix</text>'
    ]
    for i, step in enumerate(steps):
        y = 32 + i * (ROW + GAP)
        parts.append(box(1, y, WIDTH - 2, step))
        if i:
            x = WIDTH / 2
            parts.append(f'<path d="M{x:g} {y - GAP:g}V{y - 2:g}" stroke="{EDGE}" stroke-width="2"/>')
    return svg(32 + len(steps) * (ROW + GAP), parts, "who is asked, in order")


def write_pictures(app: Any) -> None:
    """Write the pictures where they differ."""
    folder = Path(app.srcdir) / "_static"
    for name, text in (("layers.svg", layers(Path(app.srcdir).parent)), ("asked.svg", asked())):
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Have the pictures made before pages name them."""
    app.connect("config-inited", lambda app, _: write_pictures(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
