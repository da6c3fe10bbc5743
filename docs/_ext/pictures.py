"""The pictures of the site, made from the code before each build: layers, the way of a call, coverage, plots."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import plots
from figures import EDGE, GAP, ROW, WIDTH, bar, box, label, svg
from notebooks import codes

import dispatchkit as dk
from dispatchkit.report.outcomes import OUTCOMES

LOOKS = {bucket: outcome for outcome in OUTCOMES for bucket in outcome.buckets}


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


def one_line(line: str) -> str:
    """Return a line of an explanation with its columns set off by a colon, as SVG shows one space for several."""
    return re.sub(r" {2,}(?!\[)", ": ", line.strip()).replace("  [", " [")


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
    steps = [one_line(line) for line in said.splitlines() if line.strip()[0].isdigit()]
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
        text = one_line(step) if len(one_line(step)) < 96 else one_line(step)[:93] + "..."
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
    return bars_of(rows)


def growth(root: Path) -> str:
    """Return how the type of a tutorial answers the calls of all operations after each of its steps."""
    page = (root / "docs" / "tutorials" / "first-type.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "first_type"}
    rows = []
    with dk.local_registrations(), redirect_stdout(StringIO()):
        for step in page.split("\n## ")[1:4]:
            for code in codes(step):
                exec(code, names)  # noqa: S102  # the page of this repository
            rows.append((f"after step {step[0]}", shares(names["Diagonal"])))
    return bars_of(rows)


def bars_of(rows: list[tuple[str, dict[str, float]]]) -> str:
    """Return a bar for each row, of a part for each bucket of coverage, and the colours of the buckets."""
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


def pictures(root: Path) -> dict[str, Callable[[], str]]:
    """Return what makes each picture, by its name."""
    return {
        "layers": lambda: layers(root),
        "asked": asked,
        "fallbacks": fallbacks,
        "coverage": coverage,
        "growth": lambda: growth(root),
        "overrides": lambda: plots.overrides(root),
        "cores": lambda: plots.cores(root),
        "steps": lambda: plots.steps(root),
        "structure": lambda: plots.structure(root),
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
