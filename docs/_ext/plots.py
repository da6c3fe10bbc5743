"""Plots of docs/measured.json, which `tests.programs.benchmarks` writes: overrides, steps, matrices, both cores."""

from __future__ import annotations

import json
import math
import textwrap
from pathlib import Path
from typing import Any

from figures import EDGE, FILL, WIDTH, bar, label, svg

COLOURS = ("#2f80c2", "#c2682f", "#3f9a5f", "#9a5fc2")  # of lines, on light and on dark pages
LEFT, LINE = 420, 28
# Colour and radius of a dot: the second is seen on the first.
CORES = {"pure": (COLOURS[1], 6.5), "compiled": (COLOURS[0], 4.5)}


def recorded(root: Path) -> dict[str, Any]:
    """Return the record of the measurement."""
    found: dict[str, Any] = json.loads((root / "docs" / "measured.json").read_text(encoding="utf-8"))
    return found


def noted(record: dict[str, Any], height: int, parts: list[str], title: str) -> str:
    """Return a picture with the date and the versions of the measurement below."""
    lines = textwrap.wrap(f"{record['date']}: {record['versions']}", 120)
    notes = [
        f'<text x="2" y="{height + 24 + 16 * i}" fill="{EDGE}" font-size="12">{line}</text>'
        for i, line in enumerate(lines)
    ]
    return svg(height + 18 + 16 * len(lines), [*parts, *notes], title)


def bars(record: dict[str, Any], topic: str, title: str) -> str:
    """Return a bar for the ratio of each row on a topic, and a line where both sides take the same time."""
    rows = [row for row in record["rows"] if row["topic"] == topic]
    longest = max(1.0, *(row["ratio"] for row in rows))
    scale = (WIDTH - LEFT - 60) / longest
    parts = [label(LEFT + scale, 14, "1: as fast", "middle")]
    for i, row in enumerate(rows):
        y, width = 22 + i * LINE, row["ratio"] * scale
        name = f"{row['work']} / {row['reference']}".replace("`", "")
        parts += [
            label(LEFT - 8, y + 17, name, "end"),
            bar(LEFT, y, width, FILL, EDGE),
        ]
        parts.append(label(LEFT + width + 6, y + 17, f"{row['ratio']:.2f}"))
    height = 22 + len(rows) * LINE
    parts.append(f'<path d="M{LEFT + scale:g} 20V{height}" stroke="{EDGE}" stroke-dasharray="4 3"/>')
    return noted(record, height, parts, title)


def overrides(root: Path) -> str:
    """Return the time of a call that a handler answers, by that with the protocols of PyTorch and NumPy."""
    return bars(
        recorded(root), "override", "time of an overridden call in dispatchkit by its time in the other library"
    )


def steps(root: Path) -> str:
    """Return the time of a training step by that of the same step elsewhere, for each size."""
    return bars(recorded(root), "mlp", "time of a training step in dispatchkit by its time in the other program")


def dot(x: float, y: float, core: str) -> str:
    """Return the dot of a core."""
    colour, radius = CORES[core]
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius}" fill="{colour}"/>'


def cores(root: Path) -> str:
    """Return the ratio of each row without the compiled core and with it, on a logarithmic axis."""
    record = recorded(root)["cores"]
    rows = record["rows"]
    left, right, top = 372, WIDTH - 20, 66
    ratios = [row[core] for row in rows for core in CORES]
    low, high = math.floor(math.log10(min(ratios))), math.ceil(math.log10(max(ratios)))

    def across(ratio: float) -> float:
        return left + (right - left) * (math.log10(ratio) - low) / (high - low)

    height = top + len(rows) * 22
    parts = []
    for i, core in enumerate(CORES):
        parts += [dot(left + 6 + 130 * i, 13, core), label(left + 17 + 130 * i, 18, core)]
    for power in range(low, high + 1):
        x = across(10.0**power)
        parts.append(label(x, 46, "as fast" if power == 0 else f"{10.0**power:g}", "middle"))
        dashes = "" if power else ' stroke-dasharray="4 3"'
        parts.append(f'<path d="M{x:g} 54V{height}" stroke="{EDGE}" stroke-opacity="{0.3 if power else 1}"{dashes}/>')
    for i, row in enumerate(rows):
        y = top + 22 * i + 6
        parts.append(label(left - 8, y + 5, f"{row['work']} / {row['reference']}".replace("`", ""), "end"))
        ends = {core: across(row[core]) for core in CORES}
        parts.append(f'<path d="M{ends["pure"]:g} {y}H{ends["compiled"]:g}" stroke="{EDGE}" stroke-width="2"/>')
        parts += [dot(x, y, core) for core, x in ends.items()]
    return noted(record, height, parts, "dispatchkit's time by that of others, as Python and with the compiled core")


def structure(root: Path) -> str:
    """Return how many times faster structured matrices are than dense ones, by their size, on logarithmic axes."""
    record = recorded(root)
    sizes, curves = record["sizes"], record["curves"]
    times = [[1 / ratio for ratio in curve["ratios"]] for curve in curves]
    left, right, top, bottom = 70, WIDTH - 230, 24, 300
    low = math.floor(math.log10(min(min(row) for row in times)))
    high = math.ceil(math.log10(max(max(row) for row in times)))

    def across(n: float) -> float:
        return left + (right - left) * math.log(n / sizes[0]) / math.log(sizes[-1] / sizes[0])

    def up(value: float) -> float:
        return bottom - (bottom - top) * (math.log10(value) - low) / (high - low)

    parts = [label(2, 12, "times faster than the dense matrix")]
    for power in range(low, high + 1):
        y = up(10.0**power)
        parts.append(label(left - 8, y + 5, f"{10.0**power:g}", "end"))
        dashes = "" if power else ' stroke-dasharray="4 3"'
        parts.append(
            f'<path d="M{left} {y:g}H{right}" stroke="{EDGE}" stroke-opacity="{0.3 if power else 1}"{dashes}/>'
        )
    parts += [label(across(n), bottom + 20, f"n = {n}" if n == sizes[0] else str(n), "middle") for n in sizes]
    free = math.inf
    ends = sorted(zip(times, curves, COLOURS, strict=True), key=lambda entry: entry[0][-1])
    for row, curve, colour in ends:
        points = " ".join(f"{across(n):g},{up(value):g}" for n, value in zip(sizes, row, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        free = min(up(row[-1]) + 5, free - 18)
        name = f"{curve['work']}, {curve['matrix']}"
        parts.append(f'<text x="{right + 8}" y="{free:g}" fill="{colour}" font-size="13">{name}</text>')
    return noted(
        record, bottom + 26, parts, "how many times faster structured matrices are than dense ones, by their size"
    )
