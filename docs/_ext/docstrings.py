"""Docstrings of the short form, ``axis : to sum along``, in the long one that numpydoc takes.

numpydoc reads what follows the colon as a type. Here it is the description, so it goes to a line of its own.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.ext.autosummary import AutoLink

from dispatchkit.protocol.surface import method_docstring

SECTION = re.compile(r"^(Parameters|Attributes|Other Parameters|Returns|Yields|Raises|Warns)$")
ENTRY = re.compile(r"^(\*{0,2}[A-Za-z_][\w.]*(?:, \*{0,2}[A-Za-z_][\w.]*)*) : (.+)$")

# What classes have for other parts of the library; a page does not show it.
UNLISTED = re.compile(r"(DispatchProtocol\.(chain\w*|plain_chain)|packed|unpack|.*\.(answer|stays_on))$")


class CodeOrLink(AutoLink):
    """A role that gives code where there is nothing to link to; `autolink` gives slanted text."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        found, messages = super().run()
        if isinstance(found[0], nodes.emphasis):
            found[0] = nodes.literal(self.rawtext, self.text)
        return found, messages


def long_form(lines: list[str]) -> list[str]:
    """Return a docstring whose entries hold their descriptions, as sentences, in lines of their own."""
    found: list[str] = []
    inside = False  # a section of entries
    begun = False  # the description of an entry
    for line, below in zip([*lines, ""], [*lines, "", ""][1:], strict=True):
        if begun and not line.startswith("    "):
            found[-1] += "" if found[-1].endswith((".", ":")) else "."
            begun = False
        if below and set(below) == {"-"}:
            inside = SECTION.match(line) is not None
        entry = ENTRY.match(line) if inside else None
        if entry is None or is_long(entry[2], below):
            found.append(line)
        else:
            found += [entry[1], f"    {capital(entry[2])}"]
            begun = True
    return found[:-1]


def is_long(text: str, below: str) -> bool:
    """Return whether a text is a type, which has its description below."""
    return len(text.split()) <= 4 and re.match(r"    [^a-z]", below) is not None


def capital(text: str) -> str:
    """Return a description that begins with a capital letter, unless it begins with code."""
    return text[0].upper() + text[1:] if text[0].isalpha() else text


def is_hidden(member: Any) -> bool:
    """Return whether a page leaves a member out: it is for the library, or Python wrote its docstring."""
    name, text = getattr(member, "__qualname__", ""), getattr(member, "__doc__", None) or ""
    return UNLISTED.match(name) is not None or text.startswith("Alias for field number")


def skip(app: Any, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave members out; None lets autodoc decide."""
    return is_hidden(obj) or None


def escaped(line: str) -> str:
    """Return a line whose stars before names are stars, outside of code."""
    parts = line.split("``")
    parts[::2] = [re.sub(r"(?<=[ (])(\*{1,2})(?=\w)", r"\\\1", part) for part in parts[::2]]
    return "``".join(parts)


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite a docstring before numpydoc reads it; a method that is a public function takes its array as `self`."""
    operation = getattr(obj, "__overridable__", None)
    if what == "method" and operation is not None and operation.function is obj:
        lines[:] = (method_docstring(obj) or "").splitlines()
    lines[:] = [escaped(line) for line in long_form(lines)]


def setup(app: Any) -> dict[str, bool]:
    """Come before numpydoc, which has priority 500."""
    app.connect("autodoc-process-docstring", process, priority=400)
    app.connect("autodoc-skip-member", skip)
    app.add_role("code_or_link", CodeOrLink())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
