"""CONTRIBUTING.md is followed word for word in a copy of the tree, and all that it names is there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = GUIDE[GUIDE.index("## Add an operation") : GUIDE.index("## Stubs and pages")]
COPIED = ("dispatchkit", "tests", "docs", "CONTRIBUTING.md", "README.md", "noxfile.py", "pyproject.toml")
BUILT = shutil.ignore_patterns("__pycache__", "_build", "*.pyc")
# Bytecode that is being written has a number after its name.
BEING_WRITTEN = shutil.ignore_patterns("*.pyc.*")

BLOCK = re.compile(r"^( *)```(python|markdown|sh)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SPAN = r"(?:``\s?(?P<long{0}>.+?)\s?``|`(?P<short{0}>[^`]+)`)"
PLACE = re.compile(
    rf"(?:(?P<new>New\s+file)|(?P<end>At\s+the\s+end\s+of)|In)\s+`(?P<path>[^`]+)`"
    rf"(?:,\s+(?P<side>above|below)\s+{SPAN.format('')})?:\s*\Z"
)
PYTEST = re.compile(r"nox -R -s tests -- (.*)")
GENERATED = re.compile(r"nox -s generated -- (.*)")


@dataclass(frozen=True)
class Edit:
    """What the guide says to write, and where."""

    path: str
    text: str
    new: bool = False
    side: str = ""
    anchor: str = ""

    def make(self, root: Path) -> None:
        """Write the text where the guide says."""
        path = root / self.path
        if self.new:
            assert not path.exists(), f"{self.path} is there already"
            path.write_text(self.text, encoding="utf-8")
            return
        text = path.read_text(encoding="utf-8")
        if not self.side:
            path.write_text(f"{text}\n\n{self.text}", encoding="utf-8")
            return
        lines = text.splitlines(keepends=True)
        places = [number for number, line in enumerate(lines) if line.strip().startswith(self.anchor)]
        assert places, f"{self.path} has no line that begins with {self.anchor!r}"
        at = places[0]
        if self.side == "below":
            at += 1
        lines.insert(at, self.text)
        path.write_text("".join(lines), encoding="utf-8")


def edits() -> list[Edit]:
    """Return the edits of all recipes, in the guide's order."""
    listed = []
    for block in BLOCK.finditer(RECIPES):
        if block[2] == "sh":
            continue
        place = PLACE.search(RECIPES, 0, block.start())
        assert place is not None, f"the guide does not say where this goes:\n{block[3]}"
        text = "".join(line.removeprefix(block[1]) for line in block[3].splitlines(keepends=True))
        anchor = place["long"] or place["short"] or ""
        assert place["new"] or place["end"] or anchor, f"the guide does not say where in {place['path']} this goes"
        listed.append(Edit(place["path"], text, bool(place["new"]), place["side"] or "", anchor))
    return listed


def commands(pattern: re.Pattern[str]) -> list[list[str]]:
    """Return the arguments of the recipes' commands of a sort."""
    lines = [line.strip() for block in BLOCK.finditer(RECIPES) if block[2] == "sh" for line in block[3].splitlines()]
    return [shlex.split(match[1]) for line in lines if (match := pattern.fullmatch(line)) is not None]


def one_command(selections: list[list[str]]) -> list[str]:
    """Return the arguments of one run of pytest for several: it starts in seconds, most selections take less."""
    paths, words = [], []
    for selection in selections:
        if "-k" in selection:
            paths += selection[: selection.index("-k")]
            words.append(selection[-1])
        else:
            paths += selection
            words += [Path(path).stem for path in selection]
    return [*dict.fromkeys(paths), "-k", " or ".join(words)]


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the tree in which all recipes were followed."""
    root = tmp_path_factory.mktemp("guide")
    for name in COPIED:
        if name == "dispatchkit":
            # With its bytecode: to compile the package takes longer than most selections.
            shutil.copytree(ROOT / name, root / name, ignore=BEING_WRITTEN)
        elif (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=BUILT)
        else:
            shutil.copy(ROOT / name, root)
    for edit in edits():
        edit.make(root)
    return root


def run(root: Path, *words: str) -> str:
    """Run a program in the copy, and return what it prints."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))},
        "PYTHONPATH": str(root),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_recipes_have_their_steps_and_commands() -> None:
    titles = re.findall(r"^## Add (.+)$", RECIPES, re.MULTILINE)
    recipes = RECIPES.split("\n## ")
    assert len(recipes) == len(titles) >= 6
    for recipe in recipes:
        assert PLACE.search(recipe) or BLOCK.search(recipe)
        assert PYTEST.search(recipe), f"the recipe has no tests to run: {recipe.splitlines()[0]}"


