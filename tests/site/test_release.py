"""A release states one version everywhere, and the addresses of who publishes it."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.programs.release.distributions import build_all
from tests.programs.release.steps import ADDRESSES, Addresses, ReleaseError, _list_on_site, prepare, version_of

ROOT = Path(__file__).parents[2]
THEIRS = Addresses("https://github.com/someone/fork/", "https://someone.example/fork/")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder with the files that a release changes."""
    for name in ("dispatchkit/__init__.py", "docs/changelog.md", "docs/_static/switcher.json", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "docs" / "changelog.d").mkdir()
    return tmp_path


def test_addresses_of_who_publishes_take_the_place_of_those_of_the_checkout(checkout: Path) -> None:
    files = [Path("pyproject.toml"), Path("docs", "changelog.md"), Path("docs", "_static", "switcher.json")]
    (checkout / "picture.png").write_bytes(b"\x89PNG")
    changed = THEIRS.put_into(checkout, [*files, Path("picture.png")])
    assert Path("picture.png") not in changed
    project = tomllib.loads((checkout / "pyproject.toml").read_text())
    urls = project["project"]["urls"]
    assert urls["Documentation"] == "https://someone.example/fork/main/"
    assert urls["Source"] == "https://github.com/someone/fork"
    readme = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]
    assert "raw.githubusercontent.com/someone/fork/main/" in readme[0]["replacement"]
    assert not any("dispatchkit/dispatchkit" in (checkout / file).read_text() for file in files)


def test_a_version_is_the_first_of_those_of_the_site_and_preferred(checkout: Path) -> None:
    path = checkout / "docs" / "_static" / "switcher.json"
    _list_on_site(path, "7.1.0")
    first, *others = json.loads(path.read_text())
    assert first == {"name": "7.1.0", "version": "v7.1.0", "url": f"{ADDRESSES.site}/v7.1.0/", "preferred": True}
    assert not any("preferred" in other for other in others)


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("7.1", "a version is written 0.2.0 or 0.2.0rc1, found '7.1'"),
        ("v7.1.0", "a version is written 0.2.0 or 0.2.0rc1, found 'v7.1.0'"),
        ("now", "there is a version"),
        ("7.1.0", "docs/changelog.d has no fragments"),
    ],
)
def test_what_is_no_release_changes_nothing(checkout: Path, version: str, text: str) -> None:
    before = (checkout / "dispatchkit" / "__init__.py").read_text()
    if version == "now":
        version = version_of(checkout)
    with pytest.raises(ReleaseError, match=re.escape(text)):
        prepare(checkout, version)
    assert (checkout / "dispatchkit" / "__init__.py").read_text() == before


def test_a_tag_of_another_version_is_not_built(checkout: Path) -> None:
    version = version_of(checkout)
    with pytest.raises(ReleaseError, match=re.escape(f"the tag of version {version} is v{version}, found v9.9.9")):
        build_all(checkout, checkout / "dist", ADDRESSES, "v9.9.9")
    assert not (checkout / "dist").exists()


def test_wheels_are_built_for_each_python_that_is_supported() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    supported = [line.rpartition(" ")[2] for line in classifiers if re.search(r":: 3\.\d+$", line)]
    wheels = tomllib.loads((ROOT / "accelerator" / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    assert wheels["build"].split() == [f"cp{version.replace('.', '')}-*" for version in supported]
    assert str(supported).replace("'", '"') in (ROOT / "noxfile.py").read_text()
