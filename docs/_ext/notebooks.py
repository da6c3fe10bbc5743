"""The tutorials as notebooks, run before each build: text, and the code of the page with what it prints."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

TUTORIALS = ("idea", "first-type", "structured-weight", "enzyme-kinetics")
PAGES = "https://github.com/dispatchkit/dispatchkit/blob/main/docs/tutorials/"
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)
# What a page says of its notebook to readers, what tells the tests about the page, and pictures that cells draw.
NOT_IN_NOTEBOOKS = re.compile(r"^\{download\}.*\n|^<!--.*-->\n|^!\[.*\n", re.MULTILINE)


def statements(session: str) -> list[str]:
    """Return what is typed in a session at the prompt, a text for each statement."""
    found: list[str] = []
    for line in session.splitlines():
        follows_comment = bool(found) and found[-1].startswith("#") and "\n" not in found[-1]
        if line.startswith("...") or (line.startswith(">>> ") and follows_comment):
            found[-1] += "\n" + line[4:]
        elif line.startswith(">>> "):
            found.append(line[4:])
    return [statement.rstrip() for statement in found]


def codes(text: str) -> list[str]:
    """Return the code of a page, the blocks of Python and the statements at prompts."""
    blocks = [[block[2].rstrip()] if block[1] == "python" else statements(block[2]) for block in BLOCK.finditer(text)]
    return [code for block in blocks for code in block]


def refused(text: str) -> set[str]:
    """Return the statements of a page that are there for the error that they raise."""
    examples = doctest.DocTestParser().get_examples("".join(block[2] for block in BLOCK.finditer(text)))
    return {example.source.rstrip() for example in examples if example.exc_msg}


def cells(text: str) -> list[Any]:
    """Return the cells of a page: each statement at a prompt has its own, as each shows its value."""
    made, done = [], 0
    for block in BLOCK.finditer(text):
        made.append(nbformat.v4.new_markdown_cell(text[done : block.start()].strip()))
        made += map(nbformat.v4.new_code_cell, codes(block[0]))
        done = block.end()
    made.append(nbformat.v4.new_markdown_cell(text[done:].strip()))
    errors = refused(text)
    for place, cell in enumerate(made):
        cell["id"] = f"cell-{place}"  # the same in every build
        if cell.source in errors:
            cell.metadata["tags"] = ["raises-exception"]
    return [cell for cell in made if cell.source]


def notebook_of(text: str) -> Any:
    """Return the notebook of a page, which has not run yet."""
    text = NOT_IN_NOTEBOOKS.sub("", text)
    text = re.sub(r"\]\((?=[\w./-]+\.md)", f"]({PAGES}", text)
    return nbformat.v4.new_notebook(cells=cells(text))


def write_notebooks(app: Any) -> None:
    """Run each tutorial, and write it as a notebook; an error in a cell stops the build."""
    source = Path(app.srcdir)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(source.parent), os.environ.get("PYTHONPATH"))))
    folder = source / "_static" / "notebooks"
    folder.mkdir(exist_ok=True)
    for name in TUTORIALS:
        page, path = source / "tutorials" / f"{name}.md", folder / f"{name}.ipynb"
        notebook = notebook_of(page.read_text(encoding="utf-8"))
        NotebookClient(notebook, kernel_name="python3", timeout=300).execute()
        nbformat.write(notebook, path)


def setup(app: Any) -> dict[str, bool]:
    """Have the notebooks written before pages name them."""
    app.connect("config-inited", lambda app, _: write_notebooks(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
