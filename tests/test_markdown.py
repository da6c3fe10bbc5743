"""The code of README.md and docs/ does what the page says.

A fenced block marked `python` is run; one that holds `>>>` prompts (`python` or `pycon`) is a doctest. The
blocks of a page share their names, as a reader who follows the page would. A page that needs a program or a
library says so in a comment, `<!-- needs: cc -->` or `<!-- imports: torch -->`, and is skipped where it is missing.
"""

import doctest
import re
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk

ROOT = Path(__file__).parent.parent
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if page.exists()]
BLOCK = re.compile(r"^```(?:python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"^<!-- needs: (\S+) -->$", re.MULTILINE)
IMPORTS = re.compile(r"^<!-- imports: (\S+) -->$", re.MULTILINE)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_block(page: Path, text: str, line: int, names: dict[str, Any]) -> None:
    """Run the block that starts `line` lines into the page."""
    if ">>>" in text:
        test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line)
        report: list[str] = []
        if doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append, clear_globs=False).failed:
            pytest.fail("".join(report), pytrace=False)
        names.update(test.globs)
    else:
        # The empty lines make tracebacks point at the line of the page.
        exec(compile("\n" * line + text, page, "exec"), names)  # noqa: S102 running the page is the test


@contextmanager
def local_methods() -> Iterator[None]:
    """Take from all classes the methods of operations that a page declares: no module holds these operations."""
    surface = dk.tensor_protocol.surface
    before = set(surface.members)
    try:
        yield
    finally:
        for name in surface.members.keys() - before:
            del surface.members[name]
            for cls in [cls for cls in surface._classes if name in vars(cls)]:
                delattr(cls, name)


@pytest.mark.parametrize("page", [pytest.param(page, id=page.relative_to(ROOT).as_posix()) for page in PAGES])
def test_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [program for program in NEEDS.findall(text) if shutil.which(program) is None]
    missing += [module for module in IMPORTS.findall(text) if find_spec(module) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    with warnings.catch_warnings():
        # What another library deprecates while it is imported is no fault of the page.
        warnings.simplefilter("ignore")
        for module in IMPORTS.findall(text):
            import_module(module)
    names: dict[str, Any] = {"__name__": page.stem}
    with dk.local_registrations(), local_methods():
        for block in BLOCK.finditer(text):
            run_block(page, block[1], text.count("\n", 0, block.start(1)), names)


def test_what_a_page_declares_is_gone_with_it() -> None:
    test_page(ROOT / "docs" / "operations.md")
    assert not hasattr(dk.Tensor, "doubled")
