"""What the site shows of the source: the links to it, those to edit pages, and the names in the list of pages."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.pycode import ModuleAnalyzer

import dispatchkit as dk
from dispatchkit.declare.namespace import defining_module

PACKAGE = Path(dk.__file__).parent
GENERATED = "reference/api/"
BETWEEN_WORDS = re.compile(r"(?<=_)(?=\w)|(?<=[a-z])(?=[A-Z])")


def place(module: str, name: str) -> tuple[str, int, int] | None:
    """Return the file that defines a public name, from the root of the repository, and its first and last line."""
    value: Any = import_module(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    if not isinstance(value, type):  # of a method that is a public function, that function
        value = getattr(getattr(value, "__overridable__", None), "function", value)
    home = defining_module(value) or getattr(value, "__module__", None) or ""
    if not home.startswith("dispatchkit"):
        return None
    analyzer = ModuleAnalyzer.for_module(home)
    analyzer.analyze()
    qualified = getattr(value, "__qualname__", name)
    _, first, last = analyzer.tags.get(qualified) or analyzer.tags.get(f"_{qualified}", (None, 0, 0))
    path = Path(analyzer.srcname).relative_to(PACKAGE.parent).as_posix()
    return (path, first, last) if first else None


def source(repository: str, version: str, info: dict[str, str]) -> str | None:
    """Return the address of the lines that define what a signature shows."""
    lines = place(info["module"], info["fullname"]) if info["module"] else None
    return lines and "{}/blob/{}/{}#L{}-L{}".format(repository, version, *lines)


def file_of(page: str) -> str | None:
    """Return the file to edit for a page: its own, or that of the public name whose docstring it shows."""
    if not page.startswith(GENERATED):
        return f"docs/{page}.md"
    parts = page.removeprefix(f"{GENERATED}generated/").split(".")
    for i in range(len(parts) - 1, 0, -1):
        try:
            lines = place(".".join(parts[:i]), ".".join(parts[i:]))
        except ModuleNotFoundError:
            continue
        return lines and lines[0]
    return None


def link_edit(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Have the theme's link edit the file that a page is made from, or leave the link out."""
    path = file_of(page)
    if path is None:
        context["page_source_suffix"] = ""
    # The theme wants the name in the template.
    address = f"{app.config.html_theme_options['github_url']}/edit/main/{path}{{# not file_name #}}"
    context |= {"edit_page_url_template": address, "edit_page_provider_name": "GitHub"}


def outdated(app: Any, env: Any, added: Any, changed: Any, removed: Any) -> list[str]:
    """Return the pages of names whose file is newer than they are: their links have its lines."""
    pages = [(page, file_of(page), read) for page, read in env.all_docs.items() if page.startswith(GENERATED)]
    return [page for page, path, read in pages if path and (PACKAGE.parent / path).stat().st_mtime_ns > 1000 * read]


def break_names(app: Any, env: Any) -> list[str]:
    """Let long names in the list of pages break between their words, by spaces without width."""
    for page, contents in env.tocs.items():
        if page.startswith(f"{GENERATED}generated/"):
            title = next(contents.findall(nodes.reference))
            title[:] = [nodes.Text(BETWEEN_WORDS.sub("\u200b", title.astext()))]
    return []


def setup(app: Any) -> dict[str, bool]:
    """Come before the theme, which has priority 500."""
    app.connect("html-page-context", link_edit, priority=100)
    app.connect("env-get-outdated", outdated)
    app.connect("env-updated", break_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
