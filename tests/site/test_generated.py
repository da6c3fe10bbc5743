"""The program that writes stubs and pages: what it compares, writes, leaves out and says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.programs.generated import GENERATED, Generated, chosen, main, run

ROOT = Path(__file__).parents[2]


class Fixed(Generated):
    """Files whose texts are known."""

    def make(self) -> dict[str, str]:
        return {"docs/a.md": "right\n", "docs/new/b.md": "new\n"}


FIXED = Fixed("a.md", "pages", "nowhere", all_of="docs/**/*.md")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("wrong\n")
    (tmp_path / "docs" / "gone.md").write_text("of what is no more\n")
    return tmp_path


def test_a_comparison_names_what_is_out_of_date_and_what_to_run_and_writes_nothing(root: Path) -> None:
    said: list[str] = []
    assert run([FIXED], check=True, say=said.append, root=root) == 1
    assert said == [
        "a.md: out of date: docs/a.md, docs/new/b.md, docs/gone.md",
        "These are not as they would be written. Run: nox -s generated -- a.md",
    ]
    assert (root / "docs" / "a.md").read_text() == "wrong\n"


def test_what_was_written_is_up_to_date(root: Path) -> None:
    said: list[str] = []
    assert run([FIXED], check=False, say=said.append, root=root) == 0
    assert run([FIXED], check=True, say=said.append, root=root) == 0
    assert said == ["a.md: wrote docs/a.md, docs/new/b.md, docs/gone.md", "a.md: up to date"]
    assert {path.name: path.read_text() for path in root.rglob("*.md")} == {"a.md": "right\n", "b.md": "new\n"}


def test_what_needs_a_library_that_is_not_there_is_left_out_and_named(root: Path) -> None:
    said: list[str] = []
    needing = Fixed("a.md", "pages", "nowhere", needs=("numpy", "numpy 0.1", "no_such_library"))
    assert run([needing], check=True, say=said.append, root=root) == 0
    assert said == ["a.md: left out, as it needs numpy 0.1, no_such_library"]


def test_names_choose_files_or_all_of_a_sort() -> None:
    assert [one.name for one in chosen(["stubs"], GENERATED)] == ["surface.pyi", "as_torch"]
    assert [one.name for one in chosen(["numpy-functions.md"], GENERATED)] == ["numpy-functions.md"]
    assert chosen([], GENERATED) == GENERATED
    with pytest.raises(
        SystemExit, match=r"nothing is generated under the name 'stub'; there are as-torch-differences\.md"
    ):
        main(["stub", "--check"])


def test_every_file_that_says_it_is_generated_is_in_the_list() -> None:
    places = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "dispatchkit").rglob("*.pyi")]
    places = [path for path in places if not {"_build", "changelog.d"} & set(path.parts)]
    words = re.compile(r"`nox -s generated` writes the table|by `+nox -s generated`")
    saying = [path for path in places if words.search(path.read_text(encoding="utf-8"))]
    names = {one.name for one in GENERATED} | {"__init__.pyi", "functions.pyi"}
    assert len(saying) > 30
    assert [path for path in saying if path.name not in names and "as_torch" not in path.parts] == []
