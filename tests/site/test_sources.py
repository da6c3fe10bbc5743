"""What the site is made from: lists of pages, sections of names, the versions. No build is needed."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
LISTS = sorted(DOCS.glob("*/index.md"))
# Those that are pages of such a list themselves, with a table in the place of sentences.
FURTHER = [DOCS / "examples" / "ports" / "index.md"]
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"^- (?:\[([^]]+)\]\((\S+?)(?:\.md)?\)|\{doc\}`[^<]+<(\S+)>`): (?=[A-Z0-9`'])", re.MULTILINE)


def pages_of(text: str) -> list[str]:
    """Return the pages in the tables of contents of a page."""
    lines = [line for _, entries in TOCTREE.findall(text) for line in entries.splitlines() if line]
    return [line.rpartition("<")[2].rstrip(">") for line in lines]


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.parent.name)
def test_each_page_of_a_list_has_a_sentence(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    pages = pages_of(text)
    assert pages
    items = ITEM.findall(text)
    assert [page or generated for _, page, generated in items] == pages
    assert all(":caption: " in options for options, _ in TOCTREE.findall(text))
    for title, page, _ in items:
        if page and f" <{page}>" not in text:  # the table of contents has the page's own title
            assert f"# {title}\n" in (path.parent / f"{page}.md").read_text(encoding="utf-8")


def test_each_page_is_in_a_list() -> None:
    listed = {DOCS / "index.md", DOCS / "changelog.md", *LISTS}
    for path in (*LISTS, *FURTHER):
        pages = pages_of(path.read_text(encoding="utf-8"))
        listed |= {Path(os.path.normpath(path.parent / f"{page}.md")) for page in pages}
    elsewhere = ("_build", "changelog.d", "template")
    there = {path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in elsewhere}
    assert there - listed == set()


def test_each_public_name_has_a_section(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    import api_pages  # type: ignore[import-not-found]  # its folder is no package

    try:
        assert [title for title, names in api_pages.root_sections() if not names] == []
    finally:
        del sys.modules["api_pages"]


def test_the_switcher_has_the_versions_and_one_to_prefer() -> None:
    versions = json.loads((DOCS / "_static" / "switcher.json").read_text(encoding="utf-8"))
    assert [entry["url"].split("/")[-2] for entry in versions] == [entry["version"] for entry in versions]
    assert all(entry["url"].startswith("https://") for entry in versions)
    assert len([entry for entry in versions if entry.get("preferred")]) == 1


def test_the_front_page_is_that_of_the_readme() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    shown = readme.split("<!-- home -->")[1].split("<!-- end of home -->")[0]
    assert "docs/_static/rules.svg" in shown
    assert shown.count("```python") == 1
    assert ":start-after: <!-- home -->" in (DOCS / "index.md").read_text(encoding="utf-8")