def test_what_the_guide_adds_passes_the_tests_that_it_names(followed: Path) -> None:
    for words in commands(GENERATED):
        assert words == ["stubs"]
    run(followed, "tests.programs.generated", "stubs")
    stub = (followed / "dispatchkit" / "tensor" / "surface.pyi").read_text(encoding="utf-8")
    assert "def cube(self" in stub
    selections = commands(PYTEST)
    printed = run(followed, "pytest", "-v", "-p", "no:cacheprovider", *one_command(selections))
    passed = [line for line in printed.splitlines() if "PASSED" in line]
    # One run stands for all commands, each of which is to find tests.
    assert [words for words in selections if not any(is_selected(line, words) for line in passed)] == []


def is_selected(line: str, selection: list[str]) -> bool:
    """Return whether a line of pytest is of a test that a command of the guide selects, by its folder and its words."""
    *paths, _, words = one_command([selection])
    return line.startswith(tuple(paths)) and any(word in line for word in words.split(" or "))


PROSE = re.sub(r"^( *)```.*?^ *```$", "", GUIDE, flags=re.MULTILINE | re.DOTALL)
SPANS = [" ".join((match[1] or match[2]).split()) for match in re.finditer(r"``(.+?)``|`([^`]+)`", PROSE, re.DOTALL)]
NAME = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?:\(.*\))?")


def levels() -> dict[str, int]:
    """Return the layer of each module, from the lowest, as `nox -s layers` has it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return {name.strip(" ()"): level for level, layer in enumerate(reversed(layers)) for name in layer.split("|")}


def test_the_layout_lists_every_module_in_the_order_of_the_layers() -> None:
    rows = re.findall(r"^\| (`.+?) +\|", GUIDE, re.MULTILINE)
    names = [name.removesuffix("/").removesuffix(".py") for row in rows for name in re.findall(r"`([^`]+)`", row)]
    layer_of = levels()
    del layer_of["accelerator"]  # which the paragraph below speaks of
    assert sorted(names) == sorted(layer_of)
    order = [layer_of[name] for name in names]
    assert order == sorted(order)


def files() -> Iterator[Path]:
    """Yield the files of the checkout."""
    for folder in ("dispatchkit", "tests", "docs", "accelerator", ".github"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and not {"__pycache__", "_build", "build"} & set(path.parts):
                yield path
    yield from (path for path in ROOT.iterdir() if path.is_file())


def test_the_files_that_the_guide_names_are_there() -> None:
    paths = {path.relative_to(ROOT).as_posix() for path in files()}
    paths |= {f"{parent}/" for path in paths for parent in Path(path).parents}
    named = {span for span in SPANS if re.fullmatch(r"[\w./*-]+", span) and re.search(r"/|\.(py|md|json|toml)$", span)}
    named |= set(re.findall(r"\]\(([\w./-]+)", GUIDE))
    missing = [
        name
        for name in sorted(named - {edit.path for edit in edits() if edit.new})
        if not any(f"/{path}".endswith((f"/{name}", f"/{name}/")) for path in paths)
        and not ("*" in name and any(ROOT.glob(name)))
    ]
    assert missing == []


def test_the_sessions_and_programs_that_the_guide_names_are_there() -> None:
    program = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    declared = re.findall(
        r"^@nox\.session(?:\((?:name=\"([\w-]+)\")?.*\))?(?: *#.*)?\ndef (\w+)", program, re.MULTILINE
    )
    sessions = {named or written for named, written in declared}
    asked = set(re.findall(r"\bnox (?:-R )?-s ([\w-]+)", GUIDE))
    asked |= set(re.findall(r"`(\w+)` \(", PROSE[PROSE.index("`nox --list`") : PROSE.index("To use another Python")]))
    assert len(asked) > 10
    assert asked - sessions == set()
    modules = set(re.findall(r"python -m ((?:tests|dispatchkit)[\w.]+)", GUIDE))
    paths = [ROOT.joinpath(*module.split(".")) for module in modules]
    assert [
        path for path in paths if not path.with_suffix(".py").is_file() and not (path / "__main__.py").is_file()
    ] == []


def test_the_names_that_the_guide_uses_are_there() -> None:
    texts = [
        path
        for path in files()
        if path.suffix in {".py", ".toml", ".md", ".pyi", ".cfg"} and path.stem != "CONTRIBUTING"
    ]
    words = {word for path in texts if path != Path(__file__) for word in re.findall(r"\w+", path.read_text("utf-8"))}
    added = set(re.findall(r"\w+", "".join(edit.text for edit in edits())))
    words |= added | {f"{name}_" for name in added}
    names = {match[1] for span in SPANS if (match := NAME.fullmatch(span)) is not None}
    assert len(names) > 60
    assert names - words == {"vX"}  # which stands for a version
