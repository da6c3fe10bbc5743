"""The table of kinds in the documentation lists the kinds and their functions as they are."""

from __future__ import annotations

from pathlib import Path

import dispatchkit as dk
from dispatchkit import catalogue  # noqa: F401  # every operation is listed

PAGE = Path(__file__).parents[2] / "docs" / "defining-types.md"


def table() -> str:
    """Return the table: kind, the kind around it, and the functions that no narrower kind has."""
    library = {o.function: o for name, o in dk.tensor_protocol.operations.items() if name.startswith("dispatchkit.")}
    rows = [("kind", "inside", "functions, without those of the kinds inside it"), ("---", "---", "---")]
    for kind in dk.kinds:
        own = [library[f] for f in kind if f in library and library[f].kind is kind]
        names = ", ".join(f"`{entry.qualified_name.removeprefix('dispatchkit.')}`" for entry in own)
        rows.append((f"`{kind.name}`", "" if kind.parent is None else f"`{kind.parent.name}`", names))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def test_the_page_has_the_table_of_kinds() -> None:
    assert table() in PAGE.read_text(encoding="utf-8"), f"put this into {PAGE.name}:\n{table()}"
