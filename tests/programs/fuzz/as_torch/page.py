"""Writes docs/as-torch-differences.md from the list of differences from PyTorch: ``nox -s generated``."""

from __future__ import annotations

from .listed import Entry, read

__all__ = ["make_files"]

HEAD = """\
# Where `as_torch` differs from PyTorch

Random calls of all functions, methods, in-place forms, operators and indices are made of PyTorch and of
`dispatchkit.as_torch` (`nox -s fuzz-as-torch`). This page lists what is meant to differ, and why
([Moving a program over](guides/moving-a-program.md)). `nox -s generated` writes the page.

| what differs | in | why |
| --- | --- | --- |
"""


def make_files() -> dict[str, str]:
    """Return the page by its path."""
    return {"docs/as-torch-differences.md": HEAD + "".join(f"{_row(entry)}\n" for entry in read())}


def _row(entry: Entry) -> str:
    paths = ", ".join(f"`{path.replace('[[]', '[')}`" for path in entry.paths)
    if entry.paths == ("*",):
        paths = "all functions"
    return f"| {', '.join(entry.sorts)} | {paths} | {entry.reason} |"
