"""The pictures of the site, made from the code before each build: layers, the way of a call, coverage, costs."""

from __future__ import annotations

import html
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dispatchkit as dk
from dispatchkit.protocol.outcome import OUTCOMES

WIDTH, ROW, GAP = 760, 40, 14
STYLE = "font-family: system-ui, sans-serif; font-size: 15px"
FILL, EDGE, TEXT = "#e8eef7", "#5b7fb5", "#1d2b40"
LOOKS = {bucket: outcome for outcome in OUTCOMES for bucket in outcome.buckets}


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
            __qualname__ = "Matrix"
            shape, dtype = (2, 2), dk.float64

            def to_dense(self) -> dk.Tensor:
                return dk.eye(2)

        @dk.array_type(fallback=dk.fallback.dense)
        class Diagonal(Matrix):
            __qualname__ = "Diagonal"

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


def label(x: float, y: float, text: str, anchor: str = "start") -> str:
    """Return a line of text that light and dark pages show."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{EDGE}">{html.escape(text)}</text>'


def bar(x: float, y: float, width: float, fill: str, edge: str) -> str:
    """Return a bar."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="24" fill="{fill}" stroke="{edge}"/>'


def fallbacks() -> str:
    """Return how a call without a rule is answered, as `explain` has it."""
    with dk.local_registrations():

        @dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
        class Diagonal:
            __qualname__ = "Diagonal"
            shape, dtype = (2, 2), dk.float64

            def to_dense(self) -> dk.Tensor:
                return dk.eye(2)

        steps = [line for line in str(dk.explain(dk.softmax, Diagonal(), axis=0)).splitlines()[2:] if line.strip()]
    parts = [label(2, 18, "dk.softmax(Diagonal(), axis=0), where no rule is registered")]
    for i, step in enumerate(steps):
        inset = 20 * (step.startswith("    "))
        text = step.strip() if len(step.strip()) < 96 else step.strip()[:93] + "..."
        parts.append(box(1 + inset, 32 + i * (ROW + GAP), WIDTH - 2 - inset, text))
    return svg(32 + len(steps) * (ROW + GAP), parts, "what answers where there is no rule")


def shares(cls: type) -> dict[str, float]:
    """Return the share of the sample calls of all operations in each bucket of coverage, the best first."""
    outcomes = json.loads(dk.coverage(cls).to_json())["outcomes"]
    total = sum(outcomes.values())
    return {bucket: outcomes[bucket] / total for bucket in LOOKS if outcomes.get(bucket)}


def coverage() -> str:
    """Return how four types answer the calls of all operations: without rules, with three, and as shipped."""
    rows = []
    with dk.local_registrations():

        @dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
        class Diagonal:
            def __init__(self, d: dk.Tensor) -> None:
                self.d = d

            def to_dense(self) -> dk.Tensor:
                return dk.diag(self.d)

        rows.append(("Diagonal without rules", shares(Diagonal)))
        dk.implements(dk.add, Diagonal, Diagonal)(lambda x1, x2, /: Diagonal(x1.d + x2.d))
        dk.implements(dk.matmul, Diagonal, dk.Tensor)(lambda x1, x2, /: x1.d * x2)
        dk.implements(dk.linalg.solve, Diagonal, dk.Tensor)(lambda x1, x2, /: x2 / x1.d)
        rows.append(("Diagonal with three rules", shares(Diagonal)))
    rows += [(cls.__name__, shares(cls)) for cls in (dk.types.DiagonalTensor, dk.types.QuantityTensor)]
    left, scale = 204, WIDTH - 206
    parts = []
    for i, (name, found) in enumerate(rows):
        y, x = 8 + i * 38, float(left)
        parts.append(label(left - 8, y + 17, name, "end"))
        for bucket, share in found.items():
            parts.append(bar(x, y, share * scale, LOOKS[bucket].colours.fill, LOOKS[bucket].colours.edge))
            x += share * scale
    x, y = 2.0, 8 + len(rows) * 38 + 8
    for bucket in (bucket for bucket in LOOKS if any(bucket in found for _, found in rows)):
        width = 40 + 8.6 * len(bucket)
        if x + width > WIDTH:
            x, y = 2.0, y + 34
        parts += [bar(x, y, 18, LOOKS[bucket].colours.fill, LOOKS[bucket].colours.edge), label(x + 24, y + 17, bucket)]
        x += width
    return svg(int(y) + 32, parts, "how the sample calls of all operations are answered")


def costs(root: Path) -> str:
    """Return the ratios of the table in docs/performance.md that compare with other systems, the smallest first."""
    table = (root / "docs" / "performance.md").read_text(encoding="utf-8").partition("| ---")[2].partition("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]
    rows = sorted((float(row[4]), f"{row[0]}  /  {row[1]}") for row in cells if "Tensor" in row[1] or "__" in row[1])
    rows += sorted((float(row[4]), f"{row[0]}  /  {row[1]}") for row in cells if row[1] == "PyTorch")
    left, scale = 400, (WIDTH - 450) / 1.5
    parts = [label(left + scale, 14, "1: as fast", "middle")]
    for i, (ratio, name) in enumerate(rows):
        y = 22 + i * 28
        parts += [label(left - 8, y + 17, name, "end"), bar(left, y, min(ratio, 1.5) * scale, FILL, EDGE)]
        parts.append(label(left + min(ratio, 1.5) * scale + 6, y + 17, f"{ratio:.2f}"))
    height = 22 + len(rows) * 28
    parts.append(f'<path d="M{left + scale:g} 20V{height}" stroke="{EDGE}" stroke-dasharray="4 3"/>')
    return svg(height + 4, parts, "time of dispatchkit by time of the other system")


def pictures(root: Path) -> dict[str, Callable[[], str]]:
    """Return what makes each picture, by its name."""
    return {
        "layers": lambda: layers(root),
        "asked": asked,
        "fallbacks": fallbacks,
        "coverage": coverage,
        "costs": lambda: costs(root),
    }


def write_pictures(app: Any) -> None:
    """Write the pictures where they differ."""
    folder = Path(app.srcdir) / "_static"
    for name, made in pictures(Path(app.srcdir).parent).items():
        path, text = folder / f"{name}.svg", made()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Have the pictures made before pages name them."""
    app.connect("config-inited", lambda app, _: write_pictures(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
