"""Writes the table of kinds in docs/defining-types.md: ``nox -s generated``."""

from __future__ import annotations

import re
from pathlib import Path

import dispatchkit as dk
from dispatchkit import catalogue  # noqa: F401  # every operation is listed

__all__ = ["make_files"]

PAGE = Path(__file__).parents[2] / "docs" / "defining-types.md"
HEADER = ("kind", "inside", "functions, without those of the kinds inside it")


def make_files() -> dict[str, str]:
    """Return the page by its path, with the table as it is to be."""
    text = PAGE.read_text(encoding="utf-8")
    written = re.compile(rf"^{re.escape(row_of(HEADER))}\n(?:\|.*\n)+", re.MULTILINE)
    page, tables = written.subn(lambda _: f"{make_table()}\n", text)
    assert tables == 1, f"{PAGE.name} has {tables} tables of kinds"
    return {"docs/defining-types.md": page}


def make_table() -> str:
    """Return the table: kind, the kind around it, and the functions that no narrower kind has."""
    library = {o.function: o for name, o in dk.tensor_protocol.operations.items() if name.startswith("dispatchkit.")}
    rows = [HEADER, ("---", "---", "---")]
    for kind in dk.kinds:
        narrowest = [library[f] for f in kind if f in library and library[f].kind is kind]
        names = ", ".join(f"`{entry.qualified_name.removeprefix('dispatchkit.')}`" for entry in narrowest)
        around = ""
        if kind.parent is not None:
            around = f"`{kind.parent.name}`"
        rows.append((f"`{kind.name}`", around, names))
    return "\n".join(map(row_of, rows))


def row_of(cells: tuple[str, ...]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"
